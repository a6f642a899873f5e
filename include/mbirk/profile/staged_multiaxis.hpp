// The stages of the projections of multi-axis parallel beam as separate kernels, with the columns between the two
// resamplings in memory.
#pragma once

#include <algorithm>
#include <vector>

#include "mbirk/profile/staged_kernels.hpp"
#include "mbirk/projector/multiaxis.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Common part of the stages. Columns of passes first_pass .. first_pass + count - 1:
/// [pass][planned pixel][shape.width] rows.
template <class B> struct multiaxis_stage {
  using I = typename B::index_backend;
  using pack = typename B::pack;

  multiaxis_view<B> view;
  typename B::template cursor<float> columns;
  typename I::template cursor<index_t const> offsets;  // offsets of the planned pixels' voxel columns
  typename I::template cursor<multiaxis_taps const> passes;
  chunked_shape shape;
  device_span<pixel_group> groups;
  index_t pixels, first_pass, count;
  scratch_layout layout{};
  scratch_part line{};  ///< one line of slices or rows, padded with zeros

  void plan_scratch() {
    view.plan_scratch(layout);
    line = layout.add<float>("line", view.room_for(std::max(shape.width, view.padded_slices())));
  }
  /// Number of tasks of the stages that work on (pass, group).
  MBIRK_HD index_t tasks() const noexcept { return count * groups.size(); }

 protected:
  MBIRK_HD auto column(index_t pass, index_t pixel) const noexcept {
    return columns + ((pass - first_pass) * pixels + pixel) * shape.width;
  }
  template <class Scratch>
  MBIRK_HD typename B::template cursor<float> cleared_line(index_t length, Scratch const& s) const noexcept {
    auto const u = s.template at<float>(line);
    for (index_t k = 0; k < view.room_for(length); k += B::lanes) B::store(u + k, B::constant(0));
    return u + resample_guard<B>;
  }
  template <class Scratch>
  MBIRK_INLINE pack weight(Scratch const& s, int tap, int pixel) const noexcept {
    return B::load_broadcast(s.template at<float>(view.weights) + (tap * group_pixels + pixel));
  }
};

/// Projection, stage "rows": columns[p, r] = sum over k of b(v, r; p, k) x[p, k].
template <class B> struct multiaxis_resample_columns : multiaxis_stage<B> {
  using typename multiaxis_stage<B>::I;
  typename B::template cursor<float const> voxel_columns;

  template <class Scratch> MBIRK_HD void operator()(index_t task, Scratch const& s) const noexcept {
    auto const& group = this->groups[task % this->groups.size()];
    auto const& view = this->view;
    index_t const at = this->first_pass + task / this->groups.size(), padded = view.padded_slices();
    auto const pass = I::load_value(this->passes + at);
    auto const u = this->cleared_line(padded, s);
    for (int p = 0; p < group.count; ++p)
      for (index_t r = 0; r < this->shape.width; r += B::lanes)
        B::store(this->column(at, group.first + p) + r, B::constant(0));
    view.template prepare<true>(group, pass, false, s);
    auto const voxel_column = [&](int p) MBIRK_FLAT {
      copy_padded<B>(voxel_columns + I::load_value(this->offsets + (group.first + p)), view.slices, u, padded);
      return typename B::template cursor<float const>(u);
    };
    with_form(view.template form<true>(pass), [&](auto form) MBIRK_FLAT {
      view.template each_pixel<form(), 1, false, true>(
          group.count, pass, s, voxel_column,
          [&](int p, std::int32_t, index_t first, index_t end, auto const& next) MBIRK_FLAT {
            auto const out = this->column(at, group.first + p);
            for (index_t r = first * B::lanes; r < end * B::lanes; r += B::lanes) B::store(out + r, next());
          });
    });
    B::note_lanes(group.count * this->shape.rows, group.count * this->shape.width);
  }
};

