// Names that C++ blocks in the documents may use: commands.py makes each block the body of a member function of a
// struct that derives from `names`.
#pragma once

#include <fstream>
#include <string>

#include "mbirk/instrument/live.hpp"
#include "mbirk/instrument/sizing.hpp"
#include "mbirk/instrument/tracing.hpp"
#include "mbirk/mbirk.hpp"
#include "mbirk/profile/chrome_trace.hpp"
#include "mbirk/profile/live_memory.hpp"
#include "mbirk/profile/xplane.hpp"
#include "mbirk/recon/model.hpp"
#include "mbirk/record/cost.hpp"
#include "mbirk/record/cpp.hpp"
#include "mbirk/record/rewrite.hpp"
#include "mbirk/record/text.hpp"

using namespace mbirk;

struct names {
  cone_scan const& scan;
  cone_beam_model& m;
  view<float const, 3> sinogram;
  view<float, 3> image, recon;
  index_t pixels, items, bytes, flops;
};
