// Reconstructions of ranks on devices, for the sources that compile them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mbirk/distributed/denoise.hpp"
#include "mbirk/distributed/direct_recon.hpp"
#include "mbirk/distributed/recon.hpp"
#include "mbirk/instrument/any.hpp"
#include "operations/device_recon_instances.hpp"
#include "ranks/rank_reconstructor.hpp"

namespace mbirk::program {

template <class Exec> class rank_on_device final : public rank_reconstructor {
 public:
  rank_on_device(Exec const& exec, rank_messages const& ranks, rank_notes const& notes)
      : ctx_{exec, notes.on(exec)}, ranks_(ranks) {}

  recon_log slab(distributed::parallel_slab const& slab, view<float const, 3> sinogram,
                 std::optional<view<float const, 3>> weights, view<float, 3> image,
                 recon_options const& options) const override {
    return reconstruct(slab, sinogram, weights, image, options);
  }
  recon_log views(distributed::cone_views const& part, view<float const, 3> sinogram,
                  std::optional<view<float const, 3>> weights, view<float, 3> image,
                  recon_options const& options) const override {
    return reconstruct(part, sinogram, weights, image, options);
  }
  recon_log prox_slab(distributed::parallel_slab const& slab, view<float const, 3> prox_input,
                      view<float const, 3> sinogram, view<float, 3> image,
                      recon_options const& options) const override {
    return proximal(slab, prox_input, sinogram, image, options);
  }
  recon_log prox_views(distributed::cone_views const& part, view<float const, 3> prox_input,
                       view<float const, 3> sinogram, view<float, 3> image,
                       recon_options const& options) const override {
    return proximal(part, prox_input, sinogram, image, options);
  }
  void fdk(distributed::cone_views const& part, view<float const, 3> sinogram, view<float, 3> image,
           std::vector<std::string>& warnings) const override {
    run(sinogram, std::nullopt, image, [&](arrays const& on) {
      distributed::fdk_recon(ctx_, ranks_, part, on.sinogram(), on.recon(), {}, &warnings);
    });
  }
  void denoise(distributed::image_rows const& part, view<float const, 3> image, denoise_options const& options,
               view<float, 3> output) const override {
    run(image, std::nullopt, output, [&](arrays const& on) {
      distributed::qggmrf_denoise(ctx_, ranks_, part, on.sinogram(), options, on.recon());
    });
  }

 private:
  using arrays = device_arrays<Exec>;

  /// Copies an input and its weights, calls an operation, and copies its result back.
  template <class Operation>
  void run(view<float const, 3> input, std::optional<view<float const, 3>> const& weights, view<float, 3> result,
           Operation const& operation) const {
    std::optional<arrays> on;
    distributed::agree(ranks_, [&] { on.emplace(ctx_.exec, input, weights, result); });
    time([&] { operation(*on); }, [&] { ctx_.exec.wait(); });
    on->download();
  }
  template <class Part>
  recon_log reconstruct(Part const& part, view<float const, 3> sinogram,
                        std::optional<view<float const, 3>> const& weights, view<float, 3> image,
                        recon_options const& options) const {
    recon_log record;
    run(sinogram, weights, image, [&](arrays const& on) {
      record = distributed::recon(ctx_, ranks_, part, on.sinogram(), on.weights(), on.recon(), options);
    });
    return record;
  }
  template <class Part>
  recon_log proximal(Part const& part, view<float const, 3> prox_input, view<float const, 3> sinogram,
                     view<float, 3> image, recon_options const& options) const {
    using array = exec::array<float, Exec>;
    std::optional<array> anchor;
    distributed::agree(ranks_, [&] { anchor.emplace(ctx_.exec, values_of(prox_input), "the input of the prox map"); });
    recon_log record;
    run(sinogram, std::nullopt, image, [&](arrays const& on) {
      record = distributed::prox_map(ctx_, ranks_, part, {anchor->data(), prox_input.extents()}, on.sinogram(),
                                     std::nullopt, on.recon(), options);
    });
    return record;
  }

  context<Exec, instrument::any> ctx_;
  rank_messages const& ranks_;
};

}  // namespace mbirk::program
