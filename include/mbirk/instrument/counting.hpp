// The counting policy, and the cost model, which is the same policy over packs without data.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <utility>

#include "mbirk/core/error.hpp"
#include "mbirk/instrument/counting_pack.hpp"

namespace mbirk::instrument {

namespace detail {

/// State of an operation while it is being counted.
class open_operation {
 public:
  open_operation(op_info op, level what) : what_(what) {
    record_.name = op.name;
    record_.items = op.items;
    record_.unique = has(what, level::unique);
    record_.has_reuse = has(what, level::reuse);
    record_.has_ranges = has(what, level::ranges);
    counts_now = {};
  }
  open_operation(open_operation const&) = delete;
  open_operation& operator=(open_operation const&) = delete;

  void begin_stage(char const* name) {
    attribute_counts();
    names_.push_back(name);
  }
  void end_stage() noexcept {
    keeping_failures([&] { attribute_counts(); });
    leave_stage();
  }
  /// Leaves a stage that an exception ends, without its counts.
  void leave_stage() noexcept { names_.pop_back(); }
  /// @throws what went wrong in the guards of stages and launches, whose destructors may not throw
  operation_record finish() {
    if (failure_) std::rethrow_exception(failure_);
    attribute_counts();
    for (auto& t : tallies_) record_.arrays.push_back(describe(t, t.total, true));
    if (has(what_, level::reuse) && !lines_.empty()) record_.reuse = lines_.result();
    return std::move(record_);
  }

  /// Attributes the counts since the last boundary to the innermost stage, if there is one.
  void attribute_counts() {
    char const* const stage = names_.empty() ? nullptr : names_.back();
    record_.operations += counts_now;
    stage_record s{stage ? stage : "", counts_now, {}, {}};
    counts_now = {};
    for (auto& t : tallies_) {
      access_counts now = t.now;
      for (std::size_t k = 0; k < t.read.size(); ++k) {
        auto const read = t.read[k], written = t.written[k];
        if ((read | written) == 0) continue;
        now.unique_read += 4 * static_cast<std::uint64_t>(std::popcount(read));
        now.unique_written += 4 * static_cast<std::uint64_t>(std::popcount(written));
        now.touched += 4 * static_cast<std::uint64_t>(std::popcount(read | written));
        t.total_read[k] |= read & ~t.total_written[k];
        t.total_written[k] |= written;
        if (!t.fresh.empty()) t.fresh[k] |= written;
        t.read[k] = t.written[k] = 0;
      }
      t.total.loads += now.loads;
      t.total.stores += now.stores;
      t.total.bytes_loaded += now.bytes_loaded;
      t.total.bytes_stored += now.bytes_stored;
      t.total.requests += now.requests;
      t.total.sectors += now.sectors;
      t.now = {};
      if (now.loads + now.stores == 0) continue;
      s.arrays.push_back(describe(t, now, false));
      if (t.all_lines) s.arrays.back().reuse = t.reuse.take_part();
    }
    if (has(what_, level::reuse)) s.reuse = lines_.take_part();
    if (stage && (s.operations != op_counts{} || !s.arrays.empty())) record_.stages.push_back(std::move(s));
  }

