// The live policy: the arrays that are live right now, by the operations and stages that allocated them, and the
// running operation. All data is in a table of fixed size that another thread or process may read while it changes;
// profile/live_memory.hpp puts one where `mbirk top` finds it.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory_resource>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "mbirk/core/index.hpp"
#include "mbirk/instrument/concepts.hpp"

namespace mbirk::instrument {

/// Arrays of one name that were allocated in one scope. Texts are null-terminated; texts that are too long keep their
/// end.
struct live_site {
  char where[176];  ///< operations and stages, outermost first: "recon / iteration / back"
  char array[48];
  std::int64_t live_bytes, live_arrays;
  std::int64_t peak_bytes;             ///< maximum of live_bytes
  std::int64_t all_bytes, all_arrays;  ///< totals including released arrays
};

/// Contents of a table. Times are nanoseconds of the monotonic clock (std::chrono::steady_clock), which on Linux all
/// processes of a computer share.
struct live_state {
  static constexpr std::int64_t capacity = 256;

  std::int64_t live_bytes, peak_bytes, peak_time;
  std::int64_t changed;  ///< time of the last change
  std::int64_t since;    ///< time when `current` began
  std::int64_t sites;    ///< number of sites in use
  /// Allocations without a site of their own: they are counted in the last one, named "(other sites)".
  std::int64_t crowded;
  char step[96];         ///< current step as the program describes it: "cone_back_project at 64"
  char current[176];     ///< operation or stage last entered or returned to; empty outside of any
  live_site site[capacity];
};
static_assert(std::is_trivially_copyable_v<live_state> && sizeof(live_state) % sizeof(std::uint64_t) == 0);

/// A live_state in memory that this or another process reads (a seqlock). `sequence` is odd during a change: a reader
/// that sees the same even number before and after has a consistent copy, if every load except the last is an acquire.
struct live_table {
  static constexpr std::size_t words = sizeof(live_state) / sizeof(std::uint64_t);
  std::atomic<std::uint64_t> sequence;
  std::atomic<std::uint64_t> word[words];
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
              sizeof(live_table) == sizeof(std::uint64_t) + sizeof(live_state));

/// Records allocations and scopes, and copies each change to a live_table if there is one. Thread-safe: scopes belong
/// to the thread that opened them. The cost is a rarely contended lock, a clock read and a few stores: less than 0.1 us
/// to enter or leave a scope, to allocate or to release.
class live_sites {
 public:
  /// @param table  zero-initialised; must outlive this object. Null: the data stays private to this process.
  explicit live_sites(live_table* table = nullptr) : table_(table), nodes_(1) {}
  live_sites(live_sites const&) = delete;
  live_sites& operator=(live_sites const&) = delete;

  /// Enters a scope; the name is copied. Once the number of distinct scopes exceeds the capacity, a new scope counts as
  /// its enclosing one.
  void enter(std::string_view name) {
    std::lock_guard const lock(mutex_);
    auto const me = std::this_thread::get_id();
    int const inner = child(scope_of(me), name);
    stacks_[me].push_back(inner);
    show(inner);
  }
  /// @param thread  the thread that entered the scope
  void leave(std::thread::id thread) noexcept {
    std::lock_guard const lock(mutex_);
    auto const mine = stacks_.find(thread);
    mine->second.pop_back();
    if (mine->second.empty()) stacks_.erase(mine);
    show(scope_of(thread));
  }
  /// Records an array that this thread allocated in its current scope.
  void allocated(std::string_view array, index_t bytes) noexcept try {
    std::lock_guard const lock(mutex_);
    int const at = site(scope_of(std::this_thread::get_id()), array);
    open_.push_back({at, hash(array), bytes});
    auto& s = state_.site[at];
    ++s.live_arrays;
    ++s.all_arrays;
    s.live_bytes += bytes;
    s.all_bytes += bytes;
    s.peak_bytes = std::max(s.peak_bytes, s.live_bytes);
    note_total(at, bytes);
  } catch (...) {  // no memory for the record: the array stays unknown, and its release is ignored
  }
  /// Records the release of the last array of that name and size, by any thread. Unknown arrays are ignored.
  void released(std::string_view array, index_t bytes) noexcept {
    std::lock_guard const lock(mutex_);
    auto const name = hash(array);
    auto const found =
        std::find_if(open_.rbegin(), open_.rend(), [&](auto const& o) { return o.bytes == bytes && o.name == name; });
    if (found == open_.rend()) return;
    int const at = found->site;
    open_.erase(std::next(found).base());
    --state_.site[at].live_arrays;
    state_.site[at].live_bytes -= bytes;
    note_total(at, -bytes);
  }
  /// Sets the program's own description of its current step.
  void step(std::string_view text) noexcept {
    std::lock_guard const lock(mutex_);
    state_.changed = now();
    copy(text, state_.step);
    begin_change();
    put(state_.changed);
    put(state_.step);
    end_change();
  }

