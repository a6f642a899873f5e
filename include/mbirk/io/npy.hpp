// NumPy's .npy files (format versions 1.0 to 3.0). C++ standard library only; independent of the meaning of the arrays.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "mbirk/core/error.hpp"
#include "mbirk/core/finite.hpp"
#include "mbirk/interop/view.hpp"
#include "mbirk/io/array_size.hpp"
#include "mbirk/io/input_file.hpp"
#include "mbirk/io/output_file.hpp"

namespace mbirk {

static_assert(std::endian::native == std::endian::little,
              "npy.hpp reads and writes little-endian files without swapping");

/// Array in C order that owns its elements.
template <class T> struct npy_array {
  std::vector<index_t> shape;
  std::vector<T> data;
};

/// Header in front of the data.
struct npy_header {
  std::string dtype;  ///< in NumPy's notation: "<f4"
  bool fortran_order = false;
  std::vector<index_t> shape;
  index_t elements = 1, element_bytes = 0;
  index_t offset = 0;  ///< byte offset of the first element
};

namespace detail {

[[noreturn]] inline void npy_fail(std::filesystem::path const& path, std::string const& what,
                                  source_location w = source_location::current()) {
  throw io_error(path.string() + ": " + what, w);
}

/// NumPy writes a few hundred bytes.
inline constexpr index_t longest_npy_header = index_t{1} << 20;

/// Bytes per element; 0 when this dtype is not supported.
inline index_t npy_element_bytes(std::string_view dtype) {
  constexpr std::string_view readable[] = {"<f4", "<f8", "<i2", "<i4", "<i8", "<u2", "<u4", "|u1", "<u1", "|b1"};
  for (auto const r : readable)
    if (r == dtype) return r.back() - '0';
  return 0;
}

/// Printable excerpt of text from a file, for one line of a message.
inline std::string npy_excerpt(std::string_view text) {
  std::string s(text.substr(0, 40));
  for (auto& c : s)
    if (c < ' ' || c > '~') c = '?';
  return '\'' + s + '\'';
}

/// Reads the Python dictionary of the header: three keys in any order, nothing else.
class npy_dictionary {
 public:
  npy_dictionary(std::filesystem::path const& path, std::string_view text) : path_(path), text_(text) {}

  void read(npy_header& header) {
    bool has_dtype = false, has_order = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      std::string const key = quoted();
      expect(':');
      if (key == "descr") {
        header.dtype = dtype();
        has_dtype = true;
      } else if (key == "fortran_order") {
        header.fortran_order = boolean();
        has_order = true;
      } else if (key == "shape") {
        header.shape = shape();
        has_shape = true;
      } else fail("the keys descr, fortran_order and shape");
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!has_dtype || !has_order || !has_shape)
      npy_fail(path_, "the npy header lacks descr, fortran_order or shape: " + npy_excerpt(text_));
  }

