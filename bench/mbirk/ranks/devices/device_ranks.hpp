// Reconstructions of ranks on devices, for the sources that compile them.
#pragma once

#include <optional>
#include <string>
#include <vector>

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
  void fdk(distributed::cone_views const& part, view<float const, 3> sinogram, view<float, 3> image,
           std::vector<std::string>& warnings) const override {
    std::optional<device_arrays<Exec>> arrays;
    distributed::agree(ranks_, [&] { arrays.emplace(ctx_.exec, sinogram, std::nullopt, image); });
    distributed::fdk_recon(ctx_, ranks_, part, arrays->sinogram(), arrays->recon(), {}, &warnings);
    arrays->download();
  }

 private:
  template <class Part>
  recon_log reconstruct(Part const& part, view<float const, 3> sinogram,
                        std::optional<view<float const, 3>> const& weights, view<float, 3> image,
                        recon_options const& options) const {
    std::optional<device_arrays<Exec>> arrays;
    distributed::agree(ranks_, [&] { arrays.emplace(ctx_.exec, sinogram, weights, image); });
    auto record = distributed::recon(ctx_, ranks_, part, arrays->sinogram(), arrays->weights(), arrays->recon(),
                                     options);
    arrays->download();
    return record;
  }

  context<Exec, instrument::any> ctx_;
  rank_messages const& ranks_;
};

}  // namespace mbirk::program