  live_state state() const {
    std::lock_guard const lock(mutex_);
    return state_;
  }
  index_t live_bytes() const noexcept { return live_.load(std::memory_order_relaxed); }

  static std::int64_t now() noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

 private:
  static constexpr std::size_t max_nodes = 1024;
  struct node {
    std::string name, path;
    std::vector<int> children, sites;
  };
  struct open_array {
    int site;
    std::size_t name;
    index_t bytes;
  };

  static std::size_t hash(std::string_view text) noexcept { return std::hash<std::string_view>{}(text); }
  template <std::size_t N> static void copy(std::string_view text, char (&to)[N]) noexcept {
    constexpr std::string_view cut = "...";
    std::memset(to, 0, N);
    if (text.size() < N) text.copy(to, N - 1);
    else {
      cut.copy(to, N);
      text.substr(text.size() - (N - 1 - cut.size())).copy(to + cut.size(), N);
    }
  }

  int scope_of(std::thread::id thread) const noexcept {
    auto const found = stacks_.find(thread);
    return found == stacks_.end() || found->second.empty() ? 0 : found->second.back();
  }
  int child(int in, std::string_view name) {
    auto const parent = static_cast<std::size_t>(in);
    for (int const k : nodes_[parent].children)
      if (nodes_[static_cast<std::size_t>(k)].name == name) return k;
    if (nodes_.size() == max_nodes) return in;
    int const fresh = static_cast<int>(nodes_.size());
    nodes_.push_back({std::string(name), (in == 0 ? "" : nodes_[parent].path + " / ") + std::string(name), {}, {}});
    nodes_[parent].children.push_back(fresh);
    return fresh;
  }
  int site(int in, std::string_view array) {
    auto& scope = nodes_[static_cast<std::size_t>(in)];
    for (int const k : scope.sites)
      if (state_.site[k].array == array.substr(0, sizeof live_site::array - 1)) return k;
    constexpr int last = live_state::capacity - 1;
    int const fresh = static_cast<int>(std::min<std::int64_t>(state_.sites, last));
    bool const full = fresh == last;
    if (full) ++state_.crowded;
    if (full && state_.sites > last) return last;
    if (!full) scope.sites.push_back(fresh);
    ++state_.sites;
    copy(full ? "(other sites)" : std::string_view(scope.path), state_.site[fresh].where);
    copy(full ? "" : array.substr(0, sizeof live_site::array - 1), state_.site[fresh].array);
    return fresh;
  }

  /// Publishes the change of an allocation or a release at a site.
  void note_total(int at, index_t change) noexcept {
    state_.changed = now();
    state_.live_bytes += change;
    if (state_.live_bytes > state_.peak_bytes) {
      state_.peak_bytes = state_.live_bytes;
      state_.peak_time = state_.changed;
    }
    live_.store(state_.live_bytes, std::memory_order_relaxed);
    begin_change();
    put(&state_, offsetof(live_state, step));
    put(state_.site[at]);
    end_change();
  }
  void show(int scope) noexcept {
    state_.changed = state_.since = now();
    copy(nodes_[static_cast<std::size_t>(scope)].path, state_.current);
    begin_change();
    put(state_.changed);
    put(state_.since);
    put(state_.current);
    end_change();
  }

