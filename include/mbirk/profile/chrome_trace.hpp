// A trace as JSON for ui.perfetto.dev and chrome://tracing; docs/instrumentation.md describes its contents.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "mbirk/instrument/ledger.hpp"
#include "mbirk/instrument/trace.hpp"
#include "mbirk/profile/json_text.hpp"
#include "mbirk/profile/sample.hpp"
#include "mbirk/version.hpp"

namespace mbirk::profile {

/// Counts of an operation, e.g. from another run with the same shapes. Its kernels in the trace between the two times
/// get the counts as arguments, unless their launches and tasks differ from the counted ones.
struct counted_run {
  instrument::operation_record record = {};
  std::int64_t begin = 0, end = std::numeric_limits<std::int64_t>::max();
  /// The caller vouches for the same shapes: kernels that other threads split into other launches or tasks get shares of
  /// the counts by their tasks.
  bool same_work = false;
};

struct chrome_options {
  std::size_t max_events = 500'000;  ///< viewers fail at about twice this number
  std::string process = "mbirk";
  int process_id = 1;                             ///< process id of the host
  int device_process_id = 1000;                   ///< process id of device 0; device n has n more
  std::int64_t shift = 0;                         ///< nanoseconds that are added to all times
  std::vector<std::string> devices{"device 0"};   ///< names of the devices
  std::vector<int> device_of_stream = {};         ///< device of each stream; 0 for streams beyond the end
  std::vector<counted_run> counts = {};
  std::vector<std::pair<std::string, std::string>> about = {};  ///< further entries of otherData, e.g. the command
};

namespace detail {

class chrome_writer {
 public:
  chrome_writer(instrument::trace_buffer const& trace, chrome_options const& options)
      : options_(options), events_(trace.events()), tracks_(trace.tracks()), dropped_(trace.dropped()) {
    sort();
    nest();
    place();
    find_arrows();
    find_busy();
    share_out();
    count_launches();
  }

  std::string text() {
    write_tracks();
    for (auto const k : order_) write_span(k);
    for (auto const& a : arrows_)
      if (keep(arrow, 2)) write_arrow(a);
    for (auto const& e : events_)
      if (!is_span(e) && keep(sample)) write_sample(e);
    for (auto const& [time, threads] : busy_)
      if (keep(busy)) write_counter(options_.process_id, time, "threads busy", "threads", std::to_string(threads));
    std::string out = "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"producer\":" +
                      json_string("mbirk " + std::string(version_string)) +
                      ",\"dropped events\":" + std::to_string(dropped_) +
                      ",\"left out events\":" + std::to_string(left_out_);
    for (auto const& [key, value] : options_.about) out += ',' + json_string(key) + ':' + json_string(value);
    out += "},\"traceEvents\":[\n";
    return out + list_ + "\n]}\n";
  }

 private:
  using event = instrument::trace_event;
  using kind = instrument::event_kind;
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  /// Categories of events, the most important first: when there are too many events, the last categories are dropped
  /// first.
  enum part { operation, stage, sample, copy, kernel, launch, arrow, worker, busy, parts };

  struct row {
    std::size_t track;
    int lane;
  };
  struct flow {
    char const* what;
    std::size_t from, to;
  };
  using place_key = std::tuple<std::size_t, std::string, std::string_view>;  // outermost operation, stages, kernel

