// Records as JSON, and checkpoints that include the parameters of the reconstruction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "input/json_field.hpp"
#include "machine/memory.hpp"
#include "mbirk/distributed/slab_arrays.hpp"
#include "mbirk/io/checkpoint.hpp"
#include "mbirk/recon/options.hpp"

namespace mbirk::program {

/// Checksums of arrays, by name.
using data_sums = std::map<std::string, std::string>;
/// Checksum of an array.
std::string data_sum(void const* data, std::size_t bytes);
std::string sum_text(mbirk::detail::crc32 const& sum);
/// Checksum of a sinogram of which the rows from `first` on are given. Those of parts add up, modulo 2^64.
std::uint64_t rows_sum(view<float const, 3> const& rows, index_t first = 0);
/// The sums of the single rows, continued from those of the views before; and the sum of them all.
std::vector<std::uint32_t> sums_of_rows(view<float const, 3> const& rows, std::vector<std::uint32_t> before);
std::uint64_t rows_sum(std::vector<std::uint32_t> const& rows, index_t first = 0);
std::string sum_text(std::uint64_t sum);

/// The record as JSON with MBIRJAX's names. Non-finite numbers become null.
json record_json(recon_log const& record);

/// @param parameters  parameters of the reconstruction; read_checkpoint compares them.
/// @param sums        checksums of the data that are reconstructed
/// @throws io_error; the file is either complete or absent
void write_checkpoint(std::filesystem::path const& path, recon_state const& state, json const& parameters,
                      data_sums const& sums = {});

/// A state, and the checksums of the data that it was made from; none if an older mbirk wrote it.
struct saved_state {
  recon_state state;
  data_sums sums;
};
/// Parameters, shapes and memory are compared before the arrays are read.
/// @throws io_error with the file and the first parameter that differs; allocation_error
saved_state read_checkpoint(std::filesystem::path const& path, json const& parameters,
                            memory_budget const& memory = {});

/// Where the slices of a slab are in the file that has those of all, and checksums of the slab.
struct slab_place {
  index_t slot = 0;       ///< the file has slots of the size of the largest slab
  std::string slices;     ///< checksum of the slices
  std::string data = {};  ///< of the line integrals; empty while they were not read
};
/// A state of a reconstruction in slabs, and what belongs to it.
struct saved_slabs {
  distributed::slabs_state state;
  std::vector<slab_place> places;
  data_sums sums = {};  ///< of what all slabs share
};
/// @throws io_error; the file is either complete or absent
void write_slabs_checkpoint(std::filesystem::path const& path, saved_slabs const& saved, json const& parameters);
/// Parameters are compared, and every slab has a slot of its own and its checksums.
/// @throws io_error with the file and the first parameter that differs
saved_slabs read_slabs_checkpoint(std::filesystem::path const& path, json const& parameters);

/// @throws io_error with the file and the first array that is another one than when the state was saved
void require_same_data(std::filesystem::path const& path, data_sums const& there, data_sums const& here);

}  // namespace mbirk::program
