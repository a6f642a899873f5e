// Scaled reconstruction shapes.
#include "mbirk/geometry/recon_shape.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace {

using namespace mbirk;
using shape = std::array<index_t, 3>;

TEST(ScaleReconShape, TruncatesAndCountsWhatIsAdded) {
  auto const s = scale_recon_shape({101, 64, 33}, 1.1, 0.5, 1);
  EXPECT_EQ(s.shape, (shape{111, 32, 33}));  // 111.1
  EXPECT_EQ(s.added, (shape{10, -32, 0}));
  EXPECT_EQ(scale_recon_shape({7, 8, 9}).added, (shape{0, 0, 0}));
  EXPECT_EQ(scale_recon_shape({3, 3, 3}, 1.3, 0.99, 0.34).shape, (shape{3, 2, 1}));
}

TEST(ScaleReconShape, BadInput) {
  for (double const bad : {0.0, -1.0, static_cast<double>(NAN), static_cast<double>(INFINITY), 0.1, 1e12}) {
    EXPECT_THROW(scale_recon_shape({9, 9, 9}, bad), parameter_error) << bad;
    EXPECT_THROW(scale_recon_shape({9, 9, 9}, 1, bad), parameter_error) << bad;
    EXPECT_THROW(scale_recon_shape({9, 9, 9}, 1, 1, bad), parameter_error) << bad;
  }
  try {
    scale_recon_shape({9, 8, 7}, 1, 0.1);
    ADD_FAILURE() << "nothing was thrown";
  } catch (parameter_error const& e) {
    EXPECT_STREQ(e.what(), "scale_recon_shape: axis 1 of (9, 8, 7) times 0.1 is 0, expected 1 to 2147483647");
  }
}

}  // namespace
