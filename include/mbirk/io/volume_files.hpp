// Volumes for other programs: NRRD (3D Slicer, ITK) and MRC (IMOD, ChimeraX). C++ standard library only.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "mbirk/core/error.hpp"
#include "mbirk/core/view.hpp"
#include "mbirk/io/output_file.hpp"

namespace mbirk {

/// Where the voxels of a volume (rows, cols, slices) are: x grows with the column, y with the row, z with the slice.
struct voxel_grid {
  double dx = 1, dy = 1, dz = 1;                 ///< pitches
  std::array<double, 3> origin{};                ///< (x, y, z) of the middle of voxel (0, 0, 0)
};

/// Grid of a reconstruction whose middle is on the axis. @param z_offset  recon_slice_offset, 0 in parallel beam
inline voxel_grid centred_grid(std::array<index_t, 3> const& shape, double dx, double dy, double dz,
                               double z_offset = 0) {
  auto const first = [](index_t n, double pitch) { return -static_cast<double>(n - 1) / 2 * pitch; };
  return {dx, dy, dz, {first(shape[1], dx), first(shape[0], dy), first(shape[2], dz) + z_offset}};
}

namespace detail {

inline void write_header(output_file& file, std::string const& text) { file.write(text.data(), text.size()); }

/// One slice as (rows, cols), dense.
inline void gather_slice(view<float const, 3> volume, index_t slice, std::vector<float>& to) {
  to.resize(static_cast<std::size_t>(volume.extent(0) * volume.extent(1)));
  std::size_t at = 0;
  for (index_t i = 0; i < volume.extent(0); ++i)
    for (index_t j = 0; j < volume.extent(1); ++j) to[at++] = volume(i, j, slice);
}

/// Number with 17 significant digits, which read back as it was.
inline std::string exact_text(double x) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.17g", x);
  return buffer;
}

}  // namespace detail

/// Writes float32, columns fastest: axes (x, y, z). The file appears under its name only when it is complete.
/// @throws io_error
inline void write_nrrd(std::filesystem::path const& path, view<float const, 3> volume, voxel_grid const& grid) {
  auto const [rows, cols, slices] = volume.extents();
  auto const text = [](double x) { return detail::exact_text(x); };
  output_file file(path);
  detail::write_header(file, "NRRD0004\ntype: float\ndimension: 3\nspace: left-posterior-superior\nsizes: " +
                                 std::to_string(cols) + ' ' + std::to_string(rows) + ' ' + std::to_string(slices) +
                                 "\nspace directions: (" + text(grid.dx) + ",0,0) (0," + text(grid.dy) + ",0) (0,0," +
                                 text(grid.dz) + ")\nkinds: domain domain domain\nendian: little\nencoding: raw\n" +
                                 "space origin: (" + text(grid.origin[0]) + ',' + text(grid.origin[1]) + ',' +
                                 text(grid.origin[2]) + ")\n\n");
  std::vector<float> slice;
  for (index_t k = 0; k < slices; ++k) {
    detail::gather_slice(volume, k, slice);
    file.write(slice.data(), slice.size() * sizeof(float));
  }
  file.commit();
}

/// Writes mode 2 (float32), sections are slices. Lengths are taken as nanometres, because the format counts in
/// Angstrom. The file appears under its name only when it is complete.
/// @throws io_error, also when a size does not fit into the format's 32 bits
inline void write_mrc(std::filesystem::path const& path, view<float const, 3> volume, voxel_grid const& grid) {
  auto const [rows, cols, slices] = volume.extents();
  for (auto const n : {rows, cols, slices})
    require<io_error>(n <= std::numeric_limits<std::int32_t>::max(),
                      [&] { return path.string() + ": MRC files have at most 2^31 - 1 voxels along an axis"; });
  std::array<char, 1024> header{};
  auto const integer = [&](int at, index_t value) {
    auto const word = static_cast<std::int32_t>(value);
    std::memcpy(header.data() + 4 * (at - 1), &word, 4);
  };
  auto const real = [&](int at, double value) {
    auto const word = static_cast<float>(value);
    std::memcpy(header.data() + 4 * (at - 1), &word, 4);
  };
  double least = std::numeric_limits<double>::infinity(), most = -least, sum = 0, squares = 0;
  for (index_t i = 0; i < rows; ++i)
    for (index_t j = 0; j < cols; ++j)
      for (index_t k = 0; k < slices; ++k) {
        double const x = static_cast<double>(volume(i, j, k));
        least = std::min(least, x);
        most = std::max(most, x);
        sum += x;
        squares += x * x;
      }
  double const count =
      std::max(1.0, static_cast<double>(rows) * static_cast<double>(cols) * static_cast<double>(slices));
  index_t const sizes[] = {cols, rows, slices};
  double const pitches[] = {grid.dx, grid.dy, grid.dz};
  for (int d = 0; d < 3; ++d) {
    integer(1 + d, sizes[d]);
    integer(8 + d, sizes[d]);
    real(11 + d, 10 * pitches[d] * static_cast<double>(sizes[d]));
    real(14 + d, 90);
    integer(17 + d, d + 1);
    real(50 + d, 10 * grid.origin[static_cast<std::size_t>(d)]);
  }
  integer(4, 2);
  real(20, count > 1 ? least : 0);
  real(21, count > 1 ? most : 0);
  real(22, sum / count);
  integer(28, 20140);
  std::memcpy(header.data() + 208, "MAP ", 4);
  header[212] = header[213] = 0x44;
  real(55, std::sqrt(std::max(0.0, squares / count - sum / count * sum / count)));
  output_file file(path);
  file.write(header.data(), header.size());
  std::vector<float> slice;
  for (index_t k = 0; k < slices; ++k) {
    detail::gather_slice(volume, k, slice);
    file.write(slice.data(), slice.size() * sizeof(float));
  }
  file.commit();
}

}  // namespace mbirk
