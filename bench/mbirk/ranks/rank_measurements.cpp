#include "ranks/rank_measurements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory_resource>
#include <utility>

#include "commands/profile_folders.hpp"
#include "mbirk/exec/workspace.hpp"
#include "operations/recon_memory.hpp"
#include "operations/views_memory.hpp"
#include "output/json_object.hpp"

namespace mbirk::program {
namespace {

using json = nlohmann::json;
namespace fs = std::filesystem;

/// Seconds of timed calls of an operation at a size, on average.
constexpr double default_share = 0.2;

/// Why ranks cannot measure an operation at a size; empty if they can.
std::string obstacle(rank_operation const& op, index_t n, int ranks) {
  if (!op.entry && n * n < 128 * 16) return fmt::format("128 subsets of {} pixels have fewer than 16", n * n);
  try {
    check_sharing(op.by, n, ranks);
    return {};
  } catch (parameter_error const& e) {
    return e.what();
  }
}

/// Bytes that a rank needs for a problem of size n: the trace, its reconstruction with the others and, on rank 0, the
/// problem of mbirk profile and its reconstruction alone.
double bytes_of_rank(exec::host const& host, sharing by, index_t n, int rank, int ranks, bool alone) {
  double const volume = 4 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
  auto const [views, rows, channels] = problem_shape::cube(n);
  auto const of_recon = [&](recon_scan const& scan) { return total_bytes(recon_memory(host, scan, {}, {})); };
  auto const cone = cone_geometry::typical_scan({views, rows, channels});
  auto const parallel = parallel_geometry::typical_scan({views, rows, channels});
  double bytes = rank_trace::bytes;
  if (by == sharing::views)  // every rank projects the whole volume forward
    bytes += views_memory(distributed::cone_views(cone, rank, ranks), rank, {}, {}, false, 0) + volume;
  else if (by == sharing::slices) bytes += of_recon(distributed::parallel_slab(parallel, rank, ranks).scan());
  else bytes += 6 * volume / ranks;  // the image and the result, and both with the rows beside and estimates
  if (rank > 0) return bytes;
  // Two volumes, a quarter of one and a sinogram of half as many samples; an input and its result, and parts of them.
  bytes += (2 + 0.25 + 0.5 + 2 + 1) * volume;
  if (!alone) return bytes;
  return bytes + (by == sharing::views ? of_recon(cone_scan(cone)) : of_recon(parallel_scan(parallel)));
}

}  // namespace

std::vector<index_t> default_sizes(int ranks) {
  index_t const least = std::max<index_t>(64, distributed::slice_unit * ranks);
  return {least, 2 * least};
}

rank_measurements::rank_measurements(rank_measurement_options const& options, char const* command,
                                     distributed::mpi const& ranks)
    : options_(options), ranks_(ranks), here_(find_neighbours(ranks)), memory_(budget_of(options.memory_limit, here_)) {
  if (options_.sizes.empty()) options_.sizes = default_sizes(ranks.size());
  std::vector<index_t> once;
  for (auto const n : options_.sizes)
    if (std::ranges::find(once, n) == once.end()) once.push_back(n);
  options_.sizes = std::move(once);
  options_.quiet = options.quiet || ranks.rank() > 0;
  document_ = {{"timestamp", timestamp()},       {"volume_sizes", options_.sizes}, {"runs_per_size", 3},
               {"measurements", json::array()},  {"cost_analysis", json::object()}, {"errors", json::array()},
               {"ranks", {{"count", ranks.size()}, {"left out", json::array()}}}};
  for (auto const n : options_.sizes)
    for (auto const by : {sharing::slices, sharing::views, sharing::rows}) {
      std::vector<rank_operation const*> operations;
      for (auto const& op : rank_operations())
        if (op.by == by && matches(options_.ops, op.name)) operations.push_back(&op);
      if (!operations.empty()) choose(n, by, std::move(operations));
    }
  auto const& left_out = document_["ranks"]["left out"];
  require(!steps_.empty() || !left_out.empty(), [&] {
    return "--ops " + options_.ops + " matches no operation that ranks do together, expected a pattern such as "
           "'parallel_*' for names such as " + rank_operations().front().name;
  });
  require(!steps_.empty(), [&] { return left_out[0]["reason"].get<std::string>(); });
  distributed::agree(ranks, [&] {
    for (auto const& s : steps_)
      memory_.require(bytes_of_rank(exec::host(options_.threads), s.by, s.n, ranks.rank(), ranks.size(),
                                    !options_.no_alone),
                      fmt::format("size {}: {}", s.n,
                                  ranks.rank() == 0 ? "rank 0, which has the whole problem," : "the rank"));
  });
  distributed::agree(ranks, [&] {  // the log is that of rank 0
    watch_.emplace(command, ranks.rank() == 0 ? options_.monitor : monitor_options{}, options_.quiet);
  });
}

void rank_measurements::choose(index_t n, sharing by, std::vector<rank_operation const*> operations) {
  std::erase_if(operations, [&](rank_operation const* op) {
    auto reason = obstacle(*op, n, ranks_.size());
    if (reason.empty()) return false;
    document_["ranks"]["left out"].push_back(
        {{"operation", op->name}, {"volume_size", n}, {"reason", std::move(reason)}});
    return true;
  });
  if (!operations.empty()) steps_.push_back({n, by, std::move(operations)});
}

void rank_measurements::run(std::function<fs::path(index_t)> const& traces) {
  std::size_t total = 0, done = 0;
  for (auto const& s : steps_) total += s.operations.size();
  bar_.emplace(total, options_.quiet);
  auto const step = [&](std::string const& what) {
    bar_->at(done, what);
    watch_->step(what);
  };
  double const timed = static_cast<double>(total) * (options_.no_alone ? 1 : 2);
  double const share = options_.budget > 0 ? options_.budget / timed : default_share;
  measuring_run shared{options_, ranks_, instruments_, measure_network(ranks_), share, 0, step, [&] { ++done; },
                       document_};
  if (auto const& found = shared.measured_network)
    document_["ranks"]["network"] = {{"latency", found->latency}, {"bytes per second", found->bandwidth}};
  auto const load_before = load_average();
  for (auto s = steps_.begin(); s != steps_.end();) {
    auto const end = std::find_if(s, steps_.end(), [&](step_of_run const& other) { return other.n != s->n; });
    instrument::live_resource fresh(watch_->memory(), std::pmr::new_delete_resource(), "workspace");
    exec::workspace memory(&fresh);  // repeated calls then pay neither for fresh pages nor for announcing them
    std::optional<rank_trace> plain, traced;
    std::optional<place_of_rank> timing, tracing;
    distributed::agree(ranks_, [&] {
      plain.emplace(false, ranks_, here_.with_root);
      traced.emplace(true, ranks_, here_.with_root);
    });
    agree_on_available(ranks_, [&] {
      timing.emplace(options_, plain->messages(), here_, rank_notes{watch_->memory()}, &memory);
      tracing.emplace(options_, traced->messages(), here_, rank_notes{watch_->memory(), traced->buffer()}, &memory);
    });
    if (!document_.contains("environment")) {
      auto& environment = document_["environment"] = timing->policy().environment();
      environment["ranks"] = ranks_.size();
      environment["ranks on the machine of rank 0"] = here_.ranks;
      environment["load before"] = load_before;
      describe(instruments_, {}, environment);
    }
    auto const n = s->n;
    for (; s != end; ++s) {
      step(fmt::format("the problem at {}", n));
      problem_measurement(shared, s->by, n, *timing, *tracing, *traced).measure(s->operations);
    }
    if (traces) write_trace(*traced, n, traces(n));
    object_in(document_, "dropped_trace_events")[std::to_string(n)] = distributed::all_reduce(
        ranks_, "dropped", static_cast<std::int64_t>(traced->buffer()->dropped()), distributed::reduction::sum);
  }
  document_["environment"]["load after"] = load_average();
  bar_->clear();
}

/// A failure does not lose the measurements.
void rank_measurements::write_trace(rank_trace& trace, index_t n, fs::path const& folder) {
  try {
    trace.write(folder);
  } catch (communication_error const&) {
    throw;
  } catch (std::exception const& e) {
    document_["errors"].push_back({{"operation", "traces"}, {"volume_size", n}, {"error", e.what()}});
  }
}

void rank_measurements::finish() {
  watch_->finish();
  print_notes(instruments_, options_.quiet);
}

}  // namespace mbirk::program
