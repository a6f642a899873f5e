// Announced sizes against allocations: every byte of a resource, with one thread and with three.
#include <gtest/gtest.h>

#include <functional>
#include <memory_resource>

#include "instrument/operations.hpp"
#include "mbirk/instrument/sizing.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::testing;

/// Tracks memory in use, and its peak.
class watched_resource final : public std::pmr::memory_resource {
 public:
  index_t peak() const { return peak_; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t align) override {
    used_ += static_cast<index_t>(bytes), peak_ = std::max(peak_, used_);
    return std::pmr::new_delete_resource()->allocate(bytes, align);
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t align) override {
    used_ -= static_cast<index_t>(bytes);
    std::pmr::new_delete_resource()->deallocate(p, bytes, align);
  }
  bool do_is_equal(std::pmr::memory_resource const& other) const noexcept override { return this == &other; }
  index_t used_ = 0, peak_ = 0;
};

/// call(ctx): an operation that runs without data under a policy that has none.
template <class Call> instrument::size_record expect_announced(char const* what, Call const& call) {
  instrument::size_record size;
  for (int const threads : {1, 3}) {
    watched_resource memory;
    call(context{exec::host{threads, &memory}, instrument::none{}});
    size = {};
    call(context{exec::host{threads}, instrument::sizing{size}});
    EXPECT_EQ(size.temporary_peak, memory.peak()) << what << " with " << threads << " threads";
    index_t listed = 0;
    for (auto const& a : size.at_peak) listed += a.bytes;
    EXPECT_EQ(listed, size.temporary_peak) << what;
  }
  return size;
}

template <class Scan> void check_projectors(Scan const& s) {
  for (auto const what : all_ops) {
    auto const size = expect_announced("projector", [&](auto const& ctx) { run(ctx, s, what); });
    if (what != op::forward) continue;
    auto const [v, r, c] = s.sinogram_shape();
    auto const [rows, cols, slices] = s.recon_shape();
    EXPECT_EQ(size.peak() - size.temporary_peak, 4 * (v * r * c + rows * cols * slices));
    EXPECT_GE(size.temporary_peak, 4 * v * r * c) << "the channel-major sinogram";
  }
}
TEST(Sizing, Projectors) {
  check_projectors(odd_parallel(1.0));
  check_projectors(odd_cone(1.1, false));
}

/// @param subsets  of every partition; 0 for the default ones
template <class Scan> void check_recon(Scan const& s, index_t subsets = 0) {
  auto const size = [](std::array<index_t, 3> e) { return e[0] * e[1] * e[2]; };
  auto const y = positive(size(s.sinogram_shape()), 4), w = positive(size(s.sinogram_shape()), 5);
  std::vector<float> x(static_cast<std::size_t>(size(s.recon_shape())));
  auto const with = [&](auto const& ctx, auto const& f) {
    bool constexpr data = std::decay_t<decltype(ctx)>::backend::has_data;
    f(view<float const, 3>(data ? y.data() : nullptr, s.sinogram_shape()),
      view<float const, 3>(data ? w.data() : nullptr, s.sinogram_shape()),
      view<float, 3>(data ? x.data() : nullptr, s.recon_shape()));
  };
  for (bool const weighted : {false, true})
    expect_announced("recon", [&](auto const& ctx) {
      with(ctx, [&](auto sinogram, auto weights, auto recon) {
        recon_options o;
        o.max_iterations = 2, o.stop_threshold_change_pct = 0, o.positivity_flag = weighted;
        if (subsets > 0) o.granularity = {subsets}, o.partition_sequence = {0};
        mbirk::recon(ctx, s, sinogram, weighted ? std::optional(weights) : std::nullopt, recon, o);
      });
    });
  expect_announced("direct_recon", [&](auto const& ctx) {
    with(ctx, [&](auto sinogram, auto, auto recon) { direct_recon(ctx, s, sinogram, recon); });
  });
  expect_announced("qggmrf_denoise", [&](auto const& ctx) {
    with(ctx, [&](auto, auto, auto recon) {
      denoise_options o;
      o.max_iterations = 2, o.stop_threshold_change_pct = 0, o.sigma_noise = 0.1;
      auto const image = positive(size(s.recon_shape()), 6);
      bool constexpr data = std::decay_t<decltype(ctx)>::backend::has_data;
      qggmrf_denoise(ctx, view<float const, 3>(data ? image.data() : nullptr, s.recon_shape()), o, recon);
    });
  });
}
TEST(Sizing, Reconstruction) {
  check_recon(odd_parallel(1.0));
  check_recon(odd_cone(1.1, false));
  // These subsets back-project view by view.
  check_recon(cone_scan(cone_parameters{.sinogram_shape = {16, 13, 20},
                                        .angles = std::vector<float>(16),
                                        .source_detector_dist = 60,
                                        .source_iso_dist = 33,
                                        .delta_voxel = 0.8,
                                        .recon_shape = std::array<index_t, 3>{10, 11, 12}}),
              20);
  check_recon(parallel_scan(parallel_parameters{.sinogram_shape = {33, 13, 20},
                                                .angles = std::vector<float>(33),
                                                .delta_voxel = 0.8,
                                                .recon_shape = std::array<index_t, 3>{10, 11, 13}}),
              20);
}

// A reconstruction of 2048^3 in milliseconds: no kernel runs. The error sinogram, the image and the Hessian diagonal
// are all included.
TEST(Sizing, TakesNoTimeAndNoMemory) {
  parallel_parameters p{.sinogram_shape = {64, 2048, 2048}, .angles = std::vector<float>(64)};
  for (std::size_t v = 0; v < 64; ++v) p.angles[v] = 0.04f * static_cast<float>(v);
  parallel_scan const s(p);
  instrument::size_record size;
  forward_project(context{exec::host{1}, instrument::sizing{size}}, s, view<float const, 3>(nullptr, s.recon_shape()),
                  view<float, 3>(nullptr, s.sinogram_shape()));
  EXPECT_EQ(size.name, "parallel_forward_project");
  EXPECT_GT(size.items, index_t{64} * 2048 * 2048 * 2048 / 2);
  EXPECT_GT(size.temporary_peak, index_t{4} * 64 * 2048 * 2048);
}

}  // namespace
