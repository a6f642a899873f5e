// Everything for the host. Includes only.
#pragma once

#include "mbirk/context.hpp"
#include "mbirk/exec/host.hpp"
#include "mbirk/exec/workspace.hpp"
#include "mbirk/geometry/scan.hpp"
#include "mbirk/instrument/none.hpp"
#include "mbirk/projector/cone.hpp"
#include "mbirk/projector/parallel.hpp"
#include "mbirk/version.hpp"
