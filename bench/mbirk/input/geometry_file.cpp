// Reading of scans and reconstruction parameters as JSON.
#include "input/geometry_file.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "input/parameter_members.hpp"
#include "input/similar_name.hpp"
#include "input/view_import.hpp"
#include "mbirk/geometry/list.hpp"
#include "mbirk/io/npy.hpp"

namespace mbirk::program {
namespace {

namespace fs = std::filesystem;

/// Further members of a case. sigma_noise is for the denoiser; the others are ignored.
constexpr std::string_view case_parameters[] = {"b", "sigma_noise", "max_resolutions"};

/// Reads a file named by a field; errors in the file are prefixed with the field.
template <class Read> auto read_named(json_field const& field, fs::path const& folder, Read const& read) {
  auto const path = folder / field.text("the name of an npy file");
  try {
    return read(path);
  } catch (io_error const& e) {
    throw io_error(field.place() + ": " + e.what(), e.where);
  }
}

mask_setting read_mask(json_field const& field, fs::path const& folder, memory_budget const& memory) {
  if (field.value().is_boolean()) return field.boolean();
  if (!field.value().is_string()) field.wrong("true, false or the name of an npy file");
  return read_named(field, folder, [&](fs::path const& path) -> mask_setting {
    auto const header = read_npy_header(path);
    require<io_error>(header.shape.size() == 2, [&] {
      return path.string() + " has shape " + mbirk::detail::shape_text(header.shape) + ", expected (rows, cols)";
    });
    // Numbers as they are read, in two orders, and the mask.
    memory.require(9 * static_cast<double>(header.elements),
                   path.string() + ": a mask of shape " + mbirk::detail::shape_text(header.shape));
    auto const array = read_npy<std::int32_t>(path);
    mask_array mask{{array.shape[0], array.shape[1]}, {}};
    mask.values.reserve(array.data.size());
    for (auto const v : array.data) {
      require<io_error>(v == 0 || v == 1, [&] {
        return path.string() + " has the value " + std::to_string(v) + ", expected 0 and 1 only";
      });
      mask.values.push_back(static_cast<std::uint8_t>(v));
    }
    return mask;
  });
}

/// Reads vectors, one per view.
template <class T>
std::vector<T> read_vectors(json_field const& field, fs::path const& folder, index_t views, index_t per_view) {
  if (field.value().is_string()) return read_line_file<T>(field, folder, views, per_view);
  std::string const numbers = std::to_string(per_view) + " numbers";
  std::vector<T> list;
  auto const vectors = field.elements("an array of arrays of " + numbers + ", or the name of an npy file");
  require_one_per_view(field, std::ssize(vectors), views);
  for (auto const& vector : vectors) {
    auto const components = vector.elements("an array of " + numbers);
    if (std::ssize(components) != per_view) vector.wrong("an array of " + numbers);
    for (auto const& c : components) {
      if constexpr (std::same_as<T, float>) list.push_back(c.single());
      else list.push_back(c.number());
    }
  }
  return list;
}

/// Reads angles or shifts in any of their forms.
std::vector<float> read_line(json_field const& field, fs::path const& folder, index_t views) {
  std::string const forms = "an array of numbers, the name of an npy file, or {start, stop, num, endpoint}";
  std::vector<float> line;
  if (field.value().is_array()) {
    require_one_per_view(field, std::ssize(field.value()), views);
    for (auto const& e : field.elements()) line.push_back(e.single());
  } else if (field.value().is_string()) {
    line = read_line_file<float>(field, folder, views, 1);
  } else if (field.value().is_object()) {
    for (auto const& [key, value] : field.members())
      require<io_error>(key == "start" || key == "stop" || key == "num" || key == "endpoint",
                        [&] { return value.place() + " is not known, expected one of start, stop, num, endpoint"; });
    double const start = field.at("start", "a number").number(), stop = field.at("stop", "a number").number();
    auto const count = field.at("num", "a whole number");
    index_t const n = count.integer();
    if (n < 0 || n > (index_t{1} << 30)) count.wrong("a whole number from 0 to 2^30");
    require_one_per_view(field, n, views);
    bool const endpoint = field.has("endpoint") && field.at("endpoint", "").boolean();
    double const steps = static_cast<double>(endpoint ? std::max<index_t>(n - 1, 1) : n);
    for (index_t v = 0; v < n; ++v)
      line.push_back(static_cast<float>(start + (stop - start) * static_cast<double>(v) / steps));
  } else {
    field.wrong(forms);
  }
  return line;
}

/// Reads a list of integers, each at least `least`.
std::vector<index_t> read_integers(json_field const& field, index_t least) {
  std::vector<index_t> all;
  for (auto const& e : field.elements("an array of numbers")) {
    auto const x = e.integer();
    if (x < least || x > (index_t{1} << 30)) e.wrong("a whole number of at least " + std::to_string(least));
    all.push_back(x);
  }
  return all;
}

// Reads the value of a parameter as the type of its member. Admissible values are checked where they are used, except
// for what a rule says about infinity and the entries of lists.

void read_value(json_field const& field, auto const& rule, double& to) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  bool const may_be_infinite = rule.test(infinity);
  to = may_be_infinite && field.value() == "inf" ? infinity
                                                 : field.number(may_be_infinite ? "a number or \"inf\"" : "a number");
}
void read_value(json_field const& field, auto const& rule, std::optional<double>& to) {
  read_value(field, rule, to.emplace());
}
void read_value(json_field const& field, auto const&, bool& to) { to = field.boolean(); }
void read_value(json_field const& field, auto const& rule, std::vector<index_t>& to) {
  to = read_integers(field, rule.test({0}) ? 0 : 1);
}
void read_value(json_field const& field, auto const&, std::vector<double>& to) {
  to.clear();
  if (field.value().is_array())
    for (auto const& e : field.elements()) to.push_back(e.number());
  else to.push_back(field.number("a number or an array of two"));
}
void read_value(json_field const& field, auto const&, std::array<double, 3>& to) {
  auto const weights = field.elements();
  if (weights.size() != 3) field.wrong("three numbers: row, column, slice");
  for (std::size_t k = 0; k < 3; ++k) to[k] = weights[k].number();
}

/// Reads the parameters of one kind that `params` has; not labels, which may have any value.
template <class Geometry>
void read_parameters(json_field const& params, fs::path const& folder, parameter_kind kind,
                     parameter_values<Geometry>& values, memory_budget const& memory = {}) {
  each_member<Geometry>(values, [&]<class Member>(parameter_info const& info, auto const& rule, Member& member) {
    if (kind_of(info) != kind || !params.has(info.name)) return;
    auto const field = params.at(info.name, "");
    if constexpr (std::same_as<Member, mask_setting>) member = read_mask(field, folder, memory);
    else if constexpr (requires { read_value(field, rule, member); }) read_value(field, rule, member);
  });
}

}  // namespace

