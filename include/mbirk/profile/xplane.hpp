// A traced run as the XSpace that XProf and TensorBoard open (<logdir>/plugins/profile/<session>/<host>.xplane.pb), as
// bytes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mbirk/instrument/trace.hpp"
#include "mbirk/profile/hlo.hpp"
#include "mbirk/profile/program.hpp"
#include "mbirk/profile/sample.hpp"
#include "mbirk/profile/steps.hpp"
#include "mbirk/profile/xplane_writer.hpp"

namespace mbirk::profile {

struct xspace_options {
  std::string host = "localhost";     ///< file name without .xplane.pb
  std::int64_t unix_nanoseconds = 0;  ///< begin of the trace since 1970; 0: unknown
  /// Nanoseconds to which longer gaps without traced events are shortened; a warning in the file states how much was
  /// cut out.
  std::int64_t longest_idle = std::numeric_limits<std::int64_t>::max();
};

namespace detail {

/// A step, the program that it calls, and the kernels that ran.
struct program_step {
  traced_step const* step;
  std::size_t program;
  std::vector<std::size_t> kernels;
  bool alone = true;  ///< no step of another thread was running
};

class xspace_writer {
 public:
  xspace_writer(instrument::trace_buffer const& trace, std::span<program const> programs, machine_specs const& m,
                xspace_options const& options)
      : trace_(trace),
        machine_(m),
        options_(options),
        tracks_(trace.tracks()),
        steps_(steps_of(trace)),
        programs_(programs.begin(), programs.end()) {
    validate(m);
    validate(programs);
    find_idle();
    find_programs();
    validate(std::span<program const>(programs_));
    for (auto const& p : programs_) names_.push_back(names_of(p));
  }

  std::string bytes() {
    wire out;
    out.message(1, programs_plane());
    out.message(1, on_device() ? device_plane() : host_device_plane());
    out.message(1, host_plane());
    if (options_.unix_nanoseconds > 0) out.message(1, environment_plane());
    if (trace_.dropped() > 0)
      warnings_.push_back(std::to_string(trace_.dropped()) + " events were dropped: the trace holds " +
                          std::to_string(trace_.capacity()) + ", and some cannot be had");
    for (auto const& w : warnings_) out.text(3, w);
    out.text(4, utf8_line(options_.host));
    require<description_error>(out.bytes().size() < (std::size_t{1} << 31), [&] {
      return "an XSpace of " + std::to_string(out.bytes().size()) +
             " bytes cannot be read, expected less than 2 GiB: trace fewer events";
    });
    return out.bytes();
  }

 private:
  using event_kind = instrument::event_kind;
  static constexpr std::int64_t counters_line = 1000000;

  bool on_device() const noexcept { return machine_.backend != backend::host; }
  /// Converts a time of the trace to picoseconds in the file.
  std::int64_t ps(std::int64_t ns) const noexcept {
    auto const after =
        std::upper_bound(cut_.begin(), cut_.end(), ns, [](std::int64_t t, cut const& c) { return t < c.at; });
    return (after == cut_.begin() ? ns : ns - std::prev(after)->total) * 1000;
  }
  void find_idle() {
    std::vector<std::pair<std::int64_t, std::int64_t>> spans;
    for (auto const& e : trace_.events()) spans.emplace_back(e.begin, e.end);
    std::sort(spans.begin(), spans.end());
    std::int64_t until = 0, total = 0;
    for (auto const& [begin, end] : spans) {
      if (begin - until > options_.longest_idle)
        cut_.push_back({begin, total += begin - until - options_.longest_idle});
      until = std::max(until, end);
    }
    if (total > 0)
      warnings_.push_back(mbirk::detail::number_text(static_cast<double>(total) * 1e-9) +
                          " s in which nothing was traced are cut out");
  }
  std::int64_t duration(instrument::trace_event const& e) const noexcept { return ps(e.end) - ps(e.begin); }
  static std::int64_t id_of(std::size_t index) noexcept { return static_cast<std::int64_t>(index) + 1; }

