// Documents: JSON of every kind, and the CSV of Nsight.
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "fpga/candidates.hpp"
#include "fpga/device_file.hpp"
#include "input/checkpoint_file.hpp"
#include "input/geometry_file.hpp"
#include "input/measured_times.hpp"
#include "input/nsight_csv.hpp"
#include "input/test_case.hpp"
#include "mbirk/geometry/import_views.hpp"
#include "mbirk/io/checkpoint.hpp"
#include "mbirk/io/npy.hpp"
#include "mbirk/io/parameters_json.hpp"
#include "mbirk/io/slabs_checkpoint.hpp"
#include "reader.hpp"
#include "report/html_report_run.hpp"

namespace mbirk::fuzz {
namespace {

using namespace mbirk::program;

/// Files that documents may name, once for all inputs.
void write_companions() {
  static bool const once = [] {
    float const angles[] = {0, 0.5f, 1, 1.5f}, image[6] = {};
    std::int32_t const mask[] = {0, 1, 1, 1, 1, 0};
    write_npy(scratch_folder() / "angles.npy", angles, {4});
    write_npy(scratch_folder() / "image.npy", image, {1, 2, 3});
    write_npy(scratch_folder() / "mask.npy", mask, {2, 3});
    double vectors[48], euler[12] = {};
    for (int k = 0; k < 48; ++k) vectors[k] = std::array{0, 30, 0, 0, -20, 0, 1, 0, 0, 0, 0, 1}[k % 12];
    write_npy(scratch_folder() / "views.npy", vectors, {4, 12});
    write_npy(scratch_folder() / "angles3.npy", euler, {4, 3});
    std::string xml = "<RTKThreeDCircularGeometry>";
    for (int k = 0; k < 4; ++k) xml += "<Matrix>-60 0 0 0 0 -60 0 0 0 0 1 -40</Matrix>";
    write_scratch("r.xml", xml + "</RTKThreeDCircularGeometry>");
    return true;
  }();
  static_cast<void>(once);
}

/// Parameters that are read are written, and read again as they are.
void read_parameters_input(std::string_view input) {
  std::optional<any_parameter_set> set;
  if (!accepts([&] { set = any_parameters_from_json(input, "parameters"); }, "parameters")) return;
  std::visit([]<class Geometry>(parameter_set<Geometry> const& given) {
    std::string text;
    if (!accepts([&] { text = parameters_to_json(given); })) return;
    expect(parameters_to_json(parameters_from_json<Geometry>(text)) == text, "parameters changed by writing", text);
  }, *set);
}

void read_case_input(std::string_view input) {
  write_companions();
  auto const path = write_scratch("case.json", input);
  accepts([] { read_case(scratch_folder()); }, path.string());
}

/// A geometry that is read is written, and read again as it is.
void read_geometry_input(std::string_view input) {
  write_companions();
  constexpr std::array<index_t, 3> shape{4, 3, 5};
  std::vector<float> const theta{0, 1, 2, 3};
  auto const path = write_scratch("G.json", input);
  std::optional<geometry_file> g;
  if (!accepts([&] { g = read_geometry(path, shape, theta); }, path.string())) return;
  auto const text = dump_text(geometry_json(*g));
  auto const again = write_scratch("again.json", text);
  std::optional<geometry_file> copy;
  if (accepts([&] { copy = read_geometry(again, shape); }))
    expect(dump_text(geometry_json(*copy)) == text, "a geometry changed by writing", text);
}

/// A geometry file of RTK.
void read_rtk_input(std::string_view input) {
  accepts([&] { views_from_rtk(input, {.rows = 3, .channels = 5}); });
}

void read_device_input(std::string_view input) {
  auto const path = write_scratch("device.json", input);
  accepts([&] { read_device(path.string()); }, path.string());
}

/// What `mbirk report` and `mbirk compare` take from a run.
void read_run_input(std::string_view input) {
  auto const path = write_scratch("run.json", input).string();
  json run;
  if (!accepts([&] { run = read_json(path); }, path)) return;
  accepts([&] { report::read_profile(run, path); }, path);
  accepts([&] { operation_times(json_field(run, path)); }, path);
#if defined(MBIRK_FUZZ_PAGE)
  accepts([&] { candidates_json(run, path); }, path);
#endif
}

/// The note of a checkpoint of `mbirk recon`: of a reconstruction in memory, and of one in slabs.
void read_note_input(std::string_view input) {
  static recon_state const state = [] {
    recon_state s;
    s.sinogram_shape = s.recon_shape = {1, 1, 1};
    s.recon = s.weighted_error = s.hessian = {1.0f};
    return s;
  }();
  static json const parameters{{"geometry", "cone"}, {"angles", {0.5, 1}}, {"params", {{"sharpness", 1.5}}}};
  auto const path = scratch_folder() / "note.checkpoint";
  save_checkpoint(path, state, std::string(input));
  accepts([&] { read_checkpoint(path, parameters); }, path.string());
  static distributed::slabs_state const slabs{.recon_shape = {1, 1, 2}, .division = {1, 1}, .slabs = {{}, {}}};
  auto const of_slabs = scratch_folder() / "note.slabs";
  save_slabs_checkpoint(of_slabs, slabs, std::string(input));
  std::optional<saved_slabs> saved;
  if (!accepts([&] { saved = read_slabs_checkpoint(of_slabs, parameters); }, of_slabs.string())) return;
  expect(saved->places.size() == 2 && saved->places[0].slot != saved->places[1].slot, "two slabs in one place");
}

void read_nsight(std::string_view input, bool nsys) {
  static json const run{
      {"measurements",
       {{{"operation", "parallel_back"}, {"volume_size", 64}}, {{"operation", "median"}, {"volume_size", 32}}}},
      {"cost_analysis", {{"64", {{"parallel_back", json::object()}}}}}};
  auto const path = write_scratch("nsight.csv", input).string();
  json merged = run;
  std::vector<std::string> const files{path}, none;
  if (!accepts([&] { merge_nsight(merged, nsys ? files : none, nsys ? none : files); }, path))
    expect(merged == run, "a file that was refused changed the profile");
  else dump_text(merged);
}
void read_nsys_input(std::string_view input) { read_nsight(input, true); }
void read_ncu_input(std::string_view input) { read_nsight(input, false); }

}  // namespace

std::vector<reader> document_readers() {
  return {{"parameters", read_parameters_input, mutate_json},
          {"case", read_case_input, mutate_json, true},
          {"geometry", read_geometry_input, mutate_json, true},
          {"rtk", read_rtk_input},
          {"device", read_device_input, mutate_json},
          {"run", read_run_input, mutate_json},
          {"note", read_note_input, mutate_json},
          {"nsys", read_nsys_input},
          {"ncu", read_ncu_input}};
}

}  // namespace mbirk::fuzz
