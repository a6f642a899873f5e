// Reading and writing of scans and reconstruction parameters as JSON.
#include "input/geometry_file.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <type_traits>

#include "mbirk/io/npy.hpp"

namespace mbirk::program {
namespace {

namespace fs = std::filesystem;

/// A parameter of MBIRJAX with the kind of its value.
struct parameter { std::string_view name, kind; };

constexpr std::string_view number = "a number", flag = "true or false", numbers = "an array of numbers", any = "";
constexpr parameter common_parameters[] = {{"delta_det_channel", number},  {"delta_det_row", number},
                                           {"det_channel_offset", number}, {"det_row_offset", number},
                                           {"delta_voxel", number},        {"voxel_row_aspect", number},
                                           {"voxel_slice_aspect", number}, {"use_ror_mask", any}};
constexpr parameter cone_only_parameters[] = {{"source_detector_dist", any}, {"source_iso_dist", number},
                                              {"use_curved_detector", flag}, {"recon_slice_offset", number},
                                              {"axial_pad_fraction", any},   {"slice_damping", flag}};
// Parameters of a reconstruction. verbose and the unit of length do not change results.
constexpr parameter reconstruction_parameters[] = {
    {"p", number},           {"q", number},           {"T", number},       {"qggmrf_nbr_wts", numbers},
    {"sharpness", number},   {"snr_db", number},      {"sigma_y", number}, {"sigma_x", number},
    {"sigma_prox", number},  {"auto_regularize_flag", flag}, {"positivity_flag", flag}, {"max_alpha", number},
    {"granularity", numbers}, {"partition_sequence", numbers}, {"verbose", any}, {"alu_unit", any}, {"alu_value", any}};
// Further members of a case. sigma_noise is for the denoiser; the others are ignored.
constexpr parameter case_parameters[] = {{"b", any}, {"sigma_noise", number}, {"max_resolutions", any}};

std::string list(std::vector<std::string> const& words) {
  std::string s;
  for (auto const& w : words) s += (s.empty() ? "" : ", ") + w;
  return s;
}

void check_kind(json_field const& field, std::string_view kind) {
  if (kind == number) field.number();
  else if (kind == flag) field.boolean();
  else if (kind == numbers)
    for (auto const& e : field.elements("an array of numbers")) e.number();
}

/// Reads a file named by a field; errors in the file are prefixed with the field.
template <class Read> auto read_named(json_field const& field, fs::path const& folder, Read const& read) {
  auto const path = folder / field.text("the name of an npy file");
  try {
    return read(path);
  } catch (io_error const& e) {
    throw io_error(field.place() + ": " + e.what(), e.where);
  }
}

mask_setting read_mask(json_field const& field, fs::path const& folder) {
  if (field.value().is_boolean()) return field.boolean();
  if (!field.value().is_string()) field.wrong("true, false or the name of an npy file");
  return read_named(field, folder, [](fs::path const& path) -> mask_setting {
    auto const array = read_npy<std::int32_t>(path);
    require<io_error>(array.shape.size() == 2, [&] {
      return path.string() + " has shape " + mbirk::detail::shape_text(array.shape) + ", expected (rows, cols)";
    });
    mask_array mask{{array.shape[0], array.shape[1]}, {}};
    for (auto const v : array.data) {
      require<io_error>(v == 0 || v == 1, [&] {
        return path.string() + " has the value " + std::to_string(v) + ", expected 0 and 1 only";
      });
      mask.values.push_back(static_cast<std::uint8_t>(v));
    }
    return mask;
  });
}

double read_distance(json_field const& field) {
  if (field.value() == "inf") return std::numeric_limits<double>::infinity();
  return field.number("a number or \"inf\"");
}

/// Visits the pairs (name, member) of a geometry's parameters, for both reading and writing.
void each_number(auto& p, auto const& visit) {
  visit("delta_det_channel", p.delta_det_channel);
  visit("delta_det_row", p.delta_det_row);
  visit("det_channel_offset", p.det_channel_offset);
  visit("det_row_offset", p.det_row_offset);
  visit("delta_voxel", p.delta_voxel);
  visit("voxel_row_aspect", p.voxel_row_aspect);
  visit("voxel_slice_aspect", p.voxel_slice_aspect);
  if constexpr (requires { p.source_iso_dist; }) {
    visit("source_iso_dist", p.source_iso_dist);
    visit("recon_slice_offset", p.recon_slice_offset);
  }
}

/// Visits the pairs (name, member) of a reconstruction's numbers.
void each_model_number(auto& o, auto const& visit) {
  visit("sigma_y", o.sigma_y);
  visit("sigma_x", o.sigma_x);
  visit("sigma_prox", o.sigma_prox);
  visit("snr_db", o.snr_db);
  visit("sharpness", o.sharpness);
  visit("p", o.p);
  visit("q", o.q);
  visit("T", o.T);
  visit("max_alpha", o.max_alpha);
}

/// Reads angles or shifts in any of their forms.
std::vector<float> read_line(json_field const& field, fs::path const& folder) {
  std::string const forms = "an array of numbers, the name of an npy file, or {start, stop, num, endpoint}";
  std::vector<float> line;
  if (field.value().is_array()) {
    for (auto const& e : field.elements()) line.push_back(static_cast<float>(e.number()));
  } else if (field.value().is_string()) {
    line = read_line_file(field, folder);
  } else if (field.value().is_object()) {
    for (auto const& [key, value] : field.members())
      require<io_error>(key == "start" || key == "stop" || key == "num" || key == "endpoint",
                        [&] { return value.place() + " is not known, expected one of start, stop, num, endpoint"; });
    double const start = field.at("start", "a number").number(), stop = field.at("stop", "a number").number();
    auto const count = field.at("num", "a whole number");
    index_t const n = count.integer();
    if (n < 0 || n > (index_t{1} << 30)) count.wrong("a whole number from 0 to 2^30");
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

void read_neighbour_weights(json_field const& params, std::array<double, 3>& to) {
  if (!params.has("qggmrf_nbr_wts")) return;
  auto const field = params.at("qggmrf_nbr_wts", "");
  auto const weights = field.elements();
  if (weights.size() != 3) field.wrong("three numbers: row, column, slice");
  for (std::size_t k = 0; k < 3; ++k) to[k] = weights[k].number();
}
template <class T> void read_number(json_field const& params, char const* name, T& to) {
  if (params.has(name)) to = params.at(name, "").number();
}

template <class Parameters> void read_common(json_field const& params, fs::path const& folder, Parameters& p) {
  each_number(p, [&](char const* name, auto& value) { read_number(params, name, value); });
  if (params.has("use_ror_mask")) p.use_ror_mask = read_mask(params.at("use_ror_mask", ""), folder);
}

}  // namespace

void check_parameters(json_field const& params, std::string const& geometry, known_parameters allowed) {
  std::vector<parameter> known;
  if (geometry != "none") known.assign(std::begin(common_parameters), std::end(common_parameters));
  if (geometry == "cone") known.insert(known.end(), std::begin(cone_only_parameters), std::end(cone_only_parameters));
  known.insert(known.end(), std::begin(reconstruction_parameters), std::end(reconstruction_parameters));
  if (allowed == known_parameters::of_a_case)
    known.insert(known.end(), std::begin(case_parameters), std::end(case_parameters));
  for (auto const& [key, field] : params.members()) {
    auto const it = std::find_if(known.begin(), known.end(), [&](auto const& p) { return p.name == key; });
    if (it == known.end()) {
      std::vector<std::string> names;
      for (auto const& p : known) names.emplace_back(p.name);
      throw io_error(field.place() + " is not a parameter of geometry " + geometry + ", expected one of " + list(names),
                     source_location::current());
    }
    check_kind(field, it->kind);
  }
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

std::vector<float> read_line_file(json_field const& field, fs::path const& folder) {
  return read_named(field, folder, [](fs::path const& path) {
    auto array = read_npy<float>(path);
    require<io_error>(array.shape.size() == 1, [&] {
      return path.string() + " has shape " + mbirk::detail::shape_text(array.shape) + ", expected (views)";
    });
    require_finite(array, path);
    return std::move(array.data);
  });
}

denoise_options read_denoiser_parameters(json_field const& params) {
  denoise_options o;
  read_number(params, "sharpness", o.sharpness);
  read_number(params, "p", o.p);
  read_number(params, "q", o.q);
  read_number(params, "T", o.T);
  read_neighbour_weights(params, o.qggmrf_nbr_wts);
  if (params.has("granularity")) {
    auto const field = params.at("granularity", "");
    auto const all = read_integers(field, 1);
    if (all.size() != 1) field.wrong("one number of subsets, because the denoiser has one partition");
    o.granularity = all[0];
  }
  bool const automatic = params.has("auto_regularize_flag") && params.at("auto_regularize_flag", "").boolean();
  if (!automatic) {
    read_number(params, "sigma_x", o.sigma_x);
    read_number(params, "sigma_noise", o.sigma_noise);
  }
  return o;
}

recon_model_options read_model_parameters(json_field const& params) {
  recon_model_options o;
  each_model_number(o, [&](char const* name, auto& value) { read_number(params, name, value); });
  if (params.has("slice_damping")) o.slice_damping = params.at("slice_damping", "").boolean();
  if (params.has("positivity_flag")) o.positivity_flag = params.at("positivity_flag", "").boolean();
  if (params.has("granularity")) o.granularity = read_integers(params.at("granularity", ""), 1);
  if (params.has("partition_sequence")) o.partition_sequence = read_integers(params.at("partition_sequence", ""), 0);
  read_neighbour_weights(params, o.qggmrf_nbr_wts);
  if (params.has("auto_regularize_flag")) {
    auto const field = params.at("auto_regularize_flag", "");
    if (field.boolean()) o.sigma_y = o.sigma_x = o.sigma_prox = {};  // the given values were found for other data
    else {
      // MBIRJAX's stored defaults
      o.sigma_y = o.sigma_y.value_or(1);
      o.sigma_x = o.sigma_x.value_or(1);
      o.sigma_prox = o.sigma_prox.value_or(1);
    }
  }
  return o;
}

void read_scan_parameters(json_field const& params, fs::path const& folder, parallel_parameters& p) {
  read_common(params, folder, p);
}

void read_scan_parameters(json_field const& params, fs::path const& folder, cone_parameters& p) {
  read_common(params, folder, p);
  p.source_detector_dist = read_distance(params.at("source_detector_dist", "a number or \"inf\""));
  if (std::isfinite(p.source_detector_dist)) params.at("source_iso_dist", "a number");
  if (params.has("use_curved_detector")) p.use_curved_detector = params.at("use_curved_detector", "").boolean();
  if (params.has("axial_pad_fraction")) {
    auto const field = params.at("axial_pad_fraction", "");
    p.axial_pad_fraction.clear();
    if (field.value().is_array())
      for (auto const& e : field.elements()) p.axial_pad_fraction.push_back(e.number());
    else p.axial_pad_fraction.push_back(field.number("a number or an array of two"));
  }
}

geometry_file read_geometry(fs::path const& path, std::array<index_t, 3> const& sinogram_shape,
                            std::vector<float> const& theta) {
  json const document = read_json(path), no_params = json::object();
  std::string const file = path.string();
  auto const folder = path.parent_path();
  json_field const root(document, file);
  for (auto const& [key, field] : root.members()) {
    std::vector<std::string> const known{"geometry",       "angles",      "helical_z_shifts",
                                         "sinogram_shape", "recon_shape", "params"};
    require<io_error>(std::find(known.begin(), known.end(), key) != known.end(),
                      [&] { return field.place() + " is not known, expected one of " + list(known); });
  }
  auto const geometry_field = root.at("geometry", "parallel or cone");
  auto const geometry = geometry_field.text("parallel or cone");
  if (geometry != "parallel" && geometry != "cone") geometry_field.wrong("parallel or cone");
  auto const params = root.has("params") ? root.at("params", "") : json_field(no_params, file, "params");
  check_parameters(params, geometry, known_parameters::of_a_reconstruction);
  if (root.has("sinogram_shape")) {
    auto const field = root.at("sinogram_shape", "");
    if (read_shape(field) != sinogram_shape)
      field.wrong("that of the data, " + mbirk::detail::shape_text(sinogram_shape));
  }
  require<io_error>(geometry == "cone" || !root.has("helical_z_shifts"), [&] {
    return root.at("helical_z_shifts", "").place() + " is given, expected only with geometry cone";
  });

  auto const make = [&]<class Scan>(std::in_place_type_t<Scan>) {
    typename Scan::parameters p;
    p.sinogram_shape = sinogram_shape;
    if (root.has("angles") || theta.empty())
      p.angles = read_line(root.at("angles", "angles in radians, because the data have none"), folder);
    else p.angles = theta;
    if constexpr (requires { p.helical_z_shifts; })
      if (root.has("helical_z_shifts")) p.helical_z_shifts = read_line(root.at("helical_z_shifts", ""), folder);
    if (root.has("recon_shape")) p.recon_shape = read_shape(root.at("recon_shape", ""));
    read_scan_parameters(params, folder, p);
    try {
      Scan scan(p);
      geometry_file g{p, scan, read_model_parameters(params), true, {}};
      for (auto const& w : scan.warnings()) g.warnings.push_back(file + ": " + w);
      return g;
    } catch (parameter_error const& e) {
      throw parameter_error(file + ": " + e.what(), e.where);
    }
  };
  auto g = geometry == "cone" ? make(std::in_place_type<cone_scan>) : make(std::in_place_type<parallel_scan>);
  if (params.has("use_ror_mask")) {
    auto const field = params.at("use_ror_mask", "");
    g.mask = field.value().is_string() ? json(fs::absolute(folder / field.text()).string()) : field.value();
  }
  return g;
}

json geometry_json(geometry_file const& g) {
  json params = json::object(), root;
  auto const put = [&](char const* name, auto const& value) {
    if constexpr (requires { value.has_value(); }) {
      if (value) params[name] = *value;
    } else {
      params[name] = value;
    }
  };
  std::visit([&]<class Scan>(Scan const& scan) {
    auto const& geometry = scan.geometry();
    auto p = std::get<typename Scan::parameters>(g.parameters);
    p.delta_voxel = geometry.delta_x;
    root["geometry"] = geometry.name;
    if constexpr (std::is_same_v<Scan, cone_scan>) {
      p.recon_slice_offset = geometry.recon_slice_offset;
      params["source_detector_dist"] = std::isinf(p.source_detector_dist) ? json("inf") : json(p.source_detector_dist);
      params["use_curved_detector"] = p.use_curved_detector;
      params["axial_pad_fraction"] = p.axial_pad_fraction;
      if (!p.helical_z_shifts.empty()) root["helical_z_shifts"] = p.helical_z_shifts;
    }
    each_number(p, put);
    root["angles"] = p.angles;
    root["sinogram_shape"] = scan.sinogram_shape();
    root["recon_shape"] = scan.recon_shape();
  }, g.scan);
  params["use_ror_mask"] = g.mask;
  each_model_number(g.model, put);
  params["qggmrf_nbr_wts"] = g.model.qggmrf_nbr_wts;
  params["positivity_flag"] = g.model.positivity_flag;
  put("slice_damping", g.model.slice_damping);
  params["granularity"] = g.model.granularity;
  params["partition_sequence"] = g.model.partition_sequence;
  root["params"] = std::move(params);
  return root;
}

}  // namespace mbirk::program
