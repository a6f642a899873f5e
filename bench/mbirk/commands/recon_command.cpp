// mbirk recon: reconstructs the user's own measurements.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <limits>

#include "commands/command.hpp"
#include "commands/interrupt.hpp"
#include "commands/iteration_progress.hpp"
#include "commands/recon_bands.hpp"
#include "commands/recon_files.hpp"
#include "commands/recon_options.hpp"
#include "commands/recon_result.hpp"
#include "commands/recon_slabs.hpp"
#include "commands/recon_sweeps.hpp"
#include "commands/run_watch.hpp"
#include "input/checkpoint_file.hpp"
#include "input/direct_scan.hpp"
#include "input/geometry_file.hpp"
#include "input/measurement.hpp"
#include "machine/memory.hpp"
#include "mbirk/io/slabs_checkpoint.hpp"
#include "operations/policy.hpp"
#include "operations/recon_memory.hpp"
#include "operations/recon_run.hpp"
#include "process/streams.hpp"

namespace mbirk::program {
namespace {

using clock = std::chrono::steady_clock;

/// Reports the required memory, and throws if it does not fit.
/// @param advice  end of the message
void check_memory(recon_command const& o, std::vector<memory_item> const& items,
                  std::optional<available_memory> const& available, std::string const& advice = {}) {
  double const total = total_bytes(items);
  if (!o.quiet) {
    say("memory needed\n");
    for (auto const& i : items) say("  {:32} {:>9}\n", i.name, bytes_text(i.bytes));
    say("  {:32} {:>9}{}\n", "together", bytes_text(total),
        available ? " of " + bytes_text(available->bytes) + " (" + available->source + ')' : "");
    std::fflush(stdout);
  }
  require<allocation_error>(!available || total <= available->bytes, [&] {
    return "the reconstruction needs at least " + bytes_text(total) + " of memory (" + fmt::format("{:.0f}", total) +
           " bytes), expected at most " + bytes_text(available->bytes) + ", " + available->source +
           "; the largest part is the " + items.front().name + " with " + bytes_text(items.front().bytes) +
           advice;
  });
}

std::vector<float> allocate(double elements, char const* name) {
  try {
    return std::vector<float>(static_cast<std::size_t>(elements));
  } catch (std::exception const&) {
    throw allocation_error("out of memory for the " + std::string(name) + ": " + bytes_text(4 * elements),
                           source_location::current());
  }
}

/// Reconstructs what does not fit at once into memory, or into that of the device.
partial_result reconstruct_in_parts(recon_context const& ctx, reconstructor const& on, recon_command const& o,
                                    measurement_source const& source, geometry_file const& g,
                                    recon_options const& options, std::vector<memory_item> const& other,
                                    json const& parameters, std::optional<saved_slabs> const& resumed,
                                    memory_budget const& memory, memory_limits const& limits, run_watch& watch) {
  auto const shape = recon_shape_of(g.scan);
  auto const begin = [&](std::vector<memory_item> const& items, std::string const& parts) {
    check_memory(o, items, memory.available());
    if (!o.quiet) say("larger than memory: {}\n", parts);
  };
  if (works_in_slabs(o, g)) {
    auto const plan = plan_slabs(ctx.exec, g, other, limits);
    begin(plan.memory, fmt::format("slabs of {} of {} slices", plan.slices, shape[2]));
    return naming(o.scan.files.input, [&] { return recon_in_slabs(ctx, on, o, source, g, plan.slices, watch); });
  }
  if (works_in_sweeps(o, g)) {
    auto const plan = plan_sweeps(ctx.exec, o, g, options, other, limits, resumed);
    begin(plan.memory, fmt::format("slabs of {} of {} slices", plan.slices, shape[2]));
    return naming(o.scan.files.input, [&] {
      return recon_in_sweeps(ctx, on, o, source, g, options, parameters_of_sweeps(o, parameters), resumed,
                             plan.slices, watch);
    });
  }
  auto const plan = plan_bands(ctx.exec, g, other, limits);
  begin(plan.memory, fmt::format("bands of {} of {} rows, blocks of {} of {} views", plan.rows, shape[0], plan.views,
                                 source.shape()[0]));
  return naming(o.scan.files.input, [&] { return recon_in_bands(ctx, on, o, source, g, plan, watch); });
}

/// Whether the method works in parts that fit into memory: as far as the command line tells, and for this scan.
bool works_in_parts(recon_command const& o) { return works_in_slabs(o) || works_in_bands(o) || works_in_sweeps(o); }
bool works_in_parts(recon_command const& o, geometry_file const& g) {
  return works_in_slabs(o, g) || works_in_bands(o, g) || works_in_sweeps(o, g);
}

int reconstruct(recon_command const& o) {
  check_ignored(o);
  chosen_policy const policy(o);
  interrupt_watch const interrupts;
  auto const start = clock::now();
  // Determined before anything is read, which is part of the required memory.
  memory_budget const memory(o.memory_limit
                                 ? available_memory{static_cast<double>(*o.memory_limit), "--memory-limit"}
                                 : memory_available());
  auto const& available = memory.available();
  measurement_source const source(o.scan.files, o.scan.part, memory);
  double samples = 1;
  for (auto const n : source.shape()) samples *= static_cast<double>(n);
  double const lists = parameter_bytes * static_cast<double>(source.shape()[0]);
  if (!works_in_parts(o))
    memory.require(4 * samples + source.memory() + lists,
                   o.scan.files.input + ": a sinogram of shape " + mbirk::detail::shape_text(source.shape()));
  std::vector<scan_fact> used;
  std::vector<std::string> corrected;
  auto const g_options = with_centre(o.scan, source, o.threads, corrected);
  auto g = scan_geometry(source.scan(), source.part(), source.theta(), g_options, o.scan.files.input, used, memory);
  for (auto& mistake : checked_mistakes(o.scan, source.scan(), g)) g.warnings.push_back(std::move(mistake));
  if (o.scan.geometry.file.empty() && !o.quiet) print_facts(used);
  g.model = merged(g.model, o);
  recon_options options(o.call, g.model);
  recon_scan const& scan = g.scan;
  check_method(o, scan);
  check_sweeps(o, g);
  check_out(o, g, source.scan());
  bool const vcd = o.method == "vcd", weighted = vcd && o.weights != "unweighted";
  json const parameters = {{"geometry", geometry_json(g)}, {"weights", o.weights}};
  if (!o.save_parameters.empty()) {
    output_file file(o.save_parameters);
    file.write(dump_text(parameters["geometry"], 1) + '\n');
    file.commit();
  }

  saved_state saved;
  recon_state const& resumed = saved.state;
  std::optional<saved_slabs> resumed_slabs;
  if (!o.resume.empty() && is_slabs_checkpoint(o.resume)) {
    require<io_error>(works_in_sweeps(o, g), [&] {
      return o.resume + ": is the state of a reconstruction in slabs, expected one in memory: only vcd in parallel "
             "beam works in slabs, without corrections that need whole views";
    });
    resumed_slabs = read_slabs_checkpoint(o.resume, parameters_of_sweeps(o, parameters));
  } else if (!o.resume.empty()) {
    saved = read_checkpoint(o.resume, parameters, memory);
    options.resume = &resumed;
    if (!o.seed_given) options.seed = resumed.seed;
  }
  run_watch watch("recon", o.monitor, o.quiet);
  exec::host const& host = policy.host();
  recon_context const ctx{host, instrument::any(host, instrument::live(watch.memory()))};
  auto const on = policy.recon(ctx, watch.memory());
  auto needed = recon_memory(host, scan, options, {vcd, weighted, policy.has_blocks()}, memory.limit());
  auto const other = program_memory(host, source.shape(), recon_shape_of(scan), source.memory());
  needed.insert(needed.end(), other.begin(), other.end());
  bool const fits = total_bytes(needed) <= memory.limit();
  if (policy.device() && !o.quiet) say("device: {}\n", policy.device()->device);
  memory_limits const limits{memory.limit(), policy.has_blocks(), on->free_device_memory()};
  // A state in memory cannot go on in slabs, so with one a prediction is no reason for them.
  bool const has_state = !o.resume.empty() && !resumed_slabs;
  double const on_device = limits.device ? device_memory(host, scan, options, {vcd, weighted}) : 0;
  bool const fits_device = !limits.device || on_device <= *limits.device || has_state;
  if ((!fits || !fits_device || resumed_slabs) && works_in_parts(o, g)) {
    if (!fits_device && !o.quiet)
      say("the device has {} free of {} that are predicted to be needed\n", bytes_text(*limits.device),
          bytes_text(on_device));
    auto const result = reconstruct_in_parts(ctx, *on, o, source, g, options, other, parameters, resumed_slabs, memory,
                                             limits, watch);
    corrected.insert(corrected.end(), result.corrected.begin(), result.corrected.end());
    if (!o.quiet)
      for (auto const& line : corrected) say("{}\n", line);
    watch.finish();
    auto record = result.record;
    record.warnings.insert(record.warnings.end(), result.notes.begin(), result.notes.end());
    print_result(o, scan, record, start);
    if (!o.quiet) print_notes(g.warnings, record, result.repaired);
    return done;
  }
  require<io_error>(!fits || !o.slab_sweeps, [&] {
    return "--slab-sweeps is for reconstructions larger than memory, found one that needs " +
           bytes_text(total_bytes(needed)) + (available ? " of " + bytes_text(available->bytes) : std::string());
  });
  put_largest_first(needed);
  check_memory(o, needed, available, fits ? std::string() : memory_advice(o, g, host, memory.limit()));
  stop_if_asked();

  auto const [views, rows, channels] = source.shape();
  held_arrays held(watch.memory());
  auto sinogram =
      allocate(static_cast<double>(views) * static_cast<double>(rows) * static_cast<double>(channels), "sinogram");
  held.add("sinogram", sinogram.size() * sizeof(float));
  watch.step("reading " + source.description());
  repair_count repaired;
  data_sums sums;  // of what a checkpoint depends on
  {
    progress bar(static_cast<std::size_t>(views), o.quiet);
    bar.at(0, "views of " + source.description());
    repaired = source.read_all({ctx.exec, {}}, sinogram.data(), [&](index_t done) {
      bar.at(static_cast<std::size_t>(done), "views of " + source.description());
      stop_if_asked();
    });
  }
  auto const found = correct({ctx.exec, {}}, o.scan.corrections, view<float, 3>(sinogram.data(), source.shape()),
                             std::visit([](auto const& s) { return angles_of(s); }, scan));
  corrected.insert(corrected.end(), found.begin(), found.end());
  if (!o.quiet)
    for (auto const& line : corrected) say("{}\n", line);
  if (vcd) {
    auto const& mask = std::visit([](auto const& s) -> auto const& { return s.mask(); }, scan);
    sums["mask"] = data_sum(mask.data(), mask.size());
    sums["line integrals"] = sum_text(rows_sum(view<float const, 3>(sinogram.data(), source.shape())));
  }
  if (!o.resume.empty()) require_same_data(o.resume, saved.sums, sums);
  view<float const, 3> const y(sinogram.data(), source.shape());
  auto const shape = recon_shape_of(scan);
  npy_array<float> recon{
      {shape.begin(), shape.end()},
      allocate(static_cast<double>(shape[0]) * static_cast<double>(shape[1]) * static_cast<double>(shape[2]),
               "reconstruction")};
  held.add("reconstruction", recon.data.size() * sizeof(float));
  view<float, 3> const x(recon.data.data(), shape);

  recon_log record;
  if (vcd) {
    std::optional<view<float const, 3>> weights;
    std::vector<float> weight_values;
    held_arrays held_weights(watch.memory());
    if (weighted) {
      weight_values = allocate(static_cast<double>(sinogram.size()), "weights");
      held_weights.add("weights", weight_values.size() * sizeof(float));
      view<float, 3> const w(weight_values.data(), source.shape());
      sinogram_weights(ctx, o.weights, y, w);
      weights = w;
    }
    stop_if_asked();
    watch.step("first image");
    iteration_progress bar(options.max_iterations, resumed.record.num_iterations, o.quiet);
    options.progress = [&](iteration_report const& report) {
      bar.done(report);
      watch.step(report.iteration < report.iterations
                     ? fmt::format("iteration {} of {}", report.iteration + 1, report.iterations)
                     : "last iteration done");
      return !interrupt_asked();
    };
    auto const checkpoint = checkpoint_name(o);
    options.checkpoint = [&](recon_state const& state) { write_checkpoint(checkpoint, state, parameters, sums); };
    // Without --checkpoint, the state is written only when interrupted.
    if (o.checkpoint.empty()) options.checkpoint_every = std::numeric_limits<int>::max();
    record = naming(o.scan.files.input, [&] { return on->vcd(scan, y, weights, x, options); });
    bar.clear();
    if (record.cancelled && record.num_iterations < options.max_iterations) {
      diagnose(
          "mbirk: interrupted after iteration {} of {} (exit code 1); the state is in {}, and --resume {} continues\n",
          record.num_iterations, options.max_iterations, checkpoint, checkpoint);
      watch.finish();
      return check_failed;
    }
  } else {
    watch.step(o.method);
    record.warnings = naming(o.scan.files.input, [&] {
      return direct_scan_recon(*on, g, view<float, 3>(sinogram.data(), source.shape()), x);
    });
    stop_if_asked();
  }
  watch.step("writing");
  write_result(o, g, recon, text_of(o, g, record, source.description()));
  watch.finish();

  if (o.quiet) return done;
  print_result(o, scan, record, start);
  auto notes = g.warnings;
  if (!o.resume.empty() && saved.sums.empty())
    notes.push_back(note_without_sums(o.resume));
  print_notes(std::move(notes), record, repaired);
  return done;
}

int run(recon_command const& o) {
  try {
    return reconstruct(o);
  } catch (interrupted const& e) {
    diagnose("mbirk: {} (exit code 1)\n", e.what());
    return check_failed;
  }
}

}  // namespace

void add_recon_command(CLI::App& app, chosen_command& chosen) {
  auto* const command = app.add_subcommand("recon", "Reconstruct a volume from your own measurements");
  auto const o = add_recon_options(*command, true);
  command->callback([o, command, &chosen] {
    note_given_options(*command, *o);
    chosen = [o] { return run(*o); };
  });
}

}  // namespace mbirk::program
