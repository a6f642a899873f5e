// The entries of a case: checks against the table of operations, and loading of inputs.
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "input/test_case.hpp"

namespace mbirk::program {
namespace {

template <class Infos> std::string names(Infos const& infos) {
  std::string s;
  for (auto const& i : infos) s += (s.empty() ? "" : ", ") + i.name;
  return s.empty() ? "none" : s;
}
template <class Infos> bool has_name(Infos const& infos, std::string const& name) {
  for (auto const& i : infos)
    if (i.name == name) return true;
  return false;
}

/// Place for messages: "cases/x/case.json: ops[2].inputs.recon".
std::string place(test_case const& c, case_entry const& e, std::string const& member) {
  return c.file + ": " + e.field + '.' + member;
}

json check_argument(json_field const& field, argument_info const& info) {
  if (field.value().is_null() && info.fallback.is_null()) return nullptr;
  switch (info.kind) {
    case value_kind::integer: {
      auto const n = field.integer();
      if (!std::in_range<int>(n)) field.wrong("a whole number of 32 bits");
      return n;
    }
    case value_kind::number: return field.number();
    case value_kind::text: return field.text();
    default: return field.boolean();
  }
}

/// Reads a file, and prefixes errors with the field that names it.
template <class Read> auto with_place(std::string const& where, Read const& read) {
  try {
    return read();
  } catch (io_error const& e) {
    throw io_error(where + ": " + e.what(), e.where);
  }
}

/// A recon may hold any values outside the mask, because forward projection does not read them.
void require_finite_inside(npy_array<float> const& recon, std::vector<std::uint8_t> const& mask,
                           std::filesystem::path const& path) {
  auto const slices = static_cast<std::size_t>(recon.shape[2]);
  for (std::size_t p = 0; p < mask.size(); ++p)
    for (std::size_t k = p * slices; mask[p] && k < (p + 1) * slices; ++k)
      if (!mbirk::detail::is_finite(recon.data[k])) mbirk::detail::npy_fail_finite(recon, k, path);
}

}  // namespace

void check_entry(test_case const& c, case_entry const& e, operation const& op) {
  auto const geometry = geometry_name(c.scan);
  bool fits = false;
  std::string wanted;
  for (auto const& g : op.geometries) {
    fits = fits || g == geometry;
    wanted += (wanted.empty() ? "" : &g == &op.geometries.back() ? " or " : ", ") + g;
  }
  require<io_error>(fits, [&] {
    return place(c, e, "op") + " is " + op.name + ", which needs geometry " + wanted + ", found geometry " + geometry;
  });

  for (auto const& [name, file] : e.inputs)
    require<io_error>(has_name(op.inputs, name), [&] {
      return place(c, e, "inputs." + name) + " is not an input of " + op.name + ", expected one of " + names(op.inputs);
    });
  for (auto const& [name, value] : e.arguments.items())
    require<io_error>(has_name(op.arguments, name), [&] {
      return place(c, e, "args." + name) + " is not an argument of " + op.name + ", expected one of " +
             names(op.arguments);
    });
  json_field const arguments(e.arguments, c.file, e.field + ".args");
  for (auto const& info : op.arguments)
    if (arguments.has(info.name)) check_argument(arguments.at(info.name, ""), info);

  std::map<std::string, npy_header> headers;
  index_t pixels = 0;
  for (auto const& input : op.inputs) {
    auto const it = e.inputs.find(input.name);
    auto const where = place(c, e, "inputs." + input.name);
    require<io_error>(it != e.inputs.end() || !input.required,
                      [&] { return where + " is missing, expected the name of an npy file"; });
    if (it == e.inputs.end()) continue;
    auto const& header = headers[input.name] =
        with_place(where, [&] { return read_npy_header(c.folder / it->second); });
    if (input.kind == array_kind::pixel_indices && header.shape.size() == 1) pixels = header.shape[0];
  }
  for (auto const& input : op.inputs)
    if (auto const it = headers.find(input.name); it != headers.end()) {
      bool const list = input.kind == array_kind::pixel_indices, image = input.kind == array_kind::image;
      auto const expected = list || image ? it->second.shape : shape_of(input.kind, c.scan, pixels);
      require<shape_error>(
          it->second.shape == expected && (!list || expected.size() == 1) && (!image || expected.size() == 3), [&] {
            return place(c, e, "inputs." + input.name) + ": " + (c.folder / e.inputs.at(input.name)).string() +
                   " has shape " + mbirk::detail::shape_text(it->second.shape) + ", expected " + axes_of(input.kind) +
                   (list || image ? "" : " = " + mbirk::detail::shape_text(expected));
          });
    }
}

operands arguments_of(test_case const& c, case_entry const& e, operation const& op) {
  operands x;
  x.settings = c.settings;
  x.denoiser = c.denoiser;
  x.recon_shape = c.recon_shape;
  json_field const arguments(e.arguments, c.file, e.field + ".args");
  for (auto const& info : op.arguments)
    x.arguments[info.name] =
        arguments.has(info.name) ? check_argument(arguments.at(info.name, ""), info) : info.fallback;
  return x;
}

operands load_operands(test_case const& c, case_entry const& e, operation const& op) {
  auto x = arguments_of(c, e, op);
  for (auto const& input : op.inputs) {
    auto const it = e.inputs.find(input.name);
    if (it == e.inputs.end()) continue;
    auto const path = c.folder / it->second;
    x.inputs[input.name] = with_place(place(c, e, "inputs." + input.name), [&]() -> any_array {
      if (is_index_array(input.kind)) return read_npy<std::int32_t>(path);
      auto array = read_npy<float>(path);
      std::visit([&](auto const& scan) {
        if constexpr (requires { scan.mask(); })
          if (input.only_inside_mask) return require_finite_inside(array, scan.mask(), path);
        if (!input.may_be_nan) require_finite(array, path);
      }, c.scan);
      return array;
    });
  }
  allocate_output(op, c.scan, x);
  return x;
}

namespace {

/// Reads a part of a file, from `first` on along an axis. @param must_be_finite  of a value at (i, j)
template <class MustBeFinite>
npy_array<float> read_part(std::filesystem::path const& path, std::vector<index_t> const& shape, std::size_t axis,
                           index_t first, MustBeFinite const& must_be_finite) {
  auto const whole = read_npy_header(path);
  npy_array<float> part{shape, std::vector<float>(static_cast<std::size_t>(shape[0] * shape[1] * shape[2]))};
  std::vector<float> plane(static_cast<std::size_t>(whole.shape[1] * whole.shape[2]));
  view<float, 3> const from(plane.data(), {1, whole.shape[1], whole.shape[2]}),
      to(part.data.data(), {shape[0], shape[1], shape[2]});
  index_t const j0 = axis == 1 ? first : 0, k0 = axis == 2 ? first : 0;
  for (index_t i = 0; i < shape[0]; ++i) {
    read_npy(path, i, from);
    for (index_t j = 0; j < shape[1]; ++j)
      for (index_t k = 0; k < shape[2]; ++k) {
        float const x = to(i, j, k) = from(0, j0 + j, k0 + k);
        if (!mbirk::detail::is_finite(x) && must_be_finite(i, j))
          mbirk::detail::npy_fail_finite(whole, x, (i * whole.shape[1] + j0 + j) * whole.shape[2] + k0 + k, path);
      }
  }
  return part;
}

}  // namespace

operands load_slab(test_case const& c, case_entry const& e, operation const& op, any_scan const& slab,
                   index_t first) {
  auto x = arguments_of(c, e, op);
  auto const& mask = std::get<parallel_scan>(slab).mask();
  index_t const cols = std::get<parallel_scan>(slab).recon_shape()[1];
  for (auto const& input : op.inputs) {
    auto const it = e.inputs.find(input.name);
    if (it == e.inputs.end()) continue;
    x.inputs[input.name] = with_place(place(c, e, "inputs." + input.name), [&]() -> any_array {
      return read_part(c.folder / it->second, shape_of(input.kind, slab, 0), input.kind == array_kind::recon ? 2 : 1,
                       first, [&](index_t i, index_t j) {
                         return input.only_inside_mask ? mask[static_cast<std::size_t>(i * cols + j)] != 0
                                                       : !input.may_be_nan;
                       });
    });
  }
  allocate_output(op, slab, x);
  return x;
}

}  // namespace mbirk::program
