#include "values.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <type_traits>
#include <variant>

namespace mbirk::python {
namespace {

template <class T> nb::ndarray<T const, nb::c_contig> numbers_as(nb::handle array, char const* type) {
  return nb::cast<nb::ndarray<T const, nb::c_contig>>(
      nb::module_::import_("numpy").attr("ascontiguousarray")(array, type));
}

[[noreturn]] void wrong_type(std::string const& name, nb::handle value, char const* expected) {
  throw nb::type_error(
      (name + " is of type " + nb::cast<std::string>(nb::str(value.type().attr("__name__"))) + ", expected " + expected)
          .c_str());
}

/// Converts to a NumPy array; TypeError if it is not numeric.
nb::object numeric_array(std::string const& name, nb::handle value, char const* expected) {
  nb::object array;
  try {
    array = nb::module_::import_("numpy").attr("asarray")(value);
  } catch (nb::python_error const& e) {  // e.g. rows of several lengths
    if (!e.matches(PyExc_ValueError) && !e.matches(PyExc_TypeError)) throw;
    wrong_type(name, value, expected);
  }
  if (nb::cast<std::string>(array.attr("dtype").attr("kind")).find_first_of("biuf") == std::string::npos)
    wrong_type(name, value, expected);
  if (nb::cast<std::string>(array.attr("dtype").attr("str")).ends_with("u8") &&
      nb::cast<std::size_t>(array.attr("size")) > 0 &&
      nb::cast<std::uint64_t>(array.attr("max")().attr("item")()) > INT64_MAX)
    throw nb::value_error((name + " has a whole number above 2^63 - 1, expected " + expected).c_str());
  return array;
}

template <class T, class Number> std::vector<T> list_of(nb::handle array, char const* type) {
  auto const numbers = numbers_as<Number>(array, type);
  std::vector<T> list;
  list.reserve(numbers.size());
  for (std::size_t k = 0; k < numbers.size(); ++k) list.push_back(static_cast<T>(numbers.data()[k]));
  return list;
}

mask_array mask_of(nb::handle array) {
  auto const numbers = numbers_as<double>(array, "float64");
  mask_array mask{{static_cast<index_t>(numbers.shape(0)), static_cast<index_t>(numbers.shape(1))}, {}};
  mask.values.reserve(numbers.size());
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    double const x = numbers.data()[k];
    mask.values.push_back(x == 0 ? 0 : x == 1 ? 1 : 2);  // the library refuses a 2 and names its position
  }
  return mask;
}

}  // namespace

parameter_value to_parameter(std::string const& name, nb::handle value, index_t per_view) {
  if (per_view > 1) return to_vectors<double>(name.c_str(), value, per_view);
  constexpr char const* expected = "a number, True or False, text, a list of numbers or a mask";
  if (nb::isinstance<nb::bool_>(value)) return nb::cast<bool>(value);
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  auto const array = numeric_array(name, value, expected);
  char const kind = nb::cast<std::string>(array.attr("dtype").attr("kind"))[0];
  switch (nb::cast<int>(array.attr("ndim"))) {
    case 0:
      if (kind == 'b') return nb::cast<bool>(array.attr("item")());
      if (kind == 'f') return nb::cast<double>(array.attr("item")());
      return nb::cast<index_t>(array.attr("item")());
    case 1:
      if (kind == 'b') break;
      if (kind == 'f') return list_of<double, double>(array, "float64");
      return list_of<index_t, std::int64_t>(array, "int64");
    case 2: return mask_of(array);
    default: break;
  }
  wrong_type(name, value, expected);
}

nb::object from_parameter(parameter_value const& value, index_t per_view) {
  if (per_view > 1) {
    auto const numbers = value.as<std::vector<double>>().value();
    nb::list vectors;
    for (auto at = numbers.begin(); numbers.end() - at >= per_view; at += per_view)
      vectors.append(to_tuple(std::vector(at, at + per_view)));
    return nb::tuple(vectors);
  }
  return std::visit([](auto const& v) -> nb::object {
    using V = std::decay_t<decltype(v)>;
    if constexpr (std::is_same_v<V, mask_array>) {
      nb::object array = nb::module_::import_("numpy").attr("empty")(nb::make_tuple(v.shape[0], v.shape[1]), "uint8");
      auto const to = nb::cast<nb::ndarray<std::uint8_t, nb::c_contig>>(array);
      std::copy(v.values.begin(), v.values.end(), to.data());
      return array;
    } else if constexpr (std::is_same_v<V, std::vector<index_t>> || std::is_same_v<V, std::vector<double>>) {
      return to_tuple(v);
    } else {
      return nb::cast(v);
    }
  }, value.value());
}

