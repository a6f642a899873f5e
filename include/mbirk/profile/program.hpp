// Plain descriptions of a machine and of the work of an operation on it: kernels with their counts, buffers, and
// lifetimes of temporaries. Every file of a profile is written from them, so that names and numbers agree.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mbirk/core/error.hpp"
#include "mbirk/instrument/ledger.hpp"
#include "mbirk/profile/steps.hpp"

namespace mbirk::profile {

/// A description from which no file can be written.
struct description_error : error { using error::error; };

enum class backend { host, cuda, emulated };

/// Machine on which a program ran, with its roofs. 0: unknown.
struct machine_specs {
  std::string name = "unknown";
  int threads = 1;
  double peak_tflops = 0;         ///< float32, 1e12 flops per second
  double memory_gbs = 0;          ///< bandwidth of main memory, 1e9 bytes per second
  double cache_gbs = 0;           ///< bandwidth of the fastest cache or of shared memory, all threads together
  std::uint64_t cache_bytes = 0;  ///< capacity of the last-level cache
  profile::backend backend = profile::backend::host;
  std::uint64_t memory_bytes = 0;
  /// Properties of a CUDA device; otherwise 0.
  int capability_major = 0, capability_minor = 0, multiprocessors = 0, clock_khz = 0;
};

/// All launches of a kernel in one stage of one call of the operation.
struct program_kernel {
  std::string name;
  std::string stage = {};  ///< "iteration/subset/back"
  std::uint64_t launches = 1;
  std::uint64_t flops = 0, bytes_read = 0, bytes_written = 0;  ///< totals of all launches
  /// Unique bytes of its stage: the traffic of a cache of any size, at most the bytes above. If absent, bytes_read and
  /// bytes_written are used.
  std::optional<std::uint64_t> unique_read = {}, unique_written = {};
  std::uint64_t visits = 1;  ///< number of times the stage was entered; unique bytes are summed over the visits
  /// Indices of buffers; if both are empty, the kernel is assumed to depend on the previous one.
  std::vector<std::size_t> reads = {}, writes = {};
  std::string source_file = {};
  int source_line = 0;
};

struct program_buffer {
  std::string name;
  array_role role = array_role::temporary;
  std::uint64_t bytes = 0;
  std::vector<std::int64_t> shape = {};  ///< empty: plain bytes
  std::string type = {};                 ///< element type: f32, f64, i32, i64, u8
};

/// A temporary is allocated or released.
struct heap_change {
  std::size_t buffer;
  bool allocate;
  std::size_t kernel;  ///< the next kernel on allocation, the last one on release
};

/// An operation at one size.
struct program {
  std::string name;       ///< used in file names: letters, digits, _, - and .
  std::string operation;  ///< name in traces
  std::vector<program_kernel> kernels = {};  ///< in the order of their first launch
  std::vector<program_buffer> buffers = {};
  std::vector<heap_change> heap = {};        ///< in order of time; temporaries not listed here live for the whole call
  /// Steps that begin within this time of the trace.
  std::int64_t from = 0, to = std::numeric_limits<std::int64_t>::max();
};

/// Bytes per element; 0 for an unknown type.
inline std::int64_t item_bytes(std::string_view type) {
  for (auto const& [name, bytes] : {std::pair{"f32", 4}, {"f64", 8}, {"i32", 4}, {"i64", 8}, {"u8", 1}})
    if (type == name) return bytes;
  return 0;
}

/// Lower bound of the bytes that main memory transfers behind a cache of `cache_bytes`: for each visit of the stage,
/// unique bytes beyond the capacity of the cache, in the proportion of reads to writes. first: read, second: written.
inline std::pair<std::uint64_t, std::uint64_t> memory_traffic(program_kernel const& k, std::uint64_t cache_bytes) {
  auto const read = k.unique_read.value_or(k.bytes_read), written = k.unique_written.value_or(k.bytes_written);
  double const all = static_cast<double>(read) + static_cast<double>(written),
               held = static_cast<double>(cache_bytes) * static_cast<double>(k.visits);
  if (all <= held) return {0, 0};
  double const share = 1 - held / all;
  return {static_cast<std::uint64_t>(share * static_cast<double>(read)),
          static_cast<std::uint64_t>(share * static_cast<double>(written))};
}

namespace detail {

/// Replaces all characters except letters, digits, _, - and . because viewers use names as parts of paths and file
/// names.
inline std::string plain_name(std::string_view name) {
  std::string text;
  for (char const c : name) {
    bool const word =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
    text += word ? c : '_';
  }
  return text.empty() ? "_" : text;
}
/// Makes a name that is not yet in `taken`, and inserts it: "back", "back.2", ...
inline std::string unique_name(std::string const& name, std::set<std::string>& taken) {
  auto fresh = name;
  for (int k = 2; !taken.insert(fresh).second; ++k) fresh = name + '.' + std::to_string(k);
  return fresh;
}

}  // namespace detail

/// Unique names of a program's kernels and buffers, used in every file.
struct instruction_names {
  std::vector<std::string> kernels, buffers;
};
inline instruction_names names_of(program const& p) {
  std::set<std::string> taken;
  instruction_names names;
  for (auto const& k : p.kernels) names.kernels.push_back(detail::unique_name(detail::plain_name(k.name), taken));
  for (auto const& b : p.buffers) names.buffers.push_back(detail::unique_name(detail::plain_name(b.name), taken));
  return names;
}

/// @throws description_error that explains the problem: a malformed file could crash the viewer's server.
inline void validate(machine_specs const& m) {
  auto const wrong = [&](std::string const& what) { return "machine '" + m.name + "': " + what; };
  require<description_error>(
      m.threads >= 1, [&] { return wrong("threads is " + std::to_string(m.threads) + ", expected at least 1"); });
  for (auto const& [what, value] :
       {std::pair{"peak_tflops", m.peak_tflops}, {"memory_gbs", m.memory_gbs}, {"cache_gbs", m.cache_gbs}})
    require<description_error>(std::isfinite(value) && value >= 0, [&] {
      return wrong(std::string(what) + " is " + mbirk::detail::number_text(value) + ", expected a number >= 0");
    });
}

/// @throws description_error
inline void validate(program const& p) {
  auto const check = [&](bool ok, auto const& what) {
    require<description_error>(ok, [&] { return "program '" + p.name + "': " + what(); });
  };
  check(p.name == detail::plain_name(p.name),
        [] { return std::string("the name becomes part of file names, expected letters, digits, _, - and ."); });
  for (auto const& k : p.kernels) {
    auto const of = [&] { return "kernel '" + k.name + "' of stage '" + k.stage + "' "; };
    check(!k.name.empty(), [&] { return of() + "has no name"; });
    check(k.launches >= 1 && k.visits >= 1, [&] { return of() + "has no launches or no visits"; });
    check(k.unique_read.value_or(0) <= k.bytes_read && k.unique_written.value_or(0) <= k.bytes_written,
          [&] { return of() + "has more unique bytes than bytes"; });
    for (auto const* list : {&k.reads, &k.writes})
      for (auto const b : *list)
        check(b < p.buffers.size(),
              [&] { return of() + "uses buffer " + std::to_string(b) + " of " + std::to_string(p.buffers.size()); });
  }
  for (auto const& b : p.buffers) {
    auto const of = [&] { return "buffer '" + b.name + "' "; };
    check(!b.name.empty(), [&] { return of() + "has no name"; });
    check(b.bytes <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()),
          [&] { return of() + "is too large"; });
    if (b.shape.empty()) continue;
    auto bytes = static_cast<double>(item_bytes(b.type));
    check(bytes > 0,
          [&] { return of() + "has a shape of elements '" + b.type + "', expected f32, f64, i32, i64 or u8"; });
    for (auto const n : b.shape) {
      check(n >= 0, [&] { return of() + "has a negative extent"; });
      bytes *= static_cast<double>(n);
    }
    check(bytes == static_cast<double>(b.bytes), [&] {
      return of() + "has " + std::to_string(b.bytes) + " bytes, its shape " + mbirk::detail::shape_text(b.shape) +
             " of " + b.type + " another number";
    });
  }
  std::vector<int> live(p.buffers.size());
  for (auto const& c : p.heap) {
    check(c.buffer < p.buffers.size() && p.buffers[c.buffer].role == array_role::temporary,
          [] { return std::string("the heap has a buffer that is not a temporary"); });
    check(c.kernel < std::max<std::size_t>(p.kernels.size(), 1),
          [] { return std::string("the heap changes at a kernel that is not there"); });
    check((live[c.buffer] += c.allocate ? 1 : -1) >= 0,
          [&] { return "buffer '" + p.buffers[c.buffer].name + "' is released more often than it was allocated"; });
  }
}

