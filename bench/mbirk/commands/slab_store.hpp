// The slices of an iterative reconstruction in slabs between two visits: in a file that has a name only once it is
// saved, in which a visit never overwrites the slices that a saved state needs.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "input/checkpoint_file.hpp"
#include "mbirk/core/view.hpp"
#include "mbirk/io/output_file.hpp"

namespace mbirk::program {

/// The file has a slot for each slab and one more. All members throw io_error, copy() also interrupted.
class slab_store {
 public:
  /// @param path    name of the file once it is saved
  /// @param slices  of every slab but the last
  slab_store(std::string path, std::array<index_t, 3> const& recon_shape, index_t slices);
  ~slab_store();
  slab_store(slab_store const&) = delete;
  slab_store& operator=(slab_store const&) = delete;

  /// Slices of the slab that begins with slice `first`.
  void read(index_t first, view<float, 3> to);
  void write(index_t first, view<float const, 3> from);

  /// Compares the line integrals of the slab that begins with slice `first` with those that it had when they were
  /// first read. @throws io_error if they are others
  void check_data(index_t first, std::string const& sum, std::string const& resumed);

  /// The slices as they are now belong to a state: they are kept until the next call.
  void keep() { kept_ = now_; }
  /// Where the slices are that were kept.
  std::vector<slab_place> const& kept() const noexcept { return kept_; }
  /// Writes everything to the disk, under its name.
  void save();

  /// Copies the slices of a state from the file `from`, and keeps them. Checksums are compared.
  void copy(std::string const& from, saved_slabs const& saved);

 private:
  index_t slab_bytes(std::size_t slab) const;
  index_t offset(index_t slot) const { return slot * slot_bytes_; }
  void write_at(index_t offset, void const* data, std::size_t bytes);
  void read_at(index_t offset, void* data, std::size_t bytes);
  /// Calls pread or pwrite until all bytes are done.
  template <class Call, class Byte>
  void transfer(Call call, index_t offset, Byte* data, std::size_t bytes, char const* failure);
  [[noreturn]] void fail(char const* what) const;

  std::string path_;
  index_t slices_, all_slices_, pixels_, slot_bytes_;
  std::vector<slab_place> now_, kept_;
  std::optional<output_file> unnamed_;  ///< until it is saved
  int descriptor_ = -1;                 ///< since then
};

}  // namespace mbirk::program