/// Projection, stage "channels": y[v, n, r] = sum over p of a(v, n; p) columns[p, r]. One task per view, so that no two
/// tasks write the same view.
template <class B> struct multiaxis_scatter_columns : multiaxis_stage<B> {
  using typename multiaxis_stage<B>::I;
  typename B::template cursor<float> sinogram;  // channel-major, one chunk
  device_span<view_taps_range> views;           // passes of every view

  template <class Scratch> MBIRK_HD void operator()(index_t task, Scratch const& s) const noexcept {
    auto const range = views[task];
    auto const& shape = this->shape;
    for (index_t at = range.first; at < range.first + range.count; ++at) {
      auto const pass = I::load_value(this->passes + at);
      auto const whole = sinogram + shape.offset(0, pass.channels.view);
      for (index_t k = 0; pass.channels.first_tap == 0 && k < shape.view_size(); k += B::lanes)
        B::store(whole + k, B::constant(0));
      for (auto const& group : this->groups) {
        this->view.template prepare<true>(group, pass, false, s);
        auto const channels = s.template at<std::int32_t>(this->view.ints);
        for (int p = 0; p < group.count; ++p) {
          auto const from = this->column(at, group.first + p);
          auto const y = whole + index_t{I::load_value(channels + p)} * shape.width;
          for (int t = 0; t < pass.channels.taps; ++t) {
            auto const weight = this->weight(s, t, p);
            for (index_t r = 0; r < shape.width; r += B::lanes) {
              auto const to = y + (t * shape.width + r);
              B::store(to, fma(weight, B::load(from + r), B::load(to)));
            }
          }
        }
        B::note_lanes(group.count * shape.rows, group.count * shape.width);
      }
    }
  }
};

/// Back projection, stage "channels": columns[p, r] = sum over n of a(v, n; p)^power y[v, n, r].
template <class B, int Power> struct multiaxis_gather_columns : multiaxis_stage<B> {
  using typename multiaxis_stage<B>::I;
  typename B::template cursor<float const> sinogram;  // channel-major, one chunk

  template <class Scratch> MBIRK_HD void operator()(index_t task, Scratch const& s) const noexcept {
    auto const& group = this->groups[task % this->groups.size()];
    auto const& shape = this->shape;
    index_t const at = this->first_pass + task / this->groups.size();
    auto const pass = I::load_value(this->passes + at);
    this->view.template prepare<false>(group, pass, Power == 2, s);
    auto const channels = s.template at<std::int32_t>(this->view.ints);
    for (int p = 0; p < group.count; ++p) {
      auto const out = this->column(at, group.first + p);
      auto const y = sinogram + (shape.offset(0, pass.channels.view) +
                                 index_t{I::load_value(channels + p)} * shape.width);
      for (index_t r = 0; r < shape.width; r += B::lanes) {
        auto total = this->weight(s, 0, p) * B::load(y + r);
        for (int t = 1; t < pass.channels.taps; ++t)
          total = fma(this->weight(s, t, p), B::load(y + (t * shape.width + r)), total);
        B::store(out + r, total);
      }
    }
    B::note_lanes(group.count * shape.rows, group.count * shape.width);
  }
};

