// Pixel partitions: subsets of the region of reconstruction that are updated together. Drawn on the host, bit for bit as MBIRJAX draws them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mbirk/core/error.hpp"

namespace mbirk {

/// The draws of NumPy's legacy generator after numpy.random.seed(seed): the same numbers in the same order.
class legacy_random {
 public:
  explicit legacy_random(std::uint32_t seed) : engine_(seed) {}

  /// Uniform in [0, most]; draws nothing when most is 0.
  std::uint32_t below(std::uint32_t most) {
    if (most == 0) return 0;
    std::uint32_t mask = most;
    for (int shift = 1; shift < 32; shift *= 2) mask |= mask >> shift;
    std::uint32_t x;
    do x = static_cast<std::uint32_t>(engine_()) & mask;
    while (x > most);
    return x;
  }
  template <class T> void shuffle(std::vector<T>& a) {
    for (std::size_t i = a.size(); i-- > 1;) std::swap(a[i], a[below(static_cast<std::uint32_t>(i))]);
  }
  std::vector<std::int32_t> permutation(index_t n) {
    std::vector<std::int32_t> a(static_cast<std::size_t>(n));
    std::iota(a.begin(), a.end(), 0);
    shuffle(a);
    return a;
  }

 private:
  std::mt19937 engine_;
};

/// Subsets of equal length, row after row.
struct pixel_partition {
  index_t subsets = 0, length = 0;
  std::vector<std::int32_t> indices;
  std::span<std::int32_t const> subset(index_t s) const&& = delete;  // it would refer to indices that are gone
  std::span<std::int32_t const> subset(index_t s) const& {
    return std::span(indices).subspan(static_cast<std::size_t>(s * length), static_cast<std::size_t>(length));
  }
};

/// Random partition of `pixels` into num_subsets rows of ceil(P / K), each ascending. A few pixels are repeated so that all rows are equally long;
/// one subset draws nothing. More subsets than pixels: as many as there are pixels.
/// @throws parameter_error when there is no pixel or num_subsets < 1.
inline pixel_partition gen_pixel_partition(std::span<std::int32_t const> pixels, index_t num_subsets, legacy_random& random) {
  require(num_subsets >= 1, [&] { return "gen_pixel_partition: num_subsets is " + std::to_string(num_subsets) + ", expected at least 1"; });
  require(!pixels.empty(), [] { return "gen_pixel_partition: no pixel is inside the mask, expected at least one"; });
  index_t const count = static_cast<index_t>(pixels.size()), subsets = std::min(num_subsets, count), length = ceil_div(count, subsets);
  pixel_partition p{subsets, length, {pixels.begin(), pixels.end()}};
  if (subsets == 1) return p;
  random.shuffle(p.indices);
  auto const repeats = random.permutation(std::min(count, (subsets - 1) * length));  // drawn even when none is needed
  for (index_t k = 0; k < subsets * length - count; ++k) p.indices.push_back(p.indices[static_cast<std::size_t>(repeats[static_cast<std::size_t>(k)])]);
  for (index_t s = 0; s < subsets; ++s) std::sort(p.indices.begin() + s * length, p.indices.begin() + (s + 1) * length);
  return p;
}

}  // namespace mbirk
