// The sizes that MATLAB files of versions 4, 5 and 7 declare, checked before matio reads them. Requires zlib.
// Source: MathWorks, MAT-File Format, 2023.
#pragma once

#include <zlib.h>

#include <memory>
#include <new>

#include "mbirk/io/frame_stack.hpp"

namespace mbirk::detail {

/// Walks the elements of a MATLAB file. Where values are missing, matio returns what its memory happens to hold and
/// reports success, so sizes that the file does not keep are errors here. Files of version 7.3, arrays that are not
/// numeric and what is unknown are left to matio. Memory is taken for the beginning of an array only.
class matlab_elements {
 public:
  explicit matlab_elements(std::filesystem::path const& path)
      : path_(path.string()), file_(path, std::ios::binary), size_(static_cast<std::uint64_t>(file_bytes(path))) {}

  /// @param whole  name of arrays whose compressed values are all inflated, which only shows that they are sound; of
  ///               others only the beginning is. @throws io_error
  void check(std::optional<std::string> const& whole = {}) {
    auto const header = read(0, 128);
    auto const ends_with = [&](char a, char b) { return header.size() == 128 && header[126] == a && header[127] == b; };
    big_ = ends_with('M', 'I');
    int const version = big_ || ends_with('I', 'M') ? header[big_ ? 124 : 125] * 256 + header[big_ ? 125 : 124] : 0;
    if (version == 0x0200) return;
    for (begin_ = version == 0x0100 ? 128 : 0; begin_ < size_;)
      begin_ = version == 0x0100 ? after_element(whole) : after_element_4();
  }

 private:
  using bytes = std::vector<unsigned char>;
  /// Flags, sizes, name and the tag of the values of an array lie in this many bytes.
  static constexpr std::uint64_t head_bytes = 4096;
  static constexpr std::uint32_t int8 = 1, int32 = 5, uint32 = 6, matrix = 14, compressed = 15;

  struct part {
    std::uint64_t type, at, count, end;
  };
  struct inflated {
    bytes head;
    std::uint64_t count = 0;
    bool ended = false;
  };

  [[noreturn]] void fail(std::string const& what) const {
    scan_fail(path_, "is damaged or truncated: the element at byte " + std::to_string(begin_) + " " + what);
  }
  [[noreturn]] void fail(std::uint64_t count, std::string const& of_what, std::string const& expected,
                         std::uint64_t limit) const {
    fail("has " + std::to_string(count) + " bytes" + of_what + ", expected " + expected + std::to_string(limit));
  }

  bytes read(std::uint64_t at, std::uint64_t count) {
    bytes to(static_cast<std::size_t>(count));
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(at));
    file_.read(reinterpret_cast<char*>(to.data()), static_cast<std::streamsize>(count));
    to.resize(static_cast<std::size_t>(file_.gcount()));
    return to;
  }
  std::uint64_t word(bytes const& from, std::uint64_t at) const {
    if (at + 4 > from.size()) fail("has no whole header in its first " + std::to_string(from.size()) + " bytes");
    std::uint64_t value = 0;
    for (std::uint64_t k = 0; k < 4; ++k) value = value << 8 | from[static_cast<std::size_t>(at + (big_ ? k : 3 - k))];
    return value;
  }

  /// Checks an element of version 5. @return where the next one begins
  std::uint64_t after_element(std::optional<std::string> const& whole) {
    auto const tag = read(begin_, 8);
    if (tag.size() < 8) fail(tag.size(), " of tag", "", 8);
    auto const type = word(tag, 0), count = word(tag, 4), left = size_ - begin_ - 8;
    if (type != matrix && type != compressed) return size_;  // where matio ends, too
    if (count > left) fail(count, "", "at most ", left);
    if (type == matrix) {
      array_name(read(begin_ + 8, std::min(count, head_bytes)), count);
    } else {
      auto begin = inflate(count, 8 + head_bytes);
      if (word(begin.head, 0) != matrix) return size_;
      auto const inner = word(begin.head, 4);
      begin.head.erase(begin.head.begin(), begin.head.begin() + 8);
      auto const name = array_name(begin.head, inner);
      if (name && name == whole) {
        auto const all = inflate(count, inner + 9);
        if (!all.ended || all.count != inner + 8)
          fail("does not inflate to " + std::to_string(inner + 8) + " bytes with the checksum expected");
      }
    }
    return begin_ + 8 + count;  // arrays are padded inside, and matio expects no other padding
  }