 private:
  [[noreturn]] void fail(char const* expected) const {
    npy_fail(path_,
             std::string("malformed npy header: expected ") + expected + ", found " + npy_excerpt(text_.substr(at_)));
  }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool accept(std::string_view token) {
    skip();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  bool accept(char c) { return accept(std::string_view(&c, 1)); }
  void expect(char c) {
    char const name[] = {'\'', c, '\'', 0};
    if (!accept(c)) fail(name);
  }
  std::string quoted() {
    skip();
    char const quote = at_ < text_.size() ? text_[at_] : 0;
    auto const end = quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : text_.npos;
    if (end == text_.npos) fail("a quoted string");
    std::string s(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return s;
  }
  std::string dtype() {
    skip();
    if (at_ < text_.size() && text_[at_] == '[')
      npy_fail(path_, "is an array of records, expected one number per element");
    return quoted();
  }
  bool boolean() {
    if (accept("True")) return true;
    if (!accept("False")) fail("True or False");
    return false;
  }
  std::vector<index_t> shape() {
    std::vector<index_t> sizes;
    expect('(');
    while (!accept(')')) {
      skip();
      if (at_ >= text_.size() || text_[at_] < '0' || text_[at_] > '9') fail("a size");
      index_t n = 0;
      for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
        if (n > (std::numeric_limits<index_t>::max() - 9) / 10) fail("sizes of at most 18 digits");
        n = 10 * n + (text_[at_] - '0');
      }
      accept('L');  // Python 2 wrote (3L, 4L)
      if (std::ssize(sizes) == max_array_rank) fail("at most 64 sizes");
      sizes.push_back(n);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return sizes;
  }

  std::filesystem::path const& path_;
  std::string_view text_;
  std::size_t at_ = 0;
};

/// Index of element k of the file as text, "(3, 4)".
inline std::string npy_index(npy_header const& header, index_t k) {
  auto const rank = header.shape.size();
  std::vector<index_t> index(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    auto const d = header.fortran_order ? i : rank - 1 - i;
    index[d] = k % header.shape[d];
    k /= header.shape[d];
  }
  return shape_text(index);
}

/// Converts value to T; ok becomes false when T cannot represent it. Floating-point results are rounded, integers never
/// change.
template <class T, class S> T npy_convert(S value, bool& ok) noexcept {
  if constexpr (std::is_same_v<T, S>) {
    return value;
  } else if constexpr (std::is_floating_point_v<T>) {
    T const t = static_cast<T>(value);
    if constexpr (std::is_floating_point_v<S>) ok = ok && (is_finite(t) || !is_finite(value));
    return t;
  } else if constexpr (std::is_floating_point_v<S>) {
    bool const fits = is_finite(value) && value >= -2147483648.0 && value < 2147483648.0 &&
                      value == static_cast<S>(static_cast<std::int64_t>(value));
    ok = ok && fits;
    return fits ? static_cast<T>(value) : T{};
  } else {
    ok = ok && std::in_range<T>(value);
    return static_cast<T>(value);
  }
}

/// Reads header.elements of type S in file order; `before` elements precede them in the file.
template <class T, class S>
void npy_read_elements(std::filesystem::path const& path, std::istream& file, npy_header const& header, T* to,
                       index_t before = 0) {
  auto const elements = static_cast<std::size_t>(header.elements);
  auto const get = [&](void* into, std::size_t bytes) {
    if (!file.read(static_cast<char*>(into), static_cast<std::streamsize>(bytes)))
      npy_fail(path, "cannot be read to its end");
  };
  if constexpr (std::is_same_v<T, S>) {
    if (elements > 0) get(to, elements * sizeof(T));
  } else {
    std::vector<S> part(std::min<std::size_t>(elements, 1 << 16));
    for (std::size_t first = 0; first < elements; first += part.size()) {
      auto const count = std::min(part.size(), elements - first);
      get(part.data(), count * sizeof(S));
      for (std::size_t i = 0; i < count; ++i) {
        bool ok = true;
        to[first + i] = npy_convert<T>(part[i], ok);
        if (!ok)
          npy_fail(path,
                   "value " + npy_index(header, before + static_cast<index_t>(first + i)) + " is " +
                       (std::is_integral_v<S> ? std::to_string(part[i]) : number_text(static_cast<double>(part[i]))) +
                       ", expected " +
                       (std::is_floating_point_v<T> ? "a number that fits into float32"
                                                    : "a whole number that fits into int32"));
      }
    }
  }
}

/// Calls f(std::type_identity<S>{}) with the type S of the elements in the file.
template <class F> void npy_with_stored_type(npy_header const& header, F const& f) {
  auto const kind = header.dtype.substr(1);
  if (kind == "f4") f(std::type_identity<float>{});
  else if (kind == "f8") f(std::type_identity<double>{});
  else if (kind == "i2") f(std::type_identity<std::int16_t>{});
  else if (kind == "i4") f(std::type_identity<std::int32_t>{});
  else if (kind == "i8") f(std::type_identity<std::int64_t>{});
  else if (kind == "u2") f(std::type_identity<std::uint16_t>{});
  else if (kind == "u4") f(std::type_identity<std::uint32_t>{});
  else f(std::type_identity<std::uint8_t>{});
}

template <class T> std::vector<T> npy_c_order(std::vector<T> const& fortran, std::vector<index_t> const& shape) {
  std::vector<T> c(fortran.size());
  std::vector<index_t> index(shape.size(), 0), stride(shape.size(), 1);
  for (std::size_t d = 1; d < shape.size(); ++d) stride[d] = stride[d - 1] * shape[d - 1];
  index_t from = 0;
  for (auto& element : c) {
    element = fortran[static_cast<std::size_t>(from)];
    for (std::size_t d = shape.size(); d-- > 0;) {
      from += stride[d];
      if (++index[d] < shape[d]) break;
      from -= stride[d] * shape[d];
      index[d] = 0;
    }
  }
  return c;
}

template <class T> constexpr char const* npy_dtype() {
  if constexpr (std::is_same_v<T, float>) return "<f4";
  else if constexpr (std::is_same_v<T, double>) return "<f8";
  else if constexpr (std::is_same_v<T, std::int32_t>) return "<i4";
  else {
    static_assert(std::is_same_v<T, std::uint8_t>, "write_npy writes float, double, int32 and uint8");
    return "|u1";
  }
}

}  // namespace detail

/// Reads and checks the header, including that the file is long enough for its data.
///
/// @throws io_error when the file is missing, not an npy file, malformed, of an unsupported dtype, or truncated (with
///         bytes expected and found).
inline npy_header read_npy_header(std::filesystem::path const& path) {
  auto file = detail::open_input(path);
  std::error_code code;
  auto const file_bytes = static_cast<index_t>(std::filesystem::file_size(path, code));
  if (code) detail::npy_fail(path, "cannot be read: " + code.message());

  unsigned char start[12] = {};
  file.read(reinterpret_cast<char*>(start), sizeof start);
  if (file.gcount() < 10 || std::memcmp(start, "\x93NUMPY", 6) != 0)
    detail::npy_fail(path, "is not an npy file: it does not begin with \\x93NUMPY");
  int const major = start[6], minor = start[7];
  if (major < 1 || major > 3)
    detail::npy_fail(
        path, "has npy version " + std::to_string(major) + '.' + std::to_string(minor) + ", expected 1.0, 2.0 or 3.0");
  index_t const prefix = major == 1 ? 10 : 12;
  index_t length = start[8] + 256 * start[9];
  if (major > 1) length += (index_t{start[10]} << 16) + (index_t{start[11]} << 24);
  if (length > detail::longest_npy_header)
    detail::npy_fail(path, "has a header of " + std::to_string(length) + " bytes, expected at most " +
                               std::to_string(detail::longest_npy_header));
  if (prefix + length > file_bytes)
    detail::npy_fail(path, "truncated: the header needs " + std::to_string(prefix + length) + " bytes, the file has " +
                               std::to_string(file_bytes));

  std::string text(static_cast<std::size_t>(length), ' ');
  file.clear();
  file.seekg(prefix);
  if (!file.read(text.data(), length)) detail::npy_fail(path, "cannot be read");
  npy_header header;
  detail::npy_dictionary(path, text).read(header);
  header.offset = prefix + length;
  header.element_bytes = detail::npy_element_bytes(header.dtype);
  if (header.element_bytes == 0)
    detail::npy_fail(path, "has dtype " + detail::npy_excerpt(header.dtype) +
                               ", expected little-endian f4, f8, i2, i4, i8, u1, u2 or u4");

  auto const elements = array_elements(header.shape, header.element_bytes);
  header.elements = elements.value_or(0);
  index_t const found = file_bytes - header.offset;
  if (!elements || header.elements * header.element_bytes > found)
    detail::npy_fail(path, "truncated: shape " + detail::shape_text(header.shape) + " of " + header.dtype + " needs " +
                               (!elements ? "more than 2^59" : std::to_string(header.elements * header.element_bytes)) +
                               " bytes, the file has " + std::to_string(found));
  return header;
}

/// Reads an array as T (float or int32) from f4, f8, i2, i4, i8, u1, u2, u4 or bool, in C or Fortran order; the result
/// is in C order.
///
/// Floating-point numbers are rounded to float, unless T is double; for int32 every value must be an integer that fits.
/// Bytes after the data are ignored.
/// @throws io_error of one line: the file, the problem, the expected value.
template <class T> npy_array<T> read_npy(std::filesystem::path const& path) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, std::int32_t>);
  auto const header = read_npy_header(path);
  auto file = detail::open_input(path);
  file.seekg(header.offset);
  npy_array<T> array{header.shape, {}};
  try {
    array.data.resize(static_cast<std::size_t>(header.elements));
    detail::npy_with_stored_type(header, [&]<class S>(std::type_identity<S>) {
      detail::npy_read_elements<T, S>(path, file, header, array.data.data());
    });
    if (header.fortran_order && header.shape.size() > 1) array.data = detail::npy_c_order(array.data, array.shape);
  } catch (std::bad_alloc const&) {
    throw allocation_error(path.string() + ": out of memory for " + detail::shape_text(header.shape) + " elements",
                           source_location::current());
  }
  return array;
}

