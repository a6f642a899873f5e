// HDF5 files: data sets read and written in blocks, text attributes. Requires the HDF5 C library,
// which has global state and must be used by one thread at a time.
#pragma once

#include <hdf5.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "mbirk/core/view.hpp"
#include "mbirk/interop/view.hpp"
#include "mbirk/io/array_size.hpp"
#include "mbirk/io/hdf5_call.hpp"
#include "mbirk/io/hdf5_sink.hpp"
#include "mbirk/io/input_file.hpp"
#include "mbirk/io/npy.hpp"
#include "mbirk/io/printable.hpp"

namespace mbirk {

/// Named texts stored with an array: parameters, log, notes.
using text_record = std::vector<std::pair<std::string, std::string>>;

/// Whether a data set may lie in other files than the one that was opened: behind an external link, in external raw
/// files, or as a virtual data set.
enum class hdf5_links { inside, anywhere };

/// A data set lies in another file, which hdf5_links::inside refuses.
struct hdf5_link_error : io_error { using io_error::io_error; };

namespace detail {

[[noreturn]] inline void hdf5_refuse(std::filesystem::path const& path, std::string const& what) {
  throw hdf5_link_error(path.string() + ": " + what, source_location::current());
}
[[noreturn]] inline void hdf5_refuse_link(std::filesystem::path const& path, std::string const& name,
                                          std::string const& target) {
  hdf5_refuse(path, name + " is an external link to " + target + ", which is followed only if that is asked for");
}

}  // namespace detail

/// Input file. Data sets have names such as "/exchange/data"; integers and floating-point numbers of any size are
/// converted to the requested type.
///
/// @throws io_error from every member, with the file, the data set, the expected value, and the HDF5 library's reason.
class hdf5_file {
 public:
  /// @param links  inside: what lies in other files is refused, because a file from a stranger could name any other.
  explicit hdf5_file(std::filesystem::path path, hdf5_links links = hdf5_links::anywhere)
      : path_(std::move(path)), links_(links) {
    detail::require_file(path_);
    std::string const what = "cannot be read as HDF5";
    detail::hdf5_handle const access(detail::hdf5_call(path_, what, [] { return H5Pcreate(H5P_FILE_ACCESS); }),
                                     H5Pclose);
#if H5_VERSION_GE(1, 10, 7)
    // Measurement data is often on file systems without locks.
    detail::hdf5_call(path_, what, [&] { return H5Pset_file_locking(access.get(), true, true); });
#endif
    file_ = {
        detail::hdf5_call(path_, what, [&] { return H5Fopen(path_.string().c_str(), H5F_ACC_RDONLY, access.get()); }),
        H5Fclose};
    // Data set access properties are link access properties too.
    access_ = {detail::hdf5_call(path_, what, [] { return H5Pcreate(H5P_DATASET_ACCESS); }), H5Pclose};
    if (links_ == hdf5_links::inside)
      detail::hdf5_call(path_, what, [&] { return H5Pset_elink_cb(access_.get(), &refuse_link, refused_.get()); });
  }

  std::filesystem::path const& path() const noexcept { return path_; }
  hdf5_links links() const noexcept { return links_; }
  /// Identifier for calls of the HDF5 library; stays owned by this object.
  hid_t handle() const noexcept { return file_.get(); }

  /// Whether an object with this name exists.
  bool has(std::string const& name) const {
    for (auto end = name.find('/', 1);; end = name.find('/', end + 1)) {  // the library checks one level at a time
      auto const part = name.substr(0, end);
      auto const there = detail::hdf5_quietly([&] { return H5Lexists(file_.get(), part.c_str(), access_.get()); });
      require_inside(name);
      if (there <= 0) return false;
      if (end == name.npos) return true;
    }
  }

