// The default pair of policies of 04_policies.cpp; CMakeLists.txt makes the others.
#pragma once

#include "mbirk/exec/host.hpp"
#include "mbirk/instrument/none.hpp"

using chosen_exec = mbirk::exec::host;
using chosen_instrument = mbirk::instrument::none;
