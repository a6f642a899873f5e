// Definitions of device_recon.hpp, for the sources that compile them.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <variant>

#include "mbirk/distributed/recon_in_slabs.hpp"
#include "mbirk/exec/array.hpp"
#include "mbirk/recon/fdk_band.hpp"
#include "mbirk/recon/recon.hpp"
#include "operations/device_recon.hpp"
#include "operations/direct_method.hpp"

namespace mbirk::program {

template <class T> std::span<T> values_of(view<T, 3> const& dense) {
  return {dense.data(), static_cast<std::size_t>(dense.size())};
}

template <class Context>
std::vector<std::string> direct_on_device(Context const& ctx, recon_scan const& any, view<float const, 3> sinogram,
                                          view<float, 3> recon) {
  using array = exec::array<float, decltype(Context::exec)>;
  array const y(ctx.exec, values_of(sinogram), "the sinogram"), x(ctx.exec, recon.size(), "the reconstruction");
  auto warnings = direct_recon_of_any(ctx, any, {y.data(), sinogram.extents()}, {x.data(), recon.extents()});
  x.download(values_of(recon));
  return warnings;
}

template <class Context>
recon_log vcd_on_device(Context const& ctx, recon_scan const& any, view<float const, 3> sinogram,
                        std::optional<view<float const, 3>> weights, view<float, 3> recon,
                        recon_options const& options) {
  using array = exec::array<float, decltype(Context::exec)>;
  array const y(ctx.exec, values_of(sinogram), "the sinogram"), x(ctx.exec, recon.size(), "the reconstruction");
  std::optional<array> w;
  std::optional<view<float const, 3>> device_weights;
  if (weights) {
    w.emplace(ctx.exec, values_of(*weights), "the weights");
    device_weights.emplace(w->data(), weights->extents());
  }
  auto record = std::visit([&](auto const& s) {
    return mbirk::recon(ctx, s, view<float const, 3>(y.data(), sinogram.extents()), device_weights,
                        view<float, 3>(x.data(), recon.extents()), options);
  }, any);
  x.download(values_of(recon));
  return record;
}

template <class Context>
recon_log slabs_on_device(Context const& ctx, parallel_parameters const& whole,
                          distributed::slab_division const& division, distributed::slab_arrays const& arrays,
                          recon_options const& options) {
  return distributed::recon_in_slabs(ctx, whole, division, arrays, options);
}

template <class Exec, class Instr> class device_band final : public band_reconstructor {
  using array = exec::array<float, Exec>;

 public:
  device_band(context<Exec, Instr> const& ctx, cone_scan const& scan, index_t first_row, view<float, 3> recon)
      : ctx_(ctx),
        recon_(recon),
        x_(ctx.exec, recon.size(), "a band of the reconstruction"),
        band_(ctx, scan, first_row, {x_.data(), recon.extents()}) {}

  index_t views() const override { return band_.views(); }
  void add(view<float const, 3> sinogram) override {
    array const y(ctx_.exec, values_of(sinogram), "a block of views");
    band_.add({y.data(), sinogram.extents()});
    ctx_.exec.wait();  // so that progress and interruptions keep step with the device
  }
  std::vector<std::string> finish() override {
    std::vector<std::string> warnings;
    band_.finish(&warnings);
    x_.download(values_of(recon_));
    return warnings;
  }

 private:
  context<Exec, Instr> const& ctx_;
  view<float, 3> recon_;
  array x_;
  fdk_band<Exec, Instr> band_;
};

template <class Context>
std::unique_ptr<band_reconstructor> band_on_device(Context const& ctx, cone_scan const& scan, index_t first_row,
                                                   view<float, 3> recon) {
  return std::make_unique<device_band<decltype(Context::exec), decltype(Context::instr)>>(ctx, scan, first_row, recon);
}

/// `template struct recon_instances<Context>;` compiles all four.
template <class Context> struct recon_instances {
  static constexpr auto direct = &direct_on_device<Context>;
  static constexpr auto vcd = &vcd_on_device<Context>;
  static constexpr auto slabs = &slabs_on_device<Context>;
  static constexpr auto band = &band_on_device<Context>;
};

}  // namespace mbirk::program
