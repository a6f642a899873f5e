// Pixel partitions and the median filter.
#include "operations/operation_groups.hpp"

namespace mbirk::program {
namespace {

std::uint64_t none(any_scan const&, operands const&) { return 0; }

template <class Body> operation partition_entry() {
  return entry<Body>({"util",
                      anything,
                      {},
                      {{"num_subsets", value_kind::integer, 4}, {"seed", value_kind::integer, 0}},
                      array_kind::partition,
                      none});
}

}  // namespace

std::vector<operation> utility_operations() {
  using enum array_kind;
  return {
      entry<invoke::median_filter3d>(
          {"util", anything, {{.name = "image", .kind = image, .may_be_nan = true}}, {}, image, none}),
      partition_entry<invoke::gen_pixel_partition>(),
      partition_entry<invoke::gen_pixel_partition_blue_noise>(),
      partition_entry<invoke::gen_pixel_partition_grid>(),
  };
}

}  // namespace mbirk::program