  /// Data set for calls of the HDF5 library.
  detail::hdf5_handle open(std::string const& name) const {
    if (!has(name)) detail::hdf5_fail(path_, "has no data set " + name);
    detail::hdf5_handle set(linked(name, name + " is not a data set",
                                   [&] { return H5Dopen2(file_.get(), name.c_str(), access_.get()); }),
                            H5Dclose);
    if (links_ == hdf5_links::inside) require_own_data(set, name);
    return set;
  }
  std::vector<index_t> shape(std::string const& name) const { return shape_of(open(name), name); }
  /// Element type of a data set, such as "uint16" or "float32".
  std::string type(std::string const& name) const {
    auto const set = open(name);
    detail::hdf5_handle const type(detail::hdf5_call(path_, unreadable(name), [&] { return H5Dget_type(set.get()); }),
                                   H5Tclose);
    return detail::hdf5_type_name(type.get());
  }

  /// Reads [first, first + count) of axis 0 as T (float, double, uint16, int64). For floating-point T, values are
  /// rounded and overflow to infinity. For integer T, the fraction is truncated and out-of-range values are clamped.
  template <class T> void read(std::string const& name, index_t first, index_t count, T* to) const {
    auto const set = open(name);
    auto const shape = shape_of(set, name);
    detail::hdf5_require_block(path_, name, shape, first, count);
    if (detail::hdf5_block_elements(shape, count) == 0) return;
    detail::hdf5_handle const space(detail::hdf5_call(path_, unreadable(name), [&] { return H5Dget_space(set.get()); }),
                                    H5Sclose);
    detail::hdf5_call(path_, unreadable(name), [&] { return detail::hdf5_select(space.get(), shape, first, count); });
    auto const sizes = detail::hdf5_sizes({detail::hdf5_block_elements(shape, count)});
    detail::hdf5_handle const memory(
        detail::hdf5_call(path_, unreadable(name), [&] { return H5Screate_simple(1, sizes.data(), nullptr); }),
        H5Sclose);
    detail::hdf5_call(path_, unreadable(name), [&] {
      return H5Dread(set.get(), detail::hdf5_memory_type<T>(), memory.get(), space.get(), H5P_DEFAULT, to);
    });
  }
  /// Reads a block into a view without gaps, whose first extent is the count. @throws shape_error when there are gaps
  template <class T, int Rank> void read(std::string const& name, index_t first, view<T, Rank> const& to) const {
    auto const elements = to_span(to);
    auto const found = shape(name);
    auto const block = to.extents();
    if (found.empty() || !std::equal(block.begin() + 1, block.end(), found.begin() + 1, found.end()))
      detail::hdf5_fail(path_, "data set " + name + " has shape " + detail::shape_text(found) +
                                   ", which has no block of shape " + detail::shape_text(block));
    read(name, first, block[0], elements.data());
  }
  /// Reads the whole data set, of rank >= 1. @throws allocation_error
  template <class T> npy_array<T> read(std::string const& name) const {
    npy_array<T> array{shape(name), {}};
    array.data = detail::hdf5_buffer<T>(path_, "data set " + name, array.shape);
    read(name, 0, array.shape.empty() ? 0 : array.shape[0], array.data.data());
    return array;
  }

  /// All attributes of a data set or a group that hold a single text or number, sorted by name.
  text_record attributes(std::string const& name) const {
    detail::hdf5_handle const object(
        linked(name, "has no object " + name, [&] { return H5Oopen(file_.get(), name.c_str(), access_.get()); }),
        H5Oclose);
    text_record record;
    auto const collect = [](hid_t, char const* key, H5A_info_t const*, void* to) noexcept -> herr_t {
      static_cast<text_record*>(to)->emplace_back(key, "");
      return 0;
    };
    hsize_t at = 0;
    detail::hdf5_call(path_, "attributes of " + name + " cannot be read",
                      [&] { return H5Aiterate2(object.get(), H5_INDEX_NAME, H5_ITER_INC, &at, collect, &record); });
    for (auto& [key, text] : record) text = detail::hdf5_get_text(path_, object.get(), key);
    return record;
  }

 private:
  static std::string unreadable(std::string const& name) { return "data set " + name + " cannot be read"; }