void check_parameters(json_field const& params, std::string const& geometry, known_parameters allowed) {
  std::vector<std::string> known;
  // Without a scan there remain the parameters that reconstruction has in any geometry.
  bool const has_scan = geometries::with_name(geometry, [&]<class Geometry>(std::type_identity<Geometry>) {
    parameter_values<Geometry> const values;
    each_member<Geometry>(values, [&](parameter_info const& info, auto&&...) { known.push_back(info.name); });
  });
  if (!has_scan) {
    parameter_values<parallel_geometry> const values;
    each_member<parallel_geometry>(values, [&](parameter_info const& info, auto&&...) {
      if (kind_of(info) != parameter_kind::of_the_scan) known.push_back(info.name);
    });
  }
  if (allowed == known_parameters::of_a_case)
    known.insert(known.end(), std::begin(case_parameters), std::end(case_parameters));
  for (auto const& [key, field] : params.members())
    require<io_error>(std::ranges::find(known, key) != known.end(), [&] {
      return field.place() + " is not a parameter of geometry " + geometry + ", expected " + one_of(key, known);
    });
}

std::array<index_t, 3> read_shape(json_field const& field) {
  std::string const expected = "three whole numbers >= 0";
  auto const sizes = field.elements(expected);
  if (sizes.size() != 3) field.wrong(expected);
  std::array<index_t, 3> shape{};
  for (std::size_t d = 0; d < 3; ++d)
    if (shape[d] = sizes[d].integer(); shape[d] < 0) field.wrong(expected);
  return shape;
}

void require_one_per_view(json_field const& field, index_t values, index_t views) {
  require<shape_error>(views < 0 || values == views, [&] {
    return field.place() + " has " + std::to_string(values) + " values, expected one per view = " +
           std::to_string(views);
  });
}