  static bool is_span(event const& e) { return e.kind != kind::memory && e.kind != kind::counter; }
  static part part_of(event const& e) {
    switch (e.kind) {
      case kind::operation: return operation;
      case kind::stage: return stage;
      case kind::copy: return copy;
      case kind::kernel: return kernel;
      case kind::launch: return launch;
      case kind::worker: return worker;
      default: return sample;
    }
  }
  static char const* category(event const& e) {
    static constexpr char const* names[parts] = {"operation", "stage", "counter", "copy",   "kernel",
                                                 "launch",    "flow",  "worker",  "counter"};
    return names[part_of(e)];
  }
  std::size_t track_of(event const& e) const {
    return static_cast<std::size_t>(e.track) < tracks_.size() ? static_cast<std::size_t>(e.track) : 0;
  }
  int process_of(event const& e) const {
    return track_of(e) < tracks_.size() ? process_of(tracks_[track_of(e)]) : options_.process_id;
  }
  int process_of(instrument::trace_track const& t) const {
    return t.kind == instrument::track_kind::stream ? options_.device_process_id + device_of(t)
                                                    : options_.process_id;
  }
  int device_of(instrument::trace_track const& t) const {
    auto const n = static_cast<std::size_t>(t.index);
    return n < options_.device_of_stream.size() ? options_.device_of_stream[n] : 0;
  }
  bool nests(event const& e) const {
    return tracks_.empty() || tracks_[track_of(e)].kind == instrument::track_kind::thread;
  }

  /// Sorts spans by begin, enclosing spans first. A span is written when it ends, so of two equal spans the later one
  /// encloses the other.
  void sort() {
    for (std::size_t k = 0; k < events_.size(); ++k)
      if (is_span(events_[k])) order_.push_back(k);
    std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      auto const &x = events_[a], &y = events_[b];
      return x.begin != y.begin ? x.begin < y.begin : x.end != y.end ? x.end > y.end : a > b;
    });
  }

  /// Finds the parent of each span on its thread, and the launch that queued it.
  void nest() {
    parent_.assign(events_.size(), none);
    std::map<std::size_t, std::vector<std::size_t>> open;
    for (auto const k : order_) {
      auto const& e = events_[k];
      if (e.kind == kind::launch && e.id != 0) launch_of_.emplace(e.id, k);
      if (!nests(e)) continue;
      auto& around = open[track_of(e)];
      while (!around.empty() && (events_[around.back()].end < e.end || events_[around.back()].end <= e.begin))
        around.pop_back();
      if (!around.empty()) parent_[k] = around.back();
      around.push_back(k);
    }
  }

