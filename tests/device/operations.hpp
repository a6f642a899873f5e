// The operations under a device's policy, behind plain functions on host arrays: compiled in emulated.cpp, and again in
// cuda.cu. The tests of projector/ and recon/ that call run_forward() and so on are linked with these instead of the
// host's.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mbirk/filter/direct_filter.hpp"
#include "mbirk/kernel/shared/layout.hpp"
#include "mbirk/recon/denoise.hpp"
#include "mbirk/recon/regularization.hpp"
#include "mbirk/recon/weights.hpp"
#include "projector/operations.hpp"
#include "recon/recon_support.hpp"

namespace mbirk::test {

/// A projection of listed pixels as a line search and the update of an error make it. Arrays are channel-major, guards
/// included.
struct measured_list {
  static constexpr double step = 0.7;
  kernel::chunked_shape shape;
  bool sorted;                 // whether the pixels are sorted by channel before
  std::vector<float> z, w;     // z: without a norm
  std::vector<float> wz;       // where the line search stores it, else empty
  std::vector<float> error, updated;  // e, and e - step w z, where the line search stores nothing, else empty
  std::vector<double> sums;    // of w z^2, by views of all chunks
};
measured_list device_measure(any_scan const& s, array<2> const& values, pixel_list const& pixels, bool weighted);
/// e - step w A x in parallel beam, channel-major, where warps take four channels once, twice and so on, up to `most`
/// times.
std::vector<std::vector<float>> device_list_turns(parallel_scan const& s, array<2> const& values,
                                                  pixel_list const& pixels, int most);
/// Listed pixels in the order of their channels, and where the bins of a view start, view by view.
struct sorted_list {
  std::vector<std::vector<std::int32_t>> order, starts;
  bool operator==(sorted_list const&) const = default;
};
/// By four warps a view, and by one; nothing for a geometry that does not sort.
std::vector<sorted_list> device_sorts(any_scan const& s, pixel_list const& pixels);
/// Back projection of listed pixels in parallel beam by every kernel that can do it.
std::vector<array<2>> device_list_backs(parallel_scan const& s, array<3> const& sinogram, pixel_list const& pixels);
void device_filter(any_scan const& s, view<float const, 3> sinogram, view<float, 3> filtered, filter_options const& o);
std::vector<std::string> device_direct_recon(any_scan const& s, view<float const, 3> sinogram, view<float, 3> recon);
/// Returns the error that fdk_band throws for an array with gaps.
std::string device_gaps_in_band(cone_scan const& s);
/// fdk_recon by bands of 32 rows, each from blocks of `views` views.
void device_fdk_bands(cone_scan const& s, view<float const, 3> sinogram, index_t views, view<float, 3> recon);
regularization device_regularization(any_scan const& s, view<float const, 3> sinogram,
                                     std::optional<view<float const, 3>> weights);
void device_weights(view<float const, 3> sinogram, weight_type type, view<float, 3> weights);
mar_record device_weights_mar(any_scan const& s, view<float const, 3> sinogram,
                              std::optional<view<float const, 3>> init_recon, view<float, 3> weights);
void device_qggmrf(view<float const, 3> recon, view<std::int32_t const, 1> pixels, qggmrf_parameters const& p,
                   view<float, 2> gradient, view<float, 2> hessian);
double device_qggmrf_loss(view<float const, 3> recon, qggmrf_parameters const& p);
denoise_record device_denoise(view<float const, 3> image, denoise_options const& o, view<float, 3> output);
void device_median(view<float const, 3> image, view<float, 3> median, view<float, 3> least, view<float, 3> greatest);
std::vector<float> device_otsu(view<float const, 3> image, int classes, int bins);
recon_log device_split(cone_parameters const& p, view<float const, 3> sinogram, view<float, 3> recon,
                       recon_options const& o);

}  // namespace mbirk::test
