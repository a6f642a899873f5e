// Operations on a device against those on the host, on odd shapes. Both take equal steps in float32; each tolerance
// states the possible differences.
#include "device/operations.hpp"

#include <cmath>
#include <map>
#include <utility>

#include "mbirk/instrument/none.hpp"
#include "mbirk/kernel/device/block_sort.hpp"
#include "mbirk/prior/qggmrf.hpp"
#include "mbirk/projector/cone.hpp"
#include "mbirk/projector/multiaxis.hpp"
#include "mbirk/projector/parallel.hpp"
#include "mbirk/recon/direct_recon.hpp"
#include "mbirk/recon/split.hpp"
#include "mbirk/util/median.hpp"
#include "mbirk/util/otsu.hpp"
#include "projector/cases.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

context const host{exec::host{1}, instrument::none{}};
constexpr double epsilon = 0x1p-24;  // one rounding

/// Shapes with one slice, with more than a warp, with a remainder of one; rows and columns that fill no tile.
std::vector<shape_3> image_shapes() { return {{9, 11, 1}, {7, 10, 33}, {5, 6, 64}, {13, 3, 70}, {1, 1, 5}}; }

array<3> noisy_block(shape_3 const& shape, unsigned seed) {
  auto a = random_array<3>(shape, seed);
  for (index_t i = 0; i < shape[0]; ++i)
    for (index_t j = 0; j < shape[1]; ++j)
      for (index_t k = 0; k < shape[2]; ++k)
        a.all()(i, j, k) = 0.1f * a.all()(i, j, k) + (i > 2 && j < 2 * shape[1] / 3 ? 1.0f : 0.2f);
  return a;
}

struct OnScans : ::testing::TestWithParam<geometry_case> {
  any_scan const s = make_scan(GetParam().parameters);
};

// A plan is uploaded once: calls that take it copy nothing to the device.
TEST_P(OnScans, ProjectionsWithAPlan) {
  auto const x = random_array<3>(recon_shape(s), 1), y = random_array<3>(sinogram_shape(s), 2);
  auto const pixels = some_pixels(s, 23, 3);
  auto const r = run_planned(s, x, y, pixels);
  for (int const call : {0, 1}) {
    EXPECT_TRUE(same_bits(r.forward[call].data, forward(s, x).data));
    EXPECT_TRUE(same_bits(r.back[call].data, back(s, y).data));
    EXPECT_TRUE(same_bits(r.sparse_forward[call].data, sparse_forward(s, cylinders_of(x, pixels), pixels).data));
    EXPECT_TRUE(same_bits(r.sparse_back[call].data, sparse_back(s, y, pixels, 2).data));
  }
  EXPECT_EQ(r.uploads, 0);
}

// Warps that have sorted their pixels weigh what they project and add up w z^2, float within a channel: S terms for S
// packs, all of one sign, each with two roundings. Other projections do it in a second pass. In parallel beam a second
// projection of sorted pixels subtracts them from the error.
TEST_P(OnScans, NormAndUpdateOfAProjection) {
  auto const pixels = some_pixels(s, 23, 3);
  auto const x = cylinders_of(random_array<3>(recon_shape(s), 1), pixels);
  for (bool const weighted : {false, true}) {
    auto const r = device_measure(s, x, pixels, weighted);
    auto const& shape = r.shape;
    double const allowed = epsilon * static_cast<double>(2 * shape.packs + 2);
    for (index_t chunk = 0; chunk < shape.chunks; ++chunk)
      for (index_t view = 0; view < shape.views; ++view) {
        double sum = 0;
        for (index_t c = -kernel::guard_channels; c < shape.channels + kernel::guard_channels; ++c)
          for (index_t row = 0; row < shape.width; ++row) {
            auto const at = static_cast<std::size_t>(shape.offset(chunk, view) +
                                                     (kernel::guard_channels + c) * shape.width + row);
            if (c < 0 || c >= shape.channels) {
              if (!r.updated.empty()) {
                ASSERT_EQ(r.updated[at], r.error[at]) << chunk << ' ' << view << ' ' << c << ' ' << row;
              }
              continue;
            }
            float const wz = weighted ? r.w[at] * r.z[at] : r.z[at];
            if (r.updated.empty()) {
              ASSERT_EQ(r.wz[at], wz) << chunk << ' ' << view << ' ' << c << ' ' << row;
            } else {
              float const updated = std::fma(-static_cast<float>(measured_list::step), wz, r.error[at]);
              ASSERT_EQ(r.updated[at], updated) << chunk << ' ' << view << ' ' << c << ' ' << row;
            }
            sum += static_cast<double>(wz) * r.z[at];
          }
        EXPECT_NEAR(r.sums[static_cast<std::size_t>(chunk * shape.views + view)], sum, allowed * sum)
            << chunk << ' ' << view;
      }
  }
}
// Ranges of an update: half of the square root, from 1 to 64 entries.
TEST(OnDevice, RangesOfAnUpdate) {
  std::map<index_t, index_t> const expected{{0, 1}, {1, 1}, {16, 2}, {156, 6}, {6026, 38}, {16384, 64}, {1000000, 64}};
  for (auto const& [entries, of_range] : expected)
    EXPECT_EQ(mbirk::detail::entries_of_device_range(entries), of_range) << entries;
}

