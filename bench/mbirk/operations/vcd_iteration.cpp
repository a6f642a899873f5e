#include "operations/vcd_iteration.hpp"

#include <chrono>
#include <utility>

#include "mbirk/exec/workspace.hpp"
#include "operations/operation_groups.hpp"
#include "operations/recon_run.hpp"

namespace mbirk::program {

recon_options iterations_of(vcd_iteration const& what, std::function<void()> begins, std::function<bool(double)> ends) {
  using clock = std::chrono::steady_clock;
  recon_options o;
  o.granularity = {what.subsets};
  o.partition_sequence = {0};
  o.max_iterations = 200;
  o.stop_threshold_change_pct = 0;
  o.init_recon = 0.0;
  o.progress = [last = clock::now(), begins = std::move(begins),
                ends = std::move(ends)](iteration_report const& report) mutable {
    std::chrono::duration<double> const time = clock::now() - last;
    if (report.iteration > 1 && !ends(time.count())) return false;
    begins();
    last = clock::now();
    return true;
  };
  return o;
}

void time_iterations(vcd_iteration const& what, profile_problem const& problem, int threads,
                     std::pmr::memory_resource* upstream, std::function<void()> const& begins,
                     std::function<bool(double)> const& ends) {
  auto const o = iterations_of(what, begins, ends);
  exec::workspace memory(upstream);
  recon_context const ctx{exec::host(threads, &memory), {}};
  auto x = problem.make_operands(*find_operation("recon"));
  std::visit(
      [&](auto const& scan) {
        if constexpr (requires { scan.geometry(); })
          vcd_recon(ctx, scan, x.volume("sinogram"), {}, x.output_volume(), o);
      },
      problem.scan());
}

modelled_work work_of(vcd_iteration const& what, profile_problem const& problem) {
  auto const& project = *find_operation("forward_project");
  auto const x = problem.make_operands(project);
  auto const sizes = [&](any_array const& a) {
    double size = 1;
    for (auto const extent : shape_of(a)) size *= static_cast<double>(extent);
    return size;
  };
  double const samples = sizes(x.output), subsets = static_cast<double>(what.subsets);
  double const views = static_cast<double>(shape_of(x.output)[0]),
               slices = static_cast<double>(shape_of(x.inputs.at("recon"))[2]);
  double const voxels = slices * static_cast<double>(of_scan(
                                     problem.scan(), [](auto const& scan) { return scan.full_indices().size(); }));
  double const projection = static_cast<double>(project.minimal_flops(problem.scan(), x));
  double const flops = 2 * projection + 94 * voxels + 6 * subsets * samples;
  bool damped = false;
  geometries::with_name(what.geometry, [&]<class Geometry>(std::type_identity<Geometry>) {
    damped = Geometry::has_slice_damping;
  });
  double const bytes = 24 * subsets * samples + (damped ? 44 : 28) * voxels;
  return {.items = 2 * views * voxels, .flops = flops, .minimal_flops = flops, .bytes = bytes, .in_turn = true};
}

}  // namespace mbirk::program
