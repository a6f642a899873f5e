// mbirk calibrate: finds the offsets and the roll of the detector from a scan itself.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numbers>

#include "commands/command_files.hpp"
#include "commands/interrupt.hpp"
#include "commands/progress.hpp"
#include "commands/recon_result.hpp"
#include "commands/scan_options.hpp"
#include "input/measurement.hpp"
#include "machine/memory.hpp"
#include "mbirk/io/output_file.hpp"
#include "mbirk/recon/calibrate.hpp"
#include "operations/recon_run.hpp"
#include "process/streams.hpp"

namespace mbirk::program {
namespace {

struct calibrate_command : common_options, scan_call {
  std::string out;
  std::vector<std::string> find{"det_channel_offset", "detector_roll"};
  index_t cells = calibration_options{}.cells;
  int iterations = calibration_options{}.iterations;
  std::optional<std::uint64_t> memory_limit;

  bool finds(char const* name) const { return std::ranges::find(find, name) != find.end(); }
};

general_parameters general_views_of(geometry_file const& g) {
  if (g.fan) return to_general(*g.fan);
  return std::visit([]<class Parameters>(Parameters const& p) {
    if constexpr (std::same_as<Parameters, general_parameters>) return p;
    else return to_general(p);
  }, g.parameters);
}

/// The scan with its calibrated detector: with other offsets, or as general views if the detector is rolled or the
/// views place it.
json calibrated_json(geometry_file g, general_parameters const& views, calibration const& found, bool rolled) {
  if (!rolled && !std::holds_alternative<general_parameters>(g.parameters)) {
    auto document = geometry_json(g);
    for (auto const& [name, by] : {std::pair{"det_channel_offset", found.found.det_channel_offset},
                                   std::pair{"det_row_offset", found.found.det_row_offset}})
      if (by != 0) document["params"][name] = document["params"].value(name, 0.0) + by;
    return document;
  }
  auto p = misaligned(views, found.found);
  g.fan.reset();
  g.scan = general_scan(p);
  g.parameters = std::move(p);
  return geometry_json(g);
}

void print_found(calibrate_command const& o, calibration const& found, geometry_file const& g,
                 general_parameters const& views) {
  auto const at = mbirk::detail::general_view::of(views.view_vectors, 0);
  auto const line = [&](char const* name, double value, double deviation, double cell, char const* unit,
                        char const* cells) {
    if (!o.finds(name)) return;
    say("  {:20} {:>12.5g} +- {:<10.2g} {:6} {:>9.3f} {}\n", name, value, deviation, unit, value / cell, cells);
  };
  constexpr double degree = std::numbers::pi / 180;
  double const pitch = length(at.u), row_pitch = length(at.v);
  say("to be added{}\n", g.fan ? " to those of the fan beam" : "");
  line("det_channel_offset", found.found.det_channel_offset, found.deviation.det_channel_offset, pitch, "ALU",
       "channels");
  line("det_row_offset", found.found.det_row_offset, found.deviation.det_row_offset, row_pitch, "ALU", "rows");
  line("detector_roll", found.found.detector_roll / degree, found.deviation.detector_roll / degree,
       2 * row_pitch / (pitch * static_cast<double>(views.sinogram_shape[2])) / degree, "deg",
       "rows at the outermost channel");
  say("residual of reprojection {:.2f} %, before {:.2f} % ({} reconstructions of at most {} cells)\n",
      100 * found.residual, 100 * found.residual_before, found.reconstructions, o.cells);
}

int calibrate_scan(calibrate_command const& o) {
  require_host(o, "calibrate");
  interrupt_watch const interrupts;
  command_files files;
  add_scan_files(o, files);
  files.writes(o.out);
  files.check_and_open();
  memory_budget const memory(o.memory_limit
                                 ? available_memory{static_cast<double>(*o.memory_limit), "--memory-limit"}
                                 : memory_available());
  measurement_source const source(o.files, o.part, memory);
  for (auto const& name : files_of(source.scan())) files.reads(name);
  files.check();
  std::vector<scan_fact> used;
  std::vector<std::string> notes;
  auto const options = with_centre(o, source, o.threads, notes);
  auto const g =
      scan_geometry(source.scan(), source.part(), source.theta(), options, o.files.input, used, memory);
  for (auto const& name : g.files) files.reads(name);
  files.check();
  auto const warnings = checked_mistakes(o, source.scan(), g);
  if (o.geometry.file.empty() && !o.quiet) print_facts(used);

  auto const [views, rows, channels] = source.shape();
  double const samples = static_cast<double>(views) * static_cast<double>(rows) * static_cast<double>(channels);
  // A reduced scan of at most cells^3 has a sinogram and its residual, an image and two more of its size.
  double const cells = static_cast<double>(o.cells);
  memory.require(4 * samples + source.memory() + 4 * 8 * cells * cells * cells,
                 o.files.input + ": a sinogram of shape " + mbirk::detail::shape_text(source.shape()) +
                     " and its reduced reconstructions");
  std::vector<float> sinogram(static_cast<std::size_t>(views * rows * channels));
  exec::host const host(o.threads);
  auto const repaired = source.read_all({host, {}}, sinogram.data(), [](index_t) { stop_if_asked(); });
  auto const corrected = correct({host, {}}, o.corrections, view<float, 3>(sinogram.data(), source.shape()),
                                 std::visit([](auto const& s) { return angles_of(s); }, g.scan));
  notes.insert(notes.end(), corrected.begin(), corrected.end());

  auto const general = general_views_of(g);
  progress bar(20 * o.find.size(), o.quiet);
  auto const found = naming(o.files.input, [&] {
    return calibrate(recon_context{host, {}}, general, view<float const, 3>(sinogram.data(), source.shape()),
                     {.det_channel_offset = o.finds("det_channel_offset"),
                      .det_row_offset = o.finds("det_row_offset"), .detector_roll = o.finds("detector_roll"),
                      .cells = o.cells, .iterations = o.iterations,
                      .progress = [&](int done) {
                        stop_if_asked();
                        bar.at(static_cast<std::size_t>(done), "reconstruction");
                      }});
  });
  bar.clear();
  output_file file(o.out);
  file.write(dump_text(calibrated_json(g, general, found, o.finds("detector_roll")), 1) + '\n');
  file.commit();
  if (o.quiet) return done;
  for (auto const& text : notes) say("{}\n", text);
  print_found(o, found, g, general);
  say("{}: the scan with these values\n", o.out);
  std::fflush(stdout);
  print_notes(warnings, {}, repaired);
  return done;
}

int run(calibrate_command const& o) {
  try {
    return calibrate_scan(o);
  } catch (interrupted const& e) {
    diagnose("mbirk: {} (exit code 1)\n", e.what());
    return check_failed;
  }
}

}  // namespace

void add_calibrate_command(CLI::App& app, chosen_command& chosen) {
  auto* const command = app.add_subcommand(
      "calibrate", "Find the offsets and the roll of the detector from a scan, by the residual of reprojection");
  auto const o = std::make_shared<calibrate_command>();
  add_scan_options(*command, *o);
  add_correction_options(*command, *o);
  command
      ->add_option("--find", o->find, "What to find: det_channel_offset, det_row_offset, detector_roll")
      ->delimiter(',')
      ->check(CLI::IsMember({"det_channel_offset", "det_row_offset", "detector_roll"}))
      ->type_name("NAMES")
      ->capture_default_str();
  command->add_option("--cells", o->cells, "Reduce the scan to at most N views, rows and channels")
      ->check(CLI::Range(16, 2048))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--iterations", o->iterations, "Iterations of each reconstruction")
      ->check(CLI::Range(1, 1000))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--out", o->out, "G.json with what was found; a rolled detector makes it general views")
      ->required()
      ->type_name("G.json");
  add_memory_limit(*command, o->memory_limit, "Refuse scans that need more, e.g. 2GiB");
  add_common_options(*command, *o);
  command->callback([o, &chosen] { chosen = [o] { return run(*o); }; });
}

}  // namespace mbirk::program
