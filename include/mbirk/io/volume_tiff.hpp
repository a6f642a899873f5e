// Volumes as TIFF stacks: a page for each slice. Requires libtiff 4.5 or later.
#pragma once

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
#include "mbirk/io/volume_files.hpp"

namespace mbirk {

/// Writes pages of (rows, cols): float32, or uint16 of a window whose lower end is 0 and whose upper end is 65535.
/// Files beyond 4 GiB are BigTIFF. ImageJ shows pixel size and depth from the description. The file appears under its
/// name only when it is complete.
/// @throws io_error; parameter_error unless window[0] < window[1]
inline void write_tiff(std::filesystem::path const& path, view<float const, 3> volume, voxel_grid const& grid,
                       std::optional<std::array<double, 2>> window = {}) {
  require(!window || (*window)[0] < (*window)[1],
          [] { return "write_tiff: the window is empty, expected low < high"; });
  auto const [rows, cols, slices] = volume.extents();
  { output_file const probe(path); }  // fails with the system's reason where nothing can be written
  std::filesystem::path temporary;
  std::FILE* const reserved = detail::open_temporary(path, "wbx", temporary);
  if (!reserved) detail::scan_fail(path.string(), "cannot be written");
  std::fclose(reserved);
  struct remover {
    std::filesystem::path const& name;
    ~remover() {
      std::error_code ignored;
      if (!name.empty()) std::filesystem::remove(name, ignored);
    }
  } const guard{temporary};
  std::string message;
  auto const keep = [](TIFF*, void* to, char const*, char const* format, va_list list) {
    char text[200];
    std::vsnprintf(text, sizeof text, format, list);
    if (auto& kept = *static_cast<std::string*>(to); kept.empty()) kept = text;
    return 1;
  };
  std::unique_ptr<TIFFOpenOptions, decltype(&TIFFOpenOptionsFree)> const options(TIFFOpenOptionsAlloc(),
                                                                                &TIFFOpenOptionsFree);
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), keep, &message);
  double const bytes = static_cast<double>(rows) * static_cast<double>(cols) * static_cast<double>(slices) * 4;
  std::unique_ptr<TIFF, decltype(&TIFFClose)> file(
      TIFFOpenExt(temporary.string().c_str(), bytes > 4e9 ? "w8" : "w", options.get()), &TIFFClose);
  auto const check = [&](bool ok) {
    if (!ok || !message.empty())
      detail::scan_fail(path.string(), "cannot be written" + (message.empty() ? "" : ": " + message));
  };
  check(static_cast<bool>(file));
  std::vector<float> slice;
  std::vector<std::uint16_t> scaled(static_cast<std::size_t>(cols));
  for (index_t k = 0; k < slices; ++k) {
    TIFF* const t = file.get();
    TIFFSetField(t, TIFFTAG_IMAGEWIDTH, static_cast<std::uint32_t>(cols));
    TIFFSetField(t, TIFFTAG_IMAGELENGTH, static_cast<std::uint32_t>(rows));
    TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, window ? 16 : 32);
    TIFFSetField(t, TIFFTAG_SAMPLEFORMAT, window ? SAMPLEFORMAT_UINT : SAMPLEFORMAT_IEEEFP);
    TIFFSetField(t, TIFFTAG_SAMPLESPERPIXEL, 1);
    TIFFSetField(t, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(t, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(t, TIFFTAG_ROWSPERSTRIP, static_cast<std::uint32_t>(rows));
    TIFFSetField(t, TIFFTAG_RESOLUTIONUNIT, RESUNIT_NONE);
    TIFFSetField(t, TIFFTAG_XRESOLUTION, 1 / grid.dx);
    TIFFSetField(t, TIFFTAG_YRESOLUTION, 1 / grid.dy);
    if (k == 0) {
      std::string description = "ImageJ=1.53\nimages=" + std::to_string(slices) + "\nslices=" + std::to_string(slices) +
                                "\nspacing=" + detail::exact_text(grid.dz) + "\nxorigin=" +
                                detail::exact_text(-grid.origin[0] / grid.dx) + "\nyorigin=" +
                                detail::exact_text(-grid.origin[1] / grid.dy) + "\nzorigin=" +
                                detail::exact_text(-grid.origin[2] / grid.dz) + "\n";
      if (window)
        description += "c0=" + detail::exact_text((*window)[0]) + "\nc1=" +
                       detail::exact_text(((*window)[1] - (*window)[0]) / 65535) + "\n";
      TIFFSetField(t, TIFFTAG_IMAGEDESCRIPTION, description.c_str());
    }
    detail::gather_slice(volume, k, slice);
    for (index_t i = 0; i < rows; ++i) {
      float* const line = slice.data() + i * cols;
      if (window) {
        for (index_t j = 0; j < cols; ++j) {
          double const x = (static_cast<double>(line[j]) - (*window)[0]) / ((*window)[1] - (*window)[0]);
          scaled[static_cast<std::size_t>(j)] =
              static_cast<std::uint16_t>(std::lround(std::clamp(x, 0.0, 1.0) * 65535));
        }
        check(TIFFWriteScanline(t, scaled.data(), static_cast<std::uint32_t>(i), 0) == 1);
      } else {
        check(TIFFWriteScanline(t, line, static_cast<std::uint32_t>(i), 0) == 1);
      }
    }
    check(TIFFWriteDirectory(t) == 1);
  }
  file.reset();
  check(true);
  std::error_code code;
  std::filesystem::rename(temporary, path, code);
  if (code) detail::scan_fail(path.string(), "cannot be written: " + code.message());
  temporary.clear();
}

}  // namespace mbirk
