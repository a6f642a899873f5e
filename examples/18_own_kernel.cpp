// Counts of your own kernel: written once over packs, it runs natively, is counted exactly, and is modelled without
// data. docs/instrumentation.md explains the counts.
#include <cstdio>
#include <vector>

#include "mbirk/instrument/counting.hpp"
#include "mbirk/mbirk.hpp"

/// y += a x, with `lines` packs per task. B is the index backend: vectors of this machine, counting vectors, or no data
/// at all.
template <class B> struct add_scaled {
  typename B::template cursor<float const> x;
  typename B::template cursor<float> y;
  float a;
  mbirk::index_t elements;
  static constexpr mbirk::index_t lines = 64, of_a_task = lines * B::lanes;

  void operator()(mbirk::index_t task) const noexcept {
    auto const scale = B::broadcast(a);
    mbirk::index_t const last = mbirk::min(elements, (task + 1) * of_a_task);
    for (mbirk::index_t k = task * of_a_task; k < last; k += B::lanes) {
      int const n = static_cast<int>(mbirk::min<mbirk::index_t>(B::lanes, last - k));
      B::store_partial(y + k, fma(scale, B::load_partial(x + k, n), B::load_partial(y + k, n)), n);
    }
  }
};

/// The enclosing operation: its name, the arrays it reads and writes, and its number of tasks.
template <class Exec, class Instr>
void add(mbirk::context<Exec, Instr> const& ctx, float a, mbirk::view<float const, 1> x, mbirk::view<float, 1> y) {
  using kernel = add_scaled<typename mbirk::context<Exec, Instr>::backend>;
  [[maybe_unused]] auto const guard = ctx.instr.scope({"add_scaled", x.size()});
  auto const in = observe(ctx, x, "x", mbirk::array_role::argument);
  auto const out = observe(ctx, y, "y", mbirk::array_role::output);
  launch(ctx, mbirk::ceil_div(x.size(), kernel::of_a_task), kernel{in, out, a, x.size()});
}

int main() {
  using namespace mbirk;
  constexpr index_t n = 100'003;
  std::vector<float> x(n, 2.0f), y(n, 1.0f);
  view<float, 1> const vx(x.data(), {n}), vy(y.data(), {n});
  instrument::ledger counted, modelled;
  add(host_context{}, 3.0f, vx, vy);  // all threads
  add(context{exec::host{}, instrument::counting<>{counted}}, 3.0f, vx, vy);
  view<float, 1> const no_data(nullptr, {n});
  add(context{exec::host{}, instrument::cost_model<>{modelled}}, 3.0f, no_data, no_data);
  auto const& r = counted.last();
  unsigned long long const flops = r.operations.flops(), bytes = bytes_accessed(r.arrays);
  std::printf(
      "%s: %llu flops (2 per element; the last pack counts in full), %llu bytes (12 per element), %.3f flops/byte\n",
      r.name.c_str(), flops, bytes, static_cast<double>(flops) / static_cast<double>(bytes));
  for (auto const& a : r.arrays)
    std::printf("  %s: %.0f kB loaded, %.0f kB stored\n", a.name.c_str(),
                1e-3 * static_cast<double>(a.counts.bytes_loaded), 1e-3 * static_cast<double>(a.counts.bytes_stored));
  return y[n - 1] == 13 && flops / n == 2 && bytes == 12 * n && r.operations == modelled.last().operations ? 0 : 1;
}