// 300 pixels are more than two rounds of each of four warps. The sort is stable, so the order of the pixels of a bin is
// that of the list.
TEST_P(OnScans, SortsByFourWarpsAndByOne) {
  auto const sorted = device_sorts(s, some_pixels(s, 300, 4));
  if (sorted.empty()) GTEST_SKIP() << "the geometry does not sort pixels";
  EXPECT_EQ(sorted[0], sorted[1]);
  for (std::size_t view = 0; view < sorted[0].order.size(); ++view) {
    auto const& starts = sorted[0].starts[view];
    EXPECT_TRUE(std::ranges::is_sorted(starts));
    for (std::size_t bin = 0; bin + 1 < starts.size(); ++bin)
      EXPECT_TRUE(std::is_sorted(sorted[0].order[view].begin() + starts[bin],
                                 sorted[0].order[view].begin() + starts[bin + 1]));
  }
}

// The filter adds C/2 + 1 products of both signs; either order of sums is off by that many roundings of the sum of
// their sizes, which is at most twice the largest sample times the taps' sum (below 0.5 of the middle one's), and the
// largest result is about as large.
TEST_P(OnScans, DirectFilter) {
  auto const y = random_array<3>(sinogram_shape(s), 1);
  for (auto const taps : {ramp_taps::closed, ramp_taps::float32}) {
    array<3> found(y.shape, -1.0f), expected(y.shape, -1.0f);
    device_filter(s, y.all(), found.all(), {.taps = taps});
    visit_direct([&](auto const& scan) { direct_filter(host, scan, y.all(), expected.all(), {.taps = taps}); }, s);
    EXPECT_LE(relative_error(found.data, expected.data), 2 * epsilon * static_cast<double>(y.shape[2] + 4));
  }
}

// The filter by Fourier transforms pairs the rows differently on a warp: either result has its own rounding error in
// the 2-norm of two rows of C samples (tests/filter/fourier_filter_test.cpp), half of which the filter keeps; the
// largest result is at least a quarter of the largest sample.
void expect_same_by_fourier(any_scan const& s, ramp_taps taps) {
  auto const y = random_array<3>(sinogram_shape(s), 1);
  filter_options const options{.taps = taps, .method = filter_method::fourier};
  array<3> found(y.shape, -1.0f), expected(y.shape, -1.0f);
  device_filter(s, y.all(), found.all(), options);
  visit_direct([&](auto const& scan) { direct_filter(host, scan, y.all(), expected.all(), options); }, s);
  double const roundings =
      2 * std::sqrt(2 * std::log2(static_cast<double>(kernel::fourier::length_of(y.shape[2])))) + 4;
  EXPECT_LE(relative_error(found.data, expected.data),
            4 * roundings * epsilon * std::sqrt(2 * static_cast<double>(y.shape[2])));
}

TEST_P(OnScans, FourierFilter) {
  for (auto const taps : {ramp_taps::closed, ramp_taps::float32}) expect_same_by_fourier(s, taps);
}

// All lengths of transforms that fit into a block, 96 to 4096, and the first that does not; blocks with an odd number
// of rows, and some without a row. Cone beam weighs rows.
TEST(RampBlocks, EveryLength) {
  for (index_t const channels : {48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 2049}) {
    SCOPED_TRACE(channels);
    shape_3 const shape{2, 35, channels};
    expect_same_by_fourier(parallel_scan(parallel_geometry::typical_scan(shape)), ramp_taps::closed);
    if (channels <= 128) expect_same_by_fourier(cone_scan(cone_geometry::typical_scan(shape)), ramp_taps::closed);
  }
}

