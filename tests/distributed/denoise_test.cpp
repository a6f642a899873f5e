// The denoiser by ranks that have pixel rows each: the same bits for every number of ranks, close to those of one
// memory, and the traffic that docs/distributed.md promises.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "denoise_case.hpp"
#include "mbirk/distributed/counted.hpp"
#include "mbirk/distributed/denoise.hpp"
#include "mbirk/distributed/self.hpp"

namespace {

using namespace mbirk;
using namespace testing_ranks;

TEST(rows, denoised_images_have_the_same_bits_for_every_number_of_ranks) {
  for (auto const& c : denoise_cases()) {
    SCOPED_TRACE(c.name);
    auto const alone = denoise_in_ranks(distributed::self{}, c), mine = denoise_in_ranks(world(), c, exec::host{2});
    image_rows const rows(image_shape, world().rank(), world().size());
    EXPECT_TRUE(same_bits(mine.image, part(alone.image, image_shape, 0, rows.rows())));
    EXPECT_EQ(mine.record.alpha_values, alone.record.alpha_values);
    EXPECT_EQ(mine.record.stop_threshold_change_pct, alone.record.stop_threshold_change_pct);
    EXPECT_EQ(mine.record.sigma_noise, alone.record.sigma_noise);
    EXPECT_EQ(mine.record.sigma_x, alone.record.sigma_x);
    EXPECT_EQ(mine.record.subsets, alone.record.subsets);
  }
}

TEST(rows, denoised_images_agree_with_one_memory) {
  for (auto const& c : denoise_cases()) {
    SCOPED_TRACE(c.name);
    auto const [expected, record] = denoise_in_one_memory(c);
    auto const found = denoise_in_ranks(world(), c);
    EXPECT_EQ(found.record.sigma_noise, record.sigma_noise);
    EXPECT_EQ(found.record.sigma_x, record.sigma_x);
    EXPECT_EQ(found.record.num_iterations, record.num_iterations);
    image_rows const rows(image_shape, world().rank(), world().size());
    auto const here = part(expected, image_shape, 0, rows.rows());
    float peak = 0, largest = 0;
    for (auto const x : expected) peak = std::max(peak, std::abs(x));
    for (std::size_t k = 0; k < here.size(); ++k) largest = std::max(largest, std::abs(found.image[k] - here[k]));
    EXPECT_LE(largest, 1e-6f * peak);
  }
}

TEST(rows, traffic_of_the_denoiser_is_what_the_formulas_say) {
  auto const c = denoise_cases()[0];
  distributed::traffic_ledger ledger;
  auto const done = denoise_in_ranks(distributed::counted(world(), ledger), c);
  image_rows const mine(image_shape, world().rank(), world().size());
  index_t const trees = std::ssize(distributed::detail::subtrees_of(mine.bands())), updates = 3 * done.record.subsets,
                neighbours = (world().rank() > 0 ? 1 : 0) + (distributed::is_last(world()) ? 0 : 1);
  EXPECT_EQ(ledger["line search"].messages, updates);
  EXPECT_EQ(ledger["line search"].bytes, updates * 16 * trees);
  EXPECT_EQ(ledger["change and norm"].bytes, updates * 16 * trees);
  EXPECT_EQ(ledger["rows beside"].bytes, 2 * neighbours * 4 * image_shape[1] * image_shape[2]);
  EXPECT_EQ(ledger["rows of a subset"].messages <= updates * neighbours, true);
  // Every pixel of a row is in one subset, and some are in two.
  EXPECT_GE(ledger["rows of a subset"].bytes, 3 * neighbours * 4 * image_shape[1] * image_shape[2]);
  EXPECT_LE(ledger["rows of a subset"].bytes, 3 * neighbours * 4 * 2 * image_shape[1] * image_shape[2]);
}

TEST(rows, every_rank_throws_what_one_rank_finds) {
  int const last = world().size() - 1;
  image_rows const mine(image_shape, world().rank(), world().size());
  auto image = part(noisy_image(), image_shape, 0, mine.rows());
  if (world().rank() == last) image[3] = std::numeric_limits<float>::quiet_NaN();
  auto out = array(mine.shape());
  auto const nan = message_of<parameter_error>([&] {
    distributed::qggmrf_denoise(ctx, world(), mine, reading(image, mine.shape()), {}, writing(out, mine.shape()));
  });
  EXPECT_EQ(nan, (last > 0 ? "rank " + std::to_string(last) + ": " : std::string()) + "qggmrf_denoise, rows from " +
                     std::to_string(image_rows(image_shape, last, world().size()).rows().first) +
                     " on: image(0, 0, 3) is nan, expected finite values");
  EXPECT_EQ(message_of<parameter_error>([] { image_rows({10, 4, 4}, 0, 11); }),
            "11 ranks for 10 rows in 16 bands: rank 0 would have none, expected fewer ranks");
}

}  // namespace