  void begin_change() const noexcept {
    if (table_) table_->sequence.store(table_->sequence.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  void end_change() const noexcept {
    if (table_) table_->sequence.store(table_->sequence.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  template <class T> void put(T const& member) const noexcept { put(&member, sizeof member); }
  void put(void const* from, std::size_t bytes) const noexcept {
    if (!table_) return;
    auto const* const text = static_cast<char const*>(from);
    auto const first = static_cast<std::size_t>(text - reinterpret_cast<char const*>(&state_)) / sizeof(std::uint64_t);
    for (std::size_t k = 0; k < bytes / sizeof(std::uint64_t); ++k) {
      std::uint64_t word;
      std::memcpy(&word, text + k * sizeof word, sizeof word);
      // A reader of this value also sees the odd sequence number.
      table_->word[first + k].store(word, std::memory_order_release);
    }
  }

  live_table* table_;
  mutable std::mutex mutex_;
  live_state state_{};
  std::atomic<index_t> live_{0};
  std::vector<node> nodes_;
  std::unordered_map<std::thread::id, std::vector<int>> stacks_;
  std::vector<open_array> open_;
};

/// Records operations, stages and temporaries in a live_sites; without one it does nothing. The kernels are those of
/// `none`.
class live {
 public:
  using policy_category = instrumentation_policy_tag;
  static constexpr std::string_view name = "live";
  static constexpr instrumentation_traits traits{};
  template <class Native> using backend = Native;

  live() = default;
  /// @param into  table that receives the records; must outlive the policy.
  explicit live(live_sites& into) noexcept : into_(&into) {}

  class guard {
   public:
    guard(live_sites* into, std::string_view what) : into_(into) {
      if (into_) into_->enter(what);
    }
    ~guard() {
      if (into_) into_->leave(thread_);
    }
    guard(guard const&) = delete;
    guard& operator=(guard const&) = delete;

   private:
    live_sites* into_;
    std::thread::id thread_ = std::this_thread::get_id();
  };
  [[nodiscard]] guard scope(op_info op) const { return {into_, op.name}; }
  [[nodiscard]] guard stage(char const* what) const { return {into_, what}; }
  void allocated(char const* what, index_t bytes) const noexcept {
    if (into_) into_->allocated(what, bytes);
  }
  void released(char const* what, index_t bytes) const noexcept {
    if (into_) into_->released(what, bytes);
  }

 private:
  live_sites* into_ = nullptr;
};

static_assert(instrumentation_policy<live>);

/// Memory resource that records its allocations as arrays of one name, for operations that run under another policy:
/// with `live` itself, temporaries would be recorded twice.
class live_resource final : public std::pmr::memory_resource {
 public:
  live_resource(live_sites& into, std::pmr::memory_resource* upstream, std::string name = "temporaries")
      : into_(into), upstream_(upstream), name_(std::move(name)) {}

 private:
  void* do_allocate(std::size_t bytes, std::size_t align) override {
    void* const block = upstream_->allocate(bytes, align);
    into_.allocated(name_, static_cast<index_t>(bytes));
    return block;
  }
  void do_deallocate(void* block, std::size_t bytes, std::size_t align) override {
    upstream_->deallocate(block, bytes, align);
    into_.released(name_, static_cast<index_t>(bytes));
  }
  bool do_is_equal(std::pmr::memory_resource const& other) const noexcept override { return this == &other; }

  live_sites& into_;
  std::pmr::memory_resource* upstream_;
  std::string name_;
};

}  // namespace mbirk::instrument
