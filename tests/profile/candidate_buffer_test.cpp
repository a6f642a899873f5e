// The buffer that the model recommends for the parallel back projection, simulated line by line on the kernel's own
// accesses. Shares nothing with the reuse distances behind the recommendation.
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <unordered_map>
#include <vector>

#include "mbirk/instrument/counting.hpp"
#include "mbirk/mbirk.hpp"
#include "mbirk/profile/candidate.hpp"

namespace {

using namespace mbirk;

/// An LRU memory of a given number of lines. Dirty lines are written back when evicted, and at the end.
struct simulated_buffer {
  std::size_t lines;
  std::uint64_t read = 0, written = 0;
  struct cached_line {
    std::uint64_t line;
    bool dirty;
  };
  std::list<cached_line> order{};  ///< most recently used first
  std::unordered_map<std::uint64_t, std::list<cached_line>::iterator> where{};

  void access(std::uint64_t line, bool store, bool whole) {
    if (auto const found = where.find(line); found != where.end()) {
      order.splice(order.begin(), order, found->second);
      order.front().dirty |= store;
      return;
    }
    read += !(store && whole);
    if (order.size() == lines) {
      written += order.back().dirty;
      where.erase(order.back().line);
      order.pop_back();
    }
    order.push_front({line, store});
    where[line] = order.begin();
  }
  double traffic() const {
    auto n = read + written;
    for (auto const& one : order) n += one.dirty;
    return 64.0 * static_cast<double>(n);
  }
};

/// Arrays by role, because a simulated run needs no addresses; lines are counted from the beginning of each.
struct observer {
  simulated_buffer buffer;
  std::map<std::tuple<std::string, index_t, void const*>, std::uint64_t> arrays{};
  std::vector<std::uint64_t> scratch{};

  std::uint64_t number(array_info const& info, void const* base) {
    bool const outer = info.role == array_role::argument || info.role == array_role::output;
    return arrays
        .try_emplace({outer ? "" : info.name, outer ? 0 : info.elements, outer ? base : nullptr}, arrays.size())
        .first->second;
  }
  void access(std::uint64_t array, index_t byte, index_t bytes, bool store) {
    for (index_t line = byte / 64; 64 * line < byte + bytes; ++line)
      buffer.access(array << 32 | static_cast<std::uint64_t>(line), store,
                    byte <= 64 * line && byte + bytes >= 64 * (line + 1));
  }
};

template <class T> struct observed_cursor {
  T* base = nullptr;
  index_t at = 0;
  std::uint64_t array = 0;
  observer* by = nullptr;

  friend observed_cursor operator+(observed_cursor c, index_t n) { return {c.base, c.at + n, c.array, c.by}; }
  template <class C>
    requires(!std::is_const_v<T> && std::is_same_v<C, T const>)
  operator observed_cursor<C>() const {
    return {base, at, array, by};
  }
  T* note(index_t n, bool store) const {
    if (n > 0) by->access(array, at * static_cast<index_t>(sizeof(T)), n * static_cast<index_t>(sizeof(T)), store);
    return base + at;
  }
};

/// The native packs with observed memory accesses.
struct observed_backend : simd::native_backend {
  using native = simd::native_backend;
  using index_backend = observed_backend;
  template <class T> using cursor = observed_cursor<T>;

  template <class T> static pack load(cursor<T> c) { return native::load(c.note(lanes, false)); }
  template <class T> static pack load_once(cursor<T> c) { return native::load(c.note(lanes, false)); }
  template <class T> static pack load_partial(cursor<T> c, int n) { return native::load_partial(c.note(n, false), n); }
  template <class T> static pack load_broadcast(cursor<T> c) { return native::load_broadcast(c.note(1, false)); }
  template <class T> static ints load_ints(cursor<T> c) { return native::load_ints(c.note(lanes, false)); }
  template <class T> static wide load_wide(cursor<T> c) { return native::load_wide(c.note(lanes, false)); }
  template <class T> static std::remove_const_t<T> load_value(cursor<T> c) { return *c.note(1, false); }
  template <class T> static void store_value(cursor<T> c, T x) { *c.note(1, true) = x; }
  static void store(cursor<float> c, pack a) { native::store(c.note(lanes, true), a); }
  static void store(cursor<std::int32_t> c, ints a) { native::store(c.note(lanes, true), a); }
  static void store(cursor<double> c, wide a) { native::store(c.note(lanes, true), a); }
  static void store_partial(cursor<float> c, pack a, int n) { native::store_partial(c.note(n, true), a, n); }
};

struct observed_scratch {
  std::byte* base;
  observer* by;
  template <class T> observed_cursor<T> at(kernel::scratch_part part) const {
    return {reinterpret_cast<T*>(base + part.offset), 0, by->scratch[static_cast<std::size_t>(part.id)], by};
  }
};

class observing {
 public:
  using policy_category = instrumentation_policy_tag;
  static constexpr std::string_view name = "observing";
  static constexpr instrumentation_traits traits{.serial = true, .observes_arrays = true, .observes_scratch = true};
  template <class Native> using backend = observed_backend;

