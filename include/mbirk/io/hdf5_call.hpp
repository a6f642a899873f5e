// Calls of the HDF5 C library: failures as exceptions with its reason, owners of identifiers, types, blocks and text
// attributes.
#pragma once

#include <hdf5.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "mbirk/core/error.hpp"
#include "mbirk/io/array_size.hpp"
#include "mbirk/io/printable.hpp"

namespace mbirk {
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

/// libhdf5 (1.10.8) crashes if memory runs out while it initialises itself, at its first call, so that this is tried
/// before. @throws allocation_error
inline void require_memory_for_hdf5() {
  static bool const there = [] {
    constexpr std::size_t enough = std::size_t{4} << 20;
    void* volatile const block = std::malloc(enough);  // volatile, so that the compiler does not leave it out
    require<allocation_error>(block != nullptr, [] { return "out of memory for libhdf5"; });
    std::free(block);
    return true;
  }();
  static_cast<void>(there);
}

/// Returns the result of call().
/// @throws io_error "<path>: <what>: <the library's reason>" on failure; allocation_error
template <class Call>
auto hdf5_call(std::filesystem::path const& path, std::string const& what, Call const& call,
               source_location w = source_location::current()) {
  require_memory_for_hdf5();
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

/// Names of the files that hold parts of a virtual data set; "." stands for the file of the data set itself.
/// @param what  for messages
inline std::vector<std::string> hdf5_sources(std::filesystem::path const& path, std::string const& what, hid_t made) {
  std::vector<std::string> names;
  std::size_t sources = 0;
  hdf5_call(path, what, [&] { return H5Pget_virtual_count(made, &sources); });
  for (std::size_t k = 0; k < sources; ++k) {
    char text[1024] = {};
    hdf5_call(path, what, [&] { return H5Pget_virtual_filename(made, k, text, sizeof text); });
    names.emplace_back(text);
  }
  return names;
}

}  // namespace detail
}  // namespace mbirk
