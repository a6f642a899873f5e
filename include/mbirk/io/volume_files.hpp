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

/// A volume (rows, cols, slices) as NRRD, written slab by slab: float32, columns fastest, axes (x, y, z). The file
/// appears under its name only when it is complete.
class nrrd_output {
 public:
  /// @throws io_error
  nrrd_output(std::filesystem::path const& path, std::array<index_t, 3> const& shape, voxel_grid const& grid)
      : file_(path) {
    auto const text = [](double x) { return detail::exact_text(x); };
    file_.write("NRRD0004\ntype: float\ndimension: 3\nspace: left-posterior-superior\nsizes: " +
                std::to_string(shape[1]) + ' ' + std::to_string(shape[0]) + ' ' + std::to_string(shape[2]) +
                "\nspace directions: (" + text(grid.dx) + ",0,0) (0," + text(grid.dy) + ",0) (0,0," + text(grid.dz) +
                ")\nkinds: domain domain domain\nendian: little\nencoding: raw\n" + "space origin: (" +
                text(grid.origin[0]) + ',' + text(grid.origin[1]) + ',' + text(grid.origin[2]) + ")\n\n");
  }
  /// Writes the next slices. @throws io_error
  void add(view<float const, 3> slab) {
    for (index_t k = 0; k < slab.extent(2); ++k) {
      detail::gather_slice(slab, k, slice_);
      file_.write(slice_.data(), slice_.size() * sizeof(float));
    }
  }
  void commit() { file_.commit(); }

 private:
  output_file file_;
  std::vector<float> slice_;
};

/// Writes a whole volume. @throws io_error
inline void write_nrrd(std::filesystem::path const& path, view<float const, 3> volume, voxel_grid const& grid) {
  nrrd_output file(path, volume.extents(), grid);
  file.add(volume);
  file.commit();
}

/// A volume (rows, cols, slices) as MRC, written slab by slab: mode 2 (float32), sections are slices. Lengths are taken
/// as nanometres, because the format counts in Angstrom. The file appears under its name only when it is complete.
class mrc_output {
 public:
  /// @throws io_error, also when a size does not fit into the format's 32 bits
  mrc_output(std::filesystem::path const& path, std::array<index_t, 3> const& shape, voxel_grid const& grid)
      : file_(path) {
    for (auto const n : shape)
      require<io_error>(n <= std::numeric_limits<std::int32_t>::max(),
                        [&] { return path.string() + ": MRC files have at most 2^31 - 1 voxels along an axis"; });
    index_t const sizes[] = {shape[1], shape[0], shape[2]};
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
    integer(28, 20140);
    std::memcpy(header_.data() + 208, "MAP ", 4);
    header_[212] = header_[213] = 0x44;
    file_.write(header_.data(), header_.size());
  }
  /// Writes the next slices. @throws io_error
  void add(view<float const, 3> slab) {
    for (index_t k = 0; k < slab.extent(2); ++k) {
      detail::gather_slice(slab, k, slice_);
      for (float const value : slice_) {
        double const x = static_cast<double>(value);
        least_ = std::min(least_, x);
        most_ = std::max(most_, x);
        sum_ += x;
        squares_ += x * x;
      }
      count_ += static_cast<double>(slice_.size());
      file_.write(slice_.data(), slice_.size() * sizeof(float));
    }
  }
  /// Completes the header by the statistics of the voxels. @throws io_error
  void commit() {
    double const count = std::max(1.0, count_), mean = sum_ / count;
    real(20, count_ > 0 ? least_ : 0);
    real(21, count_ > 0 ? most_ : 0);
    real(22, mean);
    real(55, std::sqrt(std::max(0.0, squares_ / count - mean * mean)));
    file_.write_at(0, header_.data(), header_.size());
    file_.commit();
  }

 private:
  /// Words of the header are numbered from 1, as in the format's description.
  void integer(int at, index_t value) {
    auto const word = static_cast<std::int32_t>(value);
    std::memcpy(header_.data() + 4 * (at - 1), &word, 4);
  }
  void real(int at, double value) {
    auto const word = static_cast<float>(value);
    std::memcpy(header_.data() + 4 * (at - 1), &word, 4);
  }

  output_file file_;
  std::array<char, 1024> header_{};
  std::vector<float> slice_;
  double least_ = std::numeric_limits<double>::infinity(), most_ = -least_, sum_ = 0, squares_ = 0, count_ = 0;
};

/// Writes a whole volume. @throws io_error, also when a size does not fit into the format's 32 bits
inline void write_mrc(std::filesystem::path const& path, view<float const, 3> volume, voxel_grid const& grid) {
  mrc_output file(path, volume.extents(), grid);
  file.add(volume);
  file.commit();
}

}  // namespace mbirk