  void find_programs() {
    std::int64_t busy_until = std::numeric_limits<std::int64_t>::min();
    std::size_t overlapping = 0;
    for (auto const& s : steps_) {
      auto const& op = s.operation;
      std::size_t at = 0;
      while (at < programs_.size() &&
             !(programs_[at].operation == op.name && programs_[at].from <= op.begin && op.begin < programs_[at].to))
        ++at;
      if (at == programs_.size()) programs_.push_back({fresh_name(op.name), op.name});
      add_step(programs_[at], s);
      program_step found{&s, at, {}, op.begin >= busy_until};
      for (auto const& k : s.kernels) found.kernels.push_back(kernel_of(programs_[at], k));
      if (found.alone) busy_until = op.end;
      else ++overlapping;
      program_steps_.push_back(std::move(found));
    }
    if (overlapping > 0 && !on_device())
      warnings_.push_back(
          std::to_string(overlapping) +
          " operations ran while one of another thread did: they are on their threads' lines and in no statistics");
  }
  std::string fresh_name(char const* operation) const {
    std::set<std::string> taken;
    for (auto const& p : programs_) taken.insert(p.name);
    return unique_name(plain_name(operation), taken);
  }

  /// A plane without lines: each program with its HloProto.
  wire programs_plane() const {
    xplane_writer plane(1, "/host:metadata");
    for (std::size_t p = 0; p < programs_.size(); ++p) {
      auto const name = module_name(p);
      plane.metadata(name, {}, name,
                     {{"Hlo Proto", raw_bytes{to_hlo_proto(programs_[p], id_of(p))}},
                      {"program_id", static_cast<std::uint64_t>(id_of(p))}});
    }
    return plane.bytes();
  }
  std::string module_name(std::size_t p) const { return programs_[p].name + '(' + std::to_string(id_of(p)) + ')'; }

  static std::uint64_t of_a_launch(std::uint64_t total, program_kernel const& k) {
    return (total + k.launches / 2) / k.launches;
  }

  /// Per-event statistics of a kernel, which the viewers multiply by the number of events.
  stat_list kernel_stats(std::size_t p, std::size_t at) const {
    auto const& k = programs_[p].kernels[at];
    auto const flops = of_a_launch(k.flops, k);
    stat_list stats{{"program_id", static_cast<std::uint64_t>(id_of(p))},
                    {"symbol_id", static_cast<std::uint64_t>(id_of(at))},
                    {"hlo_category", category(k)},
                    {"tf_op", hlo_writer::op_name(programs_[p], at) + ':' + plain_name(k.name)},
                    {"flops", flops},
                    {"model_flops", flops},
                    {"bytes_accessed", of_a_launch(k.bytes_read + k.bytes_written, k)},
                    {"memory_access_breakdown", raw_bytes{breakdown(k)}}};
    if (!k.source_file.empty()) stats.push_back({"source", k.source_file + ':' + std::to_string(k.source_line)});
    return stats;
  }
  /// Category derived from the stage. Some words have the special meaning of operations that contain others.
  static std::string category(program_kernel const& k) {
    auto const text = k.stage.empty() ? std::string("operation") : k.stage;
    for (auto const* word : {"custom-call", "while", "conditional", "call", "fusion", "infeed", "outfeed"})
      if (text == word) return "stage " + text;
    return text;
  }
  /// Memory breakdown: for main memory, the bytes that no cache can save; for the cache, all bytes.
  std::string breakdown(program_kernel const& k) const {
    wire all;
    auto const part = [&](int operation, int memory, std::uint64_t bytes) {
      wire inner;
      inner.number(1, operation);
      inner.number(2, memory);
      inner.number(3, static_cast<std::int64_t>(of_a_launch(bytes, k)));
      all.message(1, inner);
    };
    auto const [read, written] = memory_traffic(k, machine_.cache_bytes);
    part(1, 1, read);
    part(2, 1, written);
    if (machine_.cache_gbs > 0) {
      part(1, 3, k.bytes_read);
      part(2, 3, k.bytes_written);
    }
    return all.bytes();
  }

