// Ramp filter by FFT, for all but narrow detectors. Rows are the SIMD axis; two packs of rows form one complex signal.
#pragma once

#include "mbirk/kernel/shared/fourier.hpp"
#include "mbirk/kernel/shared/ramp_rows.hpp"
#include "mbirk/simd/lanes.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// A task is two packs of rows in all channels, one as the real and one as the imaginary part: neighbours of a view,
/// or, where a view has an odd number of packs, the last packs of two consecutive views. The pairing, and every bit of
/// the result, is independent of the chunking of the sinogram, and an even number of packs of a view keeps it.
template <class B, class In, class Out> struct ramp_fourier {
  ramp_sides<B, In, Out> sides;
  typename B::template cursor<float const> twiddles, spectrum;
  fourier::plan plan;
  scratch_layout layout{};
  scratch_part signal{};

  MBIRK_HD index_t packs_of_view() const noexcept { return max<index_t>(1, ceil_div(sides.shape.rows, B::lanes)); }
  MBIRK_HD index_t tasks() const noexcept { return ceil_div(sides.shape.views * packs_of_view(), 2); }

  /// Reserves the scratch parts; called once before the launch.
  void plan_scratch() { signal = layout.add<float>("filter signal", 2 * plan.length * B::lanes); }

  template <class Scratch> MBIRK_HD void operator()(index_t task, Scratch const& s) const noexcept {
    auto const x = s.template at<float>(signal);  // [channel][real, imaginary]
    index_t const channels = sides.shape.channels;
    for (index_t part = 0; part < 2; ++part) {
      auto const to = x + part * B::lanes;
      index_t n = 0;
      if (place const p = find(task, part); p.exists) {
        sides.read(simd::constant<1>{}, p.view, p.chunk, p.row,
                   [&](index_t k, index_t, typename B::pack value) MBIRK_FLAT {
          B::store(to + 2 * k * B::lanes, value);
        });
        n = channels;
      }
      for (; n < plan.length / 2; ++n) B::store(to + 2 * n * B::lanes, B::constant(0));
    }
    order_lanes<B>();  // the output may be the input
    fourier::convolve(plan, fourier::packed_waves<B>{x, twiddles, spectrum});
    index_t rows = 0;
    for (index_t part = 0; part < 2; ++part)
      if (place const p = find(task, part); p.exists) {
        rows += p.rows;
        if constexpr (Out::channel_major) write_channels(p, x + part * B::lanes);
        else sides.write_rows(simd::constant<1>{}, p.view, p.chunk, p.row, x + part * B::lanes, 2 * B::lanes);
      }
    B::note_lanes(channels * rows, channels * 2 * B::lanes);
  }

 private:
  struct place {
    bool exists, last;  // last: last pack of its view
    index_t view, chunk, row, rows;
  };
  MBIRK_HD place find(index_t task, index_t part) const noexcept {
    index_t const each = packs_of_view(), pairs = each / 2, first_last = sides.shape.views * pairs;
    bool const within = task < first_last;
    index_t const view = within ? task / pairs : 2 * (task - first_last) + part;
    index_t const k = within ? 2 * (task % pairs) + part : each - 1;
    index_t const rows = min<index_t>(B::lanes, sides.shape.rows - k * B::lanes);
    return {view < sides.shape.views, k + 1 == each, view, k / sides.shape.packs, k % sides.shape.packs * B::lanes,
            rows};
  }

  /// Writes a pack to a channel-major output, and zeros to the empty packs after the last pack of a view.
  MBIRK_HD void write_channels(place const& p, typename B::template cursor<float> q) const noexcept {
    auto const& shape = sides.shape;
    auto const to = sides.channels_at(p.view, p.chunk, p.row);
    auto const zero = B::constant(0);
    if (p.rows == B::lanes) {
      for (index_t n = 0; n < shape.channels; ++n) B::store(to + n * shape.width, B::load(q + 2 * n * B::lanes));
    } else {
      for (index_t n = 0; n < shape.channels; ++n)
        B::store(to + n * shape.width, masked<B>(B::load(q + 2 * n * B::lanes), zero, p.rows));
    }
    sides.clear_guards(simd::constant<1>{}, p.view, p.chunk, p.row);
    for (index_t row = p.row + B::lanes; p.last && row < shape.width; row += B::lanes) {
      auto const beyond = sides.channels_at(p.view, p.chunk, row);
      for (index_t n = 0; n < shape.channels; ++n) B::store(beyond + n * shape.width, zero);
      sides.clear_guards(simd::constant<1>{}, p.view, p.chunk, row);
    }
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
