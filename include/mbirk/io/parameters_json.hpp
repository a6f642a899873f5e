// Lossless conversion of model parameters to and from JSON. Requires nlohmann-json.
//
//   {"format": "mbirk parameters", "version": 1, "geometry": "cone", "parameters": {"sinogram_shape": [180, 64, 96],
//   "sharpness": 1.0, ...}}
//
// Names are those of list_parameters. Numbers, booleans, text and lists are represented directly; infinity is "inf"; a
// mask is {"shape": [2, 3], "rows": ["010", "111"]}. Omitted parameters have their default or are sized automatically.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "mbirk/core/error.hpp"
#include "mbirk/io/input_file.hpp"
#include "mbirk/io/json.hpp"
#include "mbirk/io/output_file.hpp"
#include "mbirk/recon/parameters.hpp"

namespace mbirk {

using any_parameter_set = geometries::variant_with<parameter_set, image_geometry>;

namespace detail {

inline constexpr std::string_view parameters_format = "mbirk parameters";

inline nlohmann::json parameter_json(parameter_value const& value) {
  return std::visit([](auto const& v) -> nlohmann::json {
    using V = std::decay_t<decltype(v)>;
    if constexpr (std::is_same_v<V, mask_array>) {
      auto rows = nlohmann::json::array();
      auto const cols = static_cast<std::size_t>(v.shape[1]);
      for (std::size_t i = 0; i < static_cast<std::size_t>(v.shape[0]); ++i) {
        std::string row;
        for (std::size_t j = 0; j < cols; ++j) row += v.values[i * cols + j] ? '1' : '0';
        rows.push_back(row);
      }
      return {{"shape", v.shape}, {"rows", rows}};
    } else {
      if constexpr (std::is_same_v<V, double>)
        if (std::isinf(v) && v > 0) return "inf";
      return v;
    }
  }, value.value());
}

/// Reads one document; error messages begin with its name.
class parameters_reader {
 public:
  using json = nlohmann::json;

  parameters_reader(std::string_view text, std::string name)
      : name_(std::move(name)), document_(parse_json(text, name_)) {
    if (!document_.is_object()) fail("holds " + brief(document_) + ", expected an object");
    for (auto const& [key, value] : document_.items())
      if (key != "format" && key != "version" && key != "geometry" && key != "parameters")
        fail('\'' + json_key(key) + "' is not known, expected format, version, geometry and parameters");
    if (member("format") != parameters_format)
      fail("format is " + brief(member("format")) + ", expected \"mbirk parameters\"");
    if (member("version") != 1) fail("version is " + brief(member("version")) + ", expected 1");
    if (!member("parameters").is_object())
      fail("parameters is " + brief(member("parameters")) + ", expected an object");
  }

  template <class Geometry> bool is() const { return member("geometry") == Geometry::name; }
  [[noreturn]] void wrong_geometry(std::string const& expected) const {
    fail("geometry is " + brief(member("geometry")) + ", expected " + expected);
  }

  template <class Geometry> parameter_set<Geometry> read() const {
    auto const& given = member("parameters");
    parameter_values<Geometry> values;
    each_row(values, [&](parameter_row const& row) {
      auto const& info = row.info;
      auto const it = given.find(info.name);
      if (it == given.end()) {
        if (info.required) fail("parameters." + std::string(info.name) + " is missing, expected " + info.expected);
        return;
      }
      auto const value = value_of(*it, info.name);
      if (!value || !row.assign(*value))
        fail("parameters." + std::string(info.name) + " is " + brief(*it) + ", expected " + info.expected);
    });
    // A sigma without the flag was set by hand.
    if (!given.contains("auto_regularize_flag") &&
        (given.contains("sigma_y") || given.contains("sigma_x") || given.contains("sigma_prox")))
      values.auto_regularize_flag = false;
    try {
      parameter_set<Geometry> set(std::move(values));
      for (auto const& [key, value] : given.items()) set.get(key);
      return set;
    } catch (parameter_error const& e) {
      fail("parameters: " + printable(e.what(), 400));
    }
  }

