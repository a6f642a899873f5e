// aarch64 FOLDER...: the projections of the headers alone, compiled for aarch64, against cases of tests/golden.
#include <cmath>
#include <cstdio>
#include <fstream>
#include <mbirk/exec/host.hpp>
#include <mbirk/exec/instruction_set.hpp>
#include <mbirk/instrument/none.hpp>
#include <mbirk/io/npy.hpp>
#include <mbirk/projector/all.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace {

using context = mbirk::context<mbirk::exec::host, mbirk::instrument::none>;

/// The norm of the difference over the norm of what is expected, as in tests/projector/golden_test.cpp.
double relative_error(std::vector<float> const& found, std::vector<float> const& expected) {
  double difference = 0, norm = 0;
  for (std::size_t k = 0; k < expected.size(); ++k) {
    difference += std::pow(double{found.at(k)} - double{expected[k]}, 2);
    norm += std::pow(double{expected[k]}, 2);
  }
  return std::sqrt(difference / norm);
}

template <class Parameters> Parameters parameters_of(nlohmann::json const& file, std::string const& folder) {
  auto const& p = file.at("params");
  auto const read = [&](char const* name, auto& value) { p.at(name).get_to(value); };
  Parameters q{.sinogram_shape = file.at("sinogram_shape"),
               .angles = mbirk::read_npy<float>(folder + "/angles.npy").data};
  read("delta_det_channel", q.delta_det_channel);
  read("delta_det_row", q.delta_det_row);
  read("det_channel_offset", q.det_channel_offset);
  read("det_row_offset", q.det_row_offset);
  q.delta_voxel = p.at("delta_voxel").get<double>();
  q.recon_shape = file.at("recon_shape").get<std::array<mbirk::index_t, 3>>();
  if constexpr (requires { q.source_iso_dist; }) {
    read("source_detector_dist", q.source_detector_dist);
    read("source_iso_dist", q.source_iso_dist);
    q.recon_slice_offset = p.at("recon_slice_offset").get<double>();
  }
  return q;
}

template <class Geometry> double worst_error(nlohmann::json const& file, std::string const& folder) {
  mbirk::scan<Geometry> const scan(parameters_of<typename Geometry::parameters>(file, folder));
  context const ctx{mbirk::exec::host{1}, {}};
  auto const floats = [&](char const* name) { return mbirk::read_npy<float>(folder + "/" + name).data; };
  auto const x = floats("recon.npy"), y = floats("sinogram.npy");
  std::vector<float> ax(y.size()), aty(x.size());
  mbirk::forward_project(ctx, scan, {x.data(), scan.recon_shape()}, {ax.data(), scan.sinogram_shape()});
  mbirk::back_project(ctx, scan, {y.data(), scan.sinogram_shape()}, {aty.data(), scan.recon_shape()});
  return std::max(relative_error(ax, floats("out_forward_project.npy")),
                  relative_error(aty, floats("out_back_project.npy")));
}

}  // namespace

int main(int argc, char** argv) {
  bool good = mbirk::instruction_set() == "aarch64";
  for (int k = 1; k < argc; ++k) {
    std::string const folder = argv[k];
    auto const file = nlohmann::json::parse(std::ifstream(folder + "/case.json"));
    double const error = file.at("geometry") == "cone" ? worst_error<mbirk::cone_geometry>(file, folder)
                                                       : worst_error<mbirk::parallel_geometry>(file, folder);
    std::printf("%s: error %.2g, expected at most 3e-6\n", folder.c_str(), error);
    good = good && error <= 3e-6;
  }
  return good ? 0 : 1;
}