std::vector<float> to_floats(char const* name, nb::handle values) {
  auto const array = numeric_array(name, values, "a list or array of numbers");
  if (nb::cast<int>(array.attr("ndim")) != 1)
    throw nb::value_error((std::string(name) + " has " + std::to_string(nb::cast<int>(array.attr("ndim"))) +
                           " axes, expected one number per view")
                              .c_str());
  return list_of<float, double>(array, "float64");
}

template <class T> std::vector<T> to_vectors(char const* name, nb::handle values, index_t per_view) {
  auto const array = numeric_array(name, values, "an array of numbers (views, numbers per view)");
  nb::tuple const shape(array.attr("shape"));
  if (shape.size() != 2 || nb::cast<index_t>(shape[1]) != per_view)
    throw nb::value_error((std::string(name) + " has shape " + nb::cast<std::string>(nb::str(shape)) +
                           ", expected (views, " + std::to_string(per_view) + ")")
                              .c_str());
  return list_of<T, double>(array, "float64");
}
template std::vector<float> to_vectors(char const*, nb::handle, index_t);
template std::vector<double> to_vectors(char const*, nb::handle, index_t);

mask_setting to_mask(nb::handle value) {
  auto const setting = to_parameter("use_ror_mask", value).as<mask_setting>();
  if (!setting) wrong_type("use_ror_mask", value, "True, False or an array of 0 and 1 (rows, cols)");
  return *setting;
}

nb::tuple to_tuple(std::vector<index_t> const& values) {
  nb::list list;
  for (auto const x : values) list.append(x);
  return nb::tuple(list);
}
nb::tuple to_tuple(std::vector<double> const& values) {
  nb::list list;
  for (auto const x : values) list.append(x);
  return nb::tuple(list);
}

namespace {

nb::list to_list(std::vector<std::string> const& texts) {
  nb::list list;
  for (auto const& t : texts) list.append(t);
  return list;
}

}  // namespace

nb::dict to_dict(recon_log const& r) {
  nb::dict d;
  d["num_iterations"] = r.num_iterations;
  d["granularity"] = to_tuple(r.granularity);
  d["partition_sequence"] = to_tuple(r.partition_sequence);
  d["fm_rmse"] = to_tuple(r.fm_rmse);
  d["prior_loss"] = to_tuple(r.prior_loss);
  nb::dict sigmas;
  sigmas["sigma_y"] = r.sigma_y, sigmas["sigma_x"] = r.sigma_x, sigmas["sigma_prox"] = r.sigma_prox;
  d["regularization_params"] = sigmas;
  d["stop_threshold_change_pct"] = to_tuple(r.stop_threshold_change_pct);
  d["alpha_values"] = to_tuple(r.alpha_values);
  nb::list norms;
  for (auto const& one : r.delta_norm_per_slice) norms.append(to_tuple(one));
  d["delta_norm_per_slice"] = norms;
  d["warnings"] = to_list(r.warnings);
  d["cancelled"] = r.cancelled;
  return d;
}

nb::dict to_dict(denoise_record const& r) {
  nb::dict d;
  d["num_iterations"] = r.num_iterations;
  d["sigma_noise"] = r.sigma_noise;
  d["sigma_x"] = r.sigma_x;
  d["subsets"] = r.subsets;
  d["stop_threshold_change_pct"] = to_tuple(r.stop_threshold_change_pct);
  d["alpha_values"] = to_tuple(r.alpha_values);
  d["warnings"] = to_list(r.warnings);
  d["cancelled"] = r.cancelled;
  return d;
}

void warn(std::vector<std::string> const& texts) {
  for (auto const& text : texts)
    if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) != 0) throw nb::python_error();  // warnings are errors
}

}  // namespace mbirk::python
