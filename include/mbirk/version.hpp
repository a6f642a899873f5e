// Version of the library.
#pragma once

#include <string_view>

namespace mbirk {

inline constexpr int version_major = 0, version_minor = 1, version_patch = 0;
inline constexpr std::string_view version_string = "0.1.0";

}  // namespace mbirk
