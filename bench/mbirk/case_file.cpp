// Reading case.json: the scan, the entries.
#include "case_file.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>
#include <type_traits>

namespace mbirk::program {
namespace {

namespace fs = std::filesystem;

/// A parameter of MBIRJAX, and the kind of value it takes.
struct parameter { std::string_view name, kind; };

constexpr std::string_view number = "a number", flag = "true or false", numbers = "an array of numbers", any = "";
constexpr parameter common_parameters[] = {
    {"delta_det_channel", number}, {"delta_det_row", number},    {"det_channel_offset", number}, {"det_row_offset", number},
    {"delta_voxel", number},       {"voxel_row_aspect", number}, {"voxel_slice_aspect", number}, {"use_ror_mask", any}};
constexpr parameter cone_only_parameters[] = {
    {"source_detector_dist", any}, {"source_iso_dist", number}, {"use_curved_detector", flag}, {"recon_slice_offset", number},
    {"axial_pad_fraction", any}};
// What reconstruction takes; a case for the projectors may hold them.
constexpr parameter reconstruction_parameters[] = {
    {"p", number},           {"q", number},          {"T", number},           {"b", any},
    {"sharpness", number},   {"snr_db", number},     {"max_alpha", number},   {"positivity_flag", flag},
    {"sigma_y", number},     {"sigma_x", number},    {"sigma_prox", number},  {"sigma_noise", number},
    {"verbose", any},        {"granularity", numbers}, {"partition_sequence", numbers}, {"qggmrf_nbr_wts", numbers},
    {"max_resolutions", any}, {"auto_regularize_flag", flag}, {"alu_unit", any}, {"alu_value", any}};

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

/// Every member must be a parameter of this geometry, with a value of its kind.
void check_parameters(json_field const& params, std::string const& geometry) {
  std::vector<parameter> known(std::begin(common_parameters), std::end(common_parameters));
  if (geometry == "cone") known.insert(known.end(), std::begin(cone_only_parameters), std::end(cone_only_parameters));
  known.insert(known.end(), std::begin(reconstruction_parameters), std::end(reconstruction_parameters));
  for (auto const& [key, field] : params.members()) {
    auto const it = std::find_if(known.begin(), known.end(), [&](auto const& p) { return p.name == key; });
    if (it == known.end()) {
      std::vector<std::string> names;
      for (auto const& p : known) names.emplace_back(p.name);
      throw io_error(field.place() + " is not a parameter of geometry " + geometry + ", expected one of " + list(names), site::current());
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

/// Reads a file that a field names; what is wrong with the file begins with the field.
template <class Read> auto read_named(json_field const& field, fs::path const& folder, Read const& read) {
  auto const path = folder / field.text("the name of an npy file");
  try {
    return read(path);
  } catch (io_error const& e) {
    throw io_error(field.place() + ": " + e.what(), e.where);
  }
}

std::vector<float> read_line(json_field const& field, fs::path const& folder) {
  return read_named(field, folder, [](fs::path const& path) {
    auto array = read_npy<float>(path);
    require<io_error>(array.shape.size() == 1, [&] {
      return path.string() + " has shape " + mbirk::detail::shape_text(array.shape) + ", expected (views)";
    });
    require_finite(array, path);
    return std::move(array.data);
  });
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
      require<io_error>(v == 0 || v == 1, [&] { return path.string() + " has the value " + std::to_string(v) + ", expected 0 and 1 only"; });
      mask.values.push_back(static_cast<std::uint8_t>(v));
    }
    return mask;
  });
}

double read_distance(json_field const& field) {
  if (field.value() == "inf") return std::numeric_limits<double>::infinity();
  return field.number("a number or \"inf\"");
}

template <class Parameters> Parameters read_scan(json_field const& root, json_field const& params, fs::path const& folder) {
  Parameters p;
  auto const set = [&](char const* name, auto& value) {
    if (params.has(name)) value = params.at(name, "").number();
  };
  p.sinogram_shape = read_shape(root.at("sinogram_shape", "[views, rows, channels]"));
  p.angles = read_line(root.at("angles", "the name of an npy file"), folder);
  if (root.has("recon_shape")) p.recon_shape = read_shape(root.at("recon_shape", ""));
  set("delta_det_channel", p.delta_det_channel);
  set("delta_det_row", p.delta_det_row);
  set("det_channel_offset", p.det_channel_offset);
  set("det_row_offset", p.det_row_offset);
  set("delta_voxel", p.delta_voxel);
  set("voxel_row_aspect", p.voxel_row_aspect);
  set("voxel_slice_aspect", p.voxel_slice_aspect);
  if (params.has("use_ror_mask")) p.use_ror_mask = read_mask(params.at("use_ror_mask", ""), folder);
  if constexpr (std::is_same_v<Parameters, cone_parameters>) {
    p.source_detector_dist = read_distance(params.at("source_detector_dist", "a number or \"inf\""));
    if (std::isfinite(p.source_detector_dist)) params.at("source_iso_dist", "a number");
    set("source_iso_dist", p.source_iso_dist);
    set("recon_slice_offset", p.recon_slice_offset);
    if (params.has("use_curved_detector")) p.use_curved_detector = params.at("use_curved_detector", "").boolean();
    if (root.has("helical_z_shifts")) p.helical_z_shifts = read_line(root.at("helical_z_shifts", ""), folder);
    if (params.has("axial_pad_fraction")) {
      auto const field = params.at("axial_pad_fraction", "");
      p.axial_pad_fraction.clear();
      if (field.value().is_array())
        for (auto const& e : field.elements()) p.axial_pad_fraction.push_back(e.number());
      else p.axial_pad_fraction.push_back(field.number("a number or an array of two"));
    }
  } else if (root.has("helical_z_shifts")) {
    throw io_error(root.at("helical_z_shifts", "").place() + " is given, expected only with geometry cone", site::current());
  }
  return p;
}

case_entry read_entry(json_field const& field) {
  case_entry e;
  e.field = field.path();
  e.op = field.at("op", "the name of an operation").text();
  if (field.has("inputs"))
    for (auto const& [key, value] : field.at("inputs", "").members()) e.inputs[key] = value.text("the name of an npy file");
  e.arguments = field.has("args") ? field.at("args", "").object() : json::object();
  auto const output = field.at("output", "the name of an npy file");
  e.output = output.text();
  fs::path const path(e.output);
  // What a case names must stay inside the folder that the user gave.
  if (path.filename().empty() || path.is_absolute() || std::find(path.begin(), path.end(), "..") != path.end())
    output.wrong("the name of a file inside the output folder");
  if (field.has("rtol"))
    if (e.rtol = field.at("rtol", "").number("a number >= 0"); !(*e.rtol >= 0)) field.at("rtol", "").wrong("a number >= 0");
  if (field.has("outliers"))
    if (e.outliers = field.at("outliers", "").number("a number from 0 to 1"); !(e.outliers >= 0 && e.outliers <= 1))
      field.at("outliers", "").wrong("a number from 0 to 1");
  return e;
}

/// A misspelt optional field would be ignored in silence; one that a later version knows must not stop this one.
void note_unknown(json_field const& field, std::set<std::string_view> const& known, std::vector<std::string>& warnings) {
  for (auto const& [key, value] : field.members())
    if (!known.contains(key)) warnings.push_back(value.place() + " is not known to this version and ignored");
}

}  // namespace

case_file read_case(fs::path const& folder) {
  std::error_code code;
  require<io_error>(fs::is_directory(folder, code), [&] { return folder.string() + ": no such folder, expected a folder with case.json"; });
  case_file c;
  c.folder = folder;
  c.file = (folder / "case.json").string();
  json const document = read_json(folder / "case.json");
  json const no_params = json::object();
  json_field const root(document, c.file);
  note_unknown(root, {"name", "geometry", "sinogram_shape", "recon_shape", "angles", "helical_z_shifts", "params", "ops"}, c.warnings);
  c.name = root.has("name") ? root.at("name", "").text() : folder.filename().string();

  auto const geometry_field = root.at("geometry", "parallel, cone or none");
  auto const geometry = geometry_field.text("parallel, cone or none");
  auto const params = root.has("params") ? root.at("params", "") : json_field(no_params, c.file, "params");
  try {
    if (geometry == "parallel") {
      check_parameters(params, geometry);
      c.scan = parallel_scan(read_scan<parallel_parameters>(root, params, folder));
    } else if (geometry == "cone") {
      check_parameters(params, geometry);
      c.scan = cone_scan(read_scan<cone_parameters>(root, params, folder));
    } else if (geometry != "none") {
      geometry_field.wrong("parallel, cone or none");
    } else if (root.has("recon_shape")) {
      c.recon_shape = read_shape(root.at("recon_shape", ""));
    }
  } catch (parameter_error const& e) {
    throw parameter_error(c.file + ": " + e.what(), e.where);
  }
  std::visit([&](auto const& scan) {
    if constexpr (requires { scan.recon_shape(); }) {
      c.recon_shape = scan.recon_shape();
      for (auto const& w : scan.warnings()) c.warnings.push_back(c.file + ": " + w);
    }
  }, c.scan);

  std::map<std::string, std::string> outputs;
  for (auto const& field : root.at("ops", "an array of operations").elements("an array of operations")) {
    c.entries.push_back(read_entry(field));
    note_unknown(field, {"op", "inputs", "args", "output", "rtol", "outliers"}, c.warnings);
    auto const [first, is_new] = outputs.try_emplace(fs::path(c.entries.back().output).lexically_normal().string(), field.path());
    if (!is_new) field.at("output", "").wrong("a name that " + first->second + " does not use");
  }
  return c;
}

}  // namespace mbirk::program
