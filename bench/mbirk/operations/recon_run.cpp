#include "operations/recon_run.hpp"

#include "mbirk/distributed/recon_in_slabs.hpp"
#include "mbirk/instances/any.hpp"
#include "mbirk/projector/all.hpp"
#include "mbirk/recon/direct_recon.hpp"
#include "mbirk/recon/fan_recon.hpp"
#include "mbirk/recon/fdk_band.hpp"
#include "mbirk/recon/recon.hpp"
#include "mbirk/recon/weights.hpp"
#include "operations/direct_method.hpp"

namespace mbirk::program {

namespace {

class band_on_host final : public band_reconstructor {
 public:
  band_on_host(recon_context const& ctx, cone_scan const& scan, index_t first_row, view<float, 3> recon)
      : band_(ctx, scan, first_row, recon) {}

  index_t views() const override { return band_.views(); }
  void add(view<float const, 3> sinogram) override { band_.add(sinogram); }
  std::vector<std::string> finish() override {
    std::vector<std::string> warnings;
    band_.finish(&warnings);
    return warnings;
  }

 private:
  fdk_band<exec::host, instrument::any> band_;
};

class on_host final : public reconstructor {
 public:
  explicit on_host(recon_context const& ctx) : ctx_(ctx) {}

  std::vector<std::string> direct(recon_scan const& scan, view<float const, 3> sinogram,
                                  view<float, 3> recon) const override {
    return direct_recon_of_any(ctx_, scan, sinogram, recon);
  }
  void fan(cone_parameters const& p, view<float const, 3> sinogram, view<float, 3> recon) const override {
    fan_recon(ctx_, p, sinogram, recon);
  }
  recon_log vcd(recon_scan const& scan, view<float const, 3> sinogram, std::optional<view<float const, 3>> weights,
                view<float, 3> recon, recon_options const& options) const override {
    return vcd_recon(ctx_, scan, sinogram, weights, recon, options);
  }
  recon_log vcd_in_slabs(parallel_parameters const& whole, distributed::slab_division const& division,
                         distributed::slab_arrays const& arrays, recon_options const& options) const override {
    return distributed::recon_in_slabs(ctx_, whole, division, arrays, options);
  }
  std::unique_ptr<band_reconstructor> fdk_in_bands(cone_scan const& scan, index_t first_row,
                                                   view<float, 3> recon) const override {
    return std::make_unique<band_on_host>(ctx_, scan, first_row, recon);
  }

 private:
  recon_context const& ctx_;
};

}  // namespace

std::unique_ptr<reconstructor> host_reconstructor(recon_context const& ctx) { return std::make_unique<on_host>(ctx); }

recon_log vcd_recon(recon_context const& ctx, recon_scan const& any, view<float const, 3> sinogram,
                    std::optional<view<float const, 3>> weights, view<float, 3> recon, recon_options const& options) {
  return std::visit([&](auto const& scan) { return mbirk::recon(ctx, scan, sinogram, weights, recon, options); }, any);
}

std::vector<std::string> weight_names() { return {weight_type_names.begin(), weight_type_names.end()}; }

void sinogram_weights(recon_context const& ctx, std::string const& type, view<float const, 3> sinogram,
                      view<float, 3> weights) {
  gen_weights(ctx, sinogram, parse_weight_type(type), weights);
}

}  // namespace mbirk::program
