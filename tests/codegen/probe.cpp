// One kernel, compiled three times: through a context without instrumentation, through one that traces
// (-DMBIRK_TRACING), and as a programmer would write it for AVX2 without any of the library's abstractions of vectors,
// cursors and policies (-DMBIRK_BY_HAND).
#include <cstring>

#include "mbirk/launch.hpp"
#include "mbirk/exec/host.hpp"
#include "mbirk/instrument/none.hpp"
#include "mbirk/instrument/tracing.hpp"
#include "mbirk/kernel/host/parallel_back.hpp"

using namespace mbirk;

/// The kernel's arrays and sizes.
struct problem {
  float const* sinogram;
  float* voxel_columns;
  std::int32_t const *rows, *cols;
  index_t const* offsets;
  kernel::view_taps const* passes;
  index_t two_tap_passes, all_passes;
  kernel::chunked_shape shape;
  device_span<kernel::pixel_group> groups;
};

#if defined(MBIRK_BY_HAND)

namespace by_hand {

constexpr int lanes = 8, views_at_once = 8, pixels = 64;

template <int Packs, int Taps> __attribute__((noinline)) void accumulate(problem const& p, int count, int views,
                                                                         index_t const* view_offset, float const* chunk,
                                                                         std::int32_t const* first,
                                                                         float const* weights, float* tile) {
  for (int q = 0; q < count; ++q) {
    float* const out = tile + q * p.shape.chunks * p.shape.width;
    __m256 sum[Packs];
#pragma GCC unroll 8
    for (int i = 0; i < Packs; ++i) sum[i] = _mm256_loadu_ps(out + i * lanes);
    for (int v = 0; v < views; ++v) {
      float const* const y = chunk + (view_offset[v] + index_t{first[v * pixels + q]} * (Packs * lanes));
#pragma GCC unroll 4
      for (int t = 0; t < Taps; ++t) {
        __m256 const weight = _mm256_broadcast_ss(weights + (t * views_at_once + v) * pixels + q);
#pragma GCC unroll 8
        for (int i = 0; i < Packs; ++i)
          sum[i] = _mm256_fmadd_ps(weight, _mm256_loadu_ps(y + (t * Packs + i) * lanes), sum[i]);
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < Packs; ++i) _mm256_storeu_ps(out + i * lanes, sum[i]);
  }
}

struct scratch { float* tile; std::int32_t* first; float* weights; };

template <int Taps>
void run(problem const& p, kernel::pixel_group const& group, index_t from, index_t to, scratch const& s) {
  for (index_t block = from; block < to; block += views_at_once) {
    int const n = static_cast<int>(std::min<index_t>(views_at_once, to - block));
    index_t view_offset[views_at_once];
    for (int v = 0; v < n; ++v) {
      auto const pass = p.passes[block + v];
      view_offset[v] = p.shape.offset(0, pass.view);
      kernel::footprint_weights<simd::native<lanes>>(
          pass, false, p.shape.channels, group.tile_mask != 0, p.rows + group.first, p.cols + group.first, group.count,
          s.first + v * pixels, [&](int tap, int k, auto value) MBIRK_FLAT {
            _mm256_storeu_ps(s.weights + (tap * views_at_once + v) * pixels + k, __m256(value.v));
          });
    }
    for (index_t c = 0; c < p.shape.chunks; ++c) {
      float const* const chunk = p.sinogram + p.shape.offset(c, 0);
      float* const x = s.tile + c * p.shape.width;
      switch (p.shape.packs) {
        case 1: accumulate<1, Taps>(p, group.count, n, view_offset, chunk, s.first, s.weights, x); break;
        case 2: accumulate<2, Taps>(p, group.count, n, view_offset, chunk, s.first, s.weights, x); break;
        case 3: accumulate<3, Taps>(p, group.count, n, view_offset, chunk, s.first, s.weights, x); break;
        case 4: accumulate<4, Taps>(p, group.count, n, view_offset, chunk, s.first, s.weights, x); break;
        case 5: accumulate<5, Taps>(p, group.count, n, view_offset, chunk, s.first, s.weights, x); break;
        case 6: accumulate<6, Taps>(p, group.count, n, view_offset, chunk, s.first, s.weights, x); break;
      }
    }
  }
}

void project(problem const& p, index_t task, scratch const& s) {
  auto const& group = p.groups[task];
  index_t const length = p.shape.chunks * p.shape.width;
  for (index_t k = 0; k < group.count * length; k += lanes) _mm256_storeu_ps(s.tile + k, _mm256_setzero_ps());
  run<2>(p, group, 0, p.two_tap_passes, s);
  run<3>(p, group, p.two_tap_passes, p.all_passes, s);
  for (int q = 0; q < group.count; ++q) {
    float* const out = p.voxel_columns + p.offsets[group.first + q];
    for (index_t k = 0; k < p.shape.rows; k += lanes) {
      __m256 const value = _mm256_loadu_ps(s.tile + q * length + k);
      if (k + lanes <= p.shape.rows) _mm256_storeu_ps(out + k, value);
      else std::memcpy(out + k, &value, static_cast<std::size_t>(p.shape.rows - k) * sizeof(float));
    }
  }
}

}  // namespace by_hand

void probe(problem const& p, exec::host const& exec) {
  using namespace by_hand;
  auto const tasks = p.groups.size();
  int const workers = exec.workers(tasks);
  index_t const tile = round_up(pixels * p.shape.chunks * p.shape.width * 4, 64), first = views_at_once * pixels * 4,
                weights = 3 * first;
  index_t const each = tile + first + weights;
  auto const bytes = static_cast<std::size_t>(workers * each);
  std::byte* memory = nullptr;
  try {
    memory = static_cast<std::byte*>(exec.resource()->allocate(bytes, 64));
  } catch (std::bad_alloc const&) {
    char const* const name = "scratch";
    throw allocation_error("out of memory: " + std::to_string(bytes) + " bytes for the temporary '" + name + "'",
                           source_location::current());
  }
  exec.for_each(tasks, workers, [&](index_t task, int worker) {
    std::byte* const base = memory + worker * each;
    project(p, task,
            {reinterpret_cast<float*>(base), reinterpret_cast<std::int32_t*>(base + tile),
             reinterpret_cast<float*>(base + tile + first)});
  });
  exec.resource()->deallocate(memory, bytes, 64);
}

#else

template <class Context> void project(problem const& p, Context const& ctx) {
  kernel::parallel_back<typename Context::backend> kernel{
      {p.sinogram, p.rows, p.cols, p.passes, p.shape, false, p.groups, {p.groups.size(), p.groups.size()}},
      p.voxel_columns,
      p.offsets,
      p.two_tap_passes,
      p.all_passes};
  kernel.plan_scratch();
  [[maybe_unused]] auto const guard = ctx.instr.scope({"back", 0});
  launch(ctx, kernel.batches.count, kernel);
}

#if defined(MBIRK_TRACING)
void probe(problem const& p, exec::host const& exec, instrument::trace_buffer& into) {
  project(p, context{exec, instrument::tracing{into}});
}
#else
void probe(problem const& p, exec::host const& exec) { project(p, context{exec, instrument::none{}}); }
#endif

#endif
