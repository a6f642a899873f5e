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

/// The three middle slices of a volume: (rows, cols), (slices, cols), (slices, rows).
struct middle_slices {
  std::array<std::array<index_t, 2>, 3> shapes{};
  std::array<std::vector<float>, 3> values;

  explicit middle_slices(std::array<index_t, 3> const& volume)
      : shapes{{{volume[0], volume[1]}, {volume[2], volume[1]}, {volume[2], volume[0]}}} {
    for (std::size_t p = 0; p < 3; ++p) values[p].resize(static_cast<std::size_t>(shapes[p][0] * shapes[p][1]));
  }
  /// Takes what lies in rows [first, first + band.extent(0)).
  void take_rows(index_t first, view<float const, 3> band) {
    auto const [rows, cols] = shapes[0];
    index_t const slices = shapes[1][0];
    if (cols == 0 || slices == 0) return;
    auto const at = [](index_t line, index_t width, index_t n) { return static_cast<std::size_t>(line * width + n); };
    for (index_t i = 0; i < band.extent(0); ++i) {
      for (index_t j = 0; j < cols; ++j) values[0][at(first + i, cols, j)] = band(i, j, slices / 2);
      for (index_t k = 0; k < slices && first + i == rows / 2; ++k)
        for (index_t j = 0; j < cols; ++j) values[1][at(k, cols, j)] = band(i, j, k);
      for (index_t k = 0; k < slices; ++k) values[2][at(k, rows, first + i)] = band(i, cols / 2, k);
    }
  }
  /// Takes what lies in slices [first, first + slab.extent(2)).
  void take(index_t first, view<float const, 3> slab) {
    auto const [rows, cols] = shapes[0];
    index_t const slices = shapes[1][0];
    if (rows == 0 || cols == 0) return;
    auto const at = [](index_t line, index_t width, index_t n) { return static_cast<std::size_t>(line * width + n); };
    for (index_t k = 0; k < slab.extent(2); ++k) {
      for (index_t i = 0; i < rows && first + k == slices / 2; ++i)
        for (index_t j = 0; j < cols; ++j) values[0][at(i, cols, j)] = slab(i, j, k);
      for (index_t j = 0; j < cols; ++j) values[1][at(first + k, cols, j)] = slab(rows / 2, j, k);
      for (index_t i = 0; i < rows; ++i) values[2][at(first + k, rows, i)] = slab(i, cols / 2, k);
    }
  }
};

/// The middle slices side by side with a gap of 4 black pixels, aligned at the top: rows x cols, slices x cols,
/// slices x rows (down x across). They share one window, {black, white}, by default the 1st and the
/// 99th percentile of their values.
///
/// An empty volume gives an image without pixels.
inline grey_image three_slices(middle_slices const& middle, std::optional<std::array<double, 2>> levels = {}) {
  auto const [rows, cols] = middle.shapes[0];
  index_t const slices = middle.shapes[1][0], gap = 4;
  if (rows == 0 || cols == 0 || slices == 0) return {};
  std::vector<float> all;
  for (auto const& values : middle.values) all.insert(all.end(), values.begin(), values.end());
  auto const window = levels ? detail::grey_window((*levels)[0], (*levels)[1]) : detail::grey_window(std::move(all));
  grey_image picture{2 * (cols + gap) + rows, std::max(rows, slices), {}};
  picture.pixels.resize(static_cast<std::size_t>(picture.width * picture.height));
  for (std::size_t p = 0; p < 3; ++p) {
    auto const [height, width] = middle.shapes[p];
    for (index_t i = 0; i < height; ++i)
      for (index_t j = 0; j < width; ++j)
        picture.pixels[static_cast<std::size_t>(i * picture.width + static_cast<index_t>(p) * (cols + gap) + j)] =
            window(middle.values[p][static_cast<std::size_t>(i * width + j)]);
  }
  return picture;
}

/// The picture of a whole volume (rows, cols, slices).
inline grey_image three_slices(view<float const, 3> volume, std::optional<std::array<double, 2>> levels = {}) {
  middle_slices middle(volume.extents());
  middle.take(0, volume);
  return three_slices(middle, levels);
}

}  // namespace mbirk
