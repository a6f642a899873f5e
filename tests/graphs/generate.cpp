// Writes the output of the record/ writers for the operations of two golden cases: StableHLO with its inputs, expected
// outputs and predicted estimates for xla_test.py, and C++ for generated_test.cpp.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "mbirk/io/npy.hpp"
#include "mbirk/record/cpp.hpp"
#include "mbirk/record/hand_off.hpp"
#include "mbirk/record/operations.hpp"
#include "mbirk/record/rewrite.hpp"
#include "mbirk/record/stablehlo.hpp"

namespace {

using namespace mbirk;
using json = nlohmann::json;
namespace fs = std::filesystem;

struct golden_case {
  fs::path folder;
  json description;
  std::vector<float> angles;

  explicit golden_case(fs::path const& where)
      : folder(where), description(json::parse(std::ifstream(where / "case.json"))) {
    if (fs::exists(where / "angles.npy")) angles = read_npy<float>(where / "angles.npy").data;
  }
  std::array<index_t, 3> shape(char const* name) const { return description.at(name).get<std::array<index_t, 3>>(); }
  index_t pixels() const { return read_npy<std::int32_t>(folder / "pixel_indices.npy").shape.at(0); }
  template <class Parameters> Parameters parameters() const {
    auto const& j = description.at("params");
    Parameters p;
    p.sinogram_shape = shape("sinogram_shape"), p.recon_shape = shape("recon_shape"), p.angles = angles;
    p.delta_det_channel = j.at("delta_det_channel"), p.delta_det_row = j.at("delta_det_row"),
    p.delta_voxel = j.at("delta_voxel").get<double>();
    p.det_channel_offset = j.at("det_channel_offset"), p.det_row_offset = j.at("det_row_offset");
    p.voxel_row_aspect = j.at("voxel_row_aspect"), p.voxel_slice_aspect = j.at("voxel_slice_aspect");
    if constexpr (requires { p.source_iso_dist; }) {
      p.source_detector_dist = j.at("source_detector_dist"), p.source_iso_dist = j.at("source_iso_dist");
      p.recon_slice_offset = j.at("recon_slice_offset"), p.use_curved_detector = j.at("use_curved_detector");
    }
    return p;
  }
};

class output {
 public:
  explicit output(fs::path folder) : folder_(std::move(folder)), cpp_(folder_ / "generated.inc") {}
  ~output() { std::ofstream(folder_ / "cases.json") << cases_.dump(1); }

  /// inputs and expected outputs are .npy files of a golden case; none: random inputs, and only the estimates are
  /// compared.
  void add(record::graph g, golden_case const* from, std::vector<std::string> const& inputs,
           std::vector<std::string> const& expected) {
    add_form(g, from, inputs, expected);
    auto const name = g.name;
    if (from && !expected.empty()) write_hand_off(g, *from, inputs, expected);
    if (auto unfused = record::cut_all(g); unfused.stages.size() > g.stages.size())
      unfused.name = name + "_unfused", add_form(unfused, from, inputs, expected);
    if (auto fused = record::fuse_all(g); fused.stages.size() < g.stages.size())
      fused.name = name + "_fused", add_form(fused, from, inputs, expected);
  }

 private:
  /// A folder that hand_off_test.py builds and runs.
  void write_hand_off(record::graph const& g, golden_case const& from, std::vector<std::string> const& inputs,
                      std::vector<std::string> const& expected) {
    record::hand_off_case c;
    auto const numbers = [&](std::string const& name) {
      auto const data = read_npy<float>(from.folder / (name + ".npy")).data;
      return std::vector<double>(data.begin(), data.end());
    };
    std::size_t next = 0;
    for (auto const& a : g.arrays)
      if (a.use == record::array_use::input) {
        auto const& name = inputs.at(next++);
        c.inputs[a.name] = name.empty() ? std::vector<double>(static_cast<std::size_t>(a.size())) : numbers(name);
      }
    for (auto const& a : g.arrays)
      if (a.use == record::array_use::output && c.expected.size() < expected.size())
        c.expected[a.name] = numbers(expected.at(c.expected.size()));
    for (auto const& file : record::hand_off(g, c)) {
      auto const path = folder_ / "hand_off" / g.name / file.name;
      fs::create_directories(path.parent_path());
      std::ofstream(path, std::ios::binary) << file.bytes;
    }
  }
  void add_form(record::graph const& g, golden_case const* from, std::vector<std::string> const& inputs,
                std::vector<std::string> const& expected) {
    cpp_ << record::to_cpp(g);
    write(g, {}, "", from, inputs, expected);
    if (auto const views = record::axes_called(g, "view"); !views.empty())
      write(g, views, "_in_turn", from, inputs, expected);
  }
  void write(record::graph const& g, record::axis_set const& sequential, char const* suffix, golden_case const* from,
             std::vector<std::string> const& inputs, std::vector<std::string> const& expected) {
    auto const text = record::to_stablehlo(g, sequential);
    auto const file = g.name + suffix + ".mlir";
    std::ofstream(folder_ / file) << text.module;
    cases_.push_back({{"module", file},
                      {"folder", from ? from->folder.string() : ""},
                      {"inputs", inputs},
                      {"expected", expected},
                      {"flops", text.cost.flops},
                      {"transcendentals", text.cost.transcendentals}});
  }

