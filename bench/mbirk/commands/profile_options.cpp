#include "commands/profile_options.hpp"

#include <algorithm>

namespace mbirk::program {

void profile_options::check() const {
  require<unavailable_error>(!no_fuse || common.policy == "host", [&] {
    return "--no-fuse is not available under policy " + common.policy +
           ": unfused forms run on the host, expected --policy host";
  });
  require<unavailable_error>(!cupti || common.policy == "cuda", [&] {
    return "--cupti is not available under policy " + common.policy +
           ": it records what a device does, expected --policy cuda";
  });
  require(!profiler_range || runs > 2, [&] {
    return "--cuda-profiler-range takes the runs after the traced one, of which --runs " + std::to_string(runs) +
           " has none, expected --runs 3 or more";
  });
  require(recon_size == 0 || std::ranges::find(sizes, recon_size) != sizes.end(), [&] {
    return "--recon-size " + std::to_string(recon_size) + " is none of --sizes, expected one of them";
  });
}

index_t profile_options::reconstruction_size() const {
  if (recon_size > 0) return recon_size;
  index_t const least = *std::ranges::min_element(sizes);
  index_t chosen = least, most = all_of_each_size() ? 128 : 64;
  for (auto const n : sizes)
    if (n <= most) chosen = std::max(chosen, n);
  return chosen;
}

void add_profile_options(CLI::App& command, profile_options& o) {
  add_common_options(command, o.common, true);
  o.sizes_option =
      command
          .add_option("--sizes", o.sizes,
                      "Sizes N: recon N^3, N/2 views. Default ones above 64 are measured as far as four minutes allow, "
                      "and what is left out is listed; sizes that are given are measured completely")
          ->delimiter(',')
          ->check(CLI::Range(2, 4096))
          ->type_name("N,N,...")
          ->capture_default_str();
  o.runs_option =
      command
          .add_option(
              "--runs", o.runs,
              "Number of runs: 1 is the warm-up, 2 is traced, later ones are only timed (default: 3, of which the "
              "last one repeats calls until their times are certain)")
          ->check(CLI::Range(1, 1000))
          ->type_name("N");
  auto* const budget = command.add_option("--budget", o.budget,
                                          "Seconds of timed calls, of all operations and sizes together (default: 0.05 "
                                          "for each operation and size)");
  budget->check(number_between(1e-3, 1e6))->type_name("SECONDS");
  budget->excludes("--runs");
  o.pin.add(command);
  command.add_option("--ops", o.ops, "Shell pattern that selects operations by name")
      ->type_name("GLOB")
      ->capture_default_str();
  command
      .add_option("--trace-events", o.trace_events,
                  "Capacity of the trace of each size; the number of events that do not fit is reported")
      ->check(CLI::Range(1, 100'000'000))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--out", o.out, "Output folder")->type_name("DIR")->capture_default_str();
  command.add_flag(
      "--no-fuse", o.no_fuse,
      "Also time and count multi-stage operations stage by stage, with all intermediate arrays in memory");
  command
      .add_option("--recon-iterations", o.recon_iterations,
                  "Iterations of the whole reconstructions over which shares are measured; 0: none")
      ->check(CLI::Range(0, 1000))
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--recon-size", o.recon_size,
                  "Which of the sizes they have (default: the largest one up to 128, without --sizes up to 64)")
      ->check(CLI::Range(2, 4096))
      ->type_name("N");
  command
      .add_option("--words-from", o.words_from,
                  "A sinogram of your own as .npy (views, rows, channels), which the search for word lengths tries too")
      ->type_name("FILE");
  command.add_flag("--no-graphs", o.no_graphs, "Without the folder graphs");
  command.add_flag("--no-handoff", o.no_handoff, "Without word lengths and HLS export folders");
  command.add_flag("--no-tables", o.no_tables, "Without the folder tables");
  command.add_flag("--no-heap", o.no_heap, "Without the folder memory");
  add_candidate_options(command, o.judged);
  add_monitor_options(command, o.monitor);
  command.add_flag(
      "--graph-steps", o.graph_steps,
      "Also write every step between a graph before and after fusion, as numbered text and DOT files for diff");
  command.add_flag(
      "--cupti", o.cupti,
      "With --policy cuda: take kernels, copies and graph nodes of the traced run from CUPTI if available");
  command.add_flag(
      "--cuda-profiler-range", o.profiler_range,
      "With --policy cuda: for Nsight, enclose the runs after the traced one in cudaProfilerStart and Stop, "
      "and mark them for NVTX");
}

}  // namespace mbirk::program