template <class T>
std::vector<T> read_line_file(json_field const& field, fs::path const& folder, index_t views, index_t per_view) {
  return read_named(field, folder, [&](fs::path const& path) {
    auto const header = read_npy_header(path);
    auto const& shape = header.shape;
    bool const fits = per_view == 1 ? shape.size() == 1 : shape.size() == 2 && shape[1] == per_view;
    require<io_error>(fits, [&] {
      return path.string() + " has shape " + mbirk::detail::shape_text(header.shape) + ", expected (views" +
             (per_view == 1 ? ")" : ", " + std::to_string(per_view) + ")");
    });
    require_one_per_view(field, header.shape[0], views);
    auto array = read_npy<T>(path);
    require_finite(array, path);
    return std::move(array.data);
  });
}
template std::vector<float> read_line_file(json_field const&, fs::path const&, index_t, index_t);
template std::vector<double> read_line_file(json_field const&, fs::path const&, index_t, index_t);

denoise_options read_denoiser_parameters(json_field const& params) {
  parameter_values<image_geometry> values;
  read_parameters(params, {}, parameter_kind::of_a_reconstruction, values);
  if (values.options.granularity.size() != 1)
    params.at("granularity", "").wrong("one number of subsets, because the denoiser has one partition");
  values.options.partition_sequence = {0};
  denoise_options o{{}, denoise_model(values.options)};
  if (bool const automatic = params.has("auto_regularize_flag") && values.auto_regularize_flag; !automatic) {
    if (params.has("sigma_x")) o.sigma_x = values.sigma_x;
    if (params.has("sigma_noise")) o.sigma_noise = params.at("sigma_noise", "").number();
  }
  return o;
}

recon_model_options read_model_parameters(json_field const& params, std::string const& geometry) {
  parameter_values<cone_geometry> values;  // has all parameters of reconstruction
  geometries::with_name(geometry, [&]<class Geometry>(std::type_identity<Geometry>) {
    values.options = parameter_values<Geometry>::default_options();
  });
  read_parameters(params, {}, parameter_kind::of_a_reconstruction, values);
  bool const flag_given = params.has("auto_regularize_flag");
  recon_model_options o = values.options;
  each_optional(o, values, [&](std::string const& name, auto& option, auto const& value) {
    bool const given = params.has(name), is_sigma = name.starts_with("sigma");
    // With the flag, a given sigma was found for other data; without it, a missing one has MBIRJAX's stored default.
    if (flag_given && is_sigma ? !values.auto_regularize_flag : given) option = value;
  });
  return o;
}

template <class Geometry>
void read_scan_parameters(json_field const& params, fs::path const& folder, typename Geometry::parameters& p,
                          memory_budget const& memory) {
  parameter_values<Geometry> values{.scan = std::move(p)};
  read_parameters(params, folder, parameter_kind::of_the_scan, values, memory);
  p = std::move(values.scan);
  if constexpr (requires { p.source_detector_dist; }) {
    params.at("source_detector_dist", "a number or \"inf\"");
    if (std::isfinite(p.source_detector_dist)) params.at("source_iso_dist", "a number");
  }
}

std::vector<std::string> view_lists() {
  std::vector<std::string> all;
  geometries::each([&]<class Geometry>(std::type_identity<Geometry>) {
    for (auto const& name : view_lists_of<Geometry>())
      if (std::ranges::find(all, name) == all.end()) all.push_back(name);
  });
  return all;
}

template <class Geometry>
void read_view_lists(json_field const& root, view_list_reader const& read, char const* missing,
                      typename Geometry::parameters& p) {
  auto const mine = view_lists_of<Geometry>();
  for (auto const& name : view_lists()) {
    if (!root.has(name) || std::ranges::find(mine, name) != mine.end()) continue;
    std::string owners;
    geometries::each([&]<class Other>(std::type_identity<Other>) {
      if (auto const names = view_lists_of<Other>(); std::ranges::find(names, name) != names.end())
        owners += (owners.empty() ? "" : " or ") + std::string(Other::name);
    });
    throw io_error(root.at(name, "").place() + " is given, expected only with geometry " + owners,
                   source_location::current());
  }
  parameter_values<Geometry> values{.scan = std::move(p)};
  each_view_list<Geometry>(values, [&](parameter_info const& info, auto& list) {
    std::string const name = info.name;
    if (root.has(name) || (info.required && list.empty()))
      read.into(list, root.at(name, name == "angles" ? missing : info.doc), info.per_view);
  });
  p = std::move(values.scan);
}

#define MBIRK_READERS(Parameters, Geometry)                                                                  \
  template void read_scan_parameters<Geometry>(json_field const&, fs::path const&, Parameters<Geometry>&,    \
                                               memory_budget const&);                                        \
  template void read_view_lists<Geometry>(json_field const&, view_list_reader const&, char const*,           \
                                          Parameters<Geometry>&);
MBIRK_EACH_GEOMETRY(MBIRK_READERS, parameters_of)
#undef MBIRK_READERS

