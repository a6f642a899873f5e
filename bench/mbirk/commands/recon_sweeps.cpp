#include "commands/recon_sweeps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <variant>

#include "commands/interrupt.hpp"
#include "commands/iteration_progress.hpp"
#include "commands/recon_result.hpp"
#include "commands/slab_store.hpp"
#include "mbirk/core/element_count.hpp"
#include "mbirk/distributed/slab_schedule.hpp"
#include "operations/ranks_estimate.hpp"
#include "output/volume_stream.hpp"

namespace mbirk::program {
namespace {

/// A new reconstruction leaves the rest of the memory, because the same slabs must fit again when it is resumed, and
/// the program itself does not always take the same memory.
constexpr double planned_share = 0.97;

int iterations_of(recon_command const& o) { return std::max(0, o.call.max_iterations - o.call.first_iteration); }
int sweeps_of(recon_command const& o) { return o.slab_sweeps.value_or(std::clamp(iterations_of(o), 1, 3)); }

/// A number of ranks of mbirk-mpi that need no more than `limit` each, a power of two; 0 if there is none.
int enough_ranks(recon_command const& o, geometry_file const& g, exec::host const& host, double limit) {
  if (g.fan || !std::holds_alternative<cone_scan>(g.scan)) return 0;
  auto const shape = recon_shape_of(g.scan);
  // The estimate is for files that rank 0 writes by rows.
  double const image = takes_rows(o.out) ? 0 : sizeof(float) * static_cast<double>(element_count(shape));
  try {
    for (int ranks = 2;; ranks *= 2)
      if (estimate_ranks(g.scan, ranks, 1, {}, host).memory + image <= limit) return ranks;
  } catch (error const&) {
    return 0;  // more ranks than there can be
  }
}

}  // namespace

bool works_in_sweeps(recon_command const& o) {
  return o.method == "vcd" && !o.scan.corrections.needs_rows();
}

bool works_in_sweeps(recon_command const& o, geometry_file const& g) {
  return works_in_sweeps(o) && std::holds_alternative<parallel_parameters>(g.parameters);
}

void check_sweeps(recon_command const& o, geometry_file const& g) {
  if (!o.slab_sweeps) return;
  require<io_error>(std::holds_alternative<parallel_parameters>(g.parameters), [&] {
    return "--slab-sweeps is for parallel beam, whose slices are coupled by the prior only, found geometry " +
           std::string(std::visit([]<class G>(scan<G> const&) { return G::name; }, g.scan));
  });
  int const most = std::max(1, iterations_of(o));
  require<io_error>(*o.slab_sweeps <= most, [&] {
    return fmt::format("--slab-sweeps is {}, expected at most {}: one for each iteration", *o.slab_sweeps, most);
  });
}

json parameters_of_sweeps(recon_command const& o, json parameters) {
  parameters["max_iterations"] = o.call.max_iterations;
  parameters["first_iteration"] = o.call.first_iteration;
  return parameters;
}

std::string memory_advice(recon_command const& o, geometry_file const& g, exec::host const& host, double limit) {
  if (o.method != "vcd") return {};
  if (std::holds_alternative<parallel_parameters>(g.parameters)) {
    if (!o.scan.corrections.needs_rows()) return {};
    return "; it works in slabs that fit once mbirk prepare has made the corrections that need whole views";
  }
  auto const ranks = enough_ranks(o, g, host, limit);
  return "; vcd works in slabs that fit in parallel beam only, expected more memory" +
         (ranks > 0 ? fmt::format(" or mbirk-mpi with {} ranks that have as much each", ranks) : std::string());
}

slab_plan plan_sweeps(exec::host const& host, recon_command const& o, geometry_file const& g,
                      recon_options const& options, std::vector<memory_item> const& other,
                      memory_limits const& limits, std::optional<saved_slabs> const& resumed) {
  require<io_error>(o.resume.empty() || resumed, [&] {
    return o.resume + ": is the state of a reconstruction in memory, expected that of one in slabs, because this one "
           "does not fit into memory";
  });
  index_t const all = std::visit([](auto const& s) { return s.recon_shape()[2]; }, g.scan);
  bool const weighted = o.weights != "unweighted";
  auto const scan_of = [&](index_t slices) { return std::get<parallel_scan>(slab_of(g, slices).scan); };
  auto const plan_of = [&](index_t slices) {
    slab_plan plan{slices, memory_of_slabs(host, scan_of(slices), all, options,
                                           {.weighted = weighted, .on_device = limits.on_device}, limits.host)};
    add_program_memory(plan.memory, other);
    return plan;
  };
  auto room = limits;
  if (!resumed) room.host *= planned_share;
  auto const largest = largest_slabs(all, room, plan_of, [&](index_t slices) {
    return device_memory_of_slabs(host, scan_of(slices), all, options, weighted);
  });
  if (!resumed) {
    // At least two slabs, because a single one has no state before its end.
    if (largest.slices < all || all < 2) return largest;
    index_t const half = ceil_div(all, 2), in_units = ceil_div(half, slab_unit) * slab_unit;
    return plan_of(in_units < all ? in_units : half);
  }
  index_t const wanted = resumed->state.division.slices;
  require<io_error>(wanted >= 1 && wanted <= largest.slices, [&] {
    return fmt::format("{}: has slabs of {} slices, expected at most {}, which fit into the memory", o.resume, wanted,
                       largest.slices);
  });
  return plan_of(wanted);
}

partial_result recon_in_sweeps(recon_context const& ctx, reconstructor const& on, recon_command const& o,
                               measurement_source const& source, geometry_file const& g, recon_options options,
                               json const& parameters, std::optional<saved_slabs> const& resumed, index_t slices,
                               run_watch& watch) {
  return_freed_arrays();
  auto const& whole = std::get<parallel_parameters>(g.parameters);
  auto const& scan = std::get<parallel_scan>(g.scan);
  auto const shape = scan.recon_shape();
  auto const angles = angles_of(scan);
  index_t const all = shape[2], slabs = ceil_div(all, slices);
  auto const checkpoint = checkpoint_name(o);
  slab_store volume(slices_name(checkpoint), shape, slices);
  saved_slabs last;  // the state after the last visit
  last.sums["mask"] = data_sum(scan.mask().data(), scan.mask().size());
  int sweeps = sweeps_of(o);
  distributed::slab_arrays arrays;
  if (resumed) {
    last.state = resumed->state;
    sweeps = o.slab_sweeps.value_or(last.state.division.sweeps);
    if (!o.seed_given) options.seed = last.state.seed;
    distributed::detail::require_resumable(last.state, scan.geometry(), {slices, sweeps}, options, true, o.resume);
    require_same_data(o.resume, resumed->sums, last.sums);
    watch.step("reading " + slices_name(o.resume));
    volume.copy(slices_name(o.resume), *resumed);
    arrays.resume = &resumed->state;
  }
  auto const save = [&] {
    try {
      volume.save();
      last.places = volume.kept();
      write_slabs_checkpoint(checkpoint, last, parameters);
    } catch (...) {
      std::error_code unknown;  // slices are of no use without their state
      bool const has_state = std::filesystem::exists(checkpoint, unknown);
      if (!has_state && !unknown) std::filesystem::remove(slices_name(checkpoint), unknown);
      throw;
    }
  };
  auto const stop_with_state = [&] {
    if (!interrupt_asked()) return;
    require<interrupted>(!last.state.slabs.empty(), [] { return "interrupted; nothing was written"; });
    save();
    throw interrupted(fmt::format("interrupted after {} of {} visits of slabs; the state is in {} and {}, and "
                                  "--resume {} continues",
                                  last.state.visits, slabs * sweeps, checkpoint, slices_name(checkpoint), checkpoint),
                      source_location::current());
  };

  partial_result result;
  std::vector<bool> is_read(static_cast<std::size_t>(slabs));
  arrays.weighted = o.weights != "unweighted";
  arrays.read_data = [&](index_t first, view<float, 3> y, std::optional<view<float, 3>> weights) {
    auto const repaired = read_slab(source, ctx.exec, first, y.extent(1), y.data());
    auto corrected = correct({ctx.exec, {}}, o.scan.corrections, y, angles);
    if (weights) sinogram_weights(ctx, o.weights, y, *weights);
    auto const slab = static_cast<std::size_t>(first / slices);
    if (is_read[slab]) return;
    is_read[slab] = true;
    volume.check_data(first, sum_text(rows_sum(y, first)), o.resume);
    if (result.corrected.empty()) result.corrected = std::move(corrected);
    result.repaired += repaired;
  };
  arrays.read_image = [&](index_t first, view<float, 3> x) { volume.read(first, x); };
  arrays.write_image = [&](index_t first, view<float const, 3> x) { volume.write(first, x); };
  arrays.checkpoint = [&](distributed::slabs_state const& state) {
    last.state = state;
    volume.keep();
    if (!o.checkpoint.empty()) save();
  };

  watch.step("first image");
  int const iterations = iterations_of(o) * static_cast<int>(slabs);
  int done = 0;
  for (auto const& slab : last.state.slabs) done += slab.log.num_iterations;
  iteration_progress bar(iterations, done, o.quiet);
  options.progress = [&](iteration_report const& report) {
    bar.done(report);
    watch.step(fmt::format("iteration {} of {}, of all slabs", report.iteration, report.iterations));
    return !interrupt_asked();
  };
  auto const check_unread = [&] {  // the state had all iterations of these slabs
    watch.step("checking the data");
    index_t const views = source.shape()[0], channels = source.shape()[2];
    std::vector<float> rows(element_count({views, std::min(slices, all), channels}));
    for (index_t first = 0; first < all; first += slices)
      if (!is_read[static_cast<std::size_t>(first / slices)])
        arrays.read_data(first, {rows.data(), {views, std::min(slices, all - first), channels}}, {});
  };
  try {
    result.record = on.vcd_in_slabs(whole, {slices, sweeps}, arrays, options);
    if (!interrupt_asked() && std::ranges::find(is_read, false) != is_read.end()) check_unread();
  } catch (interrupted const&) {  // while it read a slab
    bar.clear();
    stop_with_state();
    throw;
  }
  bar.clear();
  stop_with_state();

  watch.step("writing");
  std::vector<float> slab(element_count({shape[0], shape[1], std::min(slices, all)}));
  auto const file = open_result(o, g, slices);
  for (index_t first = 0; first < all; first += slices) {
    view<float, 3> const x(slab.data(), {shape[0], shape[1], std::min(slices, all - first)});
    volume.read(first, x);
    file->add(x);
    stop_with_state();
  }
  auto const how = slabs == 1 ? std::string() : fmt::format("; {} sweeps over slabs of {} slices", sweeps, slices);
  file->finish(text_of(o, g, result.record, source.description() + how));
  return result;
}

}  // namespace mbirk::program
