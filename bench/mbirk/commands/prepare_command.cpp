// mbirk prepare: from a scan as it comes to corrected line integrals in the Data Exchange layout.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <numbers>

#include "commands/command_files.hpp"
#include "commands/interrupt.hpp"
#include "commands/recon_result.hpp"
#include "commands/scan_options.hpp"
#include "input/measurement.hpp"
#include "machine/memory.hpp"
#include "process/streams.hpp"
#if defined(MBIRK_WITH_HDF5)
#include "mbirk/io/hdf5.hpp"
#endif

namespace mbirk::program {
namespace {

struct prepare_command : common_options, scan_call {
  std::string out;
  std::optional<std::uint64_t> memory_limit;
};

#if defined(MBIRK_WITH_HDF5)

/// Largest part of the scan that fits into the memory: all of it, a band of rows of all views, or some views.
struct part_plan {
  index_t views = 0, rows = 0;
};

part_plan plan_parts(prepare_command const& o, std::array<index_t, 3> const& shape,
                     available_memory const& available) {
  auto const [views, rows, channels] = shape;
  // The part itself, and as much again for what the corrections keep of it.
  double const most = available.bytes / 8;
  auto const pixels = [&](index_t v, index_t r) {
    return static_cast<double>(v) * static_cast<double>(r) * static_cast<double>(channels);
  };
  if (pixels(views, rows) <= most) return {views, rows};
  auto const& c = o.corrections;
  bool const by_rows = c.needs_views();
  require<allocation_error>(!by_rows || !c.needs_rows(), [&] {
    return "the corrections need the whole scan in memory, " + bytes_text(8 * pixels(views, rows)) +
           ", expected at most " + bytes_text(available.bytes) + ", " + available.source +
           "; --stripes can be made in one run of mbirk prepare; --background, --rotate, --zingers, --median and "
           "--paganin in another";
  });
  part_plan const plan = by_rows ? part_plan{views, static_cast<index_t>(most / pixels(views, 1))}
                                 : part_plan{static_cast<index_t>(most / pixels(1, rows)), rows};
  require<allocation_error>(plan.views > 0 && plan.rows > 0, [&] {
    return std::string(by_rows ? "one row of all views" : "one view") + " needs " +
           bytes_text(8 * (by_rows ? pixels(views, 1) : pixels(1, rows))) + ", expected at most " +
           bytes_text(available.bytes) + ", " + available.source;
  });
  return plan;
}

int prepare(prepare_command const& o) {
  require_host(o, "prepare");
  interrupt_watch const interrupts;
  require<io_error>(o.out.ends_with(".h5") || o.out.ends_with(".hdf5"),
                    [&] { return "--out " + o.out + ": expected a name that ends in .h5 or .hdf5"; });
  command_files files;
  add_scan_files(o, files);
  files.writes(o.out);
  files.check_and_open();
  auto available = o.memory_limit ? available_memory{static_cast<double>(*o.memory_limit), "--memory-limit"}
                                  : memory_available().value_or(available_memory{1e300, "all memory"});
  memory_budget const memory(available);
  measurement_source const source(o.files, o.part, memory);
  available.bytes -= source.memory();
  for (auto const& name : files_of(source.scan())) files.reads(name);
  files.check();
  std::vector<std::string> notes;
  auto const options = with_centre(o, source, o.threads, notes);
  std::vector<scan_fact> used;
  // Without angles or distances there is no geometry, and the data can be prepared all the same.
  std::optional<geometry_file> g;
  if (!source.theta().empty() || !options.file.empty())
    g = scan_geometry(source.scan(), source.part(), source.theta(), options, o.files.input, used, memory);
  if (g) {
    for (auto const& name : g->files) files.reads(name);
    files.check();
  }
  auto const warnings = g ? checked_mistakes(o, source.scan(), *g) : source.scan().warnings;
  auto const [views, rows, channels] = source.shape();
  auto const plan = plan_parts(o, source.shape(), available);
  std::vector<float> angles = source.theta();
  if (g) {
    auto const found = std::visit([](auto const& s) { return angles_of(s); }, g->scan);
    angles.assign(found.begin(), found.end());
  }
  require<io_error>(!o.corrections.drift || !angles.empty(),
                    [&] { return "--drift: " + o.files.input + " has no angles, expected --angles"; });

  exec::host const host(o.threads);
  correction_context const ctx{host, {}};
  hdf5_output file(o.out);
  file.create<float>("/exchange/data", {views, rows, channels});
  std::vector<float> part(static_cast<std::size_t>(plan.views * plan.rows * channels));
  repair_count repaired;
  for (index_t first = 0; first < views; first += plan.views)
    for (index_t row = 0; row < rows; row += plan.rows) {
      index_t const count = std::min(plan.views, views - first), height = std::min(plan.rows, rows - row);
      // In blocks, so that a view at a time is converted and interrupts are noticed.
      index_t const step = std::clamp<index_t>((index_t{1} << 22) / (height * channels), 1, count);
      for (index_t v = 0; v < count; v += step) {
        stop_if_asked();
        repaired += source.read_rows(ctx, first + v, std::min(step, count - v), row, height,
                                     part.data() + v * height * channels);
      }
      auto const found = correct(ctx, o.corrections, view<float, 3>(part.data(), {count, height, channels}), angles);
      if (first + row == 0) notes.insert(notes.end(), found.begin(), found.end());
      if (plan.rows == rows) file.write("/exchange/data", first, count, part.data());
      else file.write_rows("/exchange/data", row, height, part.data());
    }
  file.attribute("/exchange/data", "description", "line integrals, by mbirk prepare from " + o.files.input);
  if (!angles.empty()) {
    std::vector<double> degrees;
    for (auto const a : angles) degrees.push_back(static_cast<double>(a) * 180 / std::numbers::pi);
    file.write("/exchange/theta", {views}, degrees.data());
    file.attribute("/exchange/theta", "units", "degrees");
  }
  if (g) {
    auto const params = geometry_json(*g)["params"];
    for (char const* name : {"source_detector_dist", "source_iso_dist", "delta_det_channel", "delta_det_row",
                             "det_channel_offset", "det_row_offset"})
      if (params.contains(name) && params[name].is_number())
        file.attribute("/exchange/data", name, fmt::format("{}", params[name].get<double>()));
  }
  file.commit();
  if (o.quiet) return done;
  if (o.geometry.file.empty()) print_facts(used);
  for (auto const& line : notes) say("{}\n", line);
  say("{}: {} views, {} rows, {} channels from {}\n", o.out, views, rows, channels, source.description());
  std::fflush(stdout);
  print_notes(warnings, {}, repaired);
  return done;
}

#else

int prepare(prepare_command const& o) {
  throw io_error("--out " + o.out + ": this program was built without HDF5", source_location::current());
}

#endif

int run(prepare_command const& o) {
  try {
    return prepare(o);
  } catch (interrupted const& e) {
    diagnose("mbirk: {} (exit code 1)\n", e.what());
    return check_failed;
  }
}

}  // namespace

void add_prepare_command(CLI::App& app, chosen_command& chosen) {
  auto* const command =
      app.add_subcommand("prepare", "Write a scan as corrected line integrals, in the Data Exchange layout");
  auto const o = std::make_shared<prepare_command>();
  add_scan_options(*command, *o);
  add_correction_options(*command, *o);
  command->add_option("--out", o->out, "The line integrals: .h5")->required()->type_name("OUT.h5");
  add_memory_limit(*command, o->memory_limit, "Work in parts that fit, e.g. 2GiB (default: what is available)");
  add_common_options(*command, *o);
  command->callback([o, &chosen] { chosen = [o] { return run(*o); }; });
}

}  // namespace mbirk::program
