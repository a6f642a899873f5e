// The projectors of all geometries.
#pragma once

#include "mbirk/projector/cone.hpp"
#include "mbirk/projector/parallel.hpp"
