// The number of a counter's event, which its author may have given as a real one.
#pragma once

#include <cstdlib>

#include "mbirk/instrument/trace.hpp"

namespace mbirk::profile {

/// What profile::sample wrote, exactly: `value`, or where that is only the nearest integer, the text in `detail`. May be infinite, or no number.
inline double sample_value(instrument::trace_event const& e) noexcept { return e.detail ? std::strtod(e.detail, nullptr) : static_cast<double>(e.value); }

}  // namespace mbirk::profile