  /// A host run occupies the slot of a device type whose counts and roofs viewers take as written.
  wire host_device_plane() {
    xplane_writer plane(2, "/device:TPU:0");
    plane.stat("device_type_string", machine_.name + " (" + std::to_string(machine_.threads) +
                                         (machine_.threads == 1 ? " thread)" : " threads)"));
    plane.stat("device_id", std::int64_t{0});
    plane.stat("peak_teraflops_per_second", machine_.peak_tflops);
    plane.stat("peak_hbm_bw_gigabytes_per_second", machine_.memory_gbs);
    if (machine_.cache_gbs > 0) {
      plane.stat("has_merged_vmem", std::int64_t{1});
      for (auto const* peak : {"peak_vmem_rd_bw_gigabytes_per_second", "peak_vmem_wr_bw_gigabytes_per_second"})
        plane.stat(peak, machine_.cache_gbs);
    }
    auto& steps = plane.add_line(1, "Steps");
    auto& modules = plane.add_line(2, "XLA Modules");
    auto& ops = plane.add_line(3, "XLA Ops");
    for (std::size_t s = 0; s < program_steps_.size(); ++s) {
      auto const& [step, p, kernels, alone] = program_steps_[s];
      if (!alone) continue;
      auto const begin = ps(step->operation.begin), length = duration(step->operation);
      plane.event(steps, plane.metadata(std::to_string(s), "step"), begin, length,
                  {{"_ct", std::int64_t{0}}, {"_c", id_of(s)}});
      plane.event(modules, plane.metadata(module_name(p)), begin, length);
      for (std::size_t k = 0; k < kernels.size(); ++k) {
        auto const& name = names_[p].kernels[kernels[k]];
        auto const of =
            plane.metadata('%' + name + " = custom-call()", module_name(p), name, kernel_stats(p, kernels[k]));
        // A kernel that starts exactly with its step would be assigned to the previous step.
        auto const& e = step->kernels[k].event;
        auto const from = std::max(ps(e.begin), begin + 1);
        plane.event(ops, of, from, std::max<std::int64_t>(ps(e.end) - from, 0));
      }
    }
    add_counters(plane);
    return plane.bytes();
  }

  wire device_plane() {
    xplane_writer plane(2, "/device:GPU:0");
    bool const cuda = machine_.backend == backend::cuda;
    plane.stat("device_vendor", std::string(cuda ? "Nvidia" : "mbirk"));
    plane.stat("gpu_device_name", machine_.name);
    plane.stat("device_id", std::int64_t{0});
    auto const number = [&](char const* name, std::int64_t value) {
      if (value > 0) plane.stat(name, value);
    };
    if (machine_.capability_major > 0) {
      number("compute_cap_major", machine_.capability_major);
      plane.stat("compute_cap_minor", std::int64_t{machine_.capability_minor});
    }
    number("core_count", machine_.multiprocessors);
    number("clock_rate", machine_.clock_khz);
    plane.stat("memory_bandwidth", static_cast<std::uint64_t>(machine_.memory_gbs * 1e9));
    if (machine_.memory_bytes > 0) plane.stat("memory_size", machine_.memory_bytes);
    plane.stat("peak_teraflops_per_second", machine_.peak_tflops);
    plane.stat("peak_hbm_bw_gigabytes_per_second", machine_.memory_gbs);
    if (machine_.cache_gbs > 0)
      for (auto const* peak : {"peak_sram_rd_bw_gigabytes_per_second", "peak_sram_wr_bw_gigabytes_per_second"})
        plane.stat(peak, machine_.cache_gbs);

    struct place { std::size_t program, kernel; };
    std::map<std::pair<std::uint64_t, std::string>, place> known;  // keyed by launch id and name
    for (auto const& s : program_steps_)
      for (std::size_t k = 0; k < s.kernels.size(); ++k)
        if (auto const& ran = s.step->kernels[k]; ran.on_device)
          known[{ran.event.id, ran.name}] = {s.program, s.kernels[k]};
    std::map<std::int32_t, xplane_writer::line*> lines;
    for (auto const& e : trace_.events()) {
      auto const track = tracks_[static_cast<std::size_t>(e.track)];
      if (track.kind != instrument::track_kind::stream || (e.kind != event_kind::kernel && e.kind != event_kind::copy))
        continue;
      auto& line = lines[e.track];
      if (!line) line = &plane.add_line(e.track + 1, "Stream #" + std::to_string(track.index) + "(Compute)");
      stat_list stats{{"correlation_id", e.id}};
      if (e.kind == event_kind::copy) {
        stats.push_back(
            {std::string_view(e.name).starts_with("Memset") ? "memset_details" : "memcpy_details", copy_details(e)});
      } else {
        stats.push_back({"kernel_details", shared_text{e.detail ? e.detail : "grid:1,1,1 block:1,1,1"}});
        if (auto const found = known.find({e.id, e.name}); found != known.end()) {
          auto const [p, at] = found->second;
          auto const& k = programs_[p].kernels[at];
          auto const bytes = k.unique_read.value_or(k.bytes_read) + k.unique_written.value_or(k.bytes_written);
          stats.insert(stats.end(), {{"hlo_op", shared_text{names_[p].kernels[at]}},
                                     {"hlo_module", shared_text{programs_[p].name}},
                                     {"program_id", id_of(p)},
                                     {"flops", of_a_launch(k.flops, k)},
                                     {"bytes_accessed", of_a_launch(bytes, k)}});
        }
      }
      plane.event(*line, plane.metadata(e.name), ps(e.begin), duration(e), stats);
    }
    add_counters(plane);
    return plane.bytes();
  }
  static std::string copy_details(instrument::trace_event const& e) {
    auto const bytes = std::to_string(e.bytes);
    std::string_view const name = e.name;
    std::string text = "num_bytes:" + bytes;
    if (name.starts_with("Memcpy"))
      text += std::string("\nkind_src:") + (name.find("HtoD") != name.npos ? "pageable" : "device") +
              "\nkind_dst:" + (name.find("DtoH") != name.npos ? "pageable" : "device") + "\nsize:" + bytes +
              "\ndest:0\nasync:1";
    return text;
  }