  /// Assigns spans to rows of the timeline. On a thread spans nest; elsewhere they follow one another or take the next
  /// free lane.
  void place() {
    row_of_.assign(events_.size(), none);
    std::map<std::size_t, std::vector<std::size_t>> lanes;
    std::map<std::size_t, std::vector<std::int64_t>> open;  // ends of the enclosing spans, by row
    for (auto const k : order_) {
      auto const& e = events_[k];
      auto& of_track = lanes[track_of(e)];
      auto const fits = [&](std::size_t r) {
        auto& ends = open[r];
        while (!ends.empty() && ends.back() <= e.begin) ends.pop_back();
        return ends.empty() || (nests(e) && ends.back() >= e.end);
      };
      auto const found = std::find_if(of_track.begin(), of_track.end(), fits);
      auto const r = found != of_track.end() ? *found : rows_.size();
      if (found == of_track.end()) {
        rows_.push_back({track_of(e), static_cast<int>(of_track.size())});
        of_track.push_back(r);
      }
      open[r].push_back(e.end);
      row_of_[k] = r;
    }
    // Thread ids follow the order of display.
    std::vector<std::size_t> shown(rows_.size());
    std::iota(shown.begin(), shown.end(), std::size_t{0});
    auto const key = [&](std::size_t r) {
      auto const t = track(r);
      return std::tuple(static_cast<int>(t.kind), t.index, rows_[r].lane);
    };
    std::sort(shown.begin(), shown.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    tid_.resize(rows_.size());
    for (std::size_t k = 0; k < shown.size(); ++k) tid_[shown[k]] = k + 1;
  }
  instrument::trace_track track(std::size_t r) const {
    return rows_[r].track < tracks_.size() ? tracks_[rows_[r].track]
                                           : instrument::trace_track{instrument::track_kind::thread, 0};
  }

  std::size_t launch_of(std::size_t k) const {
    auto const found = events_[k].id == 0 ? launch_of_.end() : launch_of_.find(events_[k].id);
    return found == launch_of_.end() ? none : found->second;
  }
  /// Operations and stages that enclose a span or its launch, outermost first.
  std::vector<std::size_t> around(std::size_t k) const {
    std::vector<std::size_t> spans;
    auto const queued = launch_of(k);
    for (auto p = parent_[queued != none && queued != k ? queued : k]; p != none; p = parent_[p])
      if (events_[p].kind == kind::operation || events_[p].kind == kind::stage) spans.push_back(p);
    return {spans.rbegin(), spans.rend()};
  }
  /// "iteration/subset/back": the path from the span `first` of `around` on.
  std::string path(std::vector<std::size_t> const& around, std::size_t first) const {
    std::string text;
    for (auto k = first; k < around.size(); ++k) text.append(text.empty() ? "" : "/").append(events_[around[k]].name);
    return text;
  }

  /// Finds arrows from a launch to the work it queued and, on the host, from an operation to its kernels.
  void find_arrows() {
    for (auto const k : order_) {
      auto const& e = events_[k];
      if (e.kind != kind::kernel && e.kind != kind::copy) continue;
      if (auto const queued = launch_of(k); queued != none) {
        if (e.end >= events_[queued].begin) arrows_.push_back({"launch", queued, k});
        continue;
      }
      auto p = parent_[k];
      while (p != none && events_[p].kind != kind::operation) p = parent_[p];
      if (p != none) arrows_.push_back({"operation", p, k});
    }
  }

  void find_busy() {
    std::map<std::int64_t, index_t> changes;
    for (auto const k : order_)
      if (auto const& e = events_[k]; e.kind == kind::worker) {
        ++changes[e.begin];
        --changes[e.end];
      }
    index_t threads = 0;
    for (auto const& [time, change] : changes)
      if (change != 0) busy_.emplace_back(time, threads += change);
  }

  /// Divides the allowed number of events among the categories.
  void share_out() {
    std::array<std::size_t, parts> wanted{};
    for (auto const& e : events_) ++wanted[part_of(e)];
    wanted[arrow] = 2 * arrows_.size();
    wanted[busy] = busy_.size();
    std::size_t left = options_.max_events;
    for (int p = 0; p < parts; ++p) {
      room_[p] = std::min(wanted[p], left);
      left -= room_[p];
    }
  }
  bool keep(part p, std::size_t events = 1) {
    if (room_[p] >= events) {
      room_[p] -= events;
      return true;
    }
    left_out_ += events;
    return false;
  }

  void line(std::string const& text) { list_ += (list_.empty() ? "" : ",\n") + text; }
  static std::string head(char const* phase, int pid) {
    return std::string("{\"ph\":\"") + phase + "\",\"pid\":" + std::to_string(pid);
  }
  std::string head(char const* phase, std::size_t k, std::int64_t time) const {
    return head(phase, process_of(events_[k])) + ",\"tid\":" + std::to_string(tid_[row_of_[k]]) +
           ",\"ts\":" + microseconds(time + options_.shift);
  }

  void write_tracks() {
    std::map<int, std::string> processes{{options_.process_id, options_.process}};
    for (auto const& t : tracks_)
      if (t.kind == instrument::track_kind::stream) {
        auto const n = static_cast<std::size_t>(device_of(t));
        processes[process_of(t)] = n < options_.devices.size() ? options_.devices[n] : "device " + std::to_string(n);
      }
    int place = 0;
    for (auto const& [pid, name] : processes) {
      line(head("M", pid) + ",\"name\":\"process_name\",\"args\":{\"name\":" + json_string(name) + "}}");
      line(head("M", pid) + ",\"name\":\"process_sort_index\",\"args\":{\"sort_index\":" +
           std::to_string(pid == options_.process_id ? 0 : ++place) + "}}");
    }
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      auto const t = track(r);
      auto const of = head("M", process_of(t)) + ",\"tid\":" + std::to_string(tid_[r]);
      auto const lane = rows_[r].lane == 0 ? "" : " lane " + std::to_string(rows_[r].lane + 1);
      line(of + ",\"name\":\"thread_name\",\"args\":{\"name\":" + json_string(t.name() + lane) + "}}");
      line(of + ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":" + std::to_string(tid_[r]) + "}}");
    }
  }

