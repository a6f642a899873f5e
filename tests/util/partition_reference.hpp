// A slow reference version of the three partitions: std::mt19937, plain vectors, a sort for every row. The oracle of
// the partition tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "mbirk/util/blue_noise.hpp"

namespace mbirk::testing {

using rows_of_pixels = std::vector<std::vector<std::int32_t>>;

/// NumPy's legacy draws from the standard library's generator.
struct reference_random {
  std::mt19937 engine;
  std::uint32_t below(std::uint32_t most) {
    if (most == 0) return 0;
    std::uint32_t mask = 1;
    while (mask < most) mask = 2 * mask + 1;
    std::uint32_t x;
    do x = static_cast<std::uint32_t>(engine()) & mask;
    while (x > most);
    return x;
  }
  void shuffle(std::vector<std::int32_t>& a) {
    for (std::size_t i = a.size(); i-- > 1;) std::swap(a[i], a[below(static_cast<std::uint32_t>(i))]);
  }
  std::vector<std::int32_t> permutation(std::size_t n) {
    std::vector<std::int32_t> a(n);
    std::iota(a.begin(), a.end(), 0);
    shuffle(a);
    return a;
  }
};

inline rows_of_pixels reference_partition(std::vector<std::int32_t> pixels, std::size_t asked,
                                          reference_random& random) {
  std::size_t const count = pixels.size(), subsets = std::min(asked, count), length = (count + subsets - 1) / subsets;
  if (subsets == 1) return {pixels};
  random.shuffle(pixels);
  auto const repeats = random.permutation(std::min(count, (subsets - 1) * length));
  for (std::size_t k = 0; pixels.size() < subsets * length; ++k)
    pixels.push_back(pixels[static_cast<std::size_t>(repeats[k])]);
  rows_of_pixels rows(subsets);
  for (std::size_t p = 0; p < pixels.size(); ++p) rows[p / length].push_back(pixels[p]);
  for (auto& row : rows) std::sort(row.begin(), row.end());
  return rows;
}

/// Pads the groups to equal length with pixels of later groups.
inline void reference_fill(rows_of_pixels& groups, reference_random& random) {
  std::size_t least = groups[0].size(), most = 0;
  for (auto const& g : groups) least = std::min(least, g.size()), most = std::max(most, g.size());
  std::vector<std::uint32_t> extra;
  for (std::size_t k = 0; k <= most - least; ++k) extra.push_back(random.below(static_cast<std::uint32_t>(least - 1)));
  auto const own = groups;
  for (std::size_t s = 0; s < own.size(); ++s)
    for (std::size_t j = 0; j < most - own[s].size(); ++j) groups[s].push_back(own[(s + 1 + j) % own.size()][extra[j]]);
}

inline rows_of_pixels reference_blue_noise(std::vector<std::int32_t> const& pixels, std::int32_t cols,
                                           std::size_t asked, reference_random& random) {
  if (asked > pixels.size()) return reference_partition(pixels, asked, random);
  rows_of_pixels groups(asked);
  for (auto const p : pixels)
    groups[static_cast<std::size_t>(
               std::floor(blue_noise(p / cols % 256, p % cols % 256) / (65536.0 / static_cast<double>(asked))))]
        .push_back(p);
  for (auto const& g : groups)
    if (g.empty()) return reference_partition(pixels, asked, random);
  reference_fill(groups, random);
  for (auto& g : groups) std::sort(g.begin(), g.end());
  return groups;
}

inline rows_of_pixels reference_grid(std::vector<std::int32_t> const& pixels, std::int32_t cols, std::size_t asked,
                                     reference_random& random) {
  std::int32_t side = 0;
  while (static_cast<std::size_t>(side) * static_cast<std::size_t>(side) < asked) ++side;
  auto const subsets = static_cast<std::size_t>(side) * static_cast<std::size_t>(side);
  auto const labels = random.permutation(subsets);
  if (subsets > pixels.size()) {
    rows_of_pixels single;
    for (auto const p : pixels) single.push_back({p});
    return single;
  }
  rows_of_pixels groups(subsets);
  for (auto const p : pixels) {
    auto const in_tile = static_cast<std::size_t>(p / cols % side * side + p % cols % side);
    groups[static_cast<std::size_t>(labels[in_tile])].push_back(p);
  }
  std::erase_if(groups, [](auto const& g) { return g.empty(); });
  reference_fill(groups, random);
  return groups;
}

}  // namespace mbirk::testing
