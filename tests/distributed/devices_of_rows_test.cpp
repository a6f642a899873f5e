// The denoiser by ranks that each have an emulated device: the same bits for every number of ranks, close to those of
// the host, and the same traffic. Run by mpirun with 1 to 3 ranks.
#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <string>

#include "denoise_case.hpp"
#include "emulated_instances.hpp"
#include "mbirk/distributed/counted.hpp"
#include "mbirk/distributed/self.hpp"

namespace {

using namespace mbirk;
using namespace testing_ranks;

floats rows_of_rank(floats const& image) {
  return part(image, image_shape, 0, image_rows(image_shape, world().rank(), world().size()).rows());
}

TEST(devices_of_rows, denoised_images_have_the_same_bits_for_every_number_of_ranks) {
  for (std::size_t const number : {1, 2, 3}) {
    auto const c = denoise_cases()[number];
    SCOPED_TRACE(c.name);
    auto const alone = denoise_in_ranks(distributed::self{}, c, exec::emulated());
    if (world().size() > 1) {
      auto const mine = denoise_in_ranks(world(), c, exec::emulated());
      EXPECT_TRUE(same_bits(mine.image, rows_of_rank(alone.image)));
      EXPECT_EQ(mine.record.alpha_values, alone.record.alpha_values);
      EXPECT_EQ(mine.record.stop_threshold_change_pct, alone.record.stop_threshold_change_pct);
      EXPECT_EQ(mine.record.sigma_noise, alone.record.sigma_noise);
      EXPECT_EQ(mine.record.sigma_x, alone.record.sigma_x);
      continue;
    }
    auto const expected = denoise_in_one_memory(c);
    // Step lengths differ by the rounding of sums, which rounds some of them to other floats.
    expect_close(alone.image, expected.image, 1e-6f);
    EXPECT_EQ(alone.record.num_iterations, expected.record.num_iterations);
    EXPECT_FLOAT_EQ(static_cast<float>(alone.record.sigma_noise), static_cast<float>(expected.record.sigma_noise));
    EXPECT_FLOAT_EQ(static_cast<float>(alone.record.sigma_x), static_cast<float>(expected.record.sigma_x));
    for (std::size_t k = 0; k < expected.record.alpha_values.size(); ++k)
      EXPECT_NEAR(alone.record.alpha_values[k], expected.record.alpha_values[k], 1e-5);
  }
}

TEST(devices_of_rows, messages_are_those_of_the_host) {
  auto const c = denoise_cases()[2];
  distributed::traffic_ledger of_devices, of_host;
  denoise_in_ranks(distributed::counted(world(), of_devices), c, exec::emulated());
  denoise_in_ranks(distributed::counted(world(), of_host), c);
  expect_same_traffic(of_devices, of_host);
}

TEST(devices_of_rows, every_rank_throws_what_one_rank_finds) {
  int const last = world().size() - 1;
  image_rows const mine(image_shape, world().rank(), world().size());
  auto rows = rows_of_rank(noisy_image());
  if (world().rank() == last) rows[3] = std::numeric_limits<float>::quiet_NaN();
  auto out = array(mine.shape());
  exec::emulated const device;
  auto const image = test::place(device, reading(rows, mine.shape())),
             output = test::place(device, reading(out, mine.shape()));
  auto const nan = message_of<parameter_error>([&] {
    distributed::qggmrf_denoise(context{device, instrument::none{}}, world(), mine, image.in(), {}, output.all());
  });
  EXPECT_NE(nan.find("image(0, 0, 3) is nan, expected finite values"), std::string::npos) << nan;
}

}  // namespace
