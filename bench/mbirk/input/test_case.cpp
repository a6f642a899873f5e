// Reading of case.json: the scan and the entries.
#include "input/test_case.hpp"

#include <algorithm>
#include <functional>
#include <concepts>
#include <set>
#include <string>

#include "input/geometry_file.hpp"

namespace mbirk::program {
namespace {

namespace fs = std::filesystem;

template <class Geometry>
typename Geometry::parameters read_scan(json_field const& root, json_field const& params, fs::path const& folder,
                                        memory_budget const& memory) {
  typename Geometry::parameters p;
  p.sinogram_shape = read_shape(root.at("sinogram_shape", "[views, rows, channels]"));
  read_view_lists<Geometry>(
      root,
      view_list_reader([&]<class T>(json_field const& field, index_t per_view, std::vector<T>& list) {
        list = read_line_file<T>(field, folder, p.sinogram_shape[0], per_view);
      }),
      "the name of an npy file", p);
  if (root.has("recon_shape")) p.recon_shape = read_shape(root.at("recon_shape", ""));
  read_scan_parameters<Geometry>(params, folder, p, memory);
  return p;
}

case_entry read_entry(json_field const& field) {
  case_entry e;
  e.field = field.path();
  e.op = field.at("op", "the name of an operation").text();
  if (field.has("inputs"))
    for (auto const& [key, value] : field.at("inputs", "").members())
      e.inputs[key] = value.text("the name of an npy file");
  e.arguments = field.has("args") ? field.at("args", "").object() : json::object();
  auto const output = field.at("output", "the name of an npy file");
  e.output = output.text();
  fs::path const path(e.output);
  // Files named by a case must stay inside the folder given by the user.
  if (path.filename().empty() || path.is_absolute() || std::find(path.begin(), path.end(), "..") != path.end())
    output.wrong("the name of a file inside the output folder");
  if (field.has("rtol"))
    if (e.rtol = field.at("rtol", "").number("a number >= 0"); !(*e.rtol >= 0))
      field.at("rtol", "").wrong("a number >= 0");
  if (field.has("outliers"))
    if (e.outliers = field.at("outliers", "").number("a number from 0 to 1"); !(e.outliers >= 0 && e.outliers <= 1))
      field.at("outliers", "").wrong("a number from 0 to 1");
  return e;
}

/// Warns about unknown fields: a misspelt optional field would otherwise be ignored silently, but a field of a later
/// version must not be an error.
void note_unknown(json_field const& field, std::set<std::string, std::less<>> const& known,
                  std::vector<std::string>& warnings) {
  for (auto const& [key, value] : field.members())
    if (!known.contains(key)) warnings.push_back(value.place() + " is not known to this version and ignored");
}

}  // namespace

test_case read_case(fs::path const& folder) {
  std::error_code code;
  require<io_error>(fs::is_directory(folder, code),
                    [&] { return folder.string() + ": no such folder, expected a folder with case.json"; });
  test_case c;
  c.folder = folder;
  c.file = (folder / "case.json").string();
  json const document = read_json(folder / "case.json");
  json const no_params = json::object();
  json_field const root(document, c.file);
  std::set<std::string, std::less<>> known{"name", "geometry", "sinogram_shape", "recon_shape", "params", "ops"};
  for (auto const& name : view_lists()) known.insert(name);
  note_unknown(root, known, c.warnings);
  c.name = root.has("name") ? root.at("name", "").text() : folder.filename().string();

  auto const names = geometries::names_text({"none"});
  auto const geometry_field = root.at("geometry", names);
  auto const geometry = geometry_field.text(names);
  auto const params = root.has("params") ? root.at("params", "") : json_field(no_params, c.file, "params");
  try {
    auto const is_known = [](auto) {};
    if (geometry != "none" && !geometries::with_name(geometry, is_known)) geometry_field.wrong(names);
    check_parameters(params, geometry, known_parameters::of_a_case);
    bool const has_scan = geometries::with_name(geometry, [&]<class Geometry>(std::type_identity<Geometry>) {
      memory_budget const memory(memory_available());
      auto const p = read_scan<Geometry>(root, params, folder, memory);
      c.scan = make_scan<Geometry>(p, c.file, memory);
      if constexpr (std::same_as<Geometry, parallel_geometry>) c.parallel = p;
    });
    if (!has_scan) {
      if (root.has("recon_shape")) c.recon_shape = read_shape(root.at("recon_shape", ""));
      c.denoiser = read_denoiser_parameters(params);
    }
    c.settings = read_model_parameters(params, geometry);
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
    auto const [first, is_new] =
        outputs.try_emplace(fs::path(c.entries.back().output).lexically_normal().string(), field.path());
    if (!is_new) field.at("output", "").wrong("a name that " + first->second + " does not use");
  }
  c.files = files_of_scan(root, folder);
  c.files.push_back(folder / "case.json");
  for (auto const& e : c.entries) {
    for (auto const& [name, file] : e.inputs) c.files.push_back(folder / file);
    c.files.push_back(folder / e.output);
  }
  return c;
}

}  // namespace mbirk::program
