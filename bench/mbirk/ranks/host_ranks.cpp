// Reconstructions of ranks on the host.
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "mbirk/distributed/denoise.hpp"
#include "mbirk/distributed/direct_recon.hpp"
#include "mbirk/distributed/recon.hpp"
#include "mbirk/instances/any.hpp"
#include "ranks/rank_reconstructor.hpp"

namespace mbirk::program {
namespace {

class rank_on_host final : public rank_reconstructor {
 public:
  rank_on_host(recon_context const& ctx, rank_messages const& ranks) : ctx_(ctx), ranks_(ranks) {}

  recon_log slab(distributed::parallel_slab const& slab, view<float const, 3> sinogram,
                 std::optional<view<float const, 3>> weights, view<float, 3> image,
                 recon_options const& options) const override {
    return timed([&] { return distributed::recon(ctx_, ranks_, slab, sinogram, weights, image, options); });
  }
  recon_log views(distributed::cone_views const& part, view<float const, 3> sinogram,
                  std::optional<view<float const, 3>> weights, view<float, 3> image,
                  recon_options const& options) const override {
    return timed([&] { return distributed::recon(ctx_, ranks_, part, sinogram, weights, image, options); });
  }
  recon_log prox_slab(distributed::parallel_slab const& slab, view<float const, 3> prox_input,
                      view<float const, 3> sinogram, view<float, 3> image,
                      recon_options const& options) const override {
    return timed([&] {
      return distributed::prox_map(ctx_, ranks_, slab, prox_input, sinogram, std::nullopt, image, options);
    });
  }
  recon_log prox_views(distributed::cone_views const& part, view<float const, 3> prox_input,
                       view<float const, 3> sinogram, view<float, 3> image,
                       recon_options const& options) const override {
    return timed([&] {
      return distributed::prox_map(ctx_, ranks_, part, prox_input, sinogram, std::nullopt, image, options);
    });
  }
  void fdk(distributed::cone_views const& part, view<float const, 3> sinogram, view<float, 3> image,
           std::vector<std::string>& warnings) const override {
    timed([&] {
      distributed::fdk_recon(ctx_, ranks_, part, sinogram, image, {}, &warnings);
      return 0;
    });
  }
  void denoise(distributed::image_rows const& part, view<float const, 3> image, denoise_options const& options,
               view<float, 3> output) const override {
    timed([&] { return distributed::qggmrf_denoise(ctx_, ranks_, part, image, options, output); });
  }

 private:
  template <class F> std::invoke_result_t<F const&> timed(F const& f) const {
    std::invoke_result_t<F const&> result{};
    time([&] { result = f(); }, [] {});
    return result;
  }

  recon_context const& ctx_;
  rank_messages const& ranks_;
};

}  // namespace

std::unique_ptr<rank_reconstructor> reconstruct_on_host(recon_context const& ctx, rank_messages const& ranks) {
  return std::make_unique<rank_on_host>(ctx, ranks);
}

}  // namespace mbirk::program
