// The method of Feldkamp, Davis and Kress of ranks that have views each: the same bits for every number of ranks, close
// to those of one memory, and the traffic that docs/distributed.md promises.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "mbirk/core/element_count.hpp"
#include "mbirk/distributed/counted.hpp"
#include "mbirk/distributed/direct_recon.hpp"
#include "mbirk/distributed/self.hpp"
#include "mbirk/exec/host.hpp"
#include "mbirk/instrument/none.hpp"
#include "world.hpp"

namespace {

using namespace mbirk;
using distributed::cone_views;
using testing_ranks::world;
using floats = std::vector<float>;

cone_parameters scan_of(index_t views, bool helical) {
  cone_parameters p;
  p.sinogram_shape = {views, 13, 21};
  p.source_detector_dist = 80;
  p.source_iso_dist = 40;
  p.det_channel_offset = 0.4;
  for (index_t v = 0; v < views; ++v) {
    p.angles.push_back(static_cast<float>(2 * std::numbers::pi * static_cast<double>(v) / static_cast<double>(views)));
    if (helical) p.helical_z_shifts.push_back(0.1f * static_cast<float>(v));
  }
  return p;
}
floats sinogram_of(cone_parameters const& p) {
  auto const [views, rows, channels] = p.sinogram_shape;
  floats y(static_cast<std::size_t>(views * rows * channels));
  std::uint32_t state = 7;
  for (auto& x : y) {
    state = state * 1664525u + 1013904223u;
    x = static_cast<float>(state >> 8) / 0x1p24f;
  }
  return y;
}

/// The rows of this rank.
template <class Comm>
floats rows_of(Comm const& ranks, cone_parameters const& p, floats const& sinogram, int threads = 1) {
  context const ctx{exec::host{threads}, instrument::none{}};
  cone_views const part(p, ranks.rank(), ranks.size());
  auto const shape = part.sinogram_shape(), band = part.recon_shape();
  floats image(static_cast<std::size_t>(band[0] * band[1] * band[2]), -1.0f);
  view<float const, 3> const mine(sinogram.data() + part.views().first * shape[1] * shape[2], shape);
  distributed::fdk_recon(ctx, ranks, part, mine, view<float, 3>(image.data(), band));
  return image;
}
/// Cuts the pixel rows of this rank out of the whole image.
floats cut(floats const& image, cone_parameters const& p) {
  cone_views const part(p, world().rank(), world().size());
  auto const band = part.recon_shape();
  auto const first = image.begin() + part.rows().first * band[1] * band[2];
  return {first, first + band[0] * band[1] * band[2]};
}
std::vector<std::uint32_t> bits(floats const& v) {
  std::vector<std::uint32_t> all;
  for (auto const x : v) all.push_back(std::bit_cast<std::uint32_t>(x));
  return all;
}

TEST(views, direct_reconstructions_have_the_same_bits_for_every_number_of_ranks) {
  for (auto const& [views, helical] : {std::pair<index_t, bool>{37, false}, {37, true}, {10, false}}) {
    if (views < world().size()) continue;
    auto const p = scan_of(views, helical);
    auto const y = sinogram_of(p);
    auto const alone = rows_of(distributed::self{}, p, y);
    EXPECT_EQ(bits(rows_of(world(), p, y, 2)), bits(cut(alone, p))) << views << ' ' << helical;
  }
}

TEST(views, direct_reconstructions_agree_with_one_memory) {
  context const ctx{exec::host{1}, instrument::none{}};
  for (bool const helical : {false, true}) {
    auto const p = scan_of(37, helical);
    auto const y = sinogram_of(p);
    cone_scan const scan(p);
    auto const shape = scan.recon_shape();
    floats expected(element_count(shape));
    fdk_recon(ctx, scan, view<float const, 3>(y.data(), scan.sinogram_shape()), view<float, 3>(expected.data(), shape));
    float peak = 0;
    for (auto const x : expected) peak = std::max(peak, std::abs(x));
    auto const found = rows_of(world(), p, y), here = cut(expected, p);
    // The sum of 37 views in another order: at most 37 roundings of 2^-24 of the largest partial sum, on average the
    // square root of that.
    float largest = 0;
    for (std::size_t k = 0; k < here.size(); ++k) largest = std::max(largest, std::abs(found[k] - here[k]));
    EXPECT_LE(largest, 1e-6f * peak);
  }
}

TEST(views, traffic_is_what_the_formula_says) {
  auto const p = scan_of(37, false);
  distributed::traffic_ledger ledger;
  rows_of(distributed::counted(world(), ledger), p, sinogram_of(p));
  cone_views const part(p, world().rank(), world().size());
  // Subtrees of a binary tree of 16 leaves that cover the ranges of a rank.
  index_t parts = 0;
  auto const mine = part.ranges(world().rank());
  for (index_t at = mine.first; at < mine.end(); ++parts) {
    index_t size = 1;
    while (at % (2 * size) == 0 && at + 2 * size <= mine.end()) size *= 2;
    at += size;
  }
  EXPECT_LE(parts, std::has_single_bit(static_cast<unsigned>(world().size())) ? 1 : 3);
  index_t const elsewhere = std::ssize(part.whole().full_indices()) - std::ssize(part.pixels(part.rows()));
  auto const found = ledger.contains("parts of the image") ? ledger.at("parts of the image") : distributed::traffic{};
  EXPECT_EQ(found.messages, parts * (distributed::row_bands - part.bands(world().rank()).count));
  EXPECT_EQ(found.bytes, parts * 4 * elsewhere * part.whole().geometry().slices);
}

TEST(views, ranks_must_agree) {
  if (world().size() == 1) GTEST_SKIP() << "a rank alone agrees";
  auto p = scan_of(37, false);
  auto const y = sinogram_of(p);
  if (world().rank() == 1) p.angles[3] += 0.01f;
  std::string found = "nothing";
  try {
    rows_of(world(), p, y);
  } catch (parameter_error const& e) {
    found = e.what();
  }
  EXPECT_EQ(found, "fdk_recon: ranks differ in the angles, expected the same on all");
}

TEST(views, are_shared_out_in_ranges) {
  auto const p = scan_of(37, false);
  for (int ranks = 1; ranks <= 16; ++ranks) {
    index_t views = 0, rows = 0, pixels = 0, most = 0;
    for (int r = 0; r < ranks; ++r) {
      cone_views const part(p, r, ranks);
      EXPECT_EQ(part.views().first, views);
      EXPECT_EQ(part.rows().first, rows);
      views += part.views().count;
      most = std::max(most, part.views().count);
      rows += part.rows().count;
      pixels += std::ssize(part.pixels(part.rows()));
    }
    cone_scan const scan(p);
    EXPECT_EQ(cone_views(p, 0, ranks).most_views(), most);
    EXPECT_EQ(views, 37);
    EXPECT_EQ(rows, scan.geometry().recon_rows);
    EXPECT_EQ(pixels, std::ssize(scan.full_indices()));
  }
  auto const refused = [](cone_parameters const& q, int ranks) {
    try {
      cone_views(q, 0, ranks);
      return std::string("nothing");
    } catch (parameter_error const& e) {
      return std::string(e.what());
    }
  };
  EXPECT_EQ(refused(scan_of(3, false), 4), "4 ranks for 3 views, expected at most 3");
  EXPECT_EQ(refused(scan_of(10, false), 10),
            "10 ranks for 10 views in 16 ranges: rank 0 would have none, expected fewer ranks");
  EXPECT_EQ(refused(p, 17), "17 ranks for 16 ranges of views, by which cone beam is shared out, expected at most 16");
}

}  // namespace
