// The value of a counter event, which may be a real number.
#pragma once

#include <cstdlib>

#include "mbirk/instrument/trace.hpp"

namespace mbirk::profile {

/// The exact value given to profile::sample: `value`, or the text in `detail` if `value` is only the nearest integer.
/// It may be infinite or NaN.
inline double sample_value(instrument::trace_event const& e) noexcept {
  return e.detail ? std::strtod(e.detail, nullptr) : static_cast<double>(e.value);
}

}  // namespace mbirk::profile
