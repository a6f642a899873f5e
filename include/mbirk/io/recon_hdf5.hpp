// Reconstructions as HDF5 files, in the two layouts that MBIRJAX reads and writes: one data set `recon` with the record
// as its attributes. Requires the HDF5 C library.
#pragma once

#include <algorithm>
#include <filesystem>
#include <vector>

#include "mbirk/io/hdf5.hpp"

namespace mbirk {

/// A reconstruction from a file: shape (rows, cols, slices), and its record.
struct recon_file {
  npy_array<float> recon;
  text_record record;
};

namespace detail {

/// Number of slices of axis 0 in a block of about 16 MiB.
inline index_t hdf5_block(index_t elements_each) {
  return std::max<index_t>(1, (index_t{1} << 22) / std::max<index_t>(1, elements_each));
}

inline void hdf5_write_record(hdf5_output& file, text_record const& record) {
  for (auto const& [key, text] : record) file.attribute("recon", key, text);
}

inline std::vector<index_t> hdf5_recon_shape(hdf5_file const& file, char const* axes) {
  auto const shape = file.shape("recon");
  if (shape.size() != 3) hdf5_fail(file.path(), "data set recon has shape " + shape_text(shape) + ", expected " + axes);
  return shape;
}

}  // namespace detail

/// Writes data set `recon` of shape (rows, cols, slices), in the memory order; the record becomes its attributes.
/// @param deflate  level of compression, 1 to 9; 0: none.
/// @throws shape_error when the slices are not contiguous; io_error. The file appears under its name only when it is
///         complete.
inline void save_recon_hdf5(std::filesystem::path const& path, view<float const, 3> recon,
                            text_record const& record = {}, int deflate = 0) {
  require_shape(recon, recon.extents(), "save_recon_hdf5", "recon", "(rows, cols, slices)");
  index_t const rows = recon.extent(0), cols = recon.extent(1), slices = recon.extent(2),
                step = detail::hdf5_block(cols * slices);
  hdf5_output file(path);
  file.create<float>("recon", {rows, cols, slices}, deflate);
  std::vector<float> block;
  for (index_t first = 0; first < rows; first += step) {
    block.clear();
    index_t const count = std::min(step, rows - first);
    for (index_t i = first; i < first + count; ++i)
      for (index_t j = 0; j < cols && slices > 0; ++j)
        block.insert(block.end(), &recon(i, j, 0), &recon(i, j, 0) + slices);
    file.write("recon", first, count, block.data());
  }
  detail::hdf5_write_record(file, record);
  file.commit();
}

/// Reads a file written by save_recon_hdf5.
/// @throws io_error, allocation_error
inline recon_file load_recon_hdf5(std::filesystem::path const& path) {
  hdf5_file const file(path);
  detail::hdf5_recon_shape(file, "(rows, cols, slices)");
  return {file.read<float>("recon"), file.attributes("recon")};
}

/// Writes data set `recon` with reversed axes: shape (slices, cols, rows), right-handed, the usual order of other
/// programs.
/// @throws shape_error when the slices are not contiguous; io_error. The file appears under its name only when it is
///         complete.
inline void export_recon_hdf5(std::filesystem::path const& path, view<float const, 3> recon,
                              text_record const& record = {}) {
  require_shape(recon, recon.extents(), "export_recon_hdf5", "recon", "(rows, cols, slices)");
  index_t const rows = recon.extent(0), cols = recon.extent(1), slices = recon.extent(2),
                step = detail::hdf5_block(rows * cols);
  hdf5_output file(path);
  file.create<float>("recon", {slices, cols, rows});
  std::vector<float> block;
  for (index_t first = 0; first < slices; first += step) {
    index_t const count = std::min(step, slices - first);
    block.resize(static_cast<std::size_t>(count * rows * cols));
    for (index_t i = 0; i < rows; ++i)
      for (index_t j = 0; j < cols; ++j)
        for (index_t k = 0; k < count; ++k)
          block[static_cast<std::size_t>((k * cols + j) * rows + i)] = recon(i, j, first + k);
    file.write("recon", first, count, block.data());
  }
  detail::hdf5_write_record(file, record);
  file.commit();
}

/// Reads a file written by export_recon_hdf5, back to (rows, cols, slices).
/// @throws io_error, allocation_error
inline recon_file import_recon_hdf5(std::filesystem::path const& path) {
  hdf5_file const file(path);
  auto const shape = detail::hdf5_recon_shape(file, "(slices, cols, rows)");
  index_t const slices = shape[0], cols = shape[1], rows = shape[2], step = detail::hdf5_block(rows * cols);
  recon_file result{{{rows, cols, slices}, detail::hdf5_buffer<float>(path, "a reconstruction", shape)},
                    file.attributes("recon")};
  std::vector<float> block(static_cast<std::size_t>(std::min(step, slices) * rows * cols));
  for (index_t first = 0; first < slices; first += step) {
    index_t const count = std::min(step, slices - first);
    file.read("recon", first, count, block.data());
    for (index_t i = 0; i < rows; ++i)
      for (index_t j = 0; j < cols; ++j)
        for (index_t k = 0; k < count; ++k)
          result.recon.data[static_cast<std::size_t>((i * cols + j) * slices + first + k)] =
              block[static_cast<std::size_t>((k * cols + j) * rows + i)];
  }
  return result;
}

}  // namespace mbirk
