#include "ranks/problem_measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>
#include <utility>
#include <variant>

#include "mbirk/core/difference.hpp"
#include "mbirk/distributed/traced.hpp"
#include "mbirk/profile/statistics.hpp"
#include "operations/vcd_iteration.hpp"
#include "output/json_object.hpp"

namespace mbirk::program {
namespace {

using json = nlohmann::json;

/// Messages of a rank in the timeline of a call; the longest are kept.
constexpr std::size_t messages_in_timeline = 200;

double largest(std::vector<double> const& all) { return *std::ranges::max_element(all); }

/// Iterations of one reconstruction: at least 3, and up to 9 in 4 seconds, as in mbirk bench.
bool iterates_on(std::size_t count, double spent) { return count < 3 || (spent < 4 && count < 9); }

std::string geometry_of(rank_operation const& op) { return op.by == sharing::slices ? "parallel" : "cone"; }

}  // namespace

/// The trace, the traffic and the time in messages before and after a call.
struct problem_measurement::traced_call {
  rank_trace const& trace;
  std::int64_t begin = 0, end = 0, nanoseconds = 0;
  distributed::traffic_ledger before = {}, after = {};

  void begins() {
    before = trace.traffic();
    nanoseconds = trace.messages().nanoseconds();
    begin = trace.buffer()->now();
  }
  void ends() {
    end = trace.buffer()->now();
    nanoseconds = trace.messages().nanoseconds() - nanoseconds;
    after = trace.traffic();
  }
};

problem_measurement::problem_measurement(measuring_run& run, sharing by, index_t n, place_of_rank const& plain,
                                         place_of_rank& traced, rank_trace& trace)
    : run_(run), by_(by), n_(n), plain_(plain), traced_(traced), trace_(trace) {}

void problem_measurement::measure(std::vector<rank_operation const*> const& operations) {
  std::vector<subject> all;
  for (auto const* op : operations) all.push_back({op});
  for (auto& one : all)  // if the problem cannot be made, each of its operations has failed
    succeeds(one, one.failed, [&] {
      if (!problem_) problem_ = make_rank_problem(by_, n_, run_.ranks, run_.options.threads);
    });
  if (!problem_) return;
  for (auto& one : all) {
    run_.step(fmt::format("{} at {}", one.op->name, n_));
    succeeds(one, one.failed, [&] {
      if (one.op->entry) begin(one);
      else begin_iteration(one);
    });
    if (one.op->entry && !one.failed && !run_.options.no_alone)
      succeeds(one, one.failed_alone, [&] { compare_with_one_rank(one); });
    run_.done();
  }
  std::vector<timed_subject> timed;
  std::vector<timed_calls> calls;
  for (auto& one : all) {
    if (one.failed) continue;
    timed.push_back({&one, false});
    calls.emplace_back(one.warm_up);
    if (run_.options.no_alone || one.failed_alone) continue;
    timed.push_back({&one, true});
    calls.emplace_back(one.warm_up_alone);
  }
  time_calls(timed, calls);
  if (!run_.is_root()) return;
  for (std::size_t k = 0; k < timed.size(); ++k) {
    if (timed[k].alone) continue;
    bool const has_alone = k + 1 < timed.size() && timed[k + 1].alone;
    add_result(*timed[k].what, calls[k], has_alone ? &calls[k + 1] : nullptr);
  }
}

/// @param failed  becomes true if it fails
bool problem_measurement::succeeds(subject const& one, bool& failed, std::function<void()> const& work) {
  try {
    work();
    return true;
  } catch (communication_error const&) {
    throw;
  } catch (std::exception const& e) {
    failed = true;
    if (run_.is_root())
      run_.document["errors"].push_back({{"operation", one.op->name}, {"volume_size", n_}, {"error", e.what()}});
    return false;
  }
}

std::vector<double> problem_measurement::call(rank_operation const& op, place_of_rank const& place) {
  distributed::all_reduce(run_.ranks, "begin", 0, distributed::reduction::sum);  // all begin together
  std::vector<double> const mine{problem_->call(op, place)};
  return distributed::gather(run_.ranks, "seconds", mine,
                             std::vector<index_t>(static_cast<std::size_t>(run_.ranks.size()), 1));
}

double problem_measurement::call_alone(rank_operation const& op, operands& x) const {
  double seconds = 0;
  plain_.policy().run(*op.entry->op, problem_->whole()->scan(), x, {},
                      [&](std::function<call_cost()> const& call) { seconds = call().seconds; });
  return seconds;
}

/// The warm-up and the traced call.
void problem_measurement::begin(subject& one) {
  one.warm_up = largest(call(*one.op, plain_));
  add_measurement(one, 1, {{"time", one.warm_up}, {"traced", false}, {"warm_up", true}});
  traced_call traced{trace_};
  call_watch const watch{[&] { traced.begins(); }, [&] { traced.ends(); }};
  traced_.set_watch(&watch);
  std::vector<double> seconds;
  try {
    seconds = call(*one.op, traced_);
  } catch (...) {
    traced_.set_watch(nullptr);
    throw;
  }
  traced_.set_watch(nullptr);
  trace_.buffer()->finish();
  note(one, traced, seconds[static_cast<std::size_t>(run_.ranks.rank())]);
  add_measurement(one, 2, {{"time", largest(seconds)}, {"traced", true}});
}

void problem_measurement::compare_with_one_rank(subject& one) {
  auto const together = problem_->gather_result();
  on_root_alone(run_.ranks, [&] {
    auto x = problem_->whole_operands(*one.op);
    one.warm_up_alone = call_alone(*one.op, x);
    one.result["difference"] =
        detail::relative_difference(together, std::get<npy_array<float>>(x.output).data);
  });
}

/// The traced iteration, which is the second one.
void problem_measurement::begin_iteration(subject& one) {
  traced_call traced{trace_};
  double seconds = 0;
  auto const ends = [&](double taken) {
    traced.ends();
    seconds = taken;
    return false;
  };
  problem_->iterate(traced_, iterations_of({geometry_of(*one.op)}, [&] { traced.begins(); }, ends));
  trace_.buffer()->finish();
  note(one, traced, seconds);
  one.warm_up = one.warm_up_alone = seconds;
  add_measurement(one, 2, {{"time", seconds}, {"traced", true}});
}

/// Collects what the ranks have recorded of a call.
/// @param seconds  of this rank
void problem_measurement::note(subject& one, traced_call const& call, double seconds) {
  auto const& trace = *trace_.buffer();
  auto sent = call.after;
  for (auto const& [what, before] : call.before) {
    auto& now = sent[what];
    now.messages -= before.messages;
    now.bytes -= before.bytes;
    if (now.messages == 0) sent.erase(what);
  }
  json of_rank{{"rank", run_.ranks.rank()},
               {"seconds", seconds},
               {"seconds of messages", 1e-9 * static_cast<double>(call.nanoseconds)},
               {"peak bytes of temporaries", peak_between(trace, call.begin, call.end)}};
  of_rank.update(to_json(sent));

  std::vector<instrument::trace_event const*> messages;
  for (auto const& e : trace.events())
    if (e.kind == instrument::event_kind::stage && distributed::is_message(e.name) && e.begin >= call.begin &&
        e.end <= call.end)
      messages.push_back(&e);
  auto const kept = std::min(messages.size(), messages_in_timeline);
  std::ranges::stable_sort(messages, std::greater<>(), [](auto const* e) { return e->end - e->begin; });
  auto const left_out = messages.size() - kept;
  messages.resize(kept);
  std::ranges::sort(messages, {}, [](auto const* e) { return e->begin; });
  auto const later = trace_.shift();
  auto const at = [&](std::int64_t time) { return 1e-9 * static_cast<double>(time + later); };
  json spans = json::array();
  for (auto const* e : messages)
    spans.push_back({{"name", e->name}, {"begin", at(e->begin)}, {"end", at(e->end)}});
  json const timeline{{"rank", run_.ranks.rank()}, {"begin", at(call.begin)}, {"end", at(call.end)},
                      {"messages", spans},         {"left out", left_out}};

  auto const texts = gather_texts(run_.ranks, json{of_rank, timeline}.dump());
  if (!run_.is_root()) return;
  one.result["by rank"] = one.timeline = json::array();
  for (auto const& text : texts) {
    auto parts = json::parse(text);
    one.result["by rank"].push_back(std::move(parts[0]));
    one.timeline.push_back(std::move(parts[1]));
  }
}

void problem_measurement::add_measurement(subject const& one, int run, json measurement) {
  if (!run_.is_root()) return;
  measurement["operation"] = one.op->name;
  measurement["volume_size"] = n_;
  measurement["run"] = run;
  run_.document["measurements"].push_back(std::move(measurement));
}

std::int64_t problem_measurement::announce(std::int64_t what) const {
  run_.ranks.broadcast("next", std::as_writable_bytes(std::span(&what, 1)), 0);
  return what;
}

/// Rank 0 decides what is called and how often; the others follow.
void problem_measurement::time_calls(std::vector<timed_subject> const& all, std::vector<timed_calls>& calls) {
  if (!run_.is_root()) return follow(all);
  run_.budget += run_.share * static_cast<double>(all.size());
  time_in_rounds(calls, run_.share, run_.budget, [&](std::size_t k) {
    run_.step(fmt::format("times of {} at {}", all[k].what->op->name, n_));
    announce(static_cast<std::int64_t>(k));
    return visit(all[k], calls[k]);
  });
  announce(-1);
}

/// Adds calls; false: there is no use in a further visit.
bool problem_measurement::visit(timed_subject const& timed, timed_calls& calls) {
  auto& one = *timed.what;
  auto const& op = *one.op;
  if (timed.alone) {
    bool const again = succeeds(one, one.failed_alone, [&] {
      if (!op.entry) return iterate_alone(op, calls);
      auto x = problem_->whole_operands(op);
      calls.add_batch(run_.with, [&] { return call_cost{call_alone(op, x)}; }, batch_of_a_round);
    });
    wait_for_ranks(run_.ranks);
    return again && op.entry;
  }
  if (!op.entry) {
    succeeds(one, one.failed, [&] { problem_->iterate(plain_, timed_iterations(op, &calls)); });
    return false;
  }
  bool in_call = false;
  // The call with which a batch of short calls warms up is not timed.
  bool warms_up = calls.expected() < batch_of_a_round.warm_below;
  bool const again = succeeds(one, one.failed, [&] {
    auto const once = [&] {
      announce(1);
      in_call = true;
      auto seconds = call(op, plain_);
      in_call = false;
      call_cost const cost{largest(seconds)};
      if (!std::exchange(warms_up, false)) one.seconds.push_back(std::move(seconds));
      return cost;
    };
    calls.add_batch(run_.with, once, batch_of_a_round);
  });
  if (!in_call) announce(0);  // a call that fails does so on all ranks, which ends their batches
  return again;
}

void problem_measurement::follow(std::vector<timed_subject> const& all) {
  for (std::int64_t next = announce(0); next >= 0; next = announce(0)) {
    auto const& [one, alone] = all[static_cast<std::size_t>(next)];
    if (alone) wait_for_ranks(run_.ranks);
    else if (!one->op->entry)
      succeeds(*one, one->failed,
               [&one = one, this] { problem_->iterate(plain_, timed_iterations(*one->op, nullptr)); });
    else
      succeeds(*one, one->failed, [&one = one, this] {
        while (announce(0) == 1) call(*one->op, plain_);
      });
  }
}

/// @param calls  receives their times; null on the other ranks, where rank 0 decides how many there are
recon_options problem_measurement::timed_iterations(rank_operation const& op, timed_calls* calls) const {
  auto const begins = [this, calls] {
    if (!calls) return;
    run_.with.counters.start();
    run_.with.evidence.start();
  };
  auto const ends = [this, calls, count = std::size_t{0}](double seconds) mutable {
    if (!calls) return true;
    calls->add_iteration(run_.with, seconds);
    return iterates_on(++count, calls->spent());
  };
  return iterations_of({geometry_of(op)}, begins, ends);
}

void problem_measurement::iterate_alone(rank_operation const& op, timed_calls& calls) const {
  auto x = problem_->whole_operands(op);
  std::visit(
      [&](auto const& scan) {
        if constexpr (requires { scan.geometry(); })
          plain_.alone().vcd(scan, x.volume("sinogram"), {}, x.output_volume(), timed_iterations(op, &calls));
      },
      problem_->whole()->scan());
}

/// The prediction of mbirk estimate for these ranks and this network; null where it has no model.
json problem_measurement::model() const {
  if (!run_.measured_network || plain_.policy().has_blocks()) return nullptr;
  auto const& host = plain_.policy().host();
  return std::visit(
      [&](auto const& scan) -> json {
        if constexpr (requires { scan.geometry(); }) {
          auto const e = estimate_ranks(scan, run_.ranks.size(), host.threads(), *run_.measured_network, host);
          return {{"seconds", e.seconds()},
                  {"seconds of messages", e.communication},
                  {"bytes", e.bytes},
                  {"efficiency", e.efficiency()}};
        } else {
          return nullptr;
        }
      },
      problem_->whole()->scan());
}

void problem_measurement::add_result(subject& one, timed_calls const& together, timed_calls const* alone) {
  if (together.empty()) return;  // it failed
  add_measurement(one, 3, together.to_json());
  auto& result = one.result;
  auto const t = together.result();
  double messages = 0;
  for (std::size_t r = 0; r < result["by rank"].size(); ++r) {
    auto& of_rank = result["by rank"][r];
    double const seconds = of_rank["seconds"];
    if (seconds > 0) messages += of_rank["seconds of messages"].get<double>() / seconds;
    std::vector<double> all;
    for (auto const& call : one.seconds) all.push_back(call[r]);
    of_rank["median"] = all.empty() ? json(nullptr) : json(profile::median(all));
  }
  result["share of messages"] = messages / static_cast<double>(run_.ranks.size());
  if (alone && !alone->empty()) {
    auto const by_one = alone->result();
    result["alone"] = alone->to_json();
    bool const trusted = t.disturbed.empty() && by_one.disturbed.empty();
    double const ratio = by_one.median / t.median;
    result["speed-up"] = trusted ? json(ratio) : json(nullptr);
    result["efficiency"] = trusted ? json(ratio / run_.ranks.size()) : json(nullptr);
  }
  if (!one.op->entry)
    if (auto predicted = model(); !predicted.is_null()) result["model"] = std::move(predicted);
  result["timeline"] = std::move(one.timeline);
  object_in(object_in(run_.document["ranks"], "operations"), std::to_string(n_))[one.op->name] = std::move(result);
}

}  // namespace mbirk::program
