// Implements the functions of operations.hpp, projector/operations.hpp and recon/recon_support.hpp for the policy that
// `device(threads)` makes.
#pragma once

#include "device/operations.hpp"
#include "device/device_copy.hpp"
#include "mbirk/instrument/none.hpp"
#include "mbirk/prior/qggmrf.hpp"
#include "mbirk/projector/cone.hpp"
#include "mbirk/projector/parallel.hpp"
#include "mbirk/recon/direct_recon.hpp"
#include "mbirk/recon/fdk_band.hpp"
#include "mbirk/recon/recon.hpp"
#include "mbirk/recon/split.hpp"
#include "mbirk/util/median.hpp"
#include "mbirk/util/otsu.hpp"
#include "projector/planned.hpp"

namespace mbirk::test {

/// Tests pass a number of threads; here that number shuffles the order of blocks, which must not change results either.
inline auto on_device(int threads = 1) { return context{device(threads), instrument::none{}}; }

void run_forward(any_scan const& s, view<float const, 3> recon, view<float, 3> sinogram, int threads) {
  auto const ctx = on_device(threads);
  auto const x = place(ctx.exec, recon);
  auto const y = place(ctx.exec, sinogram);
  std::visit([&](auto const& scan) { forward_project(ctx, scan, x.in(), y.all()); }, s);
  y.download(sinogram);
}
void run_back(any_scan const& s, view<float const, 3> sinogram, view<float, 3> recon, int threads) {
  auto const ctx = on_device(threads);
  auto const y = place(ctx.exec, sinogram);
  auto const x = place(ctx.exec, recon);
  std::visit([&](auto const& scan) { back_project(ctx, scan, y.in(), x.all()); }, s);
  x.download(recon);
}
void run_sparse_forward(any_scan const& s, view<float const, 2> values, view<std::int32_t const, 1> pixels,
                        view<float, 3> sinogram, int threads) {
  auto const ctx = on_device(threads);
  auto const x = place(ctx.exec, values);
  auto const y = place(ctx.exec, sinogram);
  std::visit([&](auto const& scan) { sparse_forward_project(ctx, scan, x.in(), pixels, y.all()); }, s);
  y.download(sinogram);
}
void run_sparse_back(any_scan const& s, view<float const, 3> sinogram, view<std::int32_t const, 1> pixels,
                     view<float, 2> values, int power, int threads) {
  auto const ctx = on_device(threads);
  auto const y = place(ctx.exec, sinogram);
  auto const x = place(ctx.exec, values);
  std::visit([&](auto const& scan) { sparse_back_project(ctx, scan, y.in(), pixels, x.all(), power); }, s);
  x.download(values);
}
void run_hessian(any_scan const& s, std::optional<view<float const, 3>> weights, view<float, 3> hessian, int threads) {
  auto const ctx = on_device(threads);
  auto const h = place(ctx.exec, hessian);
  auto const w = place(ctx.exec, weights.value_or(view<float const, 3>()));
  std::visit(
      [&](auto const& scan) { hessian_diagonal(ctx, scan, weights ? std::optional(w.in()) : std::nullopt, h.all()); },
      s);
  h.download(hessian);
}

planned_results run_planned(any_scan const& s, array<3> const& recon, array<3> const& sinogram,
                            pixel_list const& pixels, int threads) {
  auto const ctx = on_device(threads);
  return std::visit([&](auto const& scan) { return run_planned(ctx, scan, recon, sinogram, pixels); }, s);
}

measured_list device_measure(any_scan const& s, array<2> const& values, pixel_list const& pixels, bool weighted) {
  auto const ctx = on_device();
  using device_context = std::remove_const_t<decltype(ctx)>;
  using B = device_context::backend;
  auto const x = place(ctx.exec, values.all());
  return std::visit([&]<class Geometry>(scan<Geometry> const& any) {
    using P = mbirk::detail::projector<Geometry>;
    auto const shape = P::template channel_major_shape<device_context>(any.geometry());
    auto const plan = mbirk::detail::plan_list(ctx, any, pixels, x.in());
    auto const w = random_array<3>({shape.size(), 1, 1}, 7), e = random_array<3>({shape.size(), 1, 1}, 8);
    temporary<float, device_context> const z(ctx, "z", shape.size()), wz(ctx, "wz", shape.size()),
        weights(ctx, "w", shape.size()), error(ctx, "error", shape.size()),
        d(ctx, "direction", std::ssize(values.data));
    temporary<double, device_context> const sums(ctx, "sums", shape.chunks * shape.views), step(ctx, "step", 1);
    put(ctx, w.data.data(), shape.size(), weights.data());
    put(ctx, e.data.data(), shape.size(), error.data());
    put(ctx, values.data.data(), d.size(), d.data());
    put(ctx, &measured_list::step, 1, step.data());
    bool const keeps = P::template keeps_projection<device_context>(plan.tables, shape, std::ssize(pixels));
    auto const project = [&](temporary<float, device_context> const& to, auto const& epilogue) {
      P::project_channel_major(ctx, any, plan.tables, observe(ctx, x.in(), "x", array_role::argument), plan.pixels,
                               observe(ctx, to), shape, epilogue);
    };
    project(z, kernel::store_epilogue<B>{});
    auto const measure = [&](auto has_weights, typename B::template cursor<float const> of_sample) {
      using keep = kernel::squared_norm_epilogue<B, has_weights, true>;
      using discard = kernel::squared_norm_epilogue<B, has_weights, false>;
      using subtract = kernel::axpy_epilogue<B, has_weights>;
      if (keeps) return project(wz, keep{of_sample, observe(ctx, sums), shape});
      typename P::template sorted_list<device_context> const list(ctx, plan.tables, shape, plan.pixels);
      P::project_subset(ctx, plan.tables, shape, d, plan.pixels, list, discard{of_sample, observe(ctx, sums), shape});
      P::project_subset(ctx, plan.tables, shape, d, plan.pixels, list,
                        subtract{of_sample, observe(ctx, error), kernel::step_length{0, step.data()}, shape});
    };
    if (weighted) measure(std::true_type(), observe(ctx, weights));
    else measure(std::false_type(), {});
    host_copy const all_z(ctx, z), all_wz(ctx, wz), all_updated(ctx, error);
    host_copy const all_sums(ctx, sums);
    auto const copy = [](auto const& from) {
      std::vector<std::remove_cvref_t<decltype(from[0])>> to;
      for (index_t k = 0; k < from.size(); ++k) to.push_back(from[k]);
      return to;
    };
    std::vector<float> const none;
    return measured_list{shape, mbirk::detail::sorts_pixels(shape, std::ssize(pixels)), copy(all_z), w.data,
                         keeps ? copy(all_wz) : none, keeps ? none : e.data, keeps ? none : copy(all_updated),
                         copy(all_sums)};
  }, s);
}

std::vector<std::vector<float>> device_list_turns(parallel_scan const& s, array<2> const& values,
                                                  pixel_list const& pixels, int most) {
  auto const ctx = on_device();
  using device_context = std::remove_const_t<decltype(ctx)>;
  using B = device_context::backend;
  using P = mbirk::detail::projector<parallel_geometry>;
  using subtract = kernel::gather_subtract<B, true>;
  auto const shape = P::channel_major_shape<device_context>(s.geometry());
  auto const x = place(ctx.exec, values.all());
  auto const plan = mbirk::detail::plan_list(ctx, s, pixels, x.in());
  P::sorted_list<device_context> const list(ctx, plan.tables, shape, plan.pixels);
  auto const w = random_array<3>({shape.size(), 1, 1}, 7), e = random_array<3>({shape.size(), 1, 1}, 8);
  temporary<float, device_context> const weights(ctx, "w", shape.size()), error(ctx, "error", shape.size());
  temporary<double, device_context> const step(ctx, "step", 1);
  put(ctx, w.data.data(), shape.size(), weights.data());
  put(ctx, &measured_list::step, 1, step.data());
  std::vector<std::vector<float>> results;
  for (int turns = 1; turns <= most; ++turns) {
    put(ctx, e.data.data(), shape.size(), error.data());
    subtract const epilogue{observe(ctx, weights), observe(ctx, error), kernel::step_length{0, step.data()}};
    auto sums = P::gather_sums<1>(ctx, plan.tables, observe(ctx, x.in(), "x", array_role::argument), plan.pixels,
                                  observe(ctx, error), shape, epilogue);
    sums.turns = turns;
    mbirk::detail::launch_blocks(
        ctx, kernel::parallel_list_gather<B, subtract>{sums, list.order.lists(ctx, plan.pixels.pixels)});
    host_copy const all(ctx, error);
    auto& result = results.emplace_back();
    for (index_t k = 0; k < all.size(); ++k) result.push_back(all[k]);
  }
  return results;
}

std::vector<array<2>> device_list_backs(parallel_scan const& s, array<3> const& sinogram, pixel_list const& pixels) {
  auto const ctx = on_device();
  using device_context = std::remove_const_t<decltype(ctx)>;
  using B = device_context::backend;
  using P = mbirk::detail::projector<parallel_geometry>;
  auto const shape = P::channel_major_shape<device_context>(s.geometry());
  auto const y = place(ctx.exec, sinogram.all());
  array<2> const untouched({std::ssize(pixels), slices_of(s)}, -1.0f);
  auto const x = place(ctx.exec, untouched.all());
  auto const plan = mbirk::detail::plan_list(ctx, s, pixels, x.all());
  auto const& planned = plan.pixels;
  temporary<float, device_context> const channel_major(ctx, "sinogram", shape.size());
  mbirk::detail::load_sinogram(ctx, y.in(), channel_major, shape);
  auto const& back = plan.tables.device_back;
  kernel::parallel_back_arrays<B> const arrays{
      observe(ctx, channel_major), observe(ctx, x.all(), "x", array_role::output), observe(ctx, planned.rows),
      observe(ctx, planned.cols), observe(ctx, planned.offsets), observe(ctx, back), back.size(), shape, false};
  std::vector<array<2>> results;
  auto const run = [&](auto const& kernel) {
    mbirk::detail::launch_blocks(ctx, kernel);
    x.download(results.emplace_back(untouched).all());
  };
  run(kernel::parallel_block_back<B>{arrays, planned.groups.all()});
  run(kernel::parallel_view_back<B>{arrays, planned.pixels});
  if (plan.tables.narrow && shape.packs == 2) run(kernel::parallel_list_back<B, 2>{arrays, planned.pixels});
  if (plan.tables.narrow && shape.packs == 4) run(kernel::parallel_list_back<B, 4>{arrays, planned.pixels});
  return results;
}

std::vector<sorted_list> device_sorts(any_scan const& s, pixel_list const& pixels) {
  auto const ctx = on_device();
  using device_context = std::remove_const_t<decltype(ctx)>;
  using B = device_context::backend;
  return std::visit([&]<class Geometry>(scan<Geometry> const& any) {
    using P = mbirk::detail::projector<Geometry>;
    auto const shape = P::template channel_major_shape<device_context>(any.geometry());
    array<2> const values({std::ssize(pixels), any.geometry().slices});
    auto const plan = mbirk::detail::plan_list(ctx, any, pixels, values.all());
    std::vector<sorted_list> sorted;
    auto const sort = [&](double widest, auto const& make) {
      for (bool const four_warps : {true, false}) {
        mbirk::detail::sorted_pixels<device_context> const memory(ctx, shape, plan.pixels.pixels, widest);
        auto const order = make(memory.sorter(ctx, plan.pixels));
        using order_type = std::remove_const_t<decltype(order)>;
        auto const run = [&](auto const& kernel) { mbirk::detail::launch_blocks(ctx, kernel); };
        if (four_warps) run(kernel::block_sort<B, order_type, 4>{order, shape.views});
        else run(kernel::block_sort<B, order_type, 1>{order, shape.views});
        host_copy const all_starts(ctx, memory.starts), all_order(ctx, memory.order);
        sorted_list found;
        for (index_t view = 0; view < shape.views; ++view) {
          auto const copy = [](auto const& from, index_t first, index_t count) {
            std::vector<std::int32_t> to;
            for (index_t k = 0; k < count; ++k) to.push_back(from[first + k]);
            return to;
          };
          found.starts.push_back(copy(all_starts, view * memory.bins.stride(), memory.bins.count() + 1));
          found.order.push_back(copy(all_order, view * plan.pixels.pixels, found.starts.back().back()));
        }
        sorted.push_back(std::move(found));
      }
    };
    auto const& tables = plan.tables;
    if constexpr (requires { tables.views[0].chord; }) {
      double widest = 0;
      for (auto const& view : tables.views) widest = std::max(widest, view.width);
      sort(widest, [&](auto const& order) {
        return kernel::parallel_channel_order<B>{order, observe(ctx, tables.device_views)};
      });
    } else if constexpr (std::is_base_of_v<cone_geometry, Geometry>) {
      if (double const widest = mbirk::detail::widest_cone_footprint(any); std::isfinite(widest))
        sort(widest, [&](auto const& order) {
          return kernel::cone_channel_order<B>{order, any.geometry(), observe(ctx, tables.device_positions)};
        });
    }
    return sorted;
  }, s);
}

/// Copies the initial image of the options to memory that the kernels read.
template <class Run> recon_log with_arrays(view<float const, 3> sinogram, std::optional<view<float const, 3>> weights,
                                           view<float, 3> recon, recon_options o, int threads, Run const& run) {
  auto const ctx = on_device(threads);
  auto const y = place(ctx.exec, sinogram);
  auto const w = place(ctx.exec, weights.value_or(view<float const, 3>()));
  auto const x = place(ctx.exec, recon);
  auto const* image = std::get_if<view<float const, 3>>(&o.init_recon);
  auto const init = place(ctx.exec, image ? *image : view<float const, 3>());
  if (image) o.init_recon = init.in();
  auto const record = run(ctx, y.in(), weights ? std::optional(w.in()) : std::nullopt, x.all(), o);
  x.download(recon);
  return record;
}
double error_of_roots() { return 2; }  // docs/devices.md
recon_log run_recon(any_scan const& s, view<float const, 3> sinogram, std::optional<view<float const, 3>> weights,
                    view<float, 3> recon, recon_options const& o, int threads) {
  return with_arrays(
      sinogram, weights, recon, o, threads, [&](auto const& ctx, auto y, auto w, auto x, recon_options const& options) {
        return std::visit([&](auto const& scan) { return mbirk::recon(ctx, scan, y, w, x, options); }, s);
      });
}
recon_log run_prox_map(any_scan const& s, view<float const, 3> prox_input, view<float const, 3> sinogram,
                       std::optional<view<float const, 3>> weights, view<float, 3> recon, recon_options const& o,
                       int threads) {
  return with_arrays(
      sinogram, weights, recon, o, threads, [&](auto const& ctx, auto y, auto w, auto x, recon_options const& options) {
        auto const input = place(ctx.exec, prox_input);
        return std::visit([&](auto const& scan) { return prox_map(ctx, scan, input.in(), y, w, x, options); }, s);
      });
}

void device_filter(any_scan const& s, view<float const, 3> sinogram, view<float, 3> filtered, filter_options const& o) {
  auto const ctx = on_device();
  auto const y = place(ctx.exec, sinogram);
  auto const q = place(ctx.exec, filtered);
  visit_direct([&](auto const& scan) { direct_filter(ctx, scan, y.in(), q.all(), o); }, s);
  q.download(filtered);
}
std::vector<std::string> device_direct_recon(any_scan const& s, view<float const, 3> sinogram, view<float, 3> recon) {
  auto const ctx = on_device();
  auto const y = place(ctx.exec, sinogram);
  auto const x = place(ctx.exec, recon);
  std::vector<std::string> warnings;
  visit_direct([&](auto const& scan) { direct_recon(ctx, scan, y.in(), x.all(), {}, &warnings); }, s);
  x.download(recon);
  return warnings;
}
void device_fdk_bands(cone_scan const& s, view<float const, 3> sinogram, index_t views, view<float, 3> recon) {
  auto const ctx = on_device();
  auto const y = place(ctx.exec, sinogram);
  auto const x = place(ctx.exec, recon);
  auto const [all, rows, channels] = s.sinogram_shape();
  auto const [recon_rows, cols, slices] = s.recon_shape();
  for (index_t first = 0; first < recon_rows; first += fdk_band_unit) {
    index_t const count = std::min(fdk_band_unit, recon_rows - first);
    fdk_band band(ctx, s, first, view<float, 3>(x.all().data() + first * cols * slices, {count, cols, slices}));
    while (band.views() < all) {
      index_t const here = std::min(views, all - band.views());
      band.add({y.in().data() + band.views() * rows * channels, {here, rows, channels}});
    }
    band.finish();
  }
  x.download(recon);
}
std::string device_gaps_in_band(cone_scan const& s) {
  auto const ctx = on_device();
  auto const [rows, cols, slices] = s.recon_shape();
  array<3> const with_gaps({rows, cols, slices + 1});
  auto const x = place(ctx.exec, with_gaps.all());
  try {
    fdk_band(ctx, s, 0, view<float, 3>(x.all().data(), {rows, cols, slices}, {cols * (slices + 1), slices + 1, 1}));
  } catch (shape_error const& e) {
    return e.what();
  }
  return {};
}
regularization device_regularization(any_scan const& s, view<float const, 3> sinogram,
                                     std::optional<view<float const, 3>> weights) {
  auto const ctx = on_device();
  auto const y = place(ctx.exec, sinogram);
  auto const w = place(ctx.exec, weights.value_or(view<float const, 3>()));
  return std::visit(
      [&](auto const& scan) {
        return auto_regularization(ctx, scan, y.in(), weights ? std::optional(w.in()) : std::nullopt);
      },
      s);
}
void device_weights(view<float const, 3> sinogram, weight_type type, view<float, 3> weights) {
  auto const ctx = on_device();
  auto const y = place(ctx.exec, sinogram);
  auto const w = place(ctx.exec, weights);
  gen_weights(ctx, y.in(), type, w.all());
  w.download(weights);
}
mar_record device_weights_mar(any_scan const& s, view<float const, 3> sinogram,
                              std::optional<view<float const, 3>> init_recon, view<float, 3> weights) {
  auto const ctx = on_device();
  auto const y = place(ctx.exec, sinogram);
  auto const x = place(ctx.exec, init_recon.value_or(view<float const, 3>()));
  auto const w = place(ctx.exec, weights);
  mar_record record;
  std::visit(
      [&](auto const& scan) {
        gen_weights_mar(ctx, scan, y.in(), init_recon ? std::optional(x.in()) : std::nullopt, std::nullopt, 1.0, 3.0,
                        w.all(), &record);
      },
      s);
  w.download(weights);
  return record;
}
void device_qggmrf(view<float const, 3> recon, view<std::int32_t const, 1> pixels, qggmrf_parameters const& p,
                   view<float, 2> gradient, view<float, 2> hessian) {
  auto const ctx = on_device();
  auto const x = place(ctx.exec, recon);
  auto const g = place(ctx.exec, gradient), h = place(ctx.exec, hessian);
  qggmrf_gradient_and_hessian_at_indices(ctx, x.in(), pixels, p, g.all(), h.all());
  g.download(gradient), h.download(hessian);
}
double device_qggmrf_loss(view<float const, 3> recon, qggmrf_parameters const& p) {
  auto const ctx = on_device();
  auto const x = place(ctx.exec, recon);
  return qggmrf_loss(ctx, x.in(), p);
}
denoise_record device_denoise(view<float const, 3> image, denoise_options const& o, view<float, 3> output) {
  auto const ctx = on_device();
  auto const x = place(ctx.exec, image);
  auto const out = place(ctx.exec, output);
  auto const record = qggmrf_denoise(ctx, x.in(), o, out.all());
  out.download(output);
  return record;
}
void device_median(view<float const, 3> image, view<float, 3> median, view<float, 3> least, view<float, 3> greatest) {
  auto const ctx = on_device();
  auto const x = place(ctx.exec, image);
  auto const m = place(ctx.exec, median), low = place(ctx.exec, least), high = place(ctx.exec, greatest);
  median_filter3d(ctx, x.in(), m.all(), low.all(), high.all());
  m.download(median), low.download(least), high.download(greatest);
}
std::vector<float> device_otsu(view<float const, 3> image, int classes, int bins) {
  auto const ctx = on_device();
  auto const x = place(ctx.exec, image);
  return multi_threshold_otsu(ctx, x.in(), classes, bins);
}
recon_log device_split(cone_parameters const& p, view<float const, 3> sinogram, view<float, 3> recon,
                       recon_options const& o) {
  auto const ctx = on_device();
  auto const y = place(ctx.exec, sinogram);
  auto const x = place(ctx.exec, recon);
  auto const record = split_sino_recon(ctx, p, y.in(), std::nullopt, x.all(), o);
  x.download(recon);
  return record.top;
}

}  // namespace mbirk::test