// Filter and back projection; sums of both signs over all views, so errors are relative to sums without cancellation:
// ten times the result at most.
void expect_same_direct_recon(any_scan const& s) {
  auto const y = random_array<3>(sinogram_shape(s), 2);
  array<3> found(recon_shape(s), -1.0f), expected(found.shape, -1.0f);
  std::vector<std::string> warnings;
  auto const said = device_direct_recon(s, y.all(), found.all());
  visit_direct([&](auto const& scan) { direct_recon(host, scan, y.all(), expected.all(), {}, &warnings); }, s);
  EXPECT_LE(relative_error(found.data, expected.data),
            10 * (2 * tolerance(s, false, 1) + 2 * epsilon * static_cast<double>(y.shape[2] + 4)));
  EXPECT_EQ(said, warnings);
}

TEST_P(OnScans, DirectRecon) { expect_same_direct_recon(s); }

// From 80 channels on the filter writes the layout of the back projection by Fourier transforms; 35 and 3 rows leave
// rows of that layout without data.
TEST(RampBlocks, DirectRecon) {
  expect_same_direct_recon(parallel_scan(parallel_geometry::typical_scan({3, 35, 81})));
  expect_same_direct_recon(cone_scan(cone_geometry::typical_scan({3, 3, 96})));
}

// Bands add the same contributions of V views in another order. Each of the two sums has at most V - 1 roundings of the
// sum of magnitudes, and the weights of the slices of a helical scan add one more.
TEST(FdkBands, AreThoseOfTheWhole) {
  constexpr int views = 7;
  auto p = cone_geometry::typical_scan({views, 9, 40});
  p.recon_shape = std::array<index_t, 3>{70, 37, 9};
  for (bool const helical : {false, true}) {
    for (int v = 0; helical && v < views; ++v) p.helical_z_shifts.push_back(0.3f * static_cast<float>(v));
    cone_scan const s(p);
    auto const y = random_array<3>(s.sinogram_shape(), 2);
    array<3> whole(s.recon_shape()), filtered(y.shape), magnitudes(s.recon_shape());
    device_direct_recon(s, y.all(), whole.all());
    direct_filter(host, s, y.all(), filtered.all());
    for (auto& q : filtered.data) q = std::abs(q);
    back_project(host, s, filtered.all(), magnitudes.all());
    auto const weights = helical_slice_weights(s);
    for (index_t const block : {1, 3, views}) {
      array<3> found(s.recon_shape(), -1.0f);
      device_fdk_bands(s, y.all(), block, found.all());
      EXPECT_TRUE(block < views || same_bits(found.data, whole.data));
      for (std::size_t n = 0; n < found.data.size(); ++n) {
        double const scale = static_cast<double>(magnitudes.data[n]) * static_cast<double>(weights[n % weights.size()]);
        ASSERT_NEAR(found.data[n], whole.data[n], 2 * views * epsilon * scale) << block << " at " << n;
      }
    }
  }
}

TEST(FdkBands, GapsAreRefused) {
  cone_scan const s(cone_geometry::typical_scan({2, 3, 8}));
  EXPECT_EQ(device_gaps_in_band(s), "fdk_band: recon has gaps, expected a dense array on a device");
}

// Sums in double of elements selected by comparisons: equal up to the order of sums in double, then rounded to float32
// once.
TEST_P(OnScans, AutoRegularization) {
  auto const y = noisy_sinogram(s, 3);
  // nothing projects onto the detector, so there is no scale
  if (!(*std::max_element(y.data.begin(), y.data.end()) > 0.02f)) return;
  for (bool const weighted : {false, true}) {
    auto const w = patchy_weights(s, 4);
    auto const weights = weighted ? std::optional<view<float const, 3>>(w.all()) : std::nullopt;
    auto const found = device_regularization(s, y.all(), weights);
    auto const expected =
        std::visit([&](auto const& scan) { return auto_regularization(host, scan, y.all(), weights); }, s);
    EXPECT_NEAR(found.sigma_y, expected.sigma_y, 2 * epsilon * static_cast<double>(expected.sigma_y));
    EXPECT_NEAR(found.sigma_x, expected.sigma_x, 2 * epsilon * static_cast<double>(expected.sigma_x));
    EXPECT_EQ(found.warnings, expected.warnings);
  }
}

