// The table of operations, and their common functions.
#include "operations/operations.hpp"

#include <new>
#include <type_traits>
#include <utility>

#include "operations/operations_all.hpp"
#include "operations/run_body.hpp"

namespace mbirk::program {
namespace {

template <std::size_t Rank> std::array<index_t, Rank> fixed(std::vector<index_t> const& shape) {
  require<shape_error>(shape.size() == Rank, [&] {
    return "an array has shape " + mbirk::detail::shape_text(shape) + ", expected " + std::to_string(Rank) + " axes";
  });
  std::array<index_t, Rank> out;
  for (std::size_t d = 0; d < Rank; ++d) out[d] = shape[d];
  return out;
}
template <class T, std::size_t Rank> auto view_of(npy_array<T> const& a) {
  return view<T const, static_cast<int>(Rank)>(a.data.data(), fixed<Rank>(a.shape));
}
template <class T, std::size_t Rank> auto view_of(npy_array<T>& a) {
  return view<T, static_cast<int>(Rank)>(a.data.data(), fixed<Rank>(a.shape));
}

/// Number of elements of a shape.
/// @throws allocation_error when they exceed any possible memory.
std::size_t elements_of(std::vector<index_t> const& shape) {
  double size = 1;
  std::size_t elements = 1;
  for (auto const n : shape) {
    size *= static_cast<double>(n);
    elements *= static_cast<std::size_t>(n);
  }
  require<allocation_error>(size < 0x1p60,
                            [&] { return "out of memory: a result of shape " + mbirk::detail::shape_text(shape); });
  return elements;
}

/// Adds an operation of the table, under its name and its aliases.
template <class Body> void add(std::vector<operation>& table) {
  using context_of_host = std::variant_alternative_t<0, any_context>;
  auto const info = Body::entry();
  operation op{.name = Body::name,
               .body = Body::name,
               .group = info.group,
               .geometries = info.geometries,
               .needs_scan = !std::is_invocable_v<Body, context_of_host const&, any_scan const&, operands&>,
               .only_on_host = host_only<Body>,
               .inputs = info.inputs,
               .arguments = info.arguments,
               .output = info.output,
               .execute =
                   [](any_context const& any_ctx, any_scan const& scan, operands& x, caller const& calls) {
                     std::visit([&](auto const& ctx) { run_body<Body>(ctx, scan, x, calls); }, any_ctx);
                   },
               .minimal_flops = info.minimal_flops,
               .profile = info.profile};
  table.push_back(op);
  for (auto const& alias : info.aliases) {
    op.name = alias.name;
    op.geometries = alias.geometries;
    table.push_back(op);
  }
}
template <class... Bodies> std::vector<operation> table_of(body_list<Bodies...>) {
  std::vector<operation> table;
  (add<Bodies>(table), ...);
  return table;
}

}  // namespace

std::vector<operation> const& operations() {
  static auto const table = table_of(all_bodies());
  return table;
}

operation const* find_operation(std::string_view name) {
  for (auto const& op : operations())
    if (op.name == name) return &op;
  return nullptr;
}

std::string geometry_name(any_scan const& scan) {
  return std::visit([](auto const& s) -> std::string {
    if constexpr (requires { s.geometry(); }) return s.geometry().name;
    else return "none";
  }, scan);
}

std::vector<index_t> const& shape_of(any_array const& array) {
  return std::visit([](auto const& a) -> std::vector<index_t> const& { return a.shape; }, array);
}

char const* axes_of(array_kind kind) {
  switch (kind) {
    case array_kind::sinogram: return "(views, rows, channels)";
    case array_kind::recon: return "(rows, cols, slices)";
    case array_kind::pixel_indices: return "(pixels)";
    case array_kind::image: return "(rows, cols, slices)";
    case array_kind::partition: return "(subsets, pixels)";
    default: return "(pixels, slices)";
  }
}

std::vector<index_t> shape_of(array_kind kind, any_scan const& any, index_t pixels) {
  return std::visit([&](auto const& scan) -> std::vector<index_t> {
    if constexpr (requires { scan.geometry(); }) {
      auto const sino = scan.sinogram_shape(), recon = scan.recon_shape();
      switch (kind) {
        case array_kind::sinogram: return {sino.begin(), sino.end()};
        case array_kind::recon: return {recon.begin(), recon.end()};
        case array_kind::pixel_indices: return {pixels};
        default: return {pixels, recon[2]};
      }
    } else {
      throw error("this operation needs a geometry", source_location::current());
    }
  }, any);
}

char const* name_of(value_kind kind) {
  switch (kind) {
    case value_kind::integer: return "a whole number";
    case value_kind::number: return "a number";
    case value_kind::text: return "a string";
    default: return "true or false";
  }
}

index_t listed_pixels(operation const& op, operands const& x) {
  for (auto const& input : op.inputs)
    if (input.kind == array_kind::pixel_indices)
      if (auto const it = x.inputs.find(input.name); it != x.inputs.end()) return shape_of(it->second).front();
  return 0;
}

void allocate_output(operation const& op, any_scan const& scan, operands& x, bool with_data) {
  if (op.output == array_kind::partition) return;  // allocated by the operation
  auto const shape = op.output == array_kind::image ? shape_of(x.inputs.find("image")->second)
                                                    : shape_of(op.output, scan, listed_pixels(op, x));
  auto const elements = with_data ? elements_of(shape) : 0;
  try {
    if (is_index_array(op.output)) x.output = npy_array<std::int32_t>{shape, std::vector<std::int32_t>(elements)};
    else x.output = npy_array<float>{shape, std::vector<float>(elements)};
  } catch (std::bad_alloc const&) {
    throw allocation_error(
        "out of memory: " + std::to_string(4 * elements) + " bytes for the result " + mbirk::detail::shape_text(shape),
        source_location::current());
  }
}

view<float const, 3> operands::volume(std::string_view name) const {
  return view_of<float, 3>(std::get<0>(inputs.find(name)->second));
}
view<float const, 2> operands::voxel_columns(std::string_view name) const {
  return view_of<float, 2>(std::get<0>(inputs.find(name)->second));
}
view<std::int32_t const, 1> operands::list(std::string_view name) const {
  return view_of<std::int32_t, 1>(std::get<1>(inputs.find(name)->second));
}
std::optional<view<float const, 3>> operands::optional_volume(std::string_view name) const {
  if (!inputs.contains(name)) return {};
  return volume(name);
}
view<float, 3> operands::output_volume() { return view_of<float, 3>(std::get<0>(output)); }
view<float, 2> operands::output_voxel_columns() { return view_of<float, 2>(std::get<0>(output)); }
int operands::integer(std::string_view name) const { return arguments.find(name)->second.get<int>(); }
bool operands::boolean(std::string_view name) const { return arguments.find(name)->second.get<bool>(); }
std::string operands::text(std::string_view name) const { return arguments.find(name)->second.get<std::string>(); }
std::optional<double> operands::number(std::string_view name) const {
  auto const& value = arguments.find(name)->second;
  if (value.is_null()) return {};
  return value.get<double>();
}

}  // namespace mbirk::program