  array_tally& tally(void const* base, array_info info, char const* type, int item_bytes) {
    // Arguments and outputs that share memory are one array, whatever their names. A temporary or table with the name
    // and size of an earlier one is treated as the same array at the same address: addresses must not decide, because
    // they differ between a run and its model.
    auto const outer = [](array_role r) { return r == array_role::argument || r == array_role::output; };
    for (auto& t : tallies_) {
      bool const same_name = std::string_view(t.name) == info.name && t.elements == info.elements;
      if (outer(info.role) ? outer(t.role) && t.base == base && (base || same_name)
                           : t.role == info.role && same_name && t.item_bytes == item_bytes) {
        t.base = base;
        return t;
      }
    }
    array_tally t;
    t.name = info.name;
    t.role = info.role;
    t.elements = info.elements;
    t.type = type;
    t.item_bytes = item_bytes;
    t.base = base;
    index_t const bytes = info.elements * item_bytes;
    if (has(what_, level::unique)) {
      auto const words = static_cast<std::size_t>(bytes / 256 + 2);
      t.read.resize(words);
      t.written.resize(words);
      t.total_read.resize(words);
      t.total_written.resize(words);
      if (has(what_, level::ranges) && info.role == array_role::temporary) t.fresh.resize(words);
    }
    t.tracked = has(what_, level::unique | level::reuse);
    index_t const lines = ceil_div(bytes, reuse_engine::line_bytes) + 1;
    if (has(what_, level::reuse)) t.reuse = reuse_engine(lines);
    auto& added = tallies_.emplace_back(std::move(t));
    if (has(what_, level::reuse)) {
      try {
        added.first_line = lines_.grow(lines);
      } catch (...) {
        tallies_.pop_back();  // without memory for it nothing changes
        throw;
      }
      added.all_lines = &lines_;
    }
    return added;
  }
  array_tally* const* scratch(kernel::scratch_layout const& layout, std::byte const* base) {
    scratch_.clear();
    for (int i = 0; i < layout.parts(); base += layout[i++].bytes)
      scratch_.push_back(&tally(base, {layout[i].name, array_role::scratch, layout[i].bytes / 4}, "f32", 4));
    return scratch_.data();
  }
  void allocated(std::string_view name, index_t bytes) noexcept {
    ++record_.allocations;
    for (auto& t : tallies_)
      if (!t.fresh.empty() && t.name == name && t.elements * t.item_bytes == bytes)
        std::fill(t.fresh.begin(), t.fresh.end(), 0);
  }
  /// Called before a temporary is released: scans the values that kernels wrote to it.
  void finished(void const* data, std::string_view name) noexcept {
    keeping_failures([&] {
      for (auto& t : tallies_) {
        if (t.fresh.empty() || t.base != data || t.name != name) continue;
        for (std::size_t k = 0; k < t.fresh.size(); ++k) t.fresh[k] |= t.written[k];
        t.values += scan(t, &t.fresh);
      }
    });
  }
  /// Counts since the last boundary, to be subtracted from those after a kernel; no kernel crosses a boundary.
  kernel_record so_far(kernel_info const& k) const {
    kernel_record r{{}, k.name, 1, static_cast<std::uint64_t>(k.tasks), counts_now, 0, 0};
    for (auto const* stage : names_) {
      if (!r.stage.empty()) r.stage += '/';
      r.stage += stage;
    }
    for (auto const& t : tallies_)
      if (t.role != array_role::scratch) {
        r.bytes_loaded += t.now.bytes_loaded;
        r.bytes_stored += t.now.bytes_stored;
      }
    return r;
  }
  void launched(kernel_info const& k, kernel_record const& before) noexcept {
    keeping_failures([&] { add_launch(k, before); });
  }

