// Results of counting: operation counts of the running thread, tallies of arrays, and the finished record of an
// operation. Data structures only; the counting types are in counting_value.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "mbirk/instrument/concepts.hpp"
#include "mbirk/instrument/reuse.hpp"
#include "mbirk/instrument/value_range.hpp"

namespace mbirk::instrument {

/// Quantities counted in addition to operations and bytes. Kernels are compiled once for all levels; a lower level
/// skips the extra work at run time.
enum class level : unsigned {
  operations = 0,
  unique = 1,  ///< unique bytes, with one bit per 4-byte word
  reuse = 2,   ///< stack distances in 64-byte lines, for all arrays together and for each
  /// Value ranges of arguments and outputs; with unique, also of the values that kernels wrote to temporaries.
  ranges = 4,
  all = 7,
};
constexpr level operator|(level a, level b) noexcept {
  return level{static_cast<unsigned>(a) | static_cast<unsigned>(b)};
}
constexpr bool has(level all, level one) noexcept {
  return (static_cast<unsigned>(all) & static_cast<unsigned>(one)) != 0;
}

enum class number { f32, f64, i32 };
enum class operation {
  add, mul, fma, div, sqrt, min_max, compare, select, round, convert, permute, broadcast, integer, absolute, exp, log
};
inline constexpr int numbers = 3, operations = 16;
inline constexpr std::array<char const*, numbers> number_names{"f32", "f64", "i32"};
inline constexpr std::array<char const*, operations> operation_names{
    "add",   "mul",     "fma",     "div",       "sqrt",    "min max",  "compare", "select",
    "round", "convert", "permute", "broadcast", "integer", "absolute", "exp",     "log"};

/// Executed lanes and issued packs per operation. 64-bit and free of pointers, because kernels access it through
/// thread-local storage.
struct op_counts {
  std::uint64_t lanes[numbers][operations] = {}, issued[numbers][operations] = {};
  std::uint64_t lanes_useful = 0, lanes_executed = 0;

  std::uint64_t of(operation o) const noexcept {
    std::uint64_t n = 0;
    for (auto const& row : lanes) n += row[static_cast<int>(o)];
    return n;
  }
  std::uint64_t of(number t, operation o) const noexcept { return lanes[static_cast<int>(t)][static_cast<int>(o)]; }
  /// add + sub + mul + 2 fma over executed lanes.
  std::uint64_t flops(number t) const noexcept {
    return of(t, operation::add) + of(t, operation::mul) + 2 * of(t, operation::fma);
  }
  std::uint64_t flops() const noexcept { return flops(number::f32) + flops(number::f64); }
  std::uint64_t vector_operations() const noexcept {
    std::uint64_t n = 0;
    for (auto const& row : issued)
      for (auto const i : row) n += i;
    return n;
  }
  op_counts& operator+=(op_counts const& o) noexcept {
    for (int t = 0; t < numbers; ++t)
      for (int k = 0; k < operations; ++k) {
        lanes[t][k] += o.lanes[t][k];
        issued[t][k] += o.issued[t][k];
      }
    lanes_useful += o.lanes_useful;
    lanes_executed += o.lanes_executed;
    return *this;
  }
  friend op_counts operator-(op_counts a, op_counts const& b) noexcept {
    for (int t = 0; t < numbers; ++t)
      for (int k = 0; k < operations; ++k) {
        a.lanes[t][k] -= b.lanes[t][k];
        a.issued[t][k] -= b.issued[t][k];
      }
    a.lanes_useful -= b.lanes_useful;
    a.lanes_executed -= b.lanes_executed;
    return a;
  }
  friend bool operator==(op_counts const&, op_counts const&) = default;
};
inline constinit thread_local op_counts counts_now{};

/// Loads, stores and the bytes of the distinct words they touched.
struct access_counts {
  std::uint64_t loads = 0, stores = 0, bytes_loaded = 0, bytes_stored = 0;
  /// Unique bytes read before written; written; either.
  std::uint64_t unique_read = 0, unique_written = 0, touched = 0;
  /// Accesses of whole warps and the 32-byte sectors they cover; 0 without warps.
  std::uint64_t requests = 0, sectors = 0;
  friend bool operator==(access_counts const&, access_counts const&) = default;
};

/// Counters of one observed array. Kernels hold pointers to it, so it never moves.
struct array_tally {
  bool tracked = false;  ///< whether touch() must be called
  char const* name = nullptr;
  array_role role = array_role::temporary;
  char const* type = nullptr;
  int item_bytes = 0;
  index_t elements = 0;
  void const* base = nullptr;
  std::uint64_t outside = 0;  ///< out-of-bounds accesses: a bug in the kernel
  access_counts now;          ///< counts since the start of the current stage
  std::vector<std::uint64_t> read, written;
  access_counts total;
  std::vector<std::uint64_t> total_read, total_written;
  std::vector<std::uint64_t> fresh;  ///< temporaries only: words written since the allocation
  value_range values;                ///< range over released temporaries
  reuse_engine reuse;
  reuse_engine* all_lines = nullptr;  ///< engine shared by all arrays
  std::uint32_t first_line = 0;       ///< number of this array's first line in it