std::vector<fs::path> files_of_scan(json_field const& root, fs::path const& folder) {
  std::vector<fs::path> files;
  auto const add = [&](json_field const& from, std::string const& name) {
    if (from.has(name) && from.at(name, "").value().is_string()) files.push_back(folder / from.at(name, "").text());
  };
  for (auto const& name : view_lists()) {
    add(root, name);
    if (root.has(name) && root.at(name, "").value().is_object())
      for (auto& file : files_of_imported_views(root.at(name, ""), folder)) files.push_back(std::move(file));
  }
  if (root.has("params")) add(root.at("params", ""), "use_ror_mask");
  return files;
}

geometry_file read_geometry(fs::path const& path, std::array<index_t, 3> const& sinogram_shape,
                            std::vector<float> const& theta, memory_budget const& memory,
                            std::function<void(std::array<index_t, 3> const&)> const& check_shape) {
  return read_geometry(read_json(path), path.string(), path.parent_path(), sinogram_shape, theta, memory, check_shape);
}

geometry_file read_geometry(json const& document, std::string const& file, fs::path const& folder,
                            std::array<index_t, 3> const& sinogram_shape, std::vector<float> const& theta,
                            memory_budget const& memory,
                            std::function<void(std::array<index_t, 3> const&)> const& check_shape) {
  json const no_params = json::object();
  json_field const root(document, file);
  for (auto const& [key, field] : root.members()) {
    auto known = view_lists();
    known.insert(known.begin(), "geometry");
    known.insert(known.end(), std::begin(shape_fields), std::end(shape_fields));
    known.emplace_back("params");
    require<io_error>(std::ranges::find(known, key) != known.end(),
                      [&] { return field.place() + " is not known, expected " + one_of(key, known); });
  }
  auto const geometry_field = root.at("geometry", geometries::names_text());
  auto const geometry = geometry_field.text(geometries::names_text());
  if (!geometries::with_name(geometry, [](auto) {})) geometry_field.wrong(geometries::names_text());
  auto const params = root.has("params") ? root.at("params", "") : json_field(no_params, file, "params");
  check_parameters(params, geometry, known_parameters::of_a_reconstruction);
  if (root.has("sinogram_shape")) {
    auto const field = root.at("sinogram_shape", "");
    if (read_shape(field) != sinogram_shape)
      field.wrong("that of the data, " + mbirk::detail::shape_text(sinogram_shape));
  }
  std::optional<geometry_file> made;
  geometries::with_name(geometry, [&]<class Geometry>(std::type_identity<Geometry>) {
    typename Geometry::parameters p;
    p.sinogram_shape = sinogram_shape;
    if constexpr (requires { p.angles; }) p.angles = theta;
    std::optional<bool> imported_rays;
    read_view_lists<Geometry>(
        root,
        view_list_reader([&]<class T>(json_field const& field, index_t per_view, std::vector<T>& list) {
          if constexpr (std::same_as<T, float>) {
            if (per_view == 1) return void(list = read_line(field, folder, sinogram_shape[0]));
          } else if (field.value().is_object()) {
            auto const views = read_imported_views(field, folder, sinogram_shape);
            imported_rays = views.parallel_rays;
            return void(list = views.view_vectors);
          }
          list = read_vectors<T>(field, folder, sinogram_shape[0], per_view);
        }),
        "angles in radians, because the data have none", p);
    if (root.has("recon_shape")) p.recon_shape = read_shape(root.at("recon_shape", ""));
    read_scan_parameters<Geometry>(params, folder, p, memory);
    if constexpr (requires { p.parallel_rays; })
      if (imported_rays) {
        if (params.has("parallel_rays") && p.parallel_rays != *imported_rays)
          params.at("parallel_rays", "").wrong((*imported_rays ? "true" : "false") +
                                               std::string(", as in view_vectors"));
        p.parallel_rays = *imported_rays;
      }
    try {
      auto const scan = make_scan<Geometry>(p, file, memory, check_shape);
      made = geometry_file{p, scan, read_model_parameters(params, geometry), true, {}};
      for (auto const& w : scan.warnings()) made->warnings.push_back(file + ": " + w);
    } catch (parameter_error const& e) {
      throw parameter_error(file + ": " + e.what(), e.where);
    }
  });
  geometry_file& g = *made;
  if (params.has("use_ror_mask")) {
    auto const field = params.at("use_ror_mask", "");
    g.mask = field.value().is_string() ? json(fs::absolute(folder / field.text()).string()) : field.value();
  }
  g.files = files_of_scan(root, folder);
  return std::move(g);
}

}  // namespace mbirk::program