  /// Called by the library for an external link; notes the file that it names, and refuses.
  static herr_t refuse_link(char const*, char const*, char const* file, char const* object, unsigned*, hid_t,
                            void* to) noexcept {
    auto* const text = static_cast<char*>(to);
    std::snprintf(text, refused_bytes, "%s of file %s", object ? object : "", file ? file : "");
    return -1;
  }
  void require_inside(std::string const& name) const {
    if (refused_[0] == 0) return;
    std::string const target(refused_.get());
    refused_[0] = 0;
    detail::hdf5_refuse_link(path_, name, printable(target, 200));
  }
  /// call() for an object that may be linked.
  template <class Call> hid_t linked(std::string const& name, std::string const& what, Call const& call) const {
    std::string reason;
    auto const result = detail::hdf5_quietly(call, &reason);
    require_inside(name);
    if (result < 0) detail::hdf5_fail(path_, what + (reason.empty() ? "" : ": " + reason));
    return result;
  }
  /// The data themselves may lie in other files as well.
  void require_own_data(detail::hdf5_handle const& set, std::string const& name) const {
    detail::hdf5_handle const made(
        detail::hdf5_call(path_, unreadable(name), [&] { return H5Dget_create_plist(set.get()); }), H5Pclose);
    auto const files = detail::hdf5_quietly([&] { return H5Pget_external_count(made.get()); });
    bool const merged = detail::hdf5_quietly([&] { return H5Pget_layout(made.get()); }) == H5D_VIRTUAL;
    if (files > 0)
      detail::hdf5_refuse(path_, "data set " + name + " lies in other files, which are read only if that is asked for");
    if (!merged) return;
    for (auto const& source : detail::hdf5_sources(path_, unreadable(name), made.get()))
      if (source != ".")
        detail::hdf5_refuse(path_, "data set " + name + " lies in other files (a virtual data set), which are read only "
                                       "if that is asked for");
  }
  /// Shape of a numeric data set.
  std::vector<index_t> shape_of(detail::hdf5_handle const& set, std::string const& name) const {
    detail::hdf5_handle const type(detail::hdf5_call(path_, unreadable(name), [&] { return H5Dget_type(set.get()); }),
                                   H5Tclose);
    if (detail::hdf5_type_name(type.get()).empty())
      detail::hdf5_fail(path_, "data set " + name + " does not hold numbers, expected integers or reals");
    detail::hdf5_handle const space(detail::hdf5_call(path_, unreadable(name), [&] { return H5Dget_space(set.get()); }),
                                    H5Sclose);
    auto const rank =
        detail::hdf5_call(path_, unreadable(name), [&] { return H5Sget_simple_extent_ndims(space.get()); });
    std::vector<hsize_t> sizes(static_cast<std::size_t>(rank));
    detail::hdf5_call(path_, unreadable(name),
                      [&] { return H5Sget_simple_extent_dims(space.get(), sizes.data(), nullptr); });
    if (!array_elements(sizes, 8))
      detail::hdf5_fail(path_, "data set " + name + " has shape " + detail::shape_text(sizes) +
                                   ", expected an array of at most 2^59 bytes");
    return {sizes.begin(), sizes.end()};
  }

  static constexpr std::size_t refused_bytes = 512;

  std::filesystem::path path_;
  hdf5_links links_;
  std::unique_ptr<char[]> refused_ = std::make_unique<char[]>(refused_bytes);  ///< target of a link, for the message
  detail::hdf5_handle file_, access_;
};

/// Output file, written under a temporary name in its folder; commit() gives it its final name. Destroyed without
/// commit, it leaves no file.
///
/// @throws io_error from every member, with the file, the data set and the reason.
class hdf5_output {
 public:
  explicit hdf5_output(std::filesystem::path path)
      : path_(std::move(path)), sink_(std::make_unique<detail::hdf5_sink>(path_)) {
    require_written();
    std::string const what = "cannot be written as HDF5";
    auto const table = detail::hdf5_sink_driver::table();
    driver_ = {detail::hdf5_call(path_, what, [&] { return H5FDregister(&table); }), H5FDunregister};
    detail::hdf5_handle const access(detail::hdf5_call(path_, what, [] { return H5Pcreate(H5P_FILE_ACCESS); }),
                                     H5Pclose);
    auto* const sink = sink_.get();
    detail::hdf5_call(path_, what, [&] { return H5Pset_driver(access.get(), driver_.get(), &sink); });
    file_ = {
        detail::hdf5_call(path_, what,
                          [&] { return H5Fcreate(path_.string().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()); }),
        H5Fclose};
  }
  hdf5_output(hdf5_output const&) = delete;
  hdf5_output& operator=(hdf5_output const&) = delete;

