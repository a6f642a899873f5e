// Filters and direct reconstruction.
#include "mbirk/projector/cone.hpp"
#include "mbirk/projector/parallel.hpp"
#include "mbirk/recon/direct_recon.hpp"
#include "operation_groups.hpp"

namespace mbirk::program {
namespace {

filter_options filter_of(operands const& x) { return {.name = x.text("filter_name")}; }

template <class Geometry, class Operation> operation filter_entry(char const* name, std::vector<std::string> const& geometries, Operation const& op) {
  using enum array_kind;
  return {name, "filter", geometries, on_host, {{.name = "sinogram", .kind = sinogram}}, {{"filter_name", value_kind::text, "ramp"}}, sinogram,
          on_scan<Geometry>([op](auto const& ctx, auto const& scan, operands& x) { op(ctx, scan, x.volume("sinogram"), x.output_volume(), filter_of(x)); }),
          [](any_scan const& any, operands const&) { return of_scan(any, [](auto const& scan) { return filter_flops(scan); }); }};
}
template <class Geometry, class Operation> operation recon_entry(char const* name, std::vector<std::string> const& geometries, Operation const& op) {
  using enum array_kind;
  return {name, "recon", geometries, on_host, {{.name = "sinogram", .kind = sinogram}}, {{"filter_name", value_kind::text, "ramp"}}, recon,
          on_scan<Geometry>([op](auto const& ctx, auto const& scan, operands& x) {
            op(ctx, scan, x.volume("sinogram"), x.output_volume(), filter_of(x), &x.warnings);
          }),
          [](any_scan const& any, operands const&) {
            return of_scan(any, [](auto const& scan) { return filter_flops(scan) + projection_flops(scan, scan.full_indices()); });
          }};
}

}  // namespace

std::vector<operation> direct_operations() {
  return {
      filter_entry<void>("direct_filter", scans, [](auto const&... a) { direct_filter(a...); }),
      filter_entry<parallel_geometry>("fbp_filter", {"parallel"}, [](auto const&... a) { fbp_filter(a...); }),
      filter_entry<cone_geometry>("fdk_filter", {"cone"}, [](auto const&... a) { fdk_filter(a...); }),
      recon_entry<void>("direct_recon", scans, [](auto const&... a) { direct_recon(a...); }),
      recon_entry<parallel_geometry>("fbp_recon", {"parallel"}, [](auto const&... a) { fbp_recon(a...); }),
      recon_entry<cone_geometry>("fdk_recon", {"cone"}, [](auto const&... a) { fdk_recon(a...); }),
  };
}

}  // namespace mbirk::program
