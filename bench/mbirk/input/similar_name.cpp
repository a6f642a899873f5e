#include "input/similar_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "mbirk/recon/parameters.hpp"

namespace mbirk::program {

std::vector<std::string> similar_names(std::string_view name, std::vector<std::string> const& known) {
  name = name.substr(0, 64);  // the distance takes time with the product of the lengths
  std::vector<std::pair<std::size_t, std::string>> near;
  for (auto const& other : known) {
    auto const edits = mbirk::detail::edit_distance(name, other);
    bool const inside = name.size() >= 4 && other.size() >= 4 &&
                        (other.find(name) != other.npos || name.find(other) != name.npos);
    if (inside || edits <= std::min<std::size_t>(3, std::max(name.size(), other.size()) / 3))
      near.emplace_back(edits, other);
  }
  std::ranges::sort(near);
  std::vector<std::string> names;
  for (auto const& [edits, other] : near)
    if (names.size() < 5) names.push_back(other);
  return names;
}

std::string one_of(std::string_view name, std::vector<std::string> const& known) {
  constexpr std::size_t few = 12;
  if (known.size() <= few) return fmt::format("one of {}", fmt::join(known, ", "));
  if (auto const near = similar_names(name, known); !near.empty())
    return fmt::format("one of {} names; similar: {}", known.size(), fmt::join(near, ", "));
  return fmt::format("one of {}, ... ({} names)", fmt::join(known.begin(), known.begin() + few, ", "), known.size());
}

}  // namespace mbirk::program