namespace detail {

/// Reads [first, first + shape[0]) of axis 0; the caller has checked that the file has a block of that shape.
template <class T, std::size_t Rank>
void npy_read_block(std::filesystem::path const& path, npy_header header, index_t first,
                    std::array<index_t, Rank> const& shape, std::span<T> to) {
  if (header.fortran_order && Rank > 1) npy_fail(path, "is in Fortran order, expected C order to read it in place");
  auto file = open_input(path);
  header.elements = static_cast<index_t>(to.size());
  index_t const before = shape[0] > 0 ? first * (header.elements / shape[0]) : 0;
  file.seekg(header.offset + before * header.element_bytes);
  npy_with_stored_type(
      header, [&]<class S>(std::type_identity<S>) { npy_read_elements<T, S>(path, file, header, to.data(), before); });
}

}  // namespace detail

/// Reads [first, first + to.extent(0)) of axis 0 into existing memory, e.g. a large sinogram in blocks of views.
/// Conversions as above.
///
/// @param to  float or int32, without gaps; its contents are overwritten even when this throws.
/// @throws shape_error when there are gaps; io_error, also for a file in Fortran order, whose blocks are not
///         contiguous.
template <class T, int Rank> void read_npy(std::filesystem::path const& path, index_t first, view<T, Rank> const& to) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, std::int32_t>);
  auto const elements = to_span(to);
  auto const header = read_npy_header(path);
  auto wanted = header.shape;
  if (!wanted.empty()) wanted[0] = to.extent(0);
  auto const shape = to.extents();
  if (!std::equal(shape.begin(), shape.end(), wanted.begin(), wanted.end()) || first < 0 ||
      first > header.shape[0] - shape[0])
    detail::npy_fail(path, "has shape " + detail::shape_text(header.shape) + ", which has no block of shape " +
                               detail::shape_text(shape) + " at " + std::to_string(first));
  detail::npy_read_block(path, header, first, shape, elements);
}
/// Reads the whole array, whose shape must equal that of the view.
template <class T, int Rank> void read_npy(std::filesystem::path const& path, view<T, Rank> const& to) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, std::int32_t>);
  auto const shape = to.extents();
  auto const header = read_npy_header(path);
  if (!std::equal(shape.begin(), shape.end(), header.shape.begin(), header.shape.end()))
    detail::npy_fail(path, "has shape " + detail::shape_text(header.shape) + ", expected " + detail::shape_text(shape));
  detail::npy_read_block(path, header, 0, shape, to_span(to));
}

