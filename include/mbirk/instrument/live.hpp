// The live policy: which arrays are live right now, by the operations and stages that allocated them, and what is running. Everything is in a table of fixed
// size that another thread or process may read while it changes; profile/live_memory.hpp puts one where `mbirk top` finds it.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
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

/// The arrays of one name that were allocated in one place. Texts end with 0; of one that is too long there is the end.
struct live_site {
  char where[176];  ///< operations and stages, outermost first: "recon / iteration / back"
  char array[48];
  std::int64_t live_bytes, live_arrays;
  std::int64_t peak_bytes;             ///< the most that was live here
  std::int64_t all_bytes, all_arrays;  ///< those that are gone included
};

/// What a table says. Times are nanoseconds of the monotonic clock (std::chrono::steady_clock), which all processes of a machine share on Linux.
struct live_state {
  static constexpr std::int64_t capacity = 256;

  std::int64_t live_bytes, peak_bytes, peak_time;
  std::int64_t changed;  ///< when anything here did
  std::int64_t since;    ///< when `current` began
  std::int64_t sites;    ///< in use
  std::int64_t crowded;  ///< allocations for which there was no site of their own: they are in the last one, which is then called "(other sites)"
  char step[96];         ///< what the program says that it is at: "cone_back_project at 64"
  char current[176];     ///< the operation or stage that was entered or returned to last; empty outside of all
  live_site site[capacity];
};
static_assert(std::is_trivially_copyable_v<live_state> && sizeof(live_state) % sizeof(std::uint64_t) == 0);

/// A live_state in memory that others read, here or in another process. `sequence` is odd while it changes: who has read the same even number before and
/// after has read what belongs together, if every load but the last is an acquire.
struct live_table {
  static constexpr std::size_t words = sizeof(live_state) / sizeof(std::uint64_t);
  std::atomic<std::uint64_t> sequence;
  std::atomic<std::uint64_t> word[words];
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && sizeof(live_table) == sizeof(std::uint64_t) + sizeof(live_state));

/// Notes allocations and scopes, and copies each change to a live_table where there is one. Thread-safe: scopes belong to the thread that opened them. Costs
/// a lock that is hardly ever contended, a look at the clock and a few stores: less than 0.1 us to enter or leave a scope, to allocate or to release.
class live_sites {
 public:
  /// @param table  all zero; must outlive this. Null: only this process can look.
  explicit live_sites(live_table* table = nullptr) : table_(table), nodes_(1) {}
  live_sites(live_sites const&) = delete;
  live_sites& operator=(live_sites const&) = delete;

  /// Names are copied. Scopes more various than there is room for count as the one around them.
  void enter(std::string_view name) {
    std::lock_guard const lock(mutex_);
    auto const me = std::this_thread::get_id();
    int const inner = child(scope_of(me), name);
    stacks_[me].push_back(inner);
    show(inner);
  }
  /// @param thread  the one that entered
  void leave(std::thread::id thread) noexcept {
    std::lock_guard const lock(mutex_);
    auto const mine = stacks_.find(thread);
    mine->second.pop_back();
    if (mine->second.empty()) stacks_.erase(mine);
    show(scope_of(thread));
  }
  /// An array was allocated by this thread, in the scope where it is.
  void allocated(std::string_view array, index_t bytes) noexcept try {
    std::lock_guard const lock(mutex_);
    int const at = site(scope_of(std::this_thread::get_id()), array);
    open_.push_back({at, hash(array), bytes});
    auto& s = state_.site[at];
    ++s.live_arrays, ++s.all_arrays, s.live_bytes += bytes, s.all_bytes += bytes, s.peak_bytes = std::max(s.peak_bytes, s.live_bytes);
    note_total(at, bytes);
  } catch (...) {  // without memory for its own notes the array is not known; its release will find nothing
  }
  /// The last array of that name and size is gone, whoever releases it. One that was never announced is ignored.
  void released(std::string_view array, index_t bytes) noexcept {
    std::lock_guard const lock(mutex_);
    auto const name = hash(array);
    auto const found = std::find_if(open_.rbegin(), open_.rend(), [&](auto const& o) { return o.bytes == bytes && o.name == name; });
    if (found == open_.rend()) return;
    int const at = found->site;
    open_.erase(std::next(found).base());
    --state_.site[at].live_arrays, state_.site[at].live_bytes -= bytes;
    note_total(at, -bytes);
  }
  /// What the program is at, in its own words.
  void step(std::string_view text) noexcept {
    std::lock_guard const lock(mutex_);
    state_.changed = now();
    copy(text, state_.step);
    begin_change();
    put(state_.changed), put(state_.step);
    end_change();
  }

  live_state state() const {
    std::lock_guard const lock(mutex_);
    return state_;
  }
  index_t live_bytes() const noexcept { return live_.load(std::memory_order_relaxed); }

  static std::int64_t now() noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
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
    else cut.copy(to, N), text.substr(text.size() - (N - 1 - cut.size())).copy(to + cut.size(), N);
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

  /// Publishes what changed with an allocation or a release at a site.
  void note_total(int at, index_t change) noexcept {
    state_.changed = now();
    state_.live_bytes += change;
    if (state_.live_bytes > state_.peak_bytes) state_.peak_bytes = state_.live_bytes, state_.peak_time = state_.changed;
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
    put(state_.changed), put(state_.since), put(state_.current);
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
      table_->word[first + k].store(word, std::memory_order_release);  // who sees it sees that the number is odd, or was
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

/// Notes operations, stages and temporaries in a live_sites; without one, nothing. Kernels are those of `none`.
class live {
 public:
  using policy_category = instrumentation_policy_tag;
  static constexpr std::string_view name = "live";
  static constexpr instrumentation_traits traits{};
  template <class Native> using backend = Native;

  live() = default;
  /// `into` must outlive the policy.
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

/// A memory resource that announces what it hands out, as arrays of one name. For what runs under another policy: with `live` itself temporaries would be
/// announced twice.
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