  /// Creates a data set of T (float, double, uint16, int64), including the groups in its name; write() fills it.
  /// @param deflate  0: not compressed; 1 to 9: compressed at this level, in chunks.
  /// @param chunks   shape of the chunks; empty: contiguous or, if compressed, of about a MiB along axis 0.
  template <class T>
  void create(std::string const& name, std::vector<index_t> const& shape, int deflate = 0,
              std::vector<index_t> const& chunks = {}) {
    auto const what = "data set " + name + " cannot be created";
    detail::hdf5_handle const links(detail::hdf5_call(path_, what, [] { return H5Pcreate(H5P_LINK_CREATE); }),
                                    H5Pclose);
    detail::hdf5_call(path_, what, [&] { return H5Pset_create_intermediate_group(links.get(), 1); });
    auto const sizes = detail::hdf5_sizes(shape);
    detail::hdf5_handle const space(
        detail::hdf5_call(path_, what,
                          [&] { return H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr); }),
        H5Sclose);
    detail::hdf5_handle const layout(detail::hdf5_call(path_, what, [] { return H5Pcreate(H5P_DATASET_CREATE); }),
                                     H5Pclose);
    bool const empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
    if ((deflate > 0 || !chunks.empty()) && !shape.empty() && !empty) {
      auto chunk = chunks.empty() ? sizes : detail::hdf5_sizes(chunks);
      for (std::size_t d = 0; chunks.empty() && d < chunk.size(); ++d) {
        hsize_t rest = 1;
        for (std::size_t k = d + 1; k < chunk.size(); ++k) rest *= chunk[k];
        chunk[d] = std::clamp<hsize_t>((hsize_t{1} << 20) / sizeof(T) / rest, 1, chunk[d]);
      }
      detail::hdf5_call(path_, what, [&] {
        auto const chunked = H5Pset_chunk(layout.get(), static_cast<int>(chunk.size()), chunk.data());
        if (deflate == 0) return chunked;
        auto const shuffled = chunked < 0 ? chunked : H5Pset_shuffle(layout.get());
        return shuffled < 0 ? shuffled : H5Pset_deflate(layout.get(), static_cast<unsigned>(std::min(deflate, 9)));
      });
    }
    detail::hdf5_handle const set(detail::hdf5_call(path_, what,
                                                    [&] {
                                                      return H5Dcreate2(file_.get(), name.c_str(),
                                                                        detail::hdf5_memory_type<T>(), space.get(),
                                                                        links.get(), layout.get(), H5P_DEFAULT);
                                                    }),
                                  H5Dclose);
    shapes_.emplace_back(name, shape);
  }
  /// Writes [first, first + count) of axis 0 of a data set created before.
  template <class T> void write(std::string const& name, index_t first, index_t count, T const* from) {
    auto const what = "data set " + name + " cannot be written";
    auto const found = std::find_if(shapes_.begin(), shapes_.end(), [&](auto const& s) { return s.first == name; });
    if (found == shapes_.end()) detail::hdf5_fail(path_, what + ": it was not made before");
    detail::hdf5_require_block(path_, name, found->second, first, count);
    index_t const elements = detail::hdf5_block_elements(found->second, count);
    if (elements == 0) return;
    detail::hdf5_handle const set(
        detail::hdf5_call(path_, what, [&] { return H5Dopen2(file_.get(), name.c_str(), H5P_DEFAULT); }), H5Dclose);
    detail::hdf5_handle const space(detail::hdf5_call(path_, what, [&] { return H5Dget_space(set.get()); }), H5Sclose);
    detail::hdf5_call(path_, what, [&] { return detail::hdf5_select(space.get(), found->second, first, count); });
    auto const sizes = detail::hdf5_sizes({elements});
    detail::hdf5_handle const memory(
        detail::hdf5_call(path_, what, [&] { return H5Screate_simple(1, sizes.data(), nullptr); }), H5Sclose);
    detail::hdf5_call(path_, what, [&] {
      return H5Dwrite(set.get(), detail::hdf5_memory_type<T>(), memory.get(), space.get(), H5P_DEFAULT, from);
    });
    require_written();
  }
  /// Writes [first, first + count) of axis 1 of a data set of rank 3 created before, for all of axis 0.
  template <class T> void write_rows(std::string const& name, index_t first, index_t count, T const* from) {
    write_part(name, 1, "rows", first, count, from);
  }
  /// Writes [first, first + count) of axis 2 of a data set of rank 3 created before, for all of axes 0 and 1.
  template <class T> void write_slices(std::string const& name, index_t first, index_t count, T const* from) {
    write_part(name, 2, "slices", first, count, from);
  }
  /// Creates and writes a whole data set of rank >= 1.
  template <class T> void write(std::string const& name, std::vector<index_t> const& shape, T const* from) {
    create<T>(name, shape);
    write(name, 0, shape.front(), from);
  }
  /// Writes a text attribute of a data set or a group; "/" is the file's root.
  void attribute(std::string const& name, std::string const& key, std::string const& text) {
    detail::hdf5_handle const object(detail::hdf5_call(path_, "has no object " + name,
                                                       [&] { return H5Oopen(file_.get(), name.c_str(), H5P_DEFAULT); }),
                                     H5Oclose);
    detail::hdf5_set_text(path_, object.get(), key, text);
  }