  void write_span(std::size_t k) {
    auto const& e = events_[k];
    if (!keep(part_of(e))) return;
    bool const items = e.kind == kind::operation || e.kind == kind::stage;
    json_args args;
    args.add_known(items ? "items" : "tasks", e.value).add_known("bytes", e.bytes).add_known("flops", e.flops);
    if (e.kind == kind::operation || e.kind == kind::kernel || e.kind == kind::copy) {
      auto const spans = around(k);
      // On a stream nothing else shows the enclosing spans.
      if (e.kind != kind::operation && launch_of(k) != none && !spans.empty()) {
        args.add("operation", events_[spans[0]].name);
        if (spans.size() > 1) args.add("stage", path(spans, 1));
      }
      add_counts(args, e, spans);
    }
    if (e.id != 0) args.add("launch", static_cast<std::int64_t>(e.id));
    if (e.detail) args.add_detail(e.detail);
    line(head("X", k, e.begin) + ",\"dur\":" + microseconds(std::max<std::int64_t>(e.end - e.begin, 0)) +
         ",\"name\":" + json_string(e.name) + ",\"cat\":\"" + category(e) + '"' + args.text() + '}');
  }

  instrument::operation_record const* record_of(event const& operation) const {
    for (auto const& run : options_.counts)
      if (operation.kind == kind::operation && run.begin <= operation.begin && operation.end <= run.end &&
          run.record.name == operation.name)
        return &run.record;
    return nullptr;
  }
  /// Counted record of the outermost enclosing operation that has one, and the place of the kernel in it.
  std::pair<instrument::operation_record const*, place_key> counted_place(event const& kernel,
                                                                          std::vector<std::size_t> const& spans) const {
    for (std::size_t outer = 0; outer < spans.size(); ++outer)
      if (auto const* record = record_of(events_[spans[outer]]))
        return {record, {spans[outer], path(spans, outer + 1), kernel.name}};
    return {nullptr, {}};
  }
  void count_launches() {
    if (options_.counts.empty()) return;
    for (auto const k : order_) {
      if (events_[k].kind != kind::kernel) continue;
      auto const [record, place] = counted_place(events_[k], around(k));
      if (!record) continue;
      auto& [launches, tasks] = seen_[place];
      ++launches;
      tasks += static_cast<std::uint64_t>(events_[k].value);
    }
  }
  void add_counts(json_args& args, event const& e, std::vector<std::size_t> const& spans) const {
    if (auto const* record = record_of(e))
      add_counts(args, record->operations.flops(), bytes_accessed(record->arrays), 1);
    if (e.kind != kind::kernel) return;
    auto const [record, place] = counted_place(e, spans);
    if (!record) return;
    auto const& [launches, tasks] = seen_.at(place);
    for (auto const& c : record->kernels) {
      if (c.stage != std::get<1>(place) || c.name != std::get<2>(place)) continue;
      auto const flops = c.operations.flops(), bytes = c.bytes_loaded + c.bytes_stored;
      if (c.launches == launches && c.tasks == tasks) add_counts(args, flops, bytes, launches);
      else if (vouched(*record) && tasks > 0) {
        double const share = static_cast<double>(e.value) / static_cast<double>(tasks);
        args.add("counted flops by tasks", static_cast<std::int64_t>(share * static_cast<double>(flops)))
            .add("counted bytes by tasks", static_cast<std::int64_t>(share * static_cast<double>(bytes)));
      }
    }
  }
  bool vouched(instrument::operation_record const& record) const {
    return std::any_of(options_.counts.begin(), options_.counts.end(),
                       [&](auto const& run) { return &run.record == &record && run.same_work; });
  }
  static void add_counts(json_args& args, std::uint64_t flops, std::uint64_t bytes, std::uint64_t launches) {
    std::string const all = launches == 1 ? "" : " of " + std::to_string(launches) + " launches";
    args.add("counted flops" + all, static_cast<std::int64_t>(flops))
        .add("counted bytes" + all, static_cast<std::int64_t>(bytes));
  }

