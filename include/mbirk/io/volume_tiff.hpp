// Volumes as TIFF stacks: a page for each slice. Requires libtiff 4.5 or later.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "mbirk/io/scan_tiff.hpp"
#include "mbirk/io/temporary_file.hpp"
#include "mbirk/io/volume_files.hpp"

namespace mbirk {

/// A volume (rows, cols, slices) as a TIFF stack, written slab by slab: pages of (rows, cols), float32, or uint16 of a
/// window whose lower end is 0 and whose upper end is 65535. Files beyond 4 GiB are BigTIFF. ImageJ shows pixel size
/// and depth from the description. The file appears under its name only when it is complete.
class tiff_output {
 public:
  /// @throws io_error; parameter_error unless window[0] < window[1]
  tiff_output(std::filesystem::path const& path, std::array<index_t, 3> const& shape, voxel_grid const& grid,
              std::optional<std::array<double, 2>> window = {})
      : path_(path.string()), shape_(shape), grid_(grid), window_(window), target_(path, durability::synced) {
    require(!window || (*window)[0] < (*window)[1],
            [] { return "write_tiff: the window is empty, expected low < high"; });
    require_written(target_.error());
    auto const keep = [](TIFF*, void* to, char const*, char const* format, va_list list) {
      char text[200];
      std::vsnprintf(text, sizeof text, format, list);
      if (auto& kept = *static_cast<std::string*>(to); kept.empty()) kept = text;
      return 1;
    };
    std::unique_ptr<TIFFOpenOptions, decltype(&TIFFOpenOptionsFree)> const options(TIFFOpenOptionsAlloc(),
                                                                                  &TIFFOpenOptionsFree);
    TIFFOpenOptionsSetErrorHandlerExtR(options.get(), keep, &message_);
    double const bytes =
        static_cast<double>(shape[0]) * static_cast<double>(shape[1]) * static_cast<double>(shape[2]) * 4;
    int const own = ::fcntl(::fileno(target_.stream()), F_DUPFD_CLOEXEC, 0);  // libtiff closes it
    file_.reset(TIFFFdOpenExt(own, path_.c_str(), bytes > 4e9 ? "w8" : "w", options.get()));
    if (!file_) ::close(own);
    check(static_cast<bool>(file_));
  }
  tiff_output(tiff_output const&) = delete;  // libtiff keeps the address of the message
  tiff_output& operator=(tiff_output const&) = delete;

  /// Writes the next slices. @throws io_error
  void add(view<float const, 3> slab) {
    for (index_t k = 0; k < slab.extent(2); ++k) {
      detail::gather_slice(slab, k, slice_);
      describe_page();
      for (index_t i = 0; i < shape_[0]; ++i) write_line(i);
      check(TIFFWriteDirectory(file_.get()) == 1);
    }
  }
  void commit() {
    file_.reset();
    check(true);
    require_written(target_.commit());
  }

 private:
  void require_written(std::error_code code) const {
    if (code) detail::scan_fail(path_, "cannot be written: " + code.message());
  }
  void check(bool ok) const {
    if (!ok || !message_.empty())
      detail::scan_fail(path_, "cannot be written" + (message_.empty() ? "" : ": " + message_));
  }
  void describe_page() {
    TIFF* const t = file_.get();
    TIFFSetField(t, TIFFTAG_IMAGEWIDTH, static_cast<std::uint32_t>(shape_[1]));
    TIFFSetField(t, TIFFTAG_IMAGELENGTH, static_cast<std::uint32_t>(shape_[0]));
    TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, window_ ? 16 : 32);
    TIFFSetField(t, TIFFTAG_SAMPLEFORMAT, window_ ? SAMPLEFORMAT_UINT : SAMPLEFORMAT_IEEEFP);
    TIFFSetField(t, TIFFTAG_SAMPLESPERPIXEL, 1);
    TIFFSetField(t, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(t, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(t, TIFFTAG_ROWSPERSTRIP, static_cast<std::uint32_t>(shape_[0]));
    TIFFSetField(t, TIFFTAG_RESOLUTIONUNIT, RESUNIT_NONE);
    TIFFSetField(t, TIFFTAG_XRESOLUTION, 1 / grid_.dx);
    TIFFSetField(t, TIFFTAG_YRESOLUTION, 1 / grid_.dy);
    if (described_) return;
    described_ = true;
    auto const slices = std::to_string(shape_[2]);
    std::string description = "ImageJ=1.53\nimages=" + slices + "\nslices=" + slices +
                              "\nspacing=" + detail::exact_text(grid_.dz) +
                              "\nxorigin=" + detail::exact_text(-grid_.origin[0] / grid_.dx) +
                              "\nyorigin=" + detail::exact_text(-grid_.origin[1] / grid_.dy) +
                              "\nzorigin=" + detail::exact_text(-grid_.origin[2] / grid_.dz) + "\n";
    if (window_)
      description += "c0=" + detail::exact_text((*window_)[0]) +
                     "\nc1=" + detail::exact_text(((*window_)[1] - (*window_)[0]) / 65535) + "\n";
    TIFFSetField(t, TIFFTAG_IMAGEDESCRIPTION, description.c_str());
  }
  void write_line(index_t row) {
    float* const line = slice_.data() + row * shape_[1];
    auto const at = static_cast<std::uint32_t>(row);
    if (!window_) return check(TIFFWriteScanline(file_.get(), line, at, 0) == 1);
    scaled_.resize(static_cast<std::size_t>(shape_[1]));
    for (index_t j = 0; j < shape_[1]; ++j) {
      double const x = (static_cast<double>(line[j]) - (*window_)[0]) / ((*window_)[1] - (*window_)[0]);
      scaled_[static_cast<std::size_t>(j)] = static_cast<std::uint16_t>(std::lround(std::clamp(x, 0.0, 1.0) * 65535));
    }
    check(TIFFWriteScanline(file_.get(), scaled_.data(), at, 0) == 1);
  }

  std::string path_, message_;
  std::array<index_t, 3> shape_;
  voxel_grid grid_;
  std::optional<std::array<double, 2>> window_;
  detail::temporary_file target_;
  std::unique_ptr<TIFF, decltype(&TIFFClose)> file_{nullptr, &TIFFClose};
  std::vector<float> slice_;
  std::vector<std::uint16_t> scaled_;
  bool described_ = false;
};

/// Writes a whole volume. @throws io_error; parameter_error unless window[0] < window[1]
inline void write_tiff(std::filesystem::path const& path, view<float const, 3> volume, voxel_grid const& grid,
                       std::optional<std::array<double, 2>> window = {}) {
  tiff_output file(path, volume.extents(), grid, window);
  file.add(volume);
  file.commit();
}

}  // namespace mbirk