namespace detail {

/// Throws an error that element k, which is x, is not finite.
template <std::floating_point T>
[[noreturn]] void npy_fail_finite(npy_header const& where, T x, index_t k, std::filesystem::path const& path) {
  npy_fail(path, "value " + npy_index(where, k) + " is " + number_text(x) + ", expected finite numbers");
}
template <std::floating_point T>
[[noreturn]] void npy_fail_finite(npy_array<T> const& array, std::size_t k, std::filesystem::path const& path) {
  npy_header where;
  where.shape = array.shape;
  npy_fail_finite(where, array.data[k], static_cast<index_t>(k), path);
}

}  // namespace detail

/// Checks that all elements are finite. @throws io_error naming the file and the first element that is infinite or NaN.
template <std::floating_point T> void require_finite(npy_array<T> const& array, std::filesystem::path const& path) {
  for (std::size_t k = 0; k < array.data.size(); ++k)
    if (!detail::is_finite(array.data[k])) detail::npy_fail_finite(array, k, path);
}

namespace detail {

/// What precedes the data in a file of version 1.0. @throws shape_error when no array has this shape
template <class T> std::string npy_start(std::filesystem::path const& path, std::vector<index_t> const& shape) {
  require<shape_error>(array_elements(shape, sizeof(T)).has_value(), [&] {
    return path.string() + ": an array of shape " + detail::shape_text(shape) + " cannot be written";
  });
  std::string sizes;
  for (auto const n : shape) {
    if (!sizes.empty()) sizes += ' ';
    sizes += std::to_string(n);
    sizes += ',';
  }
  if (shape.size() > 1) sizes.pop_back();  // (3,) but (3, 4)
  std::string header =
      std::string("{'descr': '") + detail::npy_dtype<T>() + "', 'fortran_order': False, 'shape': (" + sizes + "), }";
  header.append(63 - (10 + header.size()) % 64, ' ');  // the data start at a multiple of 64 bytes, as in NumPy
  header += '\n';
  char const start[10] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, static_cast<char>(header.size() & 255),
                          static_cast<char>(header.size() >> 8)};
  return std::string(start, sizeof start) + header;
}

}  // namespace detail

/// Writes a C-order array (float, double, int32, uint8), version 1.0. The file appears under its name only when it is
/// complete.
/// @throws io_error when it cannot be written; shape_error when no array has this shape.
template <class T> void write_npy(std::filesystem::path const& path, T const* data, std::vector<index_t> const& shape) {
  auto const start = detail::npy_start<T>(path, shape);
  output_file file(path);
  file.write(start);
  file.write(data, static_cast<std::size_t>(*array_elements(shape, sizeof(T))) * sizeof(T));
  file.commit();
}
template <class T> void write_npy(std::filesystem::path const& path, npy_array<T> const& array) {
  write_npy(path, array.data.data(), array.shape);
}

}  // namespace mbirk
