// 8-bit grey images, PNG files, and a preview of a volume. Requires libpng.
#pragma once

#include <png.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mbirk/core/finite.hpp"
#include "mbirk/core/view.hpp"
#include "mbirk/io/output_file.hpp"

namespace mbirk {

/// Image stored row by row from the top, 0 black to 255 white.
struct grey_image {
  index_t width = 0, height = 0;
  std::vector<std::uint8_t> pixels;
};

/// Writes a PNG file. The file appears under its name only when it is complete.
/// @throws io_error when it cannot be written, or when the sides are not 1 to 2^20 pixels long.
inline void write_png(std::filesystem::path const& path, grey_image const& picture) {
  index_t constexpr limit = index_t{1} << 20;
  auto const fail = [&](std::string const& what) {
    throw io_error(path.string() + ": cannot be written: " + what, source_location::current());
  };
  if (picture.width < 1 || picture.height < 1 || picture.width > limit || picture.height > limit)
    fail("the image has " + std::to_string(picture.width) + " x " + std::to_string(picture.height) +
         " pixels, expected 1 to " + std::to_string(limit) + " each way");
  if (static_cast<index_t>(picture.pixels.size()) != picture.width * picture.height)
    fail("the image has " + std::to_string(picture.pixels.size()) + " values, expected width x height");

  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.width);
  image.height = static_cast<png_uint_32>(picture.height);
  image.format = PNG_FORMAT_GRAY;
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(image);  // size of an uncompressed file
  std::vector<unsigned char> encoded(bytes);
  if (!png_image_write_to_memory(&image, encoded.data(), &bytes, 0, picture.pixels.data(), 0, nullptr))
    fail(image.message);
  output_file file(path);
  file.write(encoded.data(), bytes);
  file.commit();
}

namespace detail {

/// Maps a window of values to grey levels; non-finite values are black.
class grey_window {
 public:
  grey_window(double low, double high) noexcept : low_(low), high_(high) {}
  /// Window from the 1st to the 99th percentile of the finite values.
  explicit grey_window(std::vector<float> values) {
    std::erase_if(values, [](float x) { return !is_finite(x); });
    if (values.empty()) return;
    auto const order = [&](std::size_t percent) {
      auto const k = static_cast<std::ptrdiff_t>((values.size() - 1) * percent / 100);
      std::nth_element(values.begin(), values.begin() + k, values.end());
      return static_cast<double>(values[static_cast<std::size_t>(k)]);
    };
    low_ = order(1);
    high_ = order(99);
  }
  std::uint8_t operator()(float x) const noexcept {
    if (!is_finite(x)) return 0;
    if (high_ <= low_) return x > low_ ? 255 : 0;
    return static_cast<std::uint8_t>(255 * std::clamp((static_cast<double>(x) - low_) / (high_ - low_), 0.0, 1.0) +
                                     0.5);
  }

 private:
  double low_ = 0, high_ = 0;
};

}  // namespace detail

/// The three middle slices of a volume (rows, cols, slices), side by side with a gap of 4 black pixels, aligned at the
/// top: rows x cols, slices x cols, slices x rows (down x across). They share one window, {black, white}, by default
/// the 1st and the 99th percentile of their values.
///
/// An empty volume gives an image without pixels.
inline grey_image three_slices(view<float const, 3> volume, std::optional<std::array<double, 2>> levels = {}) {
  index_t const rows = volume.extent(0), cols = volume.extent(1), slices = volume.extent(2), gap = 4;
  if (volume.size() == 0) return {};
  auto const axial = [&](index_t down, index_t across) { return volume(down, across, slices / 2); };
  auto const coronal = [&](index_t down, index_t across) { return volume(rows / 2, across, down); };
  auto const sagittal = [&](index_t down, index_t across) { return volume(across, cols / 2, down); };
  auto const each = [&](auto const& visit) {  // picture, height, width, left edge
    visit(axial, rows, cols, index_t{0});
    visit(coronal, slices, cols, cols + gap);
    visit(sagittal, slices, rows, 2 * (cols + gap));
  };

  std::vector<float> values;
  each([&](auto const& value, index_t height, index_t width, index_t) {
    for (index_t i = 0; i < height; ++i)
      for (index_t j = 0; j < width; ++j) values.push_back(value(i, j));
  });
  auto const window = levels ? detail::grey_window((*levels)[0], (*levels)[1]) : detail::grey_window(std::move(values));
  grey_image picture{2 * (cols + gap) + rows, std::max(rows, slices), {}};
  picture.pixels.resize(static_cast<std::size_t>(picture.width * picture.height));
  each([&](auto const& value, index_t height, index_t width, index_t left) {
    for (index_t i = 0; i < height; ++i)
      for (index_t j = 0; j < width; ++j)
        picture.pixels[static_cast<std::size_t>(i * picture.width + left + j)] = window(value(i, j));
  });
  return picture;
}

}  // namespace mbirk