/// @throws description_error, also when two programs have the same name.
inline void validate(std::span<program const> programs) {
  std::set<std::string> names;
  for (auto const& p : programs) {
    validate(p);
    require<description_error>(names.insert(p.name).second, [&] { return "two programs are named '" + p.name + "'"; });
  }
}

namespace detail {

inline std::size_t find_buffer(program& p, instrument::array_record const& a) {
  auto const bytes = static_cast<std::uint64_t>(a.elements) * static_cast<std::uint64_t>(a.item_bytes);
  for (std::size_t k = 0; k < p.buffers.size(); ++k)
    if (p.buffers[k].name == a.name && p.buffers[k].role == a.role && p.buffers[k].bytes == bytes) return k;
  program_buffer fresh{a.name, a.role, bytes, {}, {}};
  if (item_bytes(a.type) == a.item_bytes) {
    fresh.shape = {a.elements};
    fresh.type = a.type;
  }
  p.buffers.push_back(std::move(fresh));
  return p.buffers.size() - 1;
}

/// Adds unique bytes and buffers of the visits to a kernel's stage. Stages are recorded by the name of the innermost
/// one.
inline void add_stage(program& p, program_kernel& k, instrument::operation_record const& record) {
  auto const inner = k.stage.substr(k.stage.rfind('/') + 1);
  std::uint64_t read = 0, written = 0, visits = 0;
  std::set<std::size_t> reads, writes;
  for (auto const& s : record.stages) {
    if (s.name != inner) continue;
    ++visits;
    for (auto const& a : s.arrays) {
      if (a.role == array_role::scratch) continue;
      auto const b = find_buffer(p, a);
      if (a.counts.loads > 0) reads.insert(b);
      if (a.counts.stores > 0) writes.insert(b);
      read += a.counts.unique_read;
      written += a.counts.unique_written;
    }
  }
  if (visits == 0) return;
  k.visits = visits;
  k.reads.assign(reads.begin(), reads.end());
  k.writes.assign(writes.begin(), writes.end());
  if (record.unique) {
    k.unique_read = std::min(read, k.bytes_read);
    k.unique_written = std::min(written, k.bytes_written);
  }
}

}  // namespace detail

