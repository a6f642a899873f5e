// Shared by the partition tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mbirk/geometry/mask.hpp"
#include "mbirk/util/partition_set.hpp"

namespace mbirk::testing {

enum class kind { random, blue_noise, grid };
inline constexpr kind all_kinds[] = {kind::random, kind::blue_noise, kind::grid};
inline char const* name_of(kind k) {
  return k == kind::random       ? "gen_pixel_partition"
         : k == kind::blue_noise ? "gen_pixel_partition_blue_noise"
                                 : "gen_pixel_partition_grid";
}

struct grid_mask {
  index_t rows, cols;
  std::vector<std::uint8_t> values;
  std::vector<std::int32_t> pixels() const { return full_indices(values); }
};
inline grid_mask disc(index_t rows, index_t cols) { return {rows, cols, ror_mask(rows, cols)}; }
inline grid_mask square(index_t rows, index_t cols) { return {rows, cols, make_mask(rows, cols, false)}; }

inline pixel_partition partition(kind k, grid_mask const& m, index_t subsets, numpy_random_state& random) {
  if (k == kind::random) return gen_pixel_partition(m.values, m.rows, m.cols, subsets, random);
  if (k == kind::blue_noise) return gen_pixel_partition_blue_noise(m.values, m.rows, m.cols, subsets, random);
  return gen_pixel_partition_grid(m.values, m.rows, m.cols, subsets, random);
}
inline pixel_partition partition(kind k, grid_mask const& m, index_t subsets, std::uint32_t seed = 42) {
  numpy_random_state random(seed);
  return partition(k, m, subsets, random);
}
template <class Exec, class Instr> pixel_partition partition(context<Exec, Instr> const& ctx, kind k,
                                                             grid_mask const& m, index_t subsets,
                                                             std::uint32_t seed = 42) {
  numpy_random_state random(seed);
  if (k == kind::random) return gen_pixel_partition(ctx, m.values, m.rows, m.cols, subsets, random);
  if (k == kind::blue_noise) return gen_pixel_partition_blue_noise(ctx, m.values, m.rows, m.cols, subsets, random);
  return gen_pixel_partition_grid(ctx, m.values, m.rows, m.cols, subsets, random);
}

inline std::vector<std::vector<std::int32_t>> rows_of(pixel_partition const& p) {
  std::vector<std::vector<std::int32_t>> rows;
  for (index_t s = 0; s < p.subsets; ++s) rows.emplace_back(p.subset(s).begin(), p.subset(s).end());
  return rows;
}

}  // namespace mbirk::testing
