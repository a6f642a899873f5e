// Filters and direct reconstruction.
#include "operations/operation_groups.hpp"

namespace mbirk::program {
namespace {

template <class Body> operation filter_entry(std::vector<std::string> geometries) {
  using enum array_kind;
  return entry<Body>({"filter",
                      std::move(geometries),
                      {{.name = "sinogram", .kind = sinogram}},
                      {{"filter_name", value_kind::text, "ramp"}},
                      sinogram,
                      [](any_scan const& any, operands const&) {
                        return of_scan(any, [](auto const& scan) { return filter_flops(scan); });
                      }});
}
template <class Body> operation recon_entry(std::vector<std::string> geometries) {
  using enum array_kind;
  return entry<Body>({"recon",
                      std::move(geometries),
                      {{.name = "sinogram", .kind = sinogram}},
                      {{"filter_name", value_kind::text, "ramp"}},
                      recon,
                      [](any_scan const& any, operands const&) {
                        return of_scan(any, [](auto const& scan) {
                          return filter_flops(scan) + projection_flops(scan, scan.full_indices());
                        });
                      }});
}

}  // namespace

std::vector<operation> direct_operations() {
  return {filter_entry<invoke::direct_filter>(scans),   filter_entry<invoke::fbp_filter>({"parallel"}),
          filter_entry<invoke::fdk_filter>({"cone"}),   recon_entry<invoke::direct_recon>(scans),
          recon_entry<invoke::fbp_recon>({"parallel"}), recon_entry<invoke::fdk_recon>({"cone"})};
}

}  // namespace mbirk::program