/// Makes a program from the counts of an operation. Temporaries live for the whole call unless add_step() finds their
/// lifetime; scratch of threads is omitted.
/// @param name  name of the program, e.g. with its size: "cone_back_project_v64".
inline program program_of(instrument::operation_record const& record, std::string name) {
  program p{std::move(name), record.name};
  for (auto const& a : record.arrays)
    if (a.role != array_role::scratch) detail::find_buffer(p, a);
  for (auto const& k : record.kernels) {
    auto& mine = p.kernels.emplace_back(program_kernel{.name = k.name, .stage = k.stage, .launches = k.launches});
    mine.flops = k.operations.flops();
    mine.bytes_read = k.bytes_loaded;
    mine.bytes_written = k.bytes_stored;
    detail::add_stage(p, mine, record);
  }
  if (record.kernels.empty()) {  // all counts belong to the operation itself
    auto& mine = p.kernels.emplace_back(program_kernel{.name = record.name});
    auto const stored = bytes_accessed_output(record.arrays);
    mine.flops = record.operations.flops();
    mine.bytes_read = bytes_accessed(record.arrays) - stored;
    mine.bytes_written = stored;
  }
  return p;
}

/// Index of the program's kernel that ran as `k`. A missing kernel is added, with the flops and bytes given by the
/// author of the span.
inline std::size_t kernel_of(program& p, traced_kernel const& k) {
  for (std::size_t at = 0; at < p.kernels.size(); ++at)
    if (p.kernels[at].name == k.name && p.kernels[at].stage == k.stage) return at;
  p.kernels.push_back({.name = k.name,
                       .stage = k.stage,
                       .flops = static_cast<std::uint64_t>(std::max<index_t>(k.event.flops, 0)),
                       .bytes_read = static_cast<std::uint64_t>(std::max<index_t>(k.event.bytes, 0))});
  return p.kernels.size() - 1;
}

/// Adds the parts of a traced call that were not counted: kernels, spans and, unless the heap is known, temporaries.
inline void add_step(program& p, traced_step const& step) {
  std::vector<std::size_t> ran;
  std::size_t const counted = p.kernels.size();
  for (auto const& k : step.kernels) {
    auto const at = kernel_of(p, k);
    if (at >= counted && std::find(ran.begin(), ran.end(), at) != ran.end()) ++p.kernels[at].launches;
    ran.push_back(at);
  }
  for (auto at = counted; at < p.kernels.size(); ++at) {  // the event has the counts of one launch
    auto& k = p.kernels[at];
    k.flops *= k.launches;
    k.bytes_read *= k.launches;
  }
  if (!p.heap.empty()) return;
  std::vector<std::size_t> live;
  std::size_t next = 0;  // the kernel after the change
  for (auto const& e : step.memory) {
    auto const bytes = static_cast<std::uint64_t>(std::abs(e.bytes));
    std::size_t b = 0;
    while (b < p.buffers.size() &&
           !(p.buffers[b].role == array_role::temporary && p.buffers[b].name == e.name && p.buffers[b].bytes == bytes))
      ++b;
    auto const known = std::find(live.begin(), live.end(), b);
    // Skips changes of 0 bytes, and releases of arrays allocated before the step.
    if (e.bytes == 0 || (e.bytes < 0 && known == live.end())) continue;
    if (b == p.buffers.size()) p.buffers.push_back({e.name, array_role::temporary, bytes, {}, {}});
    while (next < step.kernels.size() && step.kernels[next].event.begin < e.begin) ++next;
    if (e.bytes > 0) live.push_back(b);
    else live.erase(known);
    auto const at = e.bytes < 0 && next > 0 ? next - 1 : next;
    p.heap.push_back({b, e.bytes > 0, ran.empty() ? 0 : ran[std::min(at, ran.size() - 1)]});
  }
}

/// Makes a program from a traced call without counts.
inline program program_of(traced_step const& step, std::string name) {
  program p{std::move(name), step.operation.name};
  add_step(p, step);
  return p;
}

}  // namespace mbirk::profile