/// Back projection, stage "rows": x[p, k] += sum over r of b(v, r; p, k)^power columns[p, r]. One task per group.
template <class B, int Power> struct multiaxis_add_slices : multiaxis_stage<B> {
  using typename multiaxis_stage<B>::I;
  typename B::template cursor<float> voxel_columns;

  template <class Scratch> MBIRK_HD void operator()(index_t task, Scratch const& s) const noexcept {
    auto const& group = this->groups[task];
    auto const& view = this->view;
    auto const u = this->cleared_line(this->shape.width, s);
    for (index_t at = this->first_pass; at < this->first_pass + this->count; ++at) {
      auto const pass = I::load_value(this->passes + at);
      view.template prepare<false>(group, pass, Power == 2, s);
      auto const detector_column = [&](int p) MBIRK_FLAT {
        copy_padded<B>(this->column(at, group.first + p), this->shape.width, u, this->shape.width);
        return typename B::template cursor<float const>(u);
      };
      with_form(view.template form<false>(pass), [&](auto form) MBIRK_FLAT {
        bool const means = Power == 1 && form() != resample_form::general;
        auto const scale = B::broadcast(means ? static_cast<float>(pass.width) : 1.0f);
        view.template each_pixel<form(), Power, false, false>(
            group.count, pass, s, detector_column,
            [&](int p, std::int32_t, index_t first, index_t end, auto const& next) MBIRK_FLAT {
              auto const x = voxel_columns + I::load_value(this->offsets + (group.first + p));
              for (index_t k = first * B::lanes; k < end * B::lanes; k += B::lanes) {
                index_t const n = valid_lanes<B>(k, view.slices);
                store_lanes<B>(x + k, fma(scale, next(), load_lanes<B>(x + k, n)), n);
              }
            });
      });
      B::note_lanes(group.count * view.slices, group.count * view.padded_slices());
    }
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END

namespace mbirk::profile::staged::detail {

using namespace mbirk::detail;

/// Allocates columns for the passes of some views, and calls f(stage, passes of each view) for each batch of views.
template <class Context, class F>
void each_turn(Context const& ctx, planned_projection<Context, multiaxis_geometry> const& planned,
               kernel::chunked_shape const& shape, index_t at_once, F const& f) {
  auto const& plan = planned.pixels;
  auto const& t = planned.tables;
  std::vector<kernel::view_taps_range> views;
  for (std::size_t p = 0; p < t.passes.size(); ++p) {
    if (t.passes[p].channels.first_tap == 0) views.push_back({static_cast<index_t>(p), 0});
    ++views.back().count;
  }
  auto const passes_of = [&](std::size_t first, std::size_t end) {
    return first < end ? views[end - 1].first + views[end - 1].count - views[first].first : 0;
  };
  auto const step = static_cast<std::size_t>(at_once);
  index_t most = 0;
  for (std::size_t v = 0; v < views.size(); v += step)
    most = std::max(most, passes_of(v, std::min(views.size(), v + step)));
  temporary<float, Context> columns(ctx, "columns", most * plan.pixels * shape.width);
  for (std::size_t v = 0; v < views.size(); v += step) {
    std::size_t const end = std::min(views.size(), v + step);
    f(kernel::multiaxis_stage<typename Context::backend>{
          projector<multiaxis_geometry>::view_of(ctx, planned.scan, shape, plan), observe(ctx, columns),
          observe(ctx, plan.offsets), observe(ctx, t.device_passes), shape, plan.groups.all(), plan.pixels,
          views[v].first, passes_of(v, end)},
      device_span<kernel::view_taps_range>{views.data() + v, static_cast<index_t>(end - v)});
  }
}
template <class Context, class Kernel>
void run_multiaxis_stage(Context const& ctx, char const* name, index_t tasks, Kernel kernel) {
  [[maybe_unused]] auto const guard = ctx.instr.stage(name);
  kernel.plan_scratch();
  launch(ctx, tasks, kernel);
}

/// As in cone beam, as many views are processed at once as there are threads, up to 8; one view when counting.
template <class Context>
void project_channel_major(Context const& ctx, planned_projection<Context, multiaxis_geometry> const& planned,
                           typename Context::backend::template cursor<float const> voxel_columns,
                           typename Context::backend::template cursor<float> channel_major,
                           kernel::chunked_shape const& shape) {
  using B = typename Context::backend;
  each_turn(ctx, planned, shape, ctx.exec.workers(decltype(ctx.instr)::traits.serial ? 1 : 8),
            [&](auto const& stage, auto const& views) {
    run_multiaxis_stage(ctx, "rows", stage.tasks(), kernel::multiaxis_resample_columns<B>{stage, voxel_columns});
    run_multiaxis_stage(ctx, "channels", views.size(),
                        kernel::multiaxis_scatter_columns<B>{stage, channel_major, views});
  });
}
template <class Context>
void back_project_channel_major(Context const& ctx, planned_projection<Context, multiaxis_geometry> const& planned,
                                typename Context::backend::template cursor<float const> channel_major,
                                kernel::chunked_shape const& shape, int coeff_power,
                                typename Context::backend::template cursor<float> voxel_columns) {
  using B = typename Context::backend;
  auto const& plan = planned.pixels;
  {
    [[maybe_unused]] auto const guard = ctx.instr.stage("zero");
    using zero = kernel::zero_columns<B>;
    launch(ctx, ceil_div(plan.pixels, zero::batch),
           zero{voxel_columns, observe(ctx, plan.offsets), plan.pixels, planned.scan.geometry().slices});
  }
  auto const run_stages = [&]<int Power>(std::integral_constant<int, Power>) {
    each_turn(ctx, planned, shape, 1, [&](auto const& stage, auto const&) {
      run_multiaxis_stage(ctx, "channels", stage.tasks(),
                          kernel::multiaxis_gather_columns<B, Power>{stage, channel_major});
      run_multiaxis_stage(ctx, "rows", stage.groups.size(),
                          kernel::multiaxis_add_slices<B, Power>{stage, voxel_columns});
    });
  };
  if (coeff_power == 2) run_stages(std::integral_constant<int, 2>{});
  else run_stages(std::integral_constant<int, 1>{});
}

}  // namespace mbirk::profile::staged::detail