  void commit() {
    detail::hdf5_call(path_, "cannot be written", [id = file_.release()] { return H5Fclose(id); });
    sink_->commit();
    require_written();
  }

 private:
  template <class T>
  void write_part(std::string const& name, std::size_t axis, char const* called, index_t first, index_t count,
                  T const* from) {
    auto const what = "data set " + name + " cannot be written";
    auto const found = std::find_if(shapes_.begin(), shapes_.end(), [&](auto const& s) { return s.first == name; });
    if (found == shapes_.end()) detail::hdf5_fail(path_, what + ": it was not made before");
    auto const& shape = found->second;
    if (shape.size() != 3 || first < 0 || count < 0 || first > shape[axis] || count > shape[axis] - first)
      detail::hdf5_fail(path_, "data set " + name + " has shape " + detail::shape_text(shape) + ", which has no " +
                                   std::to_string(count) + ' ' + called + " from " + std::to_string(first));
    auto const size = [](index_t n) { return static_cast<hsize_t>(n); };
    std::array<hsize_t, 3> start{}, block{size(shape[0]), size(shape[1]), size(shape[2])};
    start[axis] = size(first);
    block[axis] = size(count);
    hsize_t const elements = block[0] * block[1] * block[2];
    if (elements == 0) return;
    detail::hdf5_handle const set(
        detail::hdf5_call(path_, what, [&] { return H5Dopen2(file_.get(), name.c_str(), H5P_DEFAULT); }), H5Dclose);
    detail::hdf5_handle const space(detail::hdf5_call(path_, what, [&] { return H5Dget_space(set.get()); }), H5Sclose);
    detail::hdf5_call(path_, what, [&] {
      return H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, block.data(), nullptr);
    });
    detail::hdf5_handle const memory(
        detail::hdf5_call(path_, what, [&] { return H5Screate_simple(1, &elements, nullptr); }), H5Sclose);
    detail::hdf5_call(path_, what, [&] {
      return H5Dwrite(set.get(), detail::hdf5_memory_type<T>(), memory.get(), space.get(), H5P_DEFAULT, from);
    });
    require_written();
  }
  void require_written() const {
    if (auto const code = sink_->error()) detail::hdf5_fail(path_, "cannot be written: " + code.message());
  }

  std::filesystem::path path_;
  std::unique_ptr<detail::hdf5_sink> sink_;  // the library keeps its address, so it is closed last
  detail::hdf5_handle driver_, file_;
  std::vector<std::pair<std::string, std::vector<index_t>>> shapes_;
};

}  // namespace mbirk