  fs::path folder_;
  std::ofstream cpp_;
  json cases_ = json::array();
};

/// The golden direct reconstruction at the pixels of the mask, as files beside the modules.
struct listed_image { std::string pixels, values; };
template <class Scan> listed_image write_direct_recon(Scan const& s, golden_case const& c, fs::path const& to) {
  auto const image = read_npy<float>(c.folder / "out_direct_recon.npy");
  auto const& mask = s.full_indices();
  auto const slices = s.recon_shape()[2];
  npy_array<std::int32_t> const pixels{{std::ssize(mask)}, {mask.begin(), mask.end()}};
  npy_array<float> values{{std::ssize(mask), slices}, {}};
  for (auto const p : mask)
    values.data.insert(values.data.end(), image.data.begin() + p * slices, image.data.begin() + (p + 1) * slices);
  auto const stem = (fs::absolute(to) / (std::string(Scan::geometry_type::name) + "_direct_recon_")).string();
  write_npy(stem + "pixels.npy", pixels);
  write_npy(stem + "values.npy", values);
  return {stem + "pixels", stem + "values"};
}

template <class Scan> void add_scan(output& out, golden_case const& c, fs::path const& to) {
  Scan const s(c.parameters<typename Scan::parameters>());
  auto const pixels = c.pixels();
  std::vector<std::string> views{"angles"};
  if constexpr (std::is_same_v<Scan, cone_scan>) views.push_back("");  // no shifts: zeros
  auto const with_views = [&](std::vector<std::string> arrays) {
    return arrays.insert(arrays.end(), views.begin(), views.end()), arrays;
  };
  out.add(record::sparse_forward_project(s, pixels), &c, with_views({"voxel_values", "pixel_indices"}),
          {"out_sparse_forward_project"});
  out.add(record::sparse_back_project(s, pixels), &c, with_views({"sinogram", "pixel_indices"}),
          {"out_sparse_back_project"});
  out.add(record::sparse_back_project(s, pixels, 2), &c, with_views({"sinogram", "pixel_indices"}),
          {"out_sparse_back_project_coeff_power2"});
  out.add(record::direct_filter(s), &c, {"sinogram"}, {"out_direct_filter"});
  index_t const all = std::ssize(s.full_indices());
  auto const direct = write_direct_recon(s, c, to);
  out.add(record::direct_recon(s, all), &c, with_views({"sinogram", direct.pixels}), {direct.values});
  // No golden case has results of a subset update, and metal may be decided either way in some samples:
  // generated_test.cpp compares these.
  out.add(record::gen_weights_mar(s, 1, 3, all), nullptr, {}, {});
  out.add(record::vcd_subset_update(s, qggmrf_parameters{}, 1, 1.5, pixels), nullptr, {}, {});
  out.add(record::prox_map_subset_update(s, 1, 1, 1.5, pixels), nullptr, {}, {});
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 3)
      throw std::runtime_error("expected two arguments: the folder of the golden cases, and one to write to");
    fs::path const golden = argv[1], to = argv[2];
    fs::create_directories(to);
    output out(to);
    golden_case const parallel(golden / "parallel_odd"), cone(golden / "cone_odd"), utilities(golden / "utilities");
    add_scan<parallel_scan>(out, parallel, to);
    add_scan<cone_scan>(out, cone, to);
    out.add(record::gen_weights_transmission(parallel.shape("sinogram_shape")), &parallel, {"sinogram"},
            {"out_gen_weights_weight_typetransmission"});
    auto const image = read_npy<float>(utilities.folder / "image.npy").shape;
    out.add(record::median_filter3d({image.at(0), image.at(1), image.at(2)}), &utilities, {"image"},
            {"out_median_filter3d"});
    qggmrf_parameters const prior;
    out.add(record::qggmrf_gradient_and_hessian({5, 6, 7}, prior, 30), nullptr, {}, {});
    return 0;
  } catch (std::exception const& e) {
    std::cerr << e.what() << '\n';
    return 1;
  }
}
