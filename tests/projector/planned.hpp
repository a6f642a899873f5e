// Implements run_planned() of operations.hpp for any policy.
#pragma once

#include "device/device_copy.hpp"
#include "mbirk/projector/cone.hpp"
#include "mbirk/projector/parallel.hpp"
#include "projector/operations.hpp"

namespace mbirk::test {

template <class Context, class Scan> planned_results run_planned(Context const& ctx, Scan const& s,
                                                                 array<3> const& recon, array<3> const& sinogram,
                                                                 pixel_list const& pixels) {
  projection_plan const masked(ctx, s), listed(ctx, s, as_view(pixels));
  auto const values = cylinders_of(recon, pixels);
  auto const x = place(ctx.exec, recon.all());
  auto const y = place(ctx.exec, sinogram.all());
  auto const v = place(ctx.exec, values.all());
  array<3> const no_recon(recon.shape, -1.0f), no_sinogram(sinogram.shape, -1.0f);
  array<2> const no_values(values.shape, -1.0f);
  planned_results r{
      {no_sinogram, no_sinogram}, {no_recon, no_recon}, {no_sinogram, no_sinogram}, {no_values, no_values}};
  for (int call = 0; call < 2; ++call) {
    auto const to_y = place(ctx.exec, no_sinogram.all());
    auto const to_x = place(ctx.exec, no_recon.all());
    auto const to_sparse_y = place(ctx.exec, no_sinogram.all());
    auto const to_v = place(ctx.exec, no_values.all());
    auto const uploads = [&]() -> index_t {
      if constexpr (mbirk::on_device<Context>) return ctx.exec.transfers().uploads;
      else return 0;
    };
    r.uploads = -uploads();
    forward_project(ctx, masked, x.in(), to_y.all());
    back_project(ctx, masked, y.in(), to_x.all());
    sparse_forward_project(ctx, listed, v.in(), to_sparse_y.all());
    sparse_back_project(ctx, listed, y.in(), to_v.all(), 2);
    r.uploads += uploads();
    to_y.download(r.forward[call].all());
    to_x.download(r.back[call].all());
    to_sparse_y.download(r.sparse_forward[call].all());
    to_v.download(r.sparse_back[call].all());
  }
  return r;
}

}  // namespace mbirk::test
