// Reconstructions of the host's arrays on a device.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mbirk/instrument/any.hpp"
#include "operations/common_options.hpp"
#include "operations/recon_run.hpp"

namespace mbirk::program {

/// The functions of a reconstructor over a device policy; device_recon_instances.hpp has their definitions.
template <class Context>
std::vector<std::string> direct_on_device(Context const& ctx, recon_scan const& scan, view<float const, 3> sinogram,
                                          view<float, 3> recon);
template <class Context>
recon_log vcd_on_device(Context const& ctx, recon_scan const& scan, view<float const, 3> sinogram,
                        std::optional<view<float const, 3>> weights, view<float, 3> recon,
                        recon_options const& options);

template <class Context>
recon_log slabs_on_device(Context const& ctx, parallel_parameters const& whole,
                          distributed::slab_division const& division, distributed::slab_arrays const& arrays,
                          recon_options const& options);

template <class Context>
std::unique_ptr<band_reconstructor> band_on_device(Context const& ctx, cone_scan const& scan, index_t first_row,
                                                   view<float, 3> recon);

template <class Exec> class device_reconstructor final : public reconstructor {
 public:
  /// @param free_memory  bytes of the device, if it has memory of its own
  device_reconstructor(Exec const& exec, instrument::any const& observe, std::optional<double> free_memory = {})
      : ctx_{exec, observe}, free_memory_(free_memory) {}

  std::vector<std::string> direct(recon_scan const& scan, view<float const, 3> sinogram,
                                  view<float, 3> recon) const override {
    return direct_on_device(ctx_, scan, sinogram, recon);
  }
  void fan(cone_parameters const&, view<float const, 3>, view<float, 3>) const override {
    throw unavailable_error("policy " + std::string(Exec::name) +
                                " is not available for a direct reconstruction of a fan beam, expected --policy host "
                                "or --method vcd",
                            source_location::current());
  }
  recon_log vcd(recon_scan const& scan, view<float const, 3> sinogram, std::optional<view<float const, 3>> weights,
                view<float, 3> recon, recon_options const& options) const override {
    return vcd_on_device(ctx_, scan, sinogram, weights, recon, options);
  }
  recon_log vcd_in_slabs(parallel_parameters const& whole, distributed::slab_division const& division,
                         distributed::slab_arrays const& arrays, recon_options const& options) const override {
    return slabs_on_device(ctx_, whole, division, arrays, options);
  }
  std::unique_ptr<band_reconstructor> fdk_in_bands(cone_scan const& scan, index_t first_row,
                                                   view<float, 3> recon) const override {
    return band_on_device(ctx_, scan, first_row, recon);
  }
  std::optional<double> free_device_memory() const override { return free_memory_; }

 private:
  context<Exec, instrument::any> ctx_;
  std::optional<double> free_memory_;
};

}  // namespace mbirk::program