  explicit observing(observer& by) : by_(&by) {}
  struct guard {
    guard() {}
    ~guard() {}
  };
  [[nodiscard]] guard scope(op_info) const { return {}; }
  [[nodiscard]] guard stage(char const*) const { return {}; }
  void allocated(char const*, index_t) const {}
  void released(char const*, index_t) const {}
  template <class T> observed_cursor<T> observe(T* data, array_info info) const {
    return {data, 0, by_->number(info, data), by_};
  }
  observed_scratch observe_scratch(kernel::scratch_layout const& layout, std::byte* base) const {
    by_->scratch.clear();
    for (int i = 0; i < layout.parts(); ++i)
      by_->scratch.push_back(by_->number({layout[i].name, array_role::scratch, layout[i].bytes / 4}, nullptr));
    return {base, by_};
  }

 private:
  observer* by_;
};

struct problem {
  parallel_scan scan;
  std::vector<float> sinogram, recon;

  explicit problem(index_t n)
      : scan(parameters(n)), sinogram(static_cast<std::size_t>(n / 2 * n * n), 1.0f), recon(size(scan.recon_shape())) {}
  static parallel_parameters parameters(index_t n) {
    parallel_parameters p{};
    p.sinogram_shape = {n / 2, n, n};
    for (index_t v = 0; v < n / 2; ++v)
      p.angles.push_back(static_cast<float>(6.283185 * static_cast<double>(v) / static_cast<double>(n)));
    return p;
  }
  template <class Shape> static std::size_t size(Shape const& s) {
    return static_cast<std::size_t>(s[0] * s[1] * s[2]);
  }
  template <class Instr> void back(Instr const& instr) {
    back_project(context{exec::host{1}, instr}, scan, view<float const, 3>(sinogram.data(), scan.sinogram_shape()),
                 view<float, 3>(recon.data(), scan.recon_shape()));
  }
};

profile::fpga::miss_curve curve_of(problem& p) {
  instrument::ledger records;
  p.back(instrument::counting<instrument::level::unique | instrument::level::reuse>{records});
  auto const& r = records.last().reuse;
  profile::fpga::miss_curve m;
  for (std::size_t k = 0; k < r.capacity_lines.size(); ++k)
    m.bytes.push_back(64.0 * static_cast<double>(r.capacity_lines[k])),
        m.traffic.push_back(64.0 * static_cast<double>(r.read_misses[k] + r.write_backs[k]));
  return m;
}

TEST(CandidateBuffer, OfParallelBackProjectionHasThePredictedTraffic) {
  problem p(48);
  auto const curve = curve_of(p);
  double const u280 = 0.7 * 1024 / 8 * (2016 * 36 + 960 * 288);
  double before = 0;
  for (double const usable : {u280, 200e3, 20e3, 2e3}) {  // at the knee, and where it does not fit
    SCOPED_TRACE(usable);
    auto const buffer = profile::fpga::choose_buffer(curve, usable, 32);
    ASSERT_TRUE(buffer);
    EXPECT_LE(buffer->bytes, usable);
    EXPECT_EQ(buffer->at_knee, usable == u280);
    observer seen{.buffer = {.lines = static_cast<std::size_t>(buffer->bytes / 64)}};
    p.back(observing{seen});
    EXPECT_EQ(seen.buffer.traffic(), buffer->traffic) << "5 % were asked for; both are exact";
    EXPECT_GT(buffer->traffic, before) << "smaller buffers let more through";
    before = buffer->traffic;
  }
}

}  // namespace
