// Reconstructions by ranks against arrays of MBIRJAX 0.7.3 (tests/golden): cone beam by any number of ranks. The cases
// in parallel beam have a single unit of slices, and so a single rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "mbirk/distributed/recon.hpp"
#include "mbirk/io/npy.hpp"
#include "slices_case.hpp"

namespace {

using namespace mbirk;
using namespace testing_ranks;
using distributed::cone_views;
using shape_3 = std::array<index_t, 3>;

struct golden {
  std::string folder;
  nlohmann::json file;

  explicit golden(std::string const& name)
      : folder(std::string(MBIRK_GOLDEN_DIR) + "/" + name + "/"),
        file(nlohmann::json::parse(std::ifstream(folder + "case.json"))) {}
  floats read(std::string const& name) const { return read_npy<float>(folder + name).data; }

  template <class Parameters> Parameters parameters() const {
    auto const& p = file.at("params");
    Parameters q{};
    q.sinogram_shape = file.at("sinogram_shape").get<shape_3>();
    q.recon_shape = file.at("recon_shape").get<shape_3>();
    q.angles = read(file.at("angles"));
    q.delta_det_channel = p.at("delta_det_channel");
    q.delta_det_row = p.at("delta_det_row");
    q.det_channel_offset = p.at("det_channel_offset");
    q.det_row_offset = p.at("det_row_offset");
    q.delta_voxel = p.at("delta_voxel").get<double>();
    q.voxel_row_aspect = p.at("voxel_row_aspect").get<double>();
    q.voxel_slice_aspect = p.at("voxel_slice_aspect");
    q.use_ror_mask = p.at("use_ror_mask").get<bool>();
    if constexpr (requires { q.source_iso_dist; }) {
      q.source_detector_dist = p.at("source_detector_dist");
      q.source_iso_dist = p.at("source_iso_dist");
      q.recon_slice_offset = p.at("recon_slice_offset").get<double>();
      q.use_curved_detector = p.at("use_curved_detector");
      if (file.contains("helical_z_shifts")) q.helical_z_shifts = read(file.at("helical_z_shifts"));
    }
    return q;
  }
};

/// The part of this rank: its parameters and the axes along which arrays are shared out.
struct shared_scan {
  shape_3 sinogram, recon, whole_sinogram, whole_recon;
  distributed::index_range samples, voxels;
  int sinogram_axis, recon_axis;
};

/// Calls run(entry, sinogram, weights, prox_input, image, options) for the reconstructions of a case, and compares what
/// it leaves in the image.
template <class Run> void compare(golden const& c, shared_scan const& s, Run const& run) {
  int entries = 0;
  for (auto const& op : c.file.at("ops")) {
    bool const direct = op.at("op") == "direct_recon";
    if (!direct && op.at("op") != "recon" && op.at("op") != "prox_map") continue;
    SCOPED_TRACE(op.at("output").get<std::string>());
    auto const& inputs = op.at("inputs");
    auto const samples = [&](char const* name) {
      return part(c.read(inputs.at(name)), s.whole_sinogram, s.sinogram_axis, s.samples);
    };
    auto const y = samples("sinogram");
    floats w, v;
    std::optional<view<float const, 3>> weights;
    if (inputs.contains("weights")) {
      w = samples("weights");
      weights = reading(w, s.sinogram);
    }
    if (inputs.contains("prox_input")) v = part(c.read(inputs.at("prox_input")), s.whole_recon, s.recon_axis, s.voxels);
    recon_options o;
    if (!direct) {
      o.max_iterations = op.at("args").at("max_iterations");
      o.seed = op.at("args").at("seed").get<std::uint32_t>();
      o.stop_threshold_change_pct = 0;
    }
    auto image = array(s.recon);
    run(op.at("op").get<std::string>(), reading(y, s.sinogram), weights, reading(v, s.recon),
        writing(image, s.recon), o);
    auto const whole = c.read(op.at("output"));
    auto const expected = part(whole, s.whole_recon, s.recon_axis, s.voxels);
    float peak = 0, largest = 0;
    for (auto const x : whole) peak = std::max(peak, std::abs(x));
    for (std::size_t k = 0; k < image.size(); ++k) largest = std::max(largest, std::abs(image[k] - expected[k]));
    // The tolerances of one process: tests/recon/direct_recon_golden_test.cpp and recon_oracle_test.cpp.
    EXPECT_LE(largest, (direct ? 5e-6f : 5e-4f) * peak);
    ++entries;
  }
  EXPECT_EQ(entries, 5);
}

TEST(views, agree_with_mbirjax) {
  for (std::string const name : {"cone_32", "cone_odd", "cone_helical_curved"}) {
    SCOPED_TRACE(name);
    golden const c(name);
    auto const parameters = c.parameters<cone_parameters>();
    if (message_of<parameter_error>([&] { cone_views(parameters, 0, world().size()); }) != "nothing") continue;
    cone_views const mine(parameters, world().rank(), world().size());
    shared_scan const s{mine.sinogram_shape(), mine.recon_shape(),  mine.whole().sinogram_shape(),
                        mine.whole().recon_shape(), mine.views(), mine.rows(), 0, 0};
    compare(c, s, [&](std::string const& op, auto y, auto const& w, auto v, auto x, recon_options const& o) {
      if (op == "direct_recon") distributed::fdk_recon(ctx, world(), mine, y, x);
      else if (op == "recon") distributed::recon(ctx, world(), mine, y, w, x, o);
      else distributed::prox_map(ctx, world(), mine, v, y, w, x, o);
    });
  }
}

TEST(slices, agree_with_mbirjax) {
  if (world().size() > 1) GTEST_SKIP() << "the cases have 32 slices, which are one unit";
  for (std::string const name : {"parallel_32", "parallel_odd"}) {
    SCOPED_TRACE(name);
    golden const c(name);
    auto const parameters = c.parameters<parallel_parameters>();
    parallel_slab const mine(parameters, 0, 1);
    auto const y_shape = mine.scan().sinogram_shape(), x_shape = mine.scan().recon_shape();
    shared_scan const s{y_shape, x_shape, y_shape, x_shape, mine.range(), mine.range(), 1, 2};
    compare(c, s, [&](std::string const& op, auto y, auto const& w, auto v, auto x, recon_options const& o) {
      if (op == "direct_recon") direct_recon(ctx, mine.scan(), y, x);
      else if (op == "recon") distributed::recon(ctx, world(), mine, y, w, x, o);
      else distributed::prox_map(ctx, world(), mine, v, y, w, x, o);
    });
  }
}

}  // namespace