  /// Records the words and lines that an access covers.
  MBIRK_HOST_NOINLINE void touch(index_t byte, int bytes, bool store) {
    if (byte < 0 || byte + bytes > elements * item_bytes) [[unlikely]] {
      ++outside;
      return;
    }
    if (!read.empty()) {
      auto const word = static_cast<std::size_t>(byte / 4);
      int const n = static_cast<int>((byte + bytes - 1) / 4 - byte / 4) + 1, shift = static_cast<int>(word % 64);
      std::uint64_t const ones = n >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
      mark(word / 64, ones << shift, store);
      if (shift + n > 64) mark(word / 64 + 1, ones >> (64 - shift), store);
    }
    if (!all_lines) return;
    for (index_t line = byte / reuse_engine::line_bytes; line <= (byte + bytes - 1) / reuse_engine::line_bytes;
         ++line) {
      bool const full =
          byte <= line * reuse_engine::line_bytes && byte + bytes >= (line + 1) * reuse_engine::line_bytes;
      reuse.touch(static_cast<std::uint32_t>(line), store, full);
      all_lines->touch(first_line + static_cast<std::uint32_t>(line), store, full);
    }
  }

 private:
  void mark(std::size_t at, std::uint64_t words, bool store) {
    if (store) written[at] |= words;
    else read[at] |= words & ~written[at];
  }
};

struct array_record {
  std::string name;
  array_role role;
  std::string type;
  index_t elements;
  int item_bytes;
  std::uint64_t outside;
  access_counts counts;
  reuse_result reuse;  ///< in a stage: for powers of two lines, without write-backs
  value_range values;  ///< for whole operations only
};
struct stage_record {
  std::string name;
  op_counts operations;
  std::vector<array_record> arrays;
  reuse_result reuse;  ///< over all arrays, in the form of array_record::reuse for stages
};

/// All launches of one kernel in one stage.
struct kernel_record {
  std::string stage;  ///< path from the outermost stage, "iteration/subset/back"; empty outside of stages
  std::string name;
  std::uint64_t launches = 0, tasks = 0;
  op_counts operations;
  std::uint64_t bytes_loaded = 0, bytes_stored = 0;  ///< over all arrays except scratch
};

/// All counts of one operation.
struct operation_record {
  std::string name;
  index_t items = 0;
  op_counts operations;
  std::vector<array_record> arrays;
  std::vector<stage_record> stages;
  std::vector<kernel_record> kernels;  ///< in the order of their first launch
  std::uint64_t launches = 0, allocations = 0;
  reuse_result reuse;  ///< over all arrays, scratch included
  bool unique = false, has_reuse = false, has_ranges = false;
};

namespace detail {

template <class F> std::uint64_t sum_arrays(std::vector<array_record> const& arrays, F const& f) {
  std::uint64_t n = 0;
  for (auto const& a : arrays) n += f(a);
  return n;
}

}  // namespace detail

/// Bytes loaded and stored, over all arrays except scratch.
inline std::uint64_t bytes_accessed(std::vector<array_record> const& arrays) {
  return detail::sum_arrays(arrays, [](auto const& a) {
    return a.role == array_role::scratch ? 0 : a.counts.bytes_loaded + a.counts.bytes_stored;
  });
}
inline std::uint64_t bytes_accessed_output(std::vector<array_record> const& arrays) {
  return detail::sum_arrays(arrays,
                            [](auto const& a) { return a.role == array_role::scratch ? 0 : a.counts.bytes_stored; });
}
inline std::uint64_t bytes_scratch(std::vector<array_record> const& arrays) {
  return detail::sum_arrays(arrays, [](auto const& a) {
    return a.role != array_role::scratch ? 0 : a.counts.bytes_loaded + a.counts.bytes_stored;
  });
}
/// Unique bytes that enter or leave: arguments and outputs of an operation; everything except scratch for a stage.
inline std::uint64_t bytes_compulsory(std::vector<array_record> const& arrays, bool stage) {
  return detail::sum_arrays(arrays, [&](auto const& a) {
    bool const crosses =
        a.role == array_role::argument || a.role == array_role::output || (stage && a.role == array_role::temporary);
    return crosses ? a.counts.unique_read + a.counts.unique_written : 0;
  });
}
inline std::uint64_t bytes_touched(std::vector<array_record> const& arrays) {
  return detail::sum_arrays(arrays, [](auto const& a) { return a.role == array_role::scratch ? 0 : a.counts.touched; });
}
/// Total size in bytes of the arrays with this role.
inline std::uint64_t bytes_of(std::vector<array_record> const& arrays, array_role role) {
  return detail::sum_arrays(arrays, [&](auto const& a) {
    return a.role == role ? static_cast<std::uint64_t>(a.elements) * static_cast<std::uint64_t>(a.item_bytes) : 0;
  });
}

namespace detail {
class open_operation;
}

/// Finished records, in the order in which the operations ended. Owned by the caller; a counting policy points to it.
class ledger {
 public:
  /// @throws std::bad_alloc if there was no memory for a record, since the last clear()
  std::vector<operation_record> const& records() const {
    if (failure_) std::rethrow_exception(failure_);
    return records_;
  }
  operation_record const& last() const { return records().back(); }
  void clear() {
    records_.clear();
    failure_ = nullptr;
  }
  void add(operation_record record) { records_.push_back(std::move(record)); }
  /// A record that could not be made.
  void fail(std::exception_ptr failure) noexcept { failure_ = std::move(failure); }

  detail::open_operation* open = nullptr;  ///< the operation being counted; for internal use by the policy

 private:
  std::vector<operation_record> records_;
  std::exception_ptr failure_;
};

}  // namespace mbirk::instrument
