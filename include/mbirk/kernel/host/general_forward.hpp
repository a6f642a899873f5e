// Tuned forward projection of general views: a task owns a few views. Per view and pixel, the values of the slices are
// distributed over their channels, and packs of rows then sum the slices that they see. Columns whose rows do not grow
// by about one per slice are projected as on a device.
#pragma once

#include "mbirk/core/device_span.hpp"
#include "mbirk/kernel/host/general_line.hpp"
#include "mbirk/kernel/shared/epilogue.hpp"
#include "mbirk/kernel/shared/plan.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Everything except the epilogue. Split out so that it is compiled once for all epilogues.
template <class B> struct general_columns {
  using I = typename B::index_backend;
  using pack = typename B::pack;
  using weight = typename I::pack;
  using wide = typename I::wide;
  using bounds = line_bounds<B::lanes>;
  /// Channels that the values of a line are distributed over: a ring, of which a pack of rows sees a part.
  static constexpr index_t ring = 32;
  /// Zeros around the slices of a line, for packs of rows that begin or end beside them.
  static constexpr index_t guard = (2 * (B::lanes + bounds::most_taps) + B::lanes - 1) / B::lanes * B::lanes;

  index_t slices, views_per_task;
  typename B::template cursor<float const> voxel_columns;
  typename B::template cursor<float> sinogram;                 // channel-major, one chunk
  typename I::template cursor<std::int32_t const> rows, cols;  // rows and columns of the planned pixels
  typename I::template cursor<index_t const> offsets;          // offsets of their voxel columns
  typename I::template cursor<general_position const> views;
  chunked_shape shape;
  device_span<pixel_group> groups;
  general_packs<B> packs{};
  scratch_layout layout{};
  scratch_part tile{}, footprints{}, values{}, first_slices{};

  void plan_scratch() {
    packs = {slices, shape};
    packs.plan_scratch(layout);
    tile = layout.add<float>("tile", group_pixels * stride());
    footprints = layout.add<float>("rows of footprints", 4 * stride());
    values = layout.add<float>("values by channel", ring * stride());
    first_slices = layout.add<std::int32_t>("first slices of packs of rows", row_packs() + I::lanes);
  }

  /// Zeros the scratch; called once per task. Values stay 0 where a line has none.
  template <class Scratch> MBIRK_HD void begin(Scratch const& s) const noexcept {
    auto const clear = [&](auto at, index_t size) {
      for (index_t k = 0; k < size; k += B::lanes) B::store(at + k, B::constant(0));
    };
    clear(s.template at<float>(tile), group_pixels * stride());
    clear(s.template at<float>(footprints), 4 * stride());
    clear(s.template at<float>(values), ring * stride());
  }
  /// Copies the group's voxel columns to scratch, between zeros.
  template <class Scratch> MBIRK_NOINLINE void copy_tile(pixel_group const& group, Scratch const& s) const noexcept {
    auto const x = s.template at<float>(tile);
    for (int p = 0; p < group.count; ++p)
      copy_padded<B>(voxel_columns + I::load_value(offsets + (group.first + p)), slices, x + (p * stride() + guard),
                     packs.packs() * B::lanes);
  }

  template <class Scratch>
  MBIRK_NOINLINE void add_group(pixel_group const& group, general_position const& view,
                                typename B::template cursor<float> y, Scratch const& s) const noexcept {
    auto const x = s.template at<float>(tile) + guard;
    auto const place = [&](int p) {
      return grid_place{I::load_value(rows + (group.first + p)), I::load_value(cols + (group.first + p))};
    };
    each_bounds<B::lanes>(group, view, slices, shape, place, [&](bounds const& at, int first, int end) {
      auto const each = [&](auto const& f) MBIRK_FLAT {
        for (int p = first; p < end; ++p) {
          auto const [i, j] = place(p);
          f(general_column(view, i, j), x + p * stride());
        }
      };
      double const seen = static_cast<double>(at.channels) + at.channel_slope * (3 * B::lanes + at.slice_taps) + 2;
      if (!at.fits || seen > static_cast<double>(ring))
        return each([&](general_column const& c, auto from) MBIRK_FLAT { add_column(view, c, from, y); });
      auto const add = [&](auto taps) MBIRK_FLAT {
        each([&](general_column const& c, auto from) MBIRK_FLAT {
          general_line const line(view, c, slices, at.reversed);
          packs.prepare(at, line, s);
          if (at.one_edge) distribute<1>(view, at, line, from, s);
          else distribute<3>(view, at, line, from, s);
          sum_slices(taps, at, line, y, s);
          clear_values(at, s);
        });
      };
      if (at.slice_taps <= 3) add(simd::constant<3>{});
      else if (at.slice_taps == 4) add(simd::constant<4>{});
      else add(simd::bounded<bounds::most_taps>{at.slice_taps});
    });
    B::note_lanes(group.count * shape.rows, group.count * shape.width);
  }

 private:
  MBIRK_HD index_t stride() const noexcept { return packs.packs() * B::lanes + 2 * guard; }
  MBIRK_HD index_t row_packs() const noexcept { return shape.width / B::lanes; }

  /// Arrays over the slices of a line, with guards.
  template <class Floats> struct line_arrays {
    Floats row;     ///< row of lane l is `row + offset`; row is a whole number
    index_t size;
    MBIRK_INLINE Floats offset() const noexcept { return row + size; }
    MBIRK_INLINE Floats reach() const noexcept { return row + 2 * size; }  ///< cell_overlaps
    MBIRK_INLINE Floats most() const noexcept { return row + 3 * size; }
  };
  template <class Scratch> MBIRK_INLINE auto arrays(Scratch const& s) const noexcept {
    auto const f = s.template at<float>(footprints) + guard;
    return line_arrays<std::remove_const_t<decltype(f)>>{f, stride()};
  }
  /// Calls f(values, n) for the arrays of channels first + n, n < count, at slice k.
  template <class Scratch, class F>
  MBIRK_INLINE void each_channel(index_t first, index_t count, index_t k, Scratch const& s, F const& f) const noexcept {
    auto const all = s.template at<float>(values);
    index_t const size = stride(), end = ring * size;
    index_t at = (first & (ring - 1)) * size + guard + k;
    for (index_t n = 0; n < count; ++n) {
      f(all + at, n);
      at += size;
      if (at >= end) at -= end;
    }
  }
  /// Whether any row of a pack of slices that begins with `row` is on the detector.
  MBIRK_HD bool is_seen(bounds const& at, index_t row) const noexcept {
    return row + B::lanes - 1 + at.row_taps > 0 && row < shape.rows;
  }

  /// Computes the footprints of the slices, and their values times the weights of the channels.
  template <int Edges, class Scratch>
  MBIRK_NOINLINE void distribute(general_position const& view, bounds const& at, general_line const& line,
                                 typename B::template cursor<float const> x, Scratch const& s) const noexcept {
    typename general_packs<B>::template constants<Edges> const of(view, at, line);
    auto const begun = packs.begun(s);
    auto const to = arrays(s);
    index_t const count = packs.packs();
    for (index_t p = 0; p < count; ++p) {
      index_t const row = I::load_value(begun.row + p), channel = I::load_value(begun.channel() + p), k = p * B::lanes;
      if (!is_seen(at, row)) continue;
      auto const f = packs.template at<Edges>(of, begun, p);
      cell_overlaps<I> const heights(f.row_width), widths(f.channel_width);
      I::store(to.row + k, of.lanes + I::broadcast(static_cast<float>(row)));
      I::store(to.offset() + k, f.row);
      I::store(to.reach() + k, heights.reach);
      I::store(to.most() + k, heights.most);
      pack const value = B::lift(f.amplitude) *
          (line.reversed ? reversed<B>(B::load(x + (slices - B::lanes - k))) : B::load(x + k));
      weight distance = f.channel;
      each_channel(channel, at.channels, k, s, [&](auto to_channel, index_t) MBIRK_FLAT {
        B::store(to_channel, B::lift(widths.at(distance)) * value);
        distance = distance - I::constant(1);
      });
    }
  }
  template <class Scratch> MBIRK_NOINLINE void clear_values(bounds const& at, Scratch const& s) const noexcept {
    auto const begun = packs.begun(s);
    index_t const count = packs.packs();
    for (index_t p = 0; p < count; ++p) {
      index_t const channel = I::load_value(begun.channel() + p);
      if (!is_seen(at, I::load_value(begun.row + p))) continue;
      each_channel(channel, at.channels, p * B::lanes, s, [&](auto to, index_t) MBIRK_FLAT {
        B::store(to, B::constant(0));
      });
    }
  }

  /// Adds the slices that packs of rows see.
  template <class Taps, class Scratch>
  MBIRK_NOINLINE void sum_slices(Taps taps, bounds const& at, general_line const& line,
                                 typename B::template cursor<float> y, Scratch const& s) const noexcept {
    double const begin = line.row / line.depth,
                 end = (line.row + line.last * line.row_step) / (line.depth + line.last * line.depth_step),
                 above = min(end + at.row_height, static_cast<double>(shape.rows - 1));
    if (above < 0 || begin - at.row_height > static_cast<double>(shape.rows - 1)) return;
    index_t const first = static_cast<index_t>(max(begin - at.row_height, 0.0)) / B::lanes,
                  last = static_cast<index_t>(above) / B::lanes;
    auto const slice = s.template at<std::int32_t>(first_slices);
    for (index_t p = first; p <= last; p += I::lanes)
      I::store(slice + (p - first), I::to_ints(first_slice(at, line, begin, end, p)));

    auto const begun = packs.begun(s);
    auto const from = arrays(s);
    index_t const width = shape.width, last_slice = slices - 1;
    for (index_t p = first; p <= last; ++p) {
      index_t const k = I::load_value(slice + (p - first)), row = p * B::lanes;
      index_t const low = max<index_t>(min(k, last_slice), 0) / B::lanes,
                    high = max<index_t>(min(k + B::lanes - 2 + taps, last_slice), 0) / B::lanes;
      index_t const a = I::load_value(begun.channel() + low), b = I::load_value(begun.channel() + high),
                    channel = min(a, b), channels = max(a, b) + at.channels - channel;
      auto const r = I::to_pack(I::to_wide(I::iota())) + I::broadcast(static_cast<float>(row));
      weight w[Taps::max_value];
      taps.each([&](auto t) MBIRK_FLAT {
        auto const distance = I::load(from.row + (k + t)) - r + I::load(from.offset() + (k + t));
        w[t] = cell_overlaps<I>(I::load(from.reach() + (k + t)), I::load(from.most() + (k + t))).at(distance);
      });
      auto to = y + ((channel + guard_channels) * width + row);
      each_channel(channel, channels, k, s, [&](auto value, index_t) MBIRK_FLAT {
        pack sum = B::load(to);
        taps.each([&](auto t) MBIRK_FLAT { sum = fma(B::lift(w[t]), B::load(value + index_t{t}), sum); });
        B::store(to, sum);
        to = to + width;
      });
    }
  }
  /// First slices that packs p, p + 1, ... of rows may see.
  MBIRK_INLINE wide first_slice(bounds const& at, general_line const& line, double begin, double end,
                                index_t p) const noexcept {
    auto const number = [](double x) MBIRK_FLAT { return I::broadcast(x); };
    wide const row = (I::to_wide(I::iota()) + number(static_cast<double>(p))) * number(B::lanes);
    wide const middle = max(min(row + number(bounds::half), number(end)), number(begin));
    wide const slice = (middle * number(line.depth) - number(line.row)) /
        (number(line.row_step) - middle * number(line.depth_step));
    return floor(slice - (middle - row) - number(at.slice_reach)) + number(1.0);
  }

  MBIRK_NOINLINE void add_column(general_position const& view, general_column const& c,
                                 typename B::template cursor<float const> x,
                                 typename B::template cursor<float> y) const noexcept {
    general_rows const seen(view, c, slices);
    double const end = min(seen.high, static_cast<double>(shape.rows));
    index_t row = seen.low > 0 ? static_cast<index_t>(min(seen.low, end)) / B::lanes * B::lanes : 0;
    for (; static_cast<double>(row) < end; row += B::lanes) {
      auto const range = seen.channels(view, c, slices, shape.channels, static_cast<double>(row),
                                       static_cast<double>(row + B::lanes - 1));
      auto const to = y + ((range.first + guard_channels) * shape.width + row);
      each_taps<B>(seen, view, c, slices, row, static_cast<double>(range.first), x, [&](auto const& taps) MBIRK_FLAT {
        for (index_t n = 0; n < range.end - range.first; ++n) {
          auto sum = B::load(to + n * shape.width);
          for (auto const& tap : taps) sum = tap.at(n, sum);
          B::store(to + n * shape.width, sum);
        }
      });
    }
  }
};