 private:
  [[noreturn]] void fail(std::string const& what, source_location w = source_location::current()) const {
    throw io_error(name_ + ": " + what, w);
  }
  json const& member(char const* key) const {
    auto const it = document_.find(key);
    if (it == document_.end())
      fail(std::string(key) + " is missing, expected format, version, geometry and parameters");
    return *it;
  }
  static std::string brief(json const& value) {
    return printable(value.dump(-1, ' ', true, json::error_handler_t::replace), 60);
  }
  /// Converts a JSON value; empty for values that no parameter can have.
  static std::optional<parameter_value> value_of(json const& v, std::string_view name) {
    auto const fits = [](json const& x) {
      return !x.is_number_unsigned() || x.get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX);
    };
    if (v.is_boolean()) return parameter_value(v.get<bool>());
    if (v.is_number_integer() && fits(v)) return parameter_value(v.get<index_t>());
    if (v.is_number_float()) return parameter_value(v.get<double>());
    if (v.is_string() && v == "inf" && name == "source_detector_dist")
      return parameter_value(std::numeric_limits<double>::infinity());
    if (v.is_string()) return parameter_value(v.get<std::string>());
    if (v.is_array()) {
      bool whole = true;
      for (auto const& x : v) {
        if (!x.is_number()) return {};
        whole = whole && x.is_number_integer() && fits(x);
      }
      return whole ? parameter_value(v.get<std::vector<index_t>>()) : parameter_value(v.get<std::vector<double>>());
    }
    if (v.is_object()) return mask_of(v);
    return {};
  }
  static std::optional<parameter_value> mask_of(json const& v) {
    if (v.size() != 2 || !v.contains("shape") || !v.contains("rows") || !v["rows"].is_array()) return {};
    auto const shape = value_of(v["shape"], {});
    auto const sizes = shape ? shape->as<std::vector<index_t>>() : std::nullopt;
    if (!sizes || sizes->size() != 2 || (*sizes)[0] != std::ssize(v["rows"]) || (*sizes)[1] < 0) return {};
    mask_array mask{{(*sizes)[0], (*sizes)[1]}, {}};
    for (auto const& row : v["rows"]) {
      if (!row.is_string() || std::ssize(row.get_ref<std::string const&>()) != mask.shape[1]) return {};
      for (char const c : row.get_ref<std::string const&>()) {
        if (c != '0' && c != '1') return {};
        mask.values.push_back(c == '1');
      }
    }
    return parameter_value(std::move(mask));
  }

  std::string name_;
  json document_;
};

}  // namespace detail

/// All parameters, one per line, in the order of the table. Warnings are not included.
/// @throws io_error when a text is not UTF-8, which JSON requires.
template <class Geometry> std::string parameters_to_json(parameter_set<Geometry> const& set) {
  std::string lines;
  for (auto const& info : list_parameters<Geometry>()) {
    try {
      lines += (lines.empty() ? "" : ",\n") + std::string("    \"") + info.name +
               "\": " + detail::parameter_json(set.get(info.name)).dump();
    } catch (nlohmann::json::exception const&) {
      throw io_error(std::string(info.name) + " is " + set.get(info.name).text() + ", expected UTF-8",
                     source_location::current());
    }
  }
  return "{\n  \"format\": \"" + std::string(detail::parameters_format) + "\",\n  \"version\": 1,\n  \"geometry\": \"" +
         Geometry::name + "\",\n  \"parameters\": {\n" + lines + "\n  }\n}\n";
}

/// Parses parameters strictly: every name must be a parameter, given once, with a value of its kind. Parameters are
/// checked individually; their combination is checked when a scan is constructed from them.
///
/// @param name  name of the text in error messages.
/// @throws io_error with one line: location, expected value, actual value.
template <class Geometry>
parameter_set<Geometry> parameters_from_json(std::string_view text, std::string const& name = "parameters") {
  detail::parameters_reader const reader(text, name);
  if (!reader.is<Geometry>()) reader.wrong_geometry('"' + std::string(Geometry::name) + '"');
  return reader.read<Geometry>();
}
/// Parses parameters of a geometry that is not known beforehand.
inline any_parameter_set any_parameters_from_json(std::string_view text, std::string const& name = "parameters") {
  detail::parameters_reader const reader(text, name);
  std::optional<any_parameter_set> found;
  geometries::each([&]<class Geometry>(std::type_identity<Geometry>) {
    if (reader.is<Geometry>()) found = reader.read<Geometry>();
  });
  if (found) return *found;
  if (!reader.is<image_geometry>()) reader.wrong_geometry(geometries::names_text({image_geometry::name}, "\""));
  return reader.read<image_geometry>();
}

/// Saves a model's parameters to a file; `model(load_parameters<cone_geometry>(path))` restores the model. @throws
/// io_error
template <class Geometry> void save_parameters(std::filesystem::path const& path, parameter_set<Geometry> const& set) {
  auto const text = parameters_to_json(set);
  output_file file(path);
  file.write(text);
  file.commit();
}
template <class Geometry> parameter_set<Geometry> load_parameters(std::filesystem::path const& path) {
  return parameters_from_json<Geometry>(detail::read_text(path, json_limits{}.bytes), path.string());
}
inline any_parameter_set load_any_parameters(std::filesystem::path const& path) {
  return any_parameters_from_json(detail::read_text(path, json_limits{}.bytes), path.string());
}

}  // namespace mbirk