  /// Tracks of numbers: live bytes, and the samples of the run.
  void add_counters(xplane_writer& plane) const {
    xplane_writer::line* line = nullptr;
    for (auto const& e : trace_.events()) {
      if (e.kind != event_kind::memory && e.kind != event_kind::counter) continue;
      bool const memory = e.kind == event_kind::memory;
      double const value = memory ? static_cast<double>(e.value) : sample_value(e);
      if (!std::isfinite(value)) continue;  // viewers cannot draw it
      if (!line) line = &plane.add_line(counters_line, "_counters_");
      plane.event(*line, plane.metadata(memory ? "live bytes" : e.name, "counter"), ps(e.begin), 0, {{"value", value}});
    }
  }

  /// One line for each thread and worker.
  wire host_plane() const {
    xplane_writer plane(3, "/host:CPU");
    std::map<std::int32_t, xplane_writer::line*> lines;
    for (std::size_t t = 0; t < tracks_.size(); ++t)
      if (tracks_[t].kind != instrument::track_kind::stream)
        lines[static_cast<std::int32_t>(t)] = &plane.add_line(id_of(t), tracks_[t].name());
    // Steps by thread and time.
    std::map<std::pair<std::int32_t, std::pair<std::int64_t, std::int64_t>>, std::size_t> begun;
    for (std::size_t s = 0; s < program_steps_.size(); ++s) {
      auto const& op = program_steps_[s].step->operation;
      begun[{op.track, {op.begin, op.end}}] = s;
    }
    // An inner operation with the same times as its step is not a step: the step is the last of these events.
    std::map<std::size_t, std::size_t> last;
    auto const events = trace_.events();
    auto const step_at = [&](instrument::trace_event const& e) -> std::optional<std::size_t> {
      if (e.kind != event_kind::operation) return {};
      auto const found = begun.find({e.track, {e.begin, e.end}});
      return found == begun.end() ? std::nullopt : std::optional(found->second);
    };
    for (std::size_t k = 0; k < events.size(); ++k)
      if (auto const s = step_at(events[k])) last[*s] = k;
    memory_events memory;
    for (std::size_t k = 0; k < events.size(); ++k) {
      auto const& e = events[k];
      auto const line = lines.find(e.track);
      if (line == lines.end() || e.kind == event_kind::counter) continue;
      if (e.kind == event_kind::memory) {
        if (e.bytes == 0) continue;  // 0 bytes: neither an allocation nor a release
        auto const stats = memory.stats_of(e);
        plane.event(*line->second, plane.metadata(e.bytes >= 0 ? "MemoryAllocation" : "MemoryDeallocation"),
                    ps(e.begin), 0, stats);
        continue;
      }
      stat_list stats;
      std::string name = e.name;
      if (auto const s = step_at(e); s && last[*s] == k) stats = step_stats(*s);
      if (e.kind == event_kind::launch) {
        name = "launch " + name;
        stats = {{"correlation_id", e.id}, {"device_id", std::int64_t{0}}};
      }
      if (e.value > 0) stats.push_back({e.kind == event_kind::operation ? "items" : "tasks", std::int64_t{e.value}});
      if (e.bytes > 0) stats.push_back({"bytes", std::int64_t{e.bytes}});
      plane.event(*line->second, plane.metadata(name), ps(e.begin), duration(e), stats);
    }
    return plane.bytes();
  }
  stat_list step_stats(std::size_t s) const {
    stat_list stats{{"_r", std::int64_t{1}},
                    {"step_num", static_cast<std::int64_t>(s)},
                    {"program", shared_text{programs_[program_steps_[s].program].name}}};
    // Ties it to the step on the device plane.
    if (!on_device() && program_steps_[s].alone)
      stats.insert(stats.end(), {{"_pt", std::int64_t{0}}, {"_p", id_of(s)}});
    return stats;
  }