/// Forward projection with an epilogue that processes the views of a task once they are summed (epilogue.hpp).
template <class B, class Epilogue = store_epilogue<B>> struct general_forward : general_columns<B> {
  using I = typename B::index_backend;
  Epilogue epilogue{};

  template <class Scratch> MBIRK_HD void operator()(index_t task, Scratch const& s) const noexcept {
    auto const& at = this->shape;
    index_t const first = task * this->views_per_task, end = min(at.views, first + this->views_per_task);
    for (index_t v = first; v < end; ++v)
      for (index_t k = 0; k < at.view_size(); k += B::lanes)
        B::store(this->sinogram + (at.offset(0, v) + k), B::constant(0));
    this->begin(s);
    bool const empty = this->slices == 0 || at.channels == 0 || at.rows == 0;
    for (index_t g = 0; g < (empty ? 0 : this->groups.size()); ++g) {
      this->copy_tile(this->groups[g], s);
      for (index_t v = first; v < end; ++v)
        this->add_group(this->groups[g], I::load_value(this->views + v), this->sinogram + at.offset(0, v), s);
    }
    Epilogue out = epilogue;
    out.begin();
    for (index_t v = first; v < end; ++v) out.view(this->sinogram + at.offset(0, v), 0, v);
    out.end(task);
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
