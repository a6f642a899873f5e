// Tuned back projection of general views: a task owns a batch of groups of pixels, and adds the views one after the
// other to their voxel columns, which are in L2. Columns whose rows do not grow by about one per slice are projected as
// on a device.
#pragma once

#include "mbirk/core/device_span.hpp"
#include "mbirk/kernel/host/general_line.hpp"
#include "mbirk/kernel/shared/plan.hpp"
#include "mbirk/kernel/shared/voxel_columns.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Power: exponent of the weights. Unit: the sinogram is 1 everywhere and is not read (Hessian diagonal).
template <class B, int Power, bool Unit> struct general_back {
  using I = typename B::index_backend;
  using pack = typename B::pack;
  using weight = typename I::pack;
  using bounds = line_bounds<B::lanes>;

  general_slices<B, Power, Unit> column;
  typename B::template cursor<float const> sinogram;           // channel-major, one chunk; unused if Unit
  typename B::template cursor<float> voxel_columns;
  typename I::template cursor<std::int32_t const> rows, cols;  // rows and columns of the planned pixels
  typename I::template cursor<index_t const> offsets;          // offsets of their voxel columns
  typename I::template cursor<general_position const> views;
  device_span<pixel_group> groups;
  group_batches batches;
  general_packs<B> packs{};
  scratch_layout layout{};
  scratch_part tile{};

  MBIRK_HD index_t padded_slices() const noexcept {
    return max<index_t>(1, ceil_div(column.slices, B::lanes)) * B::lanes;
  }
  void plan_scratch() {
    packs = {column.slices, column.shape};
    packs.plan_scratch(layout);
    tile = layout.add<float>("tile", B::lanes + batches.largest() * tile_size());
  }

  template <class Scratch> MBIRK_HD void operator()(index_t task, Scratch const& s) const noexcept {
    auto const batch = batches.of(task, groups);
    auto const x = s.template at<float>(tile) + index_t{B::lanes};
    index_t const padded = padded_slices();
    for (index_t k = -B::lanes; k < batch.size() * tile_size(); k += B::lanes) B::store(x + k, B::constant(0));
    bool const empty = column.slices == 0 || column.shape.channels == 0 || column.shape.rows == 0;
    for (index_t v = 0; v < (empty ? 0 : column.shape.views); ++v) {
      auto const view = I::load_value(views + v);
      for (index_t g = 0; g < batch.size(); ++g) {
        add_view(batch[g], view, v, x + g * tile_size(), s);
        B::note_lanes(batch[g].count * column.slices, batch[g].count * padded);
      }
    }
    for (index_t g = 0; g < batch.size(); ++g)
      for (int p = 0; p < batch[g].count; ++p) {
        auto const from = x + (g * tile_size() + p * padded);
        store_voxel_column<B>({column.slices, padded, false}, [&](index_t k) MBIRK_FLAT { return B::load(from + k); },
                              voxel_columns + I::load_value(offsets + (batch[g].first + p)));
      }
  }

 private:
  MBIRK_HD index_t tile_size() const noexcept { return group_pixels * padded_slices(); }

  template <class Scratch>
  MBIRK_NOINLINE void add_view(pixel_group const& group, general_position const& view, index_t v,
                               typename B::template cursor<float> x, Scratch const& s) const noexcept {
    index_t const padded = padded_slices();
    auto const y = Unit ? sinogram : sinogram + column.shape.offset(0, v);
    auto const place = [&](int p) {
      return grid_place{I::load_value(rows + (group.first + p)), I::load_value(cols + (group.first + p))};
    };
    each_bounds<B::lanes>(group, view, column.slices, column.shape, place, [&](bounds const& at, int from, int end) {
      auto const each = [&](auto const& f) MBIRK_FLAT {
        for (int p = from; p < end; ++p) {
          auto const [i, j] = place(p);
          f(general_column(view, i, j), x + p * padded);
        }
      };
      if (!at.fits)
        return each([&](general_column const& c, auto to) MBIRK_FLAT { add_column(view, c, y, to); });
      auto const add = [&](auto edges, auto taps) MBIRK_FLAT {
        each([&](general_column const& c, auto to) MBIRK_FLAT {
          general_line const line(view, c, column.slices, at.reversed);
          packs.prepare(at, line, s);
          this->template add_line<decltype(edges)::value>(taps, view, at, line, y, to, s);
        });
      };
      auto const with_edges = [&](auto taps) MBIRK_FLAT {
        if (at.one_edge) add(simd::constant<1>{}, taps);
        else add(simd::constant<3>{}, taps);
      };
      if (at.row_taps <= 3) with_edges(simd::constant<3>{});
      else if (at.row_taps == 4) with_edges(simd::constant<4>{});
      else with_edges(simd::bounded<bounds::most_taps>{at.row_taps});
    });
  }

  MBIRK_NOINLINE void add_column(general_position const& view, general_column const& c,
                                 typename B::template cursor<float const> y,
                                 typename B::template cursor<float> to) const noexcept {
    int const taps = column.short_taps(view);
    for (index_t k = 0; k < padded_slices(); k += B::lanes)
      B::store(to + k, B::load(to + k) + column.sum(taps, view, c, k, y));
  }

  template <int Edges, class Taps, class Scratch>
  MBIRK_NOINLINE void add_line(Taps taps, general_position const& view, bounds const& at, general_line const& line,
                               typename B::template cursor<float const> y, typename B::template cursor<float> to,
                               Scratch const& s) const noexcept {
    typename general_packs<B>::template constants<Edges> const of(view, at, line);
    auto const begun = packs.begun(s);
    index_t const slices = column.slices, width = column.shape.width, all_rows = column.shape.rows,
                  count = packs.packs();
    int const channels = static_cast<int>(at.channels);
    weight const one = I::constant(1);
    for (index_t p = 0; p < count; ++p) {
      index_t const row = I::load_value(begun.row + p), end = row + (B::lanes - 1 + taps);
      if (end <= 0 || row >= all_rows) continue;
      auto const f = packs.template at<Edges>(of, begun, p);
      weight w[Taps::max_value];
      cell_overlaps<I> const heights(f.row_width), widths(f.channel_width);
      taps.each([&](auto t) MBIRK_FLAT { w[t] = raised(heights.at(f.row - I::constant(t))); });
      if (row < 0 || end > all_rows) clip_rows(taps, row, w);
      pack total = B::constant(0);
      if constexpr (Unit) {
        weight high = I::constant(0), wide = raised(widths.at(f.channel)), distance = f.channel;
        taps.each([&](auto t) MBIRK_FLAT { high = high + w[t]; });
        for (int c = 1; c < channels; ++c) {
          distance = distance - one;
          wide = wide + raised(widths.at(distance));
        }
        total = B::lift(raised(f.amplitude) * high * wide);
      } else {
        auto from = y + ((I::load_value(begun.channel() + p) + guard_channels) * width + row);
        weight distance = f.channel;
        for (int c = 0; c < channels; ++c) {
          pack sum = B::lift(w[0]) * B::load(from);
          taps.each([&](auto t) MBIRK_FLAT { if (t > 0) sum = fma(B::lift(w[t]), B::load(from + index_t{t}), sum); });
          total = fma(B::lift(raised(widths.at(distance))), sum, total);
          distance = distance - one;
          from = from + width;
        }
        total = B::lift(raised(f.amplitude)) * total;
      }
      index_t const k = p * B::lanes;
      if (line.reversed) {
        auto const place = to + (slices - B::lanes - k);
        B::store(place, B::load(place) + reversed<B>(masked<B>(total, slices - k)));
      } else {
        B::store(to + k, B::load(to + k) + total);
      }
    }
  }

  /// Removes the rows beside the detector.
  template <class Taps>
  MBIRK_HD void clip_rows(Taps taps, index_t row, typename I::pack (&w)[Taps::max_value]) const noexcept {
    auto const zero = I::constant(0), high = I::broadcast(static_cast<float>(column.shape.rows));
    taps.each([&](auto t) MBIRK_FLAT {
      auto const r = I::to_pack(I::to_wide(I::iota()) + I::broadcast(static_cast<double>(row + t)));
      w[t] = select(r < zero, zero, select(r < high, w[t], zero));
    });
  }
  static MBIRK_INLINE weight raised(weight x) noexcept { return Power == 2 ? x * x : x; }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
