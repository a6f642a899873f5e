// Includes all headers of profile/ for user code.
#pragma once

#include "mbirk/profile/benchmark.hpp"
#include "mbirk/profile/compare.hpp"
#include "mbirk/profile/components.hpp"
#include "mbirk/profile/disturbance.hpp"
#include "mbirk/profile/exporters.hpp"
#include "mbirk/profile/loop.hpp"
#include "mbirk/profile/periodic.hpp"
#include "mbirk/profile/pipeline.hpp"
#include "mbirk/profile/scope.hpp"
#include "mbirk/profile/session.hpp"
#include "mbirk/profile/stopping.hpp"
#include "mbirk/profile/wrapped.hpp"
