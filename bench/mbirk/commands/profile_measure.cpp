#include "commands/profile_measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "mbirk/core/difference.hpp"
#include "operations/staged.hpp"
#include "output/cost_json.hpp"
#include "output/output_hash.hpp"

namespace mbirk::program {
namespace {

using json = nlohmann::json;

// A count of a cone projection takes a second at size 128 and grows with N^4, that of an iterative reconstruction ten
// times as long, and reuse distances take ten times as long as counts. The model of larger sizes is exact, too.
index_t largest_counted(operation const& op) { return op.group == "recon" ? 64 : 128; }
constexpr index_t largest_reuse = 64;
// Emulated device kernels run one fiber per thread: seconds for all operations at size 32, and fifteen times as long at
// 64.
constexpr index_t largest_emulated = 32;

json form_json(double time, instrument::operation_record const* counts) {
  json j{{"time", time}};
  if (!counts) return j;
  j["flops"] = counts->operations.flops();
  j["bytes accessed"] = bytes_accessed(counts->arrays);
  j["stage bytes"] = stage_bytes(*counts);
  j["temporaries"] = json::object();
  for (auto const& a : counts->arrays)
    if (a.role == array_role::temporary)
      j["temporaries"][a.name] = {{"bytes", a.elements * a.item_bytes},
                                  {"bytes moved", a.counts.bytes_loaded + a.counts.bytes_stored}};
  return j;
}

json to_json(transfer_counts const& t, chosen_policy const& policy) {
  if (!policy.has_blocks()) return json::object();
  return {{"uploads", t.uploads}, {"bytes_up", t.bytes_up}, {"downloads", t.downloads}, {"bytes_down", t.bytes_down}};
}

}  // namespace

void measured_operation::run(int run, caller const& calls) {
  bool const marked = !range.empty() && run > 2;
  policy.run(*entry.op, problem.scan(), data,
             {.trace = run == 2 ? &trace.marks() : nullptr, .nvtx = marked, .profiler_range = marked, .range = range},
             calls);
}

json measured_operation::measure(int run_number) {
  json one;
  run(run_number, [&](auto const& call) {
    auto const cost = run_number == 2 ? trace.traced(entry.name, call) : call();
    one = {{"time", cost.seconds}, {"traced", run_number == 2}};
    if (run_number == 1) one["warm_up"] = true;
    one.update(to_json(cost.transfers, policy));
  });
  if (run_number == 1) one["output_hash"] = output_hash(data.output);
  return one;
}

void measured_operation::time(timed_calls& calls, instruments& with, batch_limits const& limits) {
  run(3, [&](auto const& call) { calls.add_batch(with, call, limits); });
}

json later_run(timed_calls const& calls, chosen_policy const& policy) {
  json one = calls.to_json();
  one.update(to_json(calls.transfers(), policy));
  return one;
}

bool counts_reuse(index_t n) { return n <= largest_reuse; }

operation_counts::operation_counts(measured_operation& m, index_t n, bool reuse)
    : counted(n <= largest_counted(*m.entry.op)) {
  auto const& op = *m.entry.op;
  instrument::ledger records;
  if (counted) op.run(context{m.policy.host(), counting{records, reuse}}, m.problem.scan(), m.data);
  else records.add(model_operation(m.entry, problem_shape::cube(n)).record);
  host = records.last();
  cost = cost_json(host, counted ? "counted" : "model", op.minimal_flops(m.problem.scan(), m.data),
                   m.policy.host().threads());
  if (m.policy.has_blocks()) cost["policy"] = "host";  // whose kernels were counted
  auto const make_emulated = devices_of_this_program().emulated;
  if (n > largest_emulated || op.only_on_host || !make_emulated) return;
  instrument::ledger emulated;
  make_emulated({})->run(op, m.problem.scan(), m.data, {.counts = &emulated, .reuse = false},
                         [](auto const& call) { call(); });
  device = emulated.last();
  // Host kernels provide no counts of how warps access memory.
  json access = cost_json(*device, "counted", 0, 1);
  for (auto const* field : {"memory", "items", "stages", "transfers"}) access.erase(field);
  access["policy"] = "emulated";
  cost["device"] = std::move(access);
}

json measured_operation::measure_staged(index_t n, instruments& with, timed_calls const& fused, double warm_up,
                                        instrument::operation_record const* fused_counts) {
  auto const& op = *entry.op;
  if (!has_staged(op)) return nullptr;
  op.run(context{policy.host(), instrument::any{}}, problem.scan(), data);  // to compare with
  auto x = problem.make_operands(op, entry.arguments);
  timed_calls staged(warm_up);
  run_staged(op, policy.host(), nullptr, problem.scan(), x, [&](auto const& call) {
    if (fused.empty()) return staged.add_batch(with, call, batch_of_one_call);
    while (staged.rule().owed() > 0 || (!staged.rule().enough() && staged.spent() < batch_of_a_run.seconds))
      staged.add_batch(with, call, batch_of_a_round);
  });
  // A ray crosses at most 2 n pixels with three taps each. A float sum of m terms has an error of up to m 2^-24, and
  // both forms may have it.
  auto const &stages = std::get<npy_array<float>>(x.output).data, &whole = std::get<npy_array<float>>(data.output).data;
  double const difference = detail::relative_difference(stages, whole), most = 12 * static_cast<double>(n) * 0x1p-24;
  require<error>(difference <= most, [&] {
    return fmt::format("the unfused form of {} differs by {:g} of the largest value, expected at most {:g}", entry.name,
                       difference, most);
  });
  json j{{"difference", difference},
         {"fused", form_json(fused.empty() ? warm_up : fused.result().median, fused_counts)}};
  std::optional<instrument::operation_record> counts;
  if (fused_counts) {
    instrument::ledger records;
    run_staged(op, policy.host(), &records, problem.scan(), x, [](auto const& call) { call(); });
    counts = records.last();
  }
  auto const unfused = staged.result();
  j["unfused"] = form_json(unfused.median, counts ? &*counts : nullptr);
  auto const ratio = [&](char const* of) -> json {
    if (!j["fused"].contains(of)) return nullptr;
    return j["unfused"][of].get<double>() / j["fused"][of].get<double>();
  };
  std::string disturbed;
  if (!fused.empty()) disturbed = fused.result().disturbed.empty() ? unfused.disturbed : fused.result().disturbed;
  j["time ratio"] = disturbed.empty() ? ratio("time") : json(nullptr);
  if (!disturbed.empty()) {
    j["disturbed"] = true;
    j["reason"] = disturbed;
  }
  j["traffic ratio"] = ratio("stage bytes");
  j["accessed ratio"] = ratio("bytes accessed");
  return j;
}

instrument::operation_record const* operation_counts::traced(measured_operation const& m) const {
  if (!m.policy.has_blocks() || m.entry.op->only_on_host) return &host;
  return device ? &*device : nullptr;
}

}  // namespace mbirk::program
