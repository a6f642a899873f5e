#include "commands/recon_files.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "commands/command_files.hpp"
#include "input/checkpoint_file.hpp"
#include "mbirk/io/npy.hpp"
#include "mbirk/version.hpp"
#include "operations/recon_run.hpp"
#include "output/volume_file.hpp"
#if defined(MBIRK_WITH_HDF5)
#include "mbirk/io/recon_hdf5.hpp"
#endif
#if defined(MBIRK_WITH_PNG)
#include "mbirk/io/png.hpp"
#endif

namespace mbirk::program {
namespace {

namespace fs = std::filesystem;

bool is_npy(std::string const& name) { return name.ends_with(".npy"); }

std::string next_to_output(recon_command const& o, char const* extension) {
  return fs::path(o.out).replace_extension(extension).string();
}

/// A checkpoint may replace the one that the reconstruction goes on from, however it is spelt.
bool replaces_resumed(recon_command const& o) {
  std::error_code ignored;
  return o.resume == checkpoint_name(o) || fs::equivalent(o.resume, checkpoint_name(o), ignored);
}

/// Where the voxels are, for formats that say so.
voxel_grid grid_of(geometry_file const& g) {
  return std::visit([&](auto const& s) {
    auto const& geometry = s.geometry();
    if constexpr (requires { geometry.delta_z; })
      return centred_grid(s.recon_shape(), geometry.delta_x, geometry.delta_y, geometry.delta_z,
                          geometry.recon_slice_offset);
    else
      return centred_grid(s.recon_shape(), geometry.delta_x, geometry.delta_y,
                          std::visit([](auto const& p) { return p.delta_det_row; }, g.parameters));
  }, g.scan);
}

}  // namespace

std::string checkpoint_name(recon_command const& o) {
  return o.checkpoint.empty() ? o.out + ".checkpoint" : o.checkpoint;
}

void check_out(recon_command const& o, geometry_file const& g, scan_description const& scan) {
  require_volume_file(o.out);
#if defined(MBIRK_WITH_HDF5)
  require<io_error>(is_npy(o.out) || is_volume_file(o.out) || o.out.ends_with(".h5") || o.out.ends_with(".hdf5"), [&] {
    return "--out " + o.out + ": expected a name that ends in .npy, .h5 or .hdf5, .tif, .nrrd or .mrc";
  });
#else
  require<io_error>(is_npy(o.out) || is_volume_file(o.out), [&] {
    return "--out " + o.out + ": expected a name that ends in .npy: this program was built without HDF5";
  });
#endif
  require<io_error>(o.method == "vcd" || (o.checkpoint.empty() && o.resume.empty()),
                    [&] { return "--checkpoint and --resume are for method vcd, found --method " + o.method; });
  command_files files;
  add_scan_files(o.scan, files);
  for (auto const& name : files_of(scan)) files.reads(name);
  for (auto const& name : g.files) files.reads(name);
  files.writes(o.out);
  if (is_npy(o.out) || is_volume_file(o.out)) files.writes(next_to_output(o, ".json"));
#if defined(MBIRK_WITH_PNG)
  if (!o.no_png) files.writes(next_to_output(o, ".png"));
#endif
  files.writes(o.save_parameters);
  files.writes(o.monitor.file);
  if (o.method == "vcd") files.writes(checkpoint_name(o));
  if (!replaces_resumed(o)) files.reads(o.resume);
  files.check_and_open();
}

std::vector<std::pair<std::string, std::string>> text_of(recon_command const& o, geometry_file const& g,
                                                         recon_log const& record, std::string const& data) {
  std::string log;
  for (std::size_t k = 0; k < record.fm_rmse.size(); ++k)
    log += fmt::format("iteration {}: change {:.4g} %, alpha {:.4g}, error {:.4g} sigma_y\n", k + 1,
                       record.stop_threshold_change_pct[k], record.alpha_values[k], record.fm_rmse[k]);
  auto recon_params = record_json(record);
  recon_params["method"] = o.method;
  recon_params["weights"] = o.method == "vcd" ? o.weights : "unweighted";
  return {{"model_params", dump_text(geometry_json(g))},
          {"notes", "mbirk " + std::string(version_string) + ", " + o.scan.files.input + ": " + data},
          {"recon_log", log},
          {"recon_params", dump_text(recon_params)}};
}

void write_result(recon_command const& o, geometry_file const& g, npy_array<float> const& recon,
                  std::vector<std::pair<std::string, std::string>> const& record) {
  view<float const, 3> const volume(recon.data.data(), {recon.shape[0], recon.shape[1], recon.shape[2]});
  if (is_npy(o.out) || is_volume_file(o.out)) {
    if (is_npy(o.out)) write_npy(o.out, recon);
    else write_volume_file(o.out, volume, grid_of(g), o.out_window);
    json all = json::object();
    for (auto const& [name, text] : record) {
      auto parsed = json::parse(text, nullptr, false);
      all[name] = parsed.is_discarded() ? json(text) : std::move(parsed);
    }
    output_file file(next_to_output(o, ".json"));
    file.write(dump_text(all, 1) + '\n');
    file.commit();
  }
#if defined(MBIRK_WITH_HDF5)
  else save_recon_hdf5(o.out, volume, record, o.compress);
#endif
#if defined(MBIRK_WITH_PNG)
  if (!o.no_png && volume.size() > 0) write_png(next_to_output(o, ".png"), three_slices(volume, o.png_window));
#endif
}

}  // namespace mbirk::program