  void write_arrow(flow const& a) {
    auto const begin = events_[a.from].begin, end = std::max(events_[a.to].begin, begin);
    auto const name = ",\"name\":\"" + std::string(a.what) + "\",\"cat\":\"" + a.what +
                      "\",\"id\":" + std::to_string(++arrow_ids_) + '}';
    line(head("s", a.from, begin) + name);
    line(head("f", a.to, end) + ",\"bp\":\"e\"" + name);
  }
  void write_sample(event const& e) {
    if (e.kind == kind::memory)
      write_counter(options_.process_id, e.begin, "live bytes", "bytes", std::to_string(e.value));
    else if (std::isfinite(sample_value(e)))  // JSON cannot represent infinities and NaN
      write_counter(process_of(e), e.begin, e.name, "value", e.detail ? e.detail : std::to_string(e.value));
  }
  void write_counter(int pid, std::int64_t time, std::string_view name, char const* series, std::string const& value) {
    line(head("C", pid) + ",\"ts\":" + microseconds(time + options_.shift) + ",\"name\":" + json_string(name) +
         ",\"args\":{\"" + series + "\":" + value + "}}");
  }

  chrome_options const& options_;
  std::span<event const> events_;
  std::vector<instrument::trace_track> tracks_;
  std::uint64_t dropped_, left_out_ = 0;
  std::uint64_t arrow_ids_ = static_cast<std::uint64_t>(options_.process_id - 1) << 32;  // no other process has them
  std::vector<std::size_t> order_, parent_, row_of_, tid_;  // parent_ and row_of_ are indexed by event, tid_ by row
  std::vector<row> rows_;
  std::unordered_map<std::uint64_t, std::size_t> launch_of_;
  std::vector<flow> arrows_;
  std::vector<std::pair<std::int64_t, index_t>> busy_;
  std::array<std::size_t, parts> room_{};
  std::map<place_key, std::pair<std::uint64_t, std::uint64_t>> seen_;  // launches and tasks in the trace
  std::string list_;
};

}  // namespace detail

/// Traces of several processes as one. Each was made by to_chrome_trace, with process ids of its own and times of one
/// clock; otherData is that of the first.
inline std::string merge_chrome_traces(std::span<std::string const> traces) {
  constexpr std::string_view begin = "\"traceEvents\":[\n", end = "\n]}\n";
  std::string all;
  for (auto const& text : traces) {
    auto const at = text.find(begin) + begin.size();
    if (all.empty()) all = text.substr(0, at);
    else all += ",\n";
    all.append(text, at, text.size() - end.size() - at);
  }
  return all + std::string(end);
}

/// The trace as JSON: processes; a row for each thread, worker and stream; spans with their numbers as arguments;
/// arrows from launches and operations to kernels; counters. If a device was traced, call trace.finish() first.
/// otherData states how many events the buffer dropped, and how many are omitted here to stay within
/// options.max_events (names of rows do not count). Counters of busy threads are omitted first, then workers, arrows,
/// launches, kernels, copies, other counters, stages and operations; within each category, the latest events.
inline std::string to_chrome_trace(instrument::trace_buffer const& trace, chrome_options const& options = {}) {
  return detail::chrome_writer(trace, options).text();
}

}  // namespace mbirk::profile