// exp on a device and on the host differ by at most two units. Each sample has one of two values, depending on whether
// its ray meets metal: where the ray only touches the edge of a footprint, by less than 1e-6 of the longest path
// through metal, rounding decides. (2^-149 is the unit of the smallest numbers.)
TEST_P(OnScans, WeightsAgainstMetal) {
  auto y = noisy_sinogram(s, 5);
  for (std::size_t k = 0; k < y.data.size(); k += 11) y.data[k] *= 6;
  auto x = random_array<3>(recon_shape(s), 6);
  for (std::size_t k = 0; k < x.data.size(); k += 13) x.data[k] += 5;
  for (bool const with_image : {false, true}) {
    auto const init = with_image ? std::optional<view<float const, 3>>(x.all()) : std::nullopt;
    array<3> found(y.shape, -1.0f), expected(y.shape, -1.0f), metal(x.shape), way(y.shape, 1.0f);
    auto const decided = device_weights_mar(s, y.all(), init, found.all());
    mar_record record;
    std::visit(
        [&](auto const& scan) {
          gen_weights_mar(host, scan, y.all(), init, std::nullopt, 1.0, 3.0, expected.all(), &record);
        },
        s);
    EXPECT_EQ(decided.otsu_thresholds, record.otsu_thresholds);
    EXPECT_EQ(decided.metal_threshold, record.metal_threshold);
    if (with_image) {
      std::transform(x.data.begin(), x.data.end(), metal.data.begin(),
                     [&](float value) { return value > record.metal_threshold ? 1.0f : 0.0f; });
      std::visit([&](auto const& scan) { forward_project(host, scan, metal.all(), way.all()); }, s);
    }
    float const longest = *std::max_element(way.data.begin(), way.data.end());
    for (std::size_t k = 0; k < y.data.size(); ++k) {
      if (with_image && way.data[k] <= 1e-6f * longest) continue;
      ASSERT_NEAR(found.data[k], expected.data[k], 8 * epsilon * static_cast<double>(expected.data[k]) + 0x1p-148)
          << k << ", way through metal " << way.data[k];
    }
  }
}

std::vector<geometry_case> some_cases() {
  std::vector<geometry_case> cases;
  for (auto const& c : all_cases())
    for (char const* name : {"odd", "seventeen_rows", "more_rows", "wider", "own_mask", "one_channel", "helical_curved",
                             "strong", "many_slices", "one_slice"})
      if (c.name == std::string("parallel_") + name || c.name == std::string("cone_") + name) cases.push_back(c);
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Device, OnScans, ::testing::ValuesIn(some_cases()), case_name);

TEST(OnDevice, Weights) {
  for (auto const& shape : image_shapes()) {
    auto const y = random_array<3>(shape, 7);
    for (auto const type :
         {weight_type::unweighted, weight_type::transmission, weight_type::transmission_root, weight_type::emission}) {
      array<3> found(shape, -1.0f), expected(shape, -1.0f);
      device_weights(y.all(), type, found.all());
      gen_weights(host, y.all(), type, expected.all());
      EXPECT_LE(relative_error(found.data, expected.data), 8 * epsilon);  // an exp, or an addition and a quotient
    }
  }
}

// exp2 and log2 of either side are within two units; the powers of a pair multiply that by at most 2 |log2| < 2 * 23.
TEST(OnDevice, Qggmrf) {
  for (auto const& shape : image_shapes()) {
    auto const x = random_array<3>(shape, 8);
    pixel_list pixels;
    for (index_t p = 0; p < shape[0] * shape[1]; p += 2) pixels.push_back(static_cast<std::int32_t>(p));
    pixels.push_back(pixels.front());
    std::array<index_t, 2> const size{static_cast<index_t>(pixels.size()), shape[2]};
    for (qggmrf_parameters const& p :
         {qggmrf_parameters{.sigma_x = 0.3}, qggmrf_parameters{.sigma_x = 0.1, .p = 1.9, .q = 1.1, .T = 0.5}}) {
      array<2> g(size, -1.0f), h(size, -1.0f), expected_g(size, -1.0f), expected_h(size, -1.0f);
      device_qggmrf(x.all(), as_view(pixels), p, g.all(), h.all());
      qggmrf_gradient_and_hessian_at_indices(host, x.all(), as_view(pixels), p, expected_g.all(), expected_h.all());
      EXPECT_LE(relative_error(g.data, expected_g.data), 100 * epsilon);
      EXPECT_LE(relative_error(h.data, expected_h.data), 100 * epsilon);
      double const loss = qggmrf_loss(host, x.all(), p);
      EXPECT_NEAR(device_qggmrf_loss(x.all(), p), loss, 100 * epsilon * loss);
    }
  }
}