  /// Links each release to its allocation by an address, which is invented because the trace has none.
  class memory_events {
   public:
    stat_list stats_of(instrument::trace_event const& e) {
      auto const bytes = static_cast<std::int64_t>(std::abs(e.bytes)), live = static_cast<std::int64_t>(e.value);
      auto& open = open_[{e.name, bytes}];
      std::int64_t address = next_;
      if (e.bytes >= 0) open.push_back(next_++);
      else if (!open.empty()) {
        address = open.back();
        open.pop_back();
      } else
        ++next_;
      peak_ = std::max(peak_, live);
      return {{"allocator_name", shared_text{"temporaries"}},
              {"bytes_allocated", live},
              {"bytes_reserved", std::int64_t{0}},
              {"bytes_available", peak_ - live},
              {"peak_bytes_in_use", peak_},
              {"requested_bytes", bytes},
              {"allocation_bytes", bytes},
              {"addr", address * 4096},
              {"fragmentation", 0.0},
              {"tf_op", shared_text{e.name}},
              {"region_type", shared_text{"temp"}}};
    }

   private:
    std::map<std::pair<std::string, std::int64_t>, std::vector<std::int64_t>> open_;
    std::int64_t next_ = 1, peak_ = 0;
  };

  wire environment_plane() const {
    xplane_writer plane(4, "Task Environment");
    std::int64_t end = 0;
    for (auto const& e : trace_.events()) end = std::max(end, e.end);
    plane.stat("profile_start_time", static_cast<std::uint64_t>(options_.unix_nanoseconds));
    plane.stat("profile_stop_time", static_cast<std::uint64_t>(options_.unix_nanoseconds + ps(end) / 1000));
    return plane.bytes();
  }

  instrument::trace_buffer const& trace_;
  machine_specs const& machine_;
  xspace_options const& options_;
  std::vector<instrument::trace_track> tracks_;
  std::vector<traced_step> steps_;
  std::vector<program> programs_;
  std::vector<instruction_names> names_;
  std::vector<program_step> program_steps_;
  struct cut { std::int64_t at, total; };  ///< total: time cut out before `at`
  std::vector<cut> cut_;
  std::vector<std::string> warnings_;
};

}  // namespace detail

/// The bytes of an XSpace. A step is a traced call of an outermost operation; it belongs to the first program whose
/// operation and time match, or to a new program made from the trace alone. A host run is shown in the slot
/// "/device:TPU:0", whose counts and roofs viewers take as written; a run whose kernels ran on streams (cuda, emulated)
/// in "/device:GPU:0". Dropped events are reported as a warning.
/// 
/// @param trace  after finish().
/// @throws description_error when the machine or a program is invalid, or the file would exceed 2 GiB.
/// Cost: about a microsecond and 60 to 200 bytes per event.
inline std::string to_xspace(instrument::trace_buffer const& trace, std::span<program const> programs,
                             machine_specs const& m, xspace_options const& options = {}) {
  return detail::xspace_writer(trace, programs, m, options).bytes();
}

}  // namespace mbirk::profile
