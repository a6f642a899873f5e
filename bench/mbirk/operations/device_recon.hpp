// Reconstructions of the host's arrays on a device.
#pragma once

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

template <class Exec> class device_reconstructor final : public reconstructor {
 public:
  device_reconstructor(Exec const& exec, instrument::any const& observe) : ctx_{exec, observe} {}

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

 private:
  context<Exec, instrument::any> ctx_;
};

}  // namespace mbirk::program
