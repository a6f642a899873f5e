#include "commands/recon_sweeps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "commands/interrupt.hpp"
#include "commands/iteration_progress.hpp"
#include "mbirk/core/element_count.hpp"
#include "mbirk/io/output_file.hpp"
#include "operations/ranks_estimate.hpp"

namespace mbirk::program {
namespace {

int iterations_of(recon_command const& o) { return std::max(0, o.call.max_iterations - o.call.first_iteration); }
int sweeps_of(recon_command const& o) { return o.slab_sweeps.value_or(std::clamp(iterations_of(o), 1, 3)); }

/// The volume between the sweeps: slab after slab in a file that is never given a name, next to the output.
class volume_between_sweeps {
 public:
  volume_between_sweeps(std::string const& next_to, std::array<index_t, 3> const& shape)
      : file_(next_to, durability::unsynced), pixels_(shape[0] * shape[1]) {}

  void read(index_t first, view<float, 3> to) { file_.read_at(offset(first), to.data(), bytes(to.size())); }
  void write(index_t first, view<float const, 3> from) {
    file_.write_at(offset(first), from.data(), bytes(from.size()));
  }

 private:
  static std::size_t bytes(index_t elements) { return static_cast<std::size_t>(elements) * sizeof(float); }
  index_t offset(index_t first) const { return first * pixels_ * static_cast<index_t>(sizeof(float)); }

  output_file file_;
  index_t pixels_;
};

/// A number of ranks of mbirk-mpi that need no more than `limit` each, a power of two; 0 if there is none.
int enough_ranks(geometry_file const& g, exec::host const& host, double limit) {
  if (g.fan || !std::holds_alternative<cone_scan>(g.scan)) return 0;
  try {
    for (int ranks = 2;; ranks *= 2)
      if (estimate_ranks(g.scan, ranks, 1, {}, host).memory <= limit) return ranks;
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

std::string memory_advice(recon_command const& o, geometry_file const& g, exec::host const& host, double limit) {
  if (o.method != "vcd") return {};
  if (std::holds_alternative<parallel_parameters>(g.parameters)) {
    if (!o.scan.corrections.needs_rows()) return {};
    return "; it works in slabs that fit once mbirk prepare has made the corrections that need whole views";
  }
  auto const ranks = enough_ranks(g, host, limit);
  return "; vcd works in slabs that fit in parallel beam only, expected more memory" +
         (ranks > 0 ? fmt::format(" or mbirk-mpi with {} ranks that have as much each", ranks) : std::string());
}

slab_plan plan_sweeps(exec::host const& host, recon_command const& o, geometry_file const& g,
                      recon_options const& options, std::vector<memory_item> const& other,
                      memory_limits const& limits) {
  index_t const all = std::visit([](auto const& s) { return s.recon_shape()[2]; }, g.scan);
  bool const weighted = o.weights != "unweighted";
  auto const scan_of = [&](index_t slices) { return std::get<parallel_scan>(slab_of(g, slices).scan); };
  auto const plan_of = [&](index_t slices) {
    slab_plan plan{slices, memory_of_slabs(host, scan_of(slices), all, options,
                                           {.weighted = weighted, .on_device = limits.on_device})};
    add_program_memory(plan.memory, other);
    return plan;
  };
  return largest_slabs(all, limits, plan_of, [&](index_t slices) {
    return device_memory_of_slabs(host, scan_of(slices), all, options, weighted);
  });
}

partial_result recon_in_sweeps(recon_context const& ctx, reconstructor const& on, recon_command const& o,
                               measurement_source const& source, geometry_file const& g, recon_options options,
                               index_t slices, run_watch& watch) {
  require<io_error>(o.checkpoint.empty() && o.resume.empty(), [&] {
    return std::string(o.checkpoint.empty() ? "--resume" : "--checkpoint") +
           ": a reconstruction larger than memory, in slabs, has no state in memory to save or to resume; expected "
           "neither --checkpoint nor --resume";
  });
  return_freed_arrays();
  auto const& whole = std::get<parallel_parameters>(g.parameters);
  auto const shape = std::visit([](auto const& s) { return s.recon_shape(); }, g.scan);
  auto const angles = std::visit([](auto const& s) { return angles_of(s); }, g.scan);
  index_t const all = shape[2], slabs = ceil_div(all, slices);
  int const sweeps = sweeps_of(o);
  volume_between_sweeps volume(o.out, shape);

  partial_result result;
  index_t reads = 0;
  distributed::slab_arrays arrays;
  arrays.weighted = o.weights != "unweighted";
  arrays.read_data = [&](index_t first, view<float, 3> y, std::optional<view<float, 3>> weights) {
    auto const repaired = read_slab(source, ctx.exec, first, y.extent(1), y.data());
    auto corrected = correct({ctx.exec, {}}, o.scan.corrections, y, angles);
    if (weights) sinogram_weights(ctx, o.weights, y, *weights);
    if (reads == 0) result.corrected = std::move(corrected);
    if (reads < slabs) result.repaired += repaired;  // all are read once before any is read again
    ++reads;
  };
  arrays.read_image = [&](index_t first, view<float, 3> x) { volume.read(first, x); };
  arrays.write_image = [&](index_t first, view<float const, 3> x) { volume.write(first, x); };

  watch.step("first image");
  iteration_progress bar(iterations_of(o) * static_cast<int>(slabs), 0, o.quiet);
  options.progress = [&](iteration_report const& report) {
    bar.done(report);
    watch.step(fmt::format("iteration {} of {}, of all slabs", report.iteration, report.iterations));
    return !interrupt_asked();
  };
  result.record = on.vcd_in_slabs(whole, {slices, sweeps}, arrays, options);
  bar.clear();
  stop_if_asked();

  watch.step("writing");
  std::vector<float> slab(element_count({shape[0], shape[1], std::min(slices, all)}));
  auto const file = open_result(o, g, slices);
  for (index_t first = 0; first < all; first += slices) {
    view<float, 3> const x(slab.data(), {shape[0], shape[1], std::min(slices, all - first)});
    volume.read(first, x);
    file->add(x);
    stop_if_asked();
  }
  auto const how = slabs == 1 ? std::string() : fmt::format("; {} sweeps over slabs of {} slices", sweeps, slices);
  file->finish(text_of(o, g, result.record, source.description() + how));
  return result;
}

}  // namespace mbirk::program
