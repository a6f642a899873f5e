// Definitions of device_recon.hpp, for the sources that compile them.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

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

/// The arrays of a reconstruction on a device.
template <class Exec> class device_arrays {
  using array = exec::array<float, Exec>;

 public:
  device_arrays(Exec const& exec, view<float const, 3> sinogram, std::optional<view<float const, 3>> const& weights,
                view<float, 3> recon)
      : shape_(sinogram.extents()),
        recon_(recon),
        y_(exec, values_of(sinogram), "the sinogram"),
        x_(exec, recon.size(), "the reconstruction") {
    if (weights) w_.emplace(exec, values_of(*weights), "the weights");
  }

  view<float const, 3> sinogram() const { return {y_.data(), shape_}; }
  std::optional<view<float const, 3>> weights() const {
    if (!w_) return {};
    return view<float const, 3>(w_->data(), shape_);
  }
  view<float, 3> recon() const { return {x_.data(), recon_.extents()}; }
  /// Copies the reconstruction to that of the host.
  void download() const { x_.download(values_of(recon_)); }

 private:
  std::array<index_t, 3> shape_;
  view<float, 3> recon_;
  array y_, x_;
  std::optional<array> w_;
};

template <class Context>
std::vector<std::string> direct_on_device(Context const& ctx, recon_scan const& any, view<float const, 3> sinogram,
                                          view<float, 3> recon) {
  device_arrays const on(ctx.exec, sinogram, std::nullopt, recon);
  auto warnings = direct_recon_of_any(ctx, any, on.sinogram(), on.recon());
  on.download();
  return warnings;
}

template <class Context>
recon_log vcd_on_device(Context const& ctx, recon_scan const& any, view<float const, 3> sinogram,
                        std::optional<view<float const, 3>> weights, view<float, 3> recon,
                        recon_options const& options) {
  device_arrays const on(ctx.exec, sinogram, weights, recon);
  auto record = std::visit([&](auto const& s) {
    return mbirk::recon(ctx, s, on.sinogram(), on.weights(), on.recon(), options);
  }, any);
  on.download();
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
