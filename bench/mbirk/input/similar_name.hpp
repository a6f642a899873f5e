// What was expected in place of a name that is not known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mbirk::program {

/// The known names that look like `name`, the most similar first, at most five.
std::vector<std::string> similar_names(std::string_view name, std::vector<std::string> const& known);

/// "one of a, b, c" for a message: all known names if they are few, else the similar ones, and how many there are.
std::string one_of(std::string_view name, std::vector<std::string> const& known);

}  // namespace mbirk::program