 private:
  template <class F> void keeping_failures(F const& f) noexcept {
    try {
      f();
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
  void add_launch(kernel_info const& k, kernel_record const& before) {
    ++record_.launches;
    auto const after = so_far(k);
    auto const known = std::find_if(record_.kernels.begin(), record_.kernels.end(),
                                    [&](auto const& r) { return r.name == after.name && r.stage == after.stage; });
    auto& r = known == record_.kernels.end()
                  ? record_.kernels.emplace_back(kernel_record{after.stage, after.name, 0, 0, {}, 0, 0})
                  : *known;
    ++r.launches;
    r.tasks += after.tasks;
    r.operations += after.operations - before.operations;
    r.bytes_loaded += after.bytes_loaded - before.bytes_loaded;
    r.bytes_stored += after.bytes_stored - before.bytes_stored;
  }
  array_record describe(array_tally const& t, access_counts c, bool whole) const {
    array_record r{t.name, t.role, t.type, t.elements, t.item_bytes, t.outside, c, {}, {}};
    if (!whole) return r;
    for (std::size_t k = 0; k < t.total_read.size(); ++k) {
      r.counts.unique_read += 4 * static_cast<std::uint64_t>(std::popcount(t.total_read[k]));
      r.counts.unique_written += 4 * static_cast<std::uint64_t>(std::popcount(t.total_written[k]));
      r.counts.touched += 4 * static_cast<std::uint64_t>(std::popcount(t.total_read[k] | t.total_written[k]));
    }
    if (has(what_, level::reuse)) r.reuse = t.reuse.result();
    bool const outer = t.role == array_role::argument || t.role == array_role::output;
    r.values = has(what_, level::ranges) && outer && t.base ? scan(t, nullptr) : t.values;
    return r;
  }
  static value_range scan(array_tally const& t, std::vector<std::uint64_t> const* words) {
    if (std::string_view(t.type) == "f32") return scan_values(static_cast<float const*>(t.base), t.elements, words);
    if (std::string_view(t.type) == "f64") return scan_values(static_cast<double const*>(t.base), t.elements, words);
    return {};
  }

  level what_;
  std::vector<char const*> names_;
  operation_record record_;
  std::deque<array_tally> tallies_;
  std::vector<array_tally*> scratch_;
  reuse_engine lines_;
  std::exception_ptr failure_;
};

template <class T> constexpr char const* type_name() {
  using U = std::remove_const_t<T>;
  if constexpr (std::is_same_v<U, float>) return "f32";
  else if constexpr (std::is_same_v<U, double>) return "f64";
  else if constexpr (std::is_same_v<U, std::int32_t>) return "i32";
  else if constexpr (std::is_same_v<U, index_t>) return "i64";
  else if constexpr (std::is_same_v<U, std::uint8_t>) return "u8";
  else return "struct";
}

/// Whether an exception ends the scope of an object of this type.
class unwinding {
 public:
  explicit operator bool() const noexcept { return std::uncaught_exceptions() > before_; }

 private:
  int before_ = std::uncaught_exceptions();
};

/// Ends an operation or a stage at the end of its scope. An operation that an exception ends leaves no record. Not
/// movable; returned by guaranteed elision.
class counting_guard {
 public:
  counting_guard(ledger& into, op_info op, level what) : into_(into) {
    if (into.open) {  // an operation inside an algorithm counts as one of its stages
      into.open->begin_stage(op.name);
    } else {
      owned_ = std::make_unique<open_operation>(op, what);
      into.open = owned_.get();
    }
  }
  counting_guard(ledger& into, char const* stage) : into_(into) {
    if (into.open) into.open->begin_stage(stage);
  }
  ~counting_guard() {
    if (!into_.open) return;
    if (!owned_) {
      if (failed_) into_.open->leave_stage();
      else into_.open->end_stage();
      return;
    }
    into_.open = nullptr;
    if (failed_) return;
    try {
      into_.add(owned_->finish());
    } catch (...) {
      into_.fail(std::current_exception());
    }
  }
  counting_guard(counting_guard const&) = delete;
  counting_guard& operator=(counting_guard const&) = delete;

 private:
  ledger& into_;
  std::unique_ptr<open_operation> owned_;
  unwinding failed_;
};

/// Guard of a kernel launch inside an operation.
class counting_launch : public no_guard {
 public:
  counting_launch(open_operation* in, kernel_info const& k) : in_(in), kernel_(k) {
    if (in) before_ = in->so_far(k);
  }
  ~counting_launch() {
    if (in_ && !failed_) in_->launched(kernel_, before_);
  }
  counting_launch(counting_launch const&) = delete;
  counting_launch& operator=(counting_launch const&) = delete;

 private:
  open_operation* in_;
  kernel_info kernel_;
  kernel_record before_;
  unwinding failed_;
};

template <class Native, bool Dataless> struct counting_backend { using type = counted<Native>; };
template <class Native> struct counting_backend<Native, true> { using type = counted<no_data<Native>, Native>; };

template <level Level, bool Dataless> class counting_policy {
 public:
  using policy_category = instrumentation_policy_tag;
  static constexpr std::string_view name = Dataless ? "model" : "counting";
  // Tasks run in index order on one thread, which makes reuse well-defined and counters need no merging.
  static constexpr instrumentation_traits traits{.serial = true,
                                                 .has_data = !Dataless,
                                                 .observes_kernels = true,
                                                 .observes_arrays = true,
                                                 .observes_scratch = true,
                                                 .observes_release = true};
  template <class Native> using backend = typename counting_backend<Native, Dataless>::type;

  /// One operation at a time.
  ///
  /// @param into   ledger that receives the records; must outlive the policy.
  /// @param reuse  false omits the reuse distances of the level, which cost ten times as much as everything else.
  explicit counting_policy(ledger& into, bool reuse = true) noexcept
      : into_(&into),
        level_(reuse ? Level : level{static_cast<unsigned>(Level) & ~static_cast<unsigned>(level::reuse)}) {}
  /// @param what  quantities to count, limited to the type's own level.
  counting_policy(ledger& into, level what) noexcept
      : into_(&into), level_(level{static_cast<unsigned>(Level) & static_cast<unsigned>(what)}) {}

  [[nodiscard]] counting_guard scope(op_info op) const { return {*into_, op, level_}; }
  [[nodiscard]] counting_guard stage(char const* stage_name) const { return {*into_, stage_name}; }
  void allocated(char const* array, index_t bytes) const noexcept {
    if (into_->open) into_->open->allocated(array, bytes);
  }
  void finished(void const* data, char const* array) const {
    if (into_->open) into_->open->finished(data, array);
  }
  void released(char const*, index_t) const noexcept {}
  template <class Exec> [[nodiscard]] counting_launch kernel(Exec const&, kernel_info const& k) const {
    return {into_->open, k};
  }
  template <class T> counted_cursor<T> observe(T* data, array_info info) const {
    require<error>(into_->open != nullptr, [] { return "counting: an array is observed outside of any operation"; });
    return {data, 0, &into_->open->tally(data, info, type_name<T>(), static_cast<int>(sizeof(T)))};
  }
  counted_scratch observe_scratch(kernel::scratch_layout const& layout, std::byte* base) const {
    return {base, into_->open->scratch(layout, base)};
  }

 private:
  ledger* into_;
  level level_;
};

}  // namespace detail

/// Exact counts of the work of the instantiated kernels, by stage and array. The results are bitwise those of an
/// uncounted run.
template <level Level = level::unique> using counting = detail::counting_policy<Level, false>;

/// The cost model: the same kernels on packs without data, so arrays need no memory. Its records equal those of
/// counting, including reuse.
template <level Level = level::unique> using cost_model = detail::counting_policy<Level, true>;

static_assert(instrumentation_policy<counting<>> && instrumentation_policy<cost_model<>>);

}  // namespace mbirk::instrument
