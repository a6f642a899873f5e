// Cone back projection on a device: a block owns a group of pixels over a piece of the slices, a warp four of the pixels, with sums in registers over
// all views. What the pixels of eight views at a time have for all lanes lies in shared memory, made a lane each. Lanes are slices; they gather their
// rows from the channels of a footprint.
#pragma once

#include "mbirk/geometry/scan.hpp"
#include "mbirk/kernel/device/lane_resample.hpp"
#include "mbirk/kernel/host/lanes.hpp"
#include "mbirk/kernel/host/layout.hpp"
#include "mbirk/kernel/host/parallel_back.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// A pixel in a view, read as three words of 128 bits.
struct alignas(16) cone_pixel {
  float weight[3];
  std::int32_t first;  // channel, guards counted
  lane_line line;
  float square;        // of the magnification
  std::int32_t taps;   // 0, 2 or 3
};
static_assert(sizeof(cone_pixel) == 48);

/// Power: of the weights. Unit: the sinogram is 1 everywhere and is not read (Hessian diagonal).
template <class B, int Power, bool Unit> struct cone_block_back {
  using G = typename B::geometry;
  using pack = typename B::pack;
  using wide = typename G::wide;
  // Few pixels a warp, because its code is unrolled over them, and many warps, because neighbours share channels.
  static constexpr int warps = 16, pixels_of_warp = group_pixels / warps, most_packs = 4;
  static constexpr int views_at_once = warps * warp_lanes / group_pixels, warps_of_view = warps / views_at_once;
  static constexpr launch_bounds bounds{warps * warp_lanes, 2};
  template <class Block> struct shared {
    typename Block::template tile<cone_pixel, views_at_once, group_pixels> pixels;
    typename Block::template tile<float, warps> widest;
  };

  cone_geometry geometry;
  typename B::template cursor<float const> sinogram;           // channel-major, one chunk; not used when Unit
  typename B::template cursor<float> cylinders;
  typename G::template cursor<std::int32_t const> rows, cols;  // of the planned pixels
  typename G::template cursor<index_t const> offsets;          // of their cylinders
  typename G::template cursor<view_position const> positions;
  typename B::template cursor<float const> elevations;         // t_k of every slice, padded to whole packs
  index_t elevation_stride;                                    // between views
  chunked_shape shape;
  pack_pieces pieces;                                          // of the slices
  list<pixel_group> groups;

  index3 grid() const noexcept { return {static_cast<int>(groups.size()), static_cast<int>(pieces.count()), 1}; }

  /// Blocks: (group, piece).
  template <class Block> MBIRK_HD void operator()(Block const& block, shared<Block>& sh) const noexcept {
    with_constant<most_packs>(pieces.packs_of(block.index().y), [&](auto packs) MBIRK_FLAT { project<packs>(block, sh); });
  }

 private:
  template <int Packs, class Block> MBIRK_HD void project(Block const& block, shared<Block>& sh) const noexcept {
    pixel_group const group = groups[block.index().x];
    index_t const slice = pieces.first(block.index().y);
    int const warp = block.warp_rank(), lane = block.warp().lane(), own = warp * pixels_of_warp;

    pack sum[pixels_of_warp][Packs];
    simd::static_for<pixels_of_warp>([&](auto q) MBIRK_FLAT {
      simd::static_for<Packs>([&](auto i) MBIRK_FLAT { sum[q][i] = B::constant(0); });
    });
    for (index_t base = 0; base < shape.views; base += views_at_once) {
      int const views = static_cast<int>(least<index_t>(views_at_once, shape.views - base));
      bool more = true;
      for (int tap0 = 0; more; tap0 += 3) {  // windows of three channels; nearly always one
        int const v = warp / warps_of_view, from = warp % warps_of_view * warp_lanes;
        float widest = 0;
        if (v < views && from < group.count) {
          cone_pixel pixel;
          widest = find_pixels(group.first + from, G::load_value(positions + (base + v)), tap0, slice, pixel);
          sh.pixels(v, from + lane) = pixel;
        }
        if (lane == 0) sh.widest(warp) = widest;
        block.sync();
        float const wide_one = sh.widest(lane % warps);
        more = tap0 + 3 < std::ceil(B::reduce_max(B::broadcast(wide_one))) + 1;
        for (int view = 0; view < views; ++view) add_view<Packs>(sh, view, base + view, slice, own, group.count, sum);
        block.sync();
      }
    }
    simd::static_for<pixels_of_warp>([&](auto q) MBIRK_FLAT {
      if (own + q >= group.count) return;
      auto const out = cylinders + (G::load_value(offsets + (group.first + own + q)) + slice);
      simd::static_for<Packs>([&](auto i) MBIRK_FLAT {
        index_t const left = geometry.slices - slice - i * B::lanes;
        if (left > 0) store_lanes<B>(out + i * B::lanes, sum[q][i], least<index_t>(left, B::lanes));
      });
    });
  }

  /// A pixel in a view per lane, with the taps tap0, tap0 + 1 and tap0 + 2. Returns the widest footprint in channels.
  MBIRK_INLINE float find_pixels(index_t first, view_position const& at, int tap0, index_t slice, cone_pixel& pixel) const noexcept {
    auto const number = [](double x) MBIRK_FLAT { return G::broadcast(x); };
    double const channels = static_cast<double>(geometry.channels);
    wide const x = definition::column_x(geometry, G::to_wide(G::load_ints(cols + first))), y = definition::row_y(geometry, G::to_wide(G::load_ints(rows + first)));
    auto const f = definition::make_cone_footprint(geometry, number(at.cosine), number(at.sine), x, y);
    // Cut off one channel beyond the detector, as on the host.
    wide const left = definition::left_edge(f.channel.centre, f.channel.width), edge = max(left, number(-1)), cell = floor(edge), fraction = edge - cell;
    wide const width = max(min(left + f.channel.width, number(channels + 1)) - edge, number(0));
    wide const length = Power == 1 ? f.channel.chord * f.row_width : f.channel.chord;  // the means of the rows leave W_r out
    pixel.first = G::element(G::to_ints(max(min(cell + number(tap0), number(channels)), number(-guard_channels)) + number(guard_channels)));
    wide hits = number(0);
    simd::static_for<3>([&](auto t) MBIRK_FLAT {
      wide const a = definition::overlap_tap(fraction, width, number(tap0 + t)) * length, value = Power == 2 ? a * a : a;
      if constexpr (Unit) {
        wide const n = cell + number(tap0 + t);
        hits = hits + select(n < number(0), number(0), select(n < number(channels), value, number(0)));
      }
      pixel.weight[t] = G::element(G::to_pack(value));
    });
    if constexpr (Unit) pixel.weight[0] = G::element(G::to_pack(hits)), pixel.weight[1] = pixel.weight[2] = 0;
    pixel.taps = pixel.weight[2] != 0 ? 3 : pixel.weight[0] != 0 || pixel.weight[1] != 0 ? 2 : 0;

    wide const z = definition::slice_z(geometry, number(static_cast<double>(slice)), number(at.z_shift));
    double const start = G::element(definition::left_edge(definition::detector_row(geometry, f.magnification, z), f.row_width));
    double const step = G::element(f.row_width);
    float const scale = static_cast<float>(Power == 1 ? 1 / step : step);
    auto const form = lane_form_of(step);
    pixel.line = form == resample_form::any ? make_line<resample_form::any>(start, step, scale) : make_line<resample_form::two>(start, step, scale);
    pixel.line.form = form;
    pixel.square = G::element(G::to_pack(f.magnification * f.magnification));
    return G::reduce_max(G::to_pack(width));
  }

  template <int Packs, class Shared>
  MBIRK_INLINE void add_view(Shared& sh, int at, index_t view, index_t slice, int own, int count, pack (&sum)[pixels_of_warp][Packs]) const noexcept {
    auto const elevation = elevations + (view * elevation_stride + slice);
    pack t[Packs];
    simd::static_for<Packs>([&](auto i) MBIRK_FLAT { t[i] = B::load(elevation + i * B::lanes); });
    // The code of a pixel once for all of them: only its last step names registers.
    for (int q = 0; q < pixels_of_warp && own + q < count; ++q) {
      cone_pixel const pixel = sh.pixels(at, own + q);
      if (pixel.taps == 0) continue;
      pack value[Packs];
      switch (pixel.line.form) {
        case resample_form::two:
          if (Unit || pixel.taps == 2) find_slices<resample_form::two, 2>(pixel, view, t, value);
          else find_slices<resample_form::two, 3>(pixel, view, t, value);
          break;
        case resample_form::three:
          if (Unit || pixel.taps == 2) find_slices<resample_form::three, 2>(pixel, view, t, value);
          else find_slices<resample_form::three, 3>(pixel, view, t, value);
          break;
        case resample_form::any: find_slices<resample_form::any, 3>(pixel, view, t, value); break;
      }
      simd::static_for<pixels_of_warp>([&](auto p) MBIRK_FLAT {
        if (p != q) return;
        simd::static_for<Packs>([&](auto i) MBIRK_FLAT { sum[p][i] = sum[p][i] + value[i]; });
      });
    }
  }

  template <resample_form Form, int Taps, int Packs>
  MBIRK_INLINE void find_slices(cone_pixel const& pixel, index_t view, pack const (&t)[Packs], pack (&value)[Packs]) const noexcept {
    lane_resampler<B, Form, Power> rows(pixel.line, static_cast<std::int32_t>(shape.rows));
    auto const y = sinogram + (shape.offset(0, view) + index_t{pixel.first} * shape.width);
    auto const source = [&](typename B::ints r) MBIRK_FLAT {
      if constexpr (Unit) {
        return B::constant(1);
      } else {
        pack total = B::broadcast(pixel.weight[0]) * B::gather(y, r);
        simd::static_for<Taps - 1>([&](auto c) MBIRK_FLAT { total = fma(B::broadcast(pixel.weight[c + 1]), B::gather(y + (c + 1) * shape.width, r), total); });
        return total;
      }
    };
    pack const square = B::broadcast(pixel.square), one = Unit ? B::broadcast(pixel.weight[0]) : B::constant(1), slope = Unit ? square * one : square;
    rows.run(source, value);
    simd::static_for<Packs>([&](auto i) MBIRK_FLAT {
      if constexpr (Power == 2) value[i] = fma(slope, t[i], one) * value[i];  // sec^2 = 1 + G t
      else value[i] = definition::elevation_secant(square, t[i]) * value[i];
    });
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