TEST(OnDevice, Median) {
  for (auto const& shape : image_shapes()) {
    auto x = random_array<3>(shape, 9);
    if (x.data.size() > 40) x.data[37] = NAN;
    array<3> found[3] = {array<3>(shape, -1.0f), array<3>(shape, -1.0f), array<3>(shape, -1.0f)},
             expected[3] = {found[0], found[0], found[0]};
    device_median(x.all(), found[0].all(), found[1].all(), found[2].all());
    median_filter3d(host, x.all(), expected[0].all(), expected[1].all(), expected[2].all());
    for (int k = 0; k < 3; ++k)
      for (std::size_t n = 0; n < x.data.size(); ++n)
        ASSERT_TRUE(found[k].data[n] == expected[k].data[n] ||
                    (std::isnan(found[k].data[n]) && std::isnan(expected[k].data[n])))
            << k << ' ' << n;
  }
}

TEST(OnDevice, Otsu) {
  for (auto const& shape : image_shapes()) {
    auto const x = random_array<3>(shape, 10);
    // counts are whole numbers, so the results are equal
    EXPECT_EQ(device_otsu(x.all(), 3, 64), multi_threshold_otsu(host, x.all(), 3, 64));
  }
  // Several blocks, the last of which is not full; the largest table that fits into shared memory, and the next one.
  auto const x = random_array<3>({40, 50, 70}, 10);
  for (int const bins : {1024, 4097, 4098})
    EXPECT_EQ(device_otsu(x.all(), 2, bins), multi_threshold_otsu(host, x.all(), 2, bins)) << bins;
}

// Equal steps with different roundings, and every iteration starts from the result of the last one: after three
// iterations the host differs from the oracle in double by 1e-5 (tests/recon/denoise_test.cpp).
TEST(OnDevice, Denoise) {
  for (auto const& shape : {shape_3{9, 11, 1}, shape_3{7, 10, 33}, shape_3{6, 9, 40}}) {
    auto const x = noisy_block(shape, 11);
    denoise_options const o{{.max_iterations = 3, .stop_threshold_change_pct = 0}};
    array<3> found(shape, -1.0f), expected(shape, -1.0f);
    auto const record = device_denoise(x.all(), o, found.all());
    auto const same = qggmrf_denoise(host, x.all(), o, expected.all());
    EXPECT_LE(relative_error(found.data, expected.data), 1e-5);
    EXPECT_NEAR(record.sigma_noise, same.sigma_noise, 1e-6 * same.sigma_noise);
    EXPECT_NEAR(record.sigma_x, same.sigma_x, 1e-6 * same.sigma_x);
    ASSERT_EQ(record.alpha_values.size(), same.alpha_values.size());
    for (std::size_t k = 0; k < same.alpha_values.size(); ++k)
      EXPECT_NEAR(record.alpha_values[k], same.alpha_values[k], 1e-4);
  }
}

TEST(OnDevice, SplitRecon) {
  auto p = odd_cone();
  p.sinogram_shape = {5, 24, 9}, p.angles = some_angles(5), p.recon_shape = shape_3{7, 8, 40};
  cone_scan const s(p);
  auto const y = noisy_sinogram(any_scan(s), 12);
  auto o = small_options();
  o.max_iterations = 1, o.init_recon = 0.1;
  array<3> found(s.recon_shape(), -1.0f), expected(s.recon_shape(), -1.0f);
  auto const record = device_split(p, y.all(), found.all(), o);
  auto const same = split_sino_recon(host, p, y.all(), std::nullopt, expected.all(), o);
  ASSERT_TRUE(same.split);
  EXPECT_EQ(record.num_iterations, same.top.num_iterations);
  EXPECT_LE(relative_error(found.data, expected.data), 1e-5);
}

}  // namespace
