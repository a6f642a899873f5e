// PNG: libpng reads back the written pixels; the three slices lie in their places, with one window.
#include <gtest/gtest.h>

#include <cmath>

#include "io/scratch_folder.hpp"
#include "mbirk/io/png.hpp"

namespace mbirk {
namespace {

struct Png : testing::Test {
  test::scratch_folder folder;
  std::filesystem::path const file = folder / "a.png";

  static grey_image read(std::filesystem::path const& path) {
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    EXPECT_TRUE(png_image_begin_read_from_file(&image, path.c_str())) << image.message;
    EXPECT_EQ(image.format, PNG_FORMAT_GRAY);
    grey_image picture{index_t{image.width}, index_t{image.height}, std::vector<std::uint8_t>(PNG_IMAGE_SIZE(image))};
    EXPECT_TRUE(png_image_finish_read(&image, nullptr, picture.pixels.data(), 0, nullptr)) << image.message;
    return picture;
  }
  void expect_error(grey_image const& picture, std::string const& part) const {
    try {
      write_png(file, picture);
      ADD_FAILURE() << "nothing was thrown";
    } catch (io_error const& e) {
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
  }
};

TEST_F(Png, WhatIsWrittenIsRead) {
  grey_image picture{37, 11, {}};
  for (int i = 0; i < 37 * 11; ++i) picture.pixels.push_back(static_cast<std::uint8_t>(i * 37 % 256));
  write_png(file, picture);
  auto const back = read(file);
  EXPECT_EQ(back.width, 37);
  EXPECT_EQ(back.height, 11);
  EXPECT_EQ(back.pixels, picture.pixels);
  write_png(file, {1, 1, {200}});  // replaces
  EXPECT_EQ(read(file).pixels, std::vector<std::uint8_t>{200});
  EXPECT_EQ(test::file_count(folder.path()), 1);
}

TEST_F(Png, ImagesThatAreNone) {
  expect_error({0, 0, {}}, "a.png: cannot be written: the image has 0 x 0 pixels, expected 1 to 1048576 each way");
  expect_error({(index_t{1} << 20) + 1, 1, {}}, "expected 1 to 1048576");
  expect_error({2, 2, {1, 2, 3}}, "the image has 3 values, expected width x height");
  EXPECT_EQ(test::file_count(folder.path()), 0);
}

TEST_F(Png, UnwritableOutputLeavesNothing) {
  test::write_text(folder / "plain", "text");
  EXPECT_THROW(write_png(folder / "plain" / "x.png", {1, 1, {0}}), io_error);
  EXPECT_EQ(test::file_count(folder.path()), 1);
}

/// Layout of the slices: rows x cols at the middle slice, slices x cols at the middle row, slices x rows at the middle
/// column.
TEST(ThreeSlices, PositionsAndWindow) {
  index_t const rows = 7, cols = 10, slices = 5, gap = 4;
  std::vector<float> data;
  for (int i = 0; i < 7 * 10 * 5; ++i) data.push_back(std::sin(static_cast<float>(i * i % 1000)));
  view<float const, 3> const volume(data.data(), {rows, cols, slices});

  std::vector<float> shown;
  for (index_t i = 0; i < rows; ++i)
    for (index_t j = 0; j < cols; ++j) shown.push_back(volume(i, j, 2));
  for (index_t k = 0; k < slices; ++k) {
    for (index_t j = 0; j < cols; ++j) shown.push_back(volume(3, j, k));
    for (index_t i = 0; i < rows; ++i) shown.push_back(volume(i, 5, k));
  }
  std::sort(shown.begin(), shown.end());
  double const low = static_cast<double>(shown[(shown.size() - 1) / 100]),
               high = static_cast<double>(shown[(shown.size() - 1) * 99 / 100]);
  auto const level = [&](float x) {
    return std::lround(255 * std::min(1.0, std::max(0.0, (static_cast<double>(x) - low) / (high - low))));
  };

  auto const picture = three_slices(volume);
  ASSERT_EQ(picture.width, cols + gap + cols + gap + rows);
  ASSERT_EQ(picture.height, rows);
  auto const at = [&](index_t down, index_t across) {
    return long{picture.pixels[static_cast<std::size_t>(down * picture.width + across)]};
  };
  for (index_t down = 0; down < rows; ++down)
    for (index_t across = 0; across < picture.width; ++across) {
      long expected = 0;
      if (across < cols) expected = level(volume(down, across, 2));
      else if (auto const j = across - cols - gap; j >= 0 && j < cols && down < slices)
        expected = level(volume(3, j, down));
      else if (auto const i = across - 2 * (cols + gap); i >= 0 && down < slices) expected = level(volume(i, 5, down));
      ASSERT_EQ(at(down, across), expected) << down << ' ' << across;
    }
}

TEST(ThreeSlices, SpecialVolumes) {
  EXPECT_TRUE(three_slices(view<float const, 3>(nullptr, {4, 0, 4})).pixels.empty());
  std::vector<float> data(27, 2.5f);
  view<float const, 3> const volume(data.data(), {3, 3, 3});
  EXPECT_EQ(three_slices(volume).pixels, std::vector<std::uint8_t>(17 * 3, 0));  // constant: no window
  std::fill(data.begin(), data.end(), std::nanf(""));
  EXPECT_EQ(three_slices(volume).pixels, std::vector<std::uint8_t>(17 * 3, 0));
  for (std::size_t i = 0; i < 27; ++i) data[i] = static_cast<float>(i);
  data[13] = HUGE_VALF;  // the centre, in all three slices; it must not enter the window
  auto const picture = three_slices(volume);
  EXPECT_EQ(picture.pixels[17 + 1], 0);
  // Finite values of the three slices: 1, 4, 7, ... of slice 1, 9 ... 17 of row 1, 3 4 5 12 14 21 22 23 of column 1: 24
  // values, percentiles 1 and 25.
  EXPECT_EQ(picture.pixels[2], static_cast<int>(255.0 * (7 - 1) / (23 - 1) + 0.5));
  // A window that is given: 1, 4 and 7 of the first row.
  auto const chosen = three_slices(volume, {{2, 6}});
  EXPECT_EQ((std::vector<std::uint8_t>{chosen.pixels.begin(), chosen.pixels.begin() + 3}),
            (std::vector<std::uint8_t>{0, 128, 255}));
}

}  // namespace
}  // namespace mbirk