  /// Checks an array of `size` bytes that begins with these. @return its name, if it is a numeric array
  std::optional<std::string> array_name(bytes const& head, std::uint64_t size) const {
    auto const part_at = [&](std::uint64_t at, std::string const& what) {
      if (at + 8 > size) fail("ends before its " + what);
      auto const first = word(head, at);
      bool const packed = first > 0xffff;  // type, size and contents in eight bytes
      part p{first & 0xffff, at + (packed ? 4 : 8), packed ? first >> 16 : word(head, at + 4), at + 8};
      auto const left = packed ? 4 : size - p.at;
      if (p.count > left) fail(p.count, " of " + what, "at most ", left);
      if (!packed) p.end += (p.count + 7) / 8 * 8;
      return p;
    };
    auto const flags = part_at(0, "flags");
    if (flags.type != uint32 && flags.type != int32) return {};
    if (flags.count != 8) fail(flags.count, " of flags", "", 8);
    auto const kind = word(head, flags.at) & 0xff;
    if (kind < 6 || kind > 15) return {};
    auto const sizes = part_at(flags.end, "sizes");
    if (sizes.type != int32) return {};
    if (sizes.count % 4 != 0) fail(sizes.count, " of sizes", "a multiple of ", 4);
    auto const name = part_at(sizes.end, "name");
    if (name.type != int8) return {};
    std::uint64_t elements = 1;
    constexpr auto many = std::uint64_t{1} << 32;  // more than a file of this version holds
    for (std::uint64_t k = 0; k < sizes.count; k += 4) elements = std::min(many, elements * word(head, sizes.at + k));
    if (elements > 0) {
      auto const values = part_at(name.end, "values");
      constexpr std::array<unsigned char, 14> widths{0, 1, 1, 2, 2, 4, 4, 4, 0, 8, 0, 0, 8, 8};
      auto const width = values.type < widths.size() ? widths[static_cast<std::size_t>(values.type)] : 0u;
      if (width == 0) fail("has values of type " + std::to_string(values.type) + ", expected 1 to 7, 9, 12 or 13");
      if (elements > values.count / width) fail(values.count, " of values", "at least ", elements * width);
    }
    auto const* const text = reinterpret_cast<char const*>(head.data()) + name.at;
    return std::string(text, std::find(text, text + std::min(name.count, head.size() - name.at), '\0'));
  }

  /// Inflates the element at begin_ to its end, or to at least `most` bytes if it has as many.
  inflated inflate(std::uint64_t count, std::uint64_t most) {
    bytes in(std::size_t{1} << 14), out(in.size());
    inflated result;
    z_stream z{};
    if (inflateInit(&z) != Z_OK) throw std::bad_alloc();
    std::unique_ptr<z_stream, int (*)(z_stream*)> const at_end(&z, inflateEnd);
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(begin_ + 8));
    for (int status = Z_OK; status == Z_OK && result.count < most;) {
      if (z.avail_in == 0) {
        auto const some = std::min<std::uint64_t>(count, in.size());
        file_.read(reinterpret_cast<char*>(in.data()), static_cast<std::streamsize>(some));
        count -= some;
        z.next_in = in.data();
        z.avail_in = static_cast<uInt>(file_.gcount());
      }
      z.next_out = out.data();
      z.avail_out = static_cast<uInt>(out.size());
      status = ::inflate(&z, Z_NO_FLUSH);  // an error also where nothing is left to inflate
      result.ended = status == Z_STREAM_END;
      auto const made = out.size() - z.avail_out;
      auto const kept = std::min<std::uint64_t>(made, 8 + head_bytes - result.head.size());
      result.head.insert(result.head.end(), out.begin(), out.begin() + static_cast<std::ptrdiff_t>(kept));
      result.count += made;
    }
    return result;
  }

  /// Checks an element of version 4. @return where the next one begins
  std::uint64_t after_element_4() {
    auto const head = read(begin_, 20);
    if (head.size() < 20) return size_;
    big_ = false;
    big_ = word(head, 0) > 4052;  // the largest number that the four digits of the first word can form
    auto const digits = word(head, 0), tens = digits / 10 % 10;
    big_ = digits >= 1000;  // what the first digit says is what matio follows
    auto const rows = word(head, 4), columns = word(head, 8), name = word(head, 16), left = size_ - begin_ - 20;
    constexpr std::array<unsigned char, 6> widths{8, 4, 4, 2, 2, 1};
    if (digits >= 2000 || digits / 100 % 10 != 0 || tens >= widths.size() || digits % 10 > 2 || name == 0) return size_;
    if (name > left) fail(name, " of name", "at most ", left);
    auto const width = widths[static_cast<std::size_t>(tens)] * (word(head, 12) != 0 ? 2u : 1u);
    if (rows * columns > (left - name) / width)
      fail("has " + std::to_string(rows) + " x " + std::to_string(columns) + " x " + std::to_string(width) +
           " bytes of values, expected at most " + std::to_string(left - name));
    return begin_ + 20 + name + rows * columns * width;
  }

  std::string path_;
  std::ifstream file_;
  std::uint64_t size_;       ///< bytes of the file
  std::uint64_t begin_ = 0;  ///< byte where the element begins that is checked
  bool big_ = false;         ///< whether the file is big-endian
};

}  // namespace mbirk::detail
