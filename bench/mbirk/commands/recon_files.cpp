#include "commands/recon_files.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "commands/command_files.hpp"
#include "input/checkpoint_file.hpp"
#include "mbirk/core/element_count.hpp"
#include "mbirk/version.hpp"
#include "operations/recon_run.hpp"
#include "output/volume_file.hpp"
#include "output/volume_stream.hpp"
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
std::string slices_name(std::string const& checkpoint) { return checkpoint + ".slices"; }

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
  bool const in_slabs = o.method == "vcd" && std::holds_alternative<parallel_scan>(g.scan);
  if (in_slabs) files.writes(slices_name(checkpoint_name(o)));
  if (!replaces_resumed(o)) {
    files.reads(o.resume);
    if (in_slabs && !o.resume.empty()) files.reads(slices_name(o.resume));
  }
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

namespace {

bool has_json(recon_command const& o) { return is_npy(o.out) || is_volume_file(o.out); }

/// The record as JSON next to OUT.
void write_json(recon_command const& o, std::vector<std::pair<std::string, std::string>> const& record) {
  json all = json::object();
  for (auto const& [name, text] : record) {
    auto parsed = json::parse(text, nullptr, false);
    all[name] = parsed.is_discarded() ? json(text) : std::move(parsed);
  }
  output_file file(next_to_output(o, ".json"));
  file.write(dump_text(all, 1) + '\n');
  file.commit();
}

class result_files final : public result_stream {
 public:
  result_files(recon_command const& o, geometry_file const& g, index_t slab)
      : o_(o),
        shape_(std::visit([](auto const& s) { return s.recon_shape(); }, g.scan)),
        volume_(open_volume(o.out, {shape_, slab, grid_of(g), o.out_window, o.compress}))
#if defined(MBIRK_WITH_PNG)
        ,
        middle_(shape_)
#endif
  {
  }

  void add(view<float const, 3> slab) override {
    volume_->add(slab);
#if defined(MBIRK_WITH_PNG)
    middle_.take(done_, slab);
#endif
    done_ += slab.extent(2);
  }
  void add_rows(view<float const, 3> band) override {
    volume_->add_rows(band);
#if defined(MBIRK_WITH_PNG)
    middle_.take_rows(done_, band);
#endif
    done_ += band.extent(0);
  }
  void finish(std::vector<std::pair<std::string, std::string>> const& record) override {
    volume_->finish(record);
    if (has_json(o_)) write_json(o_, record);
#if defined(MBIRK_WITH_PNG)
    if (!o_.no_png && element_count(shape_) > 0)
      write_png(next_to_output(o_, ".png"), three_slices(middle_, o_.png_window));
#endif
  }

 private:
  recon_command const& o_;
  std::array<index_t, 3> shape_;
  std::unique_ptr<volume_stream> volume_;
#if defined(MBIRK_WITH_PNG)
  middle_slices middle_;
#endif
  index_t done_ = 0;
};

}  // namespace

void write_result(recon_command const& o, geometry_file const& g, npy_array<float> const& recon,
                  std::vector<std::pair<std::string, std::string>> const& record) {
  view<float const, 3> const volume(recon.data.data(), {recon.shape[0], recon.shape[1], recon.shape[2]});
  if (is_npy(o.out)) write_npy(o.out, recon);
  else if (is_volume_file(o.out)) write_volume_file(o.out, volume, grid_of(g), o.out_window);
#if defined(MBIRK_WITH_HDF5)
  else save_recon_hdf5(o.out, volume, record, o.compress);
#endif
  if (has_json(o)) write_json(o, record);
#if defined(MBIRK_WITH_PNG)
  if (!o.no_png && volume.size() > 0) write_png(next_to_output(o, ".png"), three_slices(volume, o.png_window));
#endif
}

std::unique_ptr<result_stream> open_result(recon_command const& o, geometry_file const& g, index_t slab) {
  return std::make_unique<result_files>(o, g, slab);
}

}  // namespace mbirk::program
