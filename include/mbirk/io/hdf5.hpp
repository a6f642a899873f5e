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
#include "mbirk/io/hdf5_sink.hpp"
#include "mbirk/io/input_file.hpp"
#include "mbirk/io/npy.hpp"
#include "mbirk/io/printable.hpp"

namespace mbirk {

/// Named texts stored with an array: parameters, log, notes.
using text_record = std::vector<std::pair<std::string, std::string>>;

namespace detail {

/// @param what  may quote text of the file, of which bytes that cannot be printed are replaced
[[noreturn]] inline void hdf5_fail(std::filesystem::path const& path, std::string const& what,
                                   source_location w = source_location::current()) {
  throw io_error(path.string() + ": " + printable(what), w);
}

/// Keeps the innermost of the library's messages, which states the cause; of a long message only the system's part.
inline herr_t hdf5_reason(unsigned, H5E_error2_t const* e, void* to) {
  auto* const text = static_cast<char*>(to);
  if (text[0] != 0 || !e->desc) return 0;
  char const* const system = std::strstr(e->desc, "error message = '");
  if (!system || std::sscanf(system, "error message = '%199[^']", text) != 1) std::snprintf(text, 200, "%s", e->desc);
  return 0;
}

/// Runs call() without the library's own error output; the caller's handler is restored afterwards. Negative results
/// are failures. call must not throw.
template <class Call> auto hdf5_quietly(Call const& call, std::string* reason = nullptr) {
  decltype(call()) result{};
  char text[200] = {};
  H5E_BEGIN_TRY {
    result = call();
    if (result < 0 && reason) H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, &hdf5_reason, text);
  }
  H5E_END_TRY
  if (reason) *reason = text;
  return result;
}

/// Returns the result of call(). @throws io_error "<path>: <what>: <the library's reason>" on failure.
template <class Call>
auto hdf5_call(std::filesystem::path const& path, std::string const& what, Call const& call,
               source_location w = source_location::current()) {
  std::string reason;
  auto const result = hdf5_quietly(call, &reason);
  if (result < 0) hdf5_fail(path, what + (reason.empty() ? "" : ": " + reason), w);
  return result;
}

/// Owner of an HDF5 identifier, which closes it.
class hdf5_handle {
 public:
  hdf5_handle() = default;
  hdf5_handle(hid_t id, herr_t (*close)(hid_t)) noexcept : id_(id), close_(close) {}
  hdf5_handle(hdf5_handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  hdf5_handle& operator=(hdf5_handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~hdf5_handle() {
    if (id_ >= 0) hdf5_quietly([&] { return close_(id_); });
  }
  hid_t get() const noexcept { return id_; }
  hid_t release() noexcept { return std::exchange(id_, -1); }

 private:
  hid_t id_ = -1;
  herr_t (*close_)(hid_t) = nullptr;
};

template <class T> hid_t hdf5_memory_type() noexcept {
  if constexpr (std::is_same_v<T, float>) return H5T_NATIVE_FLOAT;
  else if constexpr (std::is_same_v<T, double>) return H5T_NATIVE_DOUBLE;
  else if constexpr (std::is_same_v<T, std::uint16_t>) return H5T_NATIVE_UINT16;
  else {
    static_assert(std::is_same_v<T, std::int64_t>, "HDF5 elements are float, double, uint16 or int64 here");
    return H5T_NATIVE_INT64;
  }
}

/// Bytes of an element of a type; 0 on failure.
inline std::size_t hdf5_type_bytes(hid_t type) {
  std::size_t bytes = 0;
  hdf5_quietly([&] {
    bytes = H5Tget_size(type);
    return 0;
  });
  return bytes;
}
inline H5T_class_t hdf5_type_class(hid_t type) {
  return hdf5_quietly([&] { return H5Tget_class(type); });
}

/// Name of a type, such as "uint16" or "float32"; "" for types that are not plain numbers.
inline std::string hdf5_type_name(hid_t type) {
  auto const bits = std::to_string(8 * hdf5_type_bytes(type));
  auto const kind = hdf5_type_class(type);
  if (kind == H5T_FLOAT) return "float" + bits;
  if (kind != H5T_INTEGER) return "";
  return (hdf5_quietly([&] { return H5Tget_sign(type); }) == H5T_SGN_NONE ? "uint" : "int") + bits;
}

inline std::vector<hsize_t> hdf5_sizes(std::vector<index_t> const& shape) { return {shape.begin(), shape.end()}; }

/// Selects [first, first + count) of axis 0 in `space`.
inline herr_t hdf5_select(hid_t space, std::vector<index_t> const& shape, index_t first, index_t count) {
  std::vector<hsize_t> start(shape.size(), 0), size = hdf5_sizes(shape);
  start[0] = static_cast<hsize_t>(first);
  size[0] = static_cast<hsize_t>(count);
  return H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, size.data(), nullptr);
}

/// Number of elements in `count` slices of this shape.
inline index_t hdf5_block_elements(std::vector<index_t> const& shape, index_t count) {
  for (std::size_t d = 1; d < shape.size(); ++d) count *= shape[d];
  return count;
}

inline void hdf5_require_block(std::filesystem::path const& path, std::string const& name,
                               std::vector<index_t> const& shape, index_t first, index_t count) {
  if (shape.empty() || first < 0 || count < 0 || count > shape[0] - first)
    hdf5_fail(path, "data set " + name + " has shape " + shape_text(shape) + ", which has no block of " +
                        std::to_string(count) + " from " + std::to_string(first));
}

/// Zero-initialised memory for an array of this shape. @throws allocation_error
template <class T>
std::vector<T> hdf5_buffer(std::filesystem::path const& path, std::string const& what,
                           std::vector<index_t> const& shape, source_location w = source_location::current()) {
  auto const elements = array_elements(shape, sizeof(T));
  try {
    if (!elements) throw std::bad_alloc();
    return std::vector<T>(static_cast<std::size_t>(*elements));
  } catch (std::bad_alloc const&) {
    throw allocation_error(path.string() + ": out of memory for " + what + " of shape " + shape_text(shape), w);
  }
}

inline void hdf5_set_text(std::filesystem::path const& path, hid_t object, std::string const& key,
                          std::string const& text) {
  auto const what = "attribute " + key + " cannot be written";
  hdf5_handle const type(hdf5_call(path, what, [] { return H5Tcopy(H5T_C_S1); }), H5Tclose);
  // Variable-length string, because fixed-length attributes are limited to 64 KiB.
  hdf5_call(path, what,
            [&] { return std::min(H5Tset_size(type.get(), H5T_VARIABLE), H5Tset_cset(type.get(), H5T_CSET_UTF8)); });
  hdf5_handle const space(hdf5_call(path, what, [] { return H5Screate(H5S_SCALAR); }), H5Sclose);
  hdf5_handle const attribute(
      hdf5_call(path, what,
                [&] { return H5Acreate2(object, key.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT); }),
      H5Aclose);
  char const* const characters = text.c_str();
  hdf5_call(path, what, [&] { return H5Awrite(attribute.get(), type.get(), &characters); });
}

/// Value of an attribute: text unchanged, a number as text, "" for anything else (arrays, records).
inline std::string hdf5_get_text(std::filesystem::path const& path, hid_t object, std::string const& key) {
  auto const what = "attribute " + key + " cannot be read";
  hdf5_handle const attribute(hdf5_call(path, what, [&] { return H5Aopen(object, key.c_str(), H5P_DEFAULT); }),
                              H5Aclose);
  hdf5_handle const type(hdf5_call(path, what, [&] { return H5Aget_type(attribute.get()); }), H5Tclose);
  hdf5_handle const space(hdf5_call(path, what, [&] { return H5Aget_space(attribute.get()); }), H5Sclose);
  if (hdf5_quietly([&] { return H5Sget_simple_extent_npoints(space.get()); }) != 1) return {};
  if (hdf5_type_class(type.get()) != H5T_STRING) {
    if (hdf5_type_name(type.get()).empty()) return {};
    double x = 0;
    hdf5_call(path, what, [&] { return H5Aread(attribute.get(), H5T_NATIVE_DOUBLE, &x); });
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.17g", x);
    return buffer;
  }
  if (hdf5_quietly([&] { return H5Tis_variable_str(type.get()); }) > 0) {
    char* characters = nullptr;
    hdf5_call(path, what, [&] { return H5Aread(attribute.get(), type.get(), &characters); });
    std::string text = characters ? characters : "";
    H5free_memory(characters);
    return text;
  }
  auto const bytes = hdf5_type_bytes(type.get());
  constexpr std::size_t longest = std::size_t{1} << 26;
  if (bytes > longest)
    hdf5_fail(path, "attribute " + key + " has " + std::to_string(bytes) + " bytes, expected at most " +
                        std::to_string(longest));
  std::string text(bytes, '\0');
  hdf5_call(path, what, [&] { return H5Aread(attribute.get(), type.get(), text.data()); });
  return text.c_str();  // up to the zero padding
}

}  // namespace detail

namespace detail {

/// Whether all parts of a virtual data set lie in its own file, which "." stands for.
inline bool hdf5_sources_inside(hid_t made) {
  return hdf5_quietly([&] {
    std::size_t sources = 0;
    if (H5Pget_virtual_count(made, &sources) < 0) return 0;
    for (std::size_t k = 0; k < sources; ++k) {
      char text[2] = {};
      if (H5Pget_virtual_filename(made, k, text, sizeof text) != 1 || text[0] != '.') return 0;
    }
    return 1;
  }) == 1;
}

}  // namespace detail

/// Whether a data set may lie in other files than the one that was opened: behind an external link, in external raw
/// files, or as a virtual data set.
enum class hdf5_links { inside, anywhere };

/// A data set lies in another file, which hdf5_links::inside refuses.
struct hdf5_link_error : io_error { using io_error::io_error; };

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
    throw hdf5_link_error(path_.string() + ": " + name + " is an external link to " + printable(target, 200) +
                              ", which is followed only if that is asked for",
                          source_location::current());
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
    if (files > 0 || (merged && !detail::hdf5_sources_inside(made.get())))
      throw hdf5_link_error(path_.string() + ": data set " + name + " lies in other files" +
                                (files > 0 ? "" : " (a virtual data set)") +
                                ", which are read only if that is asked for",
                            source_location::current());
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
  /// @param deflate  0: contiguous; 1 to 9: chunks along axis 0 of about a MiB, compressed at this level.
  template <class T> void create(std::string const& name, std::vector<index_t> const& shape, int deflate = 0) {
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
    if (deflate > 0 && !shape.empty() && !empty) {
      auto chunk = sizes;
      for (std::size_t d = 0; d < chunk.size(); ++d) {
        hsize_t rest = 1;
        for (std::size_t k = d + 1; k < chunk.size(); ++k) rest *= chunk[k];
        chunk[d] = std::clamp<hsize_t>((hsize_t{1} << 20) / sizeof(T) / rest, 1, chunk[d]);
      }
      detail::hdf5_call(path_, what, [&] {
        auto const chunked = H5Pset_chunk(layout.get(), static_cast<int>(chunk.size()), chunk.data());
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
    auto const what = "data set " + name + " cannot be written";
    auto const found = std::find_if(shapes_.begin(), shapes_.end(), [&](auto const& s) { return s.first == name; });
    if (found == shapes_.end()) detail::hdf5_fail(path_, what + ": it was not made before");
    auto const& shape = found->second;
    if (shape.size() != 3 || first < 0 || count < 0 || first > shape[1] || count > shape[1] - first)
      detail::hdf5_fail(path_, "data set " + name + " has shape " + detail::shape_text(shape) + ", which has no " +
                                   std::to_string(count) + " rows from " + std::to_string(first));
    auto const size = [](index_t n) { return static_cast<hsize_t>(n); };
    std::array<hsize_t, 3> const start{0, size(first), 0}, block{size(shape[0]), size(count), size(shape[2])};
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
  void require_written() const {
    if (auto const code = sink_->error()) detail::hdf5_fail(path_, "cannot be written: " + code.message());
  }

  std::filesystem::path path_;
  std::unique_ptr<detail::hdf5_sink> sink_;  // the library keeps its address, so it is closed last
  detail::hdf5_handle driver_, file_;
  std::vector<std::pair<std::string, std::vector<index_t>>> shapes_;
};

}  // namespace mbirk
