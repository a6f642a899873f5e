// Scans as they come from scanners: stacks of frames that are read window by window, and what a file says about the
// scan it holds. The readers of the formats (scan_*.hpp) return these types. C++ standard library only.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "mbirk/core/error.hpp"
#include "mbirk/core/index.hpp"
#include "mbirk/io/input_file.hpp"
#include "mbirk/io/printable.hpp"

namespace mbirk {

/// Part of a stack: frames [first, first + count), rows [first_row, first_row + rows), all channels.
struct frame_window {
  index_t first = 0, count = 0, first_row = 0, rows = 0;
};

/// Frames (frames, rows, channels) in one or more files. Opening checks sizes; only read() reads pixels.
struct frame_stack {
  std::string name;                ///< name for messages: file, or file and data set
  std::array<index_t, 3> shape{};  ///< (frames, rows, channels)
  std::string type;                ///< stored type, such as "uint16" or "float32"
  /// Reads a window, dense, as float. The window lies inside the stack. @throws io_error
  std::function<void(frame_window const& window, float* to)> read_window;
  std::vector<std::string> files = {};  ///< that reading opens
  double memory = 0;  ///< bytes that reading takes besides the window, as far as shapes tell

  void read(frame_window const& window, float* to) const {
    auto const inside = [](index_t first, index_t count, index_t size) {
      return first >= 0 && count >= 0 && first <= size && count <= size - first;
    };
    require<io_error>(inside(window.first, window.count, shape[0]) && inside(window.first_row, window.rows, shape[1]),
                      [&] {
                        return name + ": has shape " + detail::shape_text(shape) + ", which has no " +
                               std::to_string(window.count) + " frames from " + std::to_string(window.first) +
                               " with rows " + std::to_string(window.first_row) + " to " +
                               std::to_string(window.first_row + window.rows);
                      });
    if (window.count > 0 && window.rows > 0) read_window(window, to);
  }
  /// Reads whole frames.
  void read(index_t first, index_t count, float* to) const { read({first, count, 0, shape[1]}, to); }
};

/// A value that was found in a file: "source_detector_dist", "1127.464 mm", "SrcToDetector".
struct scan_fact {
  std::string name, value, source;
};

/// What a scan file holds. Lengths are in one unit, angles in radians; what the file does not say is empty.
struct scan_description {
  std::string format;
  frame_stack data;                          ///< (views, rows, channels)
  std::optional<frame_stack> white, dark;    ///< (frames, rows, channels)
  std::vector<index_t> white_at, dark_at;    ///< number of views taken before each frame; empty: unknown
  std::optional<double> white_level;         ///< one white value for all pixels; data are counts then
  std::vector<double> angles;                ///< one per view
  std::string unit;                          ///< unit of length, such as "mm"
  std::optional<double> source_detector_dist, source_iso_dist, delta_det_channel, delta_det_row, det_channel_offset,
      det_row_offset;
  std::vector<scan_fact> facts;
  std::vector<std::string> warnings;
};

namespace detail {

/// @param what  may quote text of the file, of which bytes that cannot be printed are replaced
[[noreturn]] inline void scan_fail(std::string const& name, std::string const& what,
                                   source_location w = source_location::current()) {
  throw io_error(name + ": " + printable(what), w);
}

/// Largest size of one axis of a scan; products of three such sizes are checked by frame_bytes.
constexpr index_t largest_axis = index_t{1} << 30;

/// Bytes of a stack of this shape. @throws io_error when an axis is empty or beyond 2^30, or the product is beyond 2^60
inline index_t frame_bytes(std::string const& name, std::array<index_t, 3> const& shape, index_t element_bytes) {
  double product = static_cast<double>(element_bytes);
  for (auto const n : shape) {
    if (n < 1 || n > largest_axis)
      scan_fail(name, "has shape " + shape_text(shape) +
                          ", expected (views, rows, channels), at least one of each and at most 2^30");
    product *= static_cast<double>(n);
  }
  if (product > 0x1p60) scan_fail(name, "has shape " + shape_text(shape) + ", expected at most 2^60 bytes");
  return shape[0] * shape[1] * shape[2] * element_bytes;
}

inline index_t file_bytes(std::filesystem::path const& path) {
  require_file(path);
  std::error_code code;
  auto const bytes = std::filesystem::file_size(path, code);
  if (code) scan_fail(path.string(), "cannot be read: " + code.message());
  return static_cast<index_t>(bytes);
}

/// A type of stored elements: name, bytes, and whether bytes have to be swapped.
struct element_type {
  std::string name;
  index_t bytes = 0;
  bool swap = false;
};

template <class S> void elements_to_float(unsigned char const* from, index_t count, bool swap, float* to) {
  for (index_t i = 0; i < count; ++i) {
    unsigned char raw[sizeof(S)];
    std::memcpy(raw, from + i * static_cast<index_t>(sizeof(S)), sizeof(S));
    if (swap) std::reverse(std::begin(raw), std::end(raw));
    S value;
    std::memcpy(&value, raw, sizeof(S));
    to[i] = static_cast<float>(value);
  }
}

/// Converts stored elements to float. @return false for a type that is not known
inline bool convert_elements(element_type const& type, unsigned char const* from, index_t count, float* to) {
  auto const run = [&]<class S>(std::type_identity<S>) {
    elements_to_float<S>(from, count, type.swap, to);
    return true;
  };
  if (type.name == "uint8") return run(std::type_identity<std::uint8_t>{});
  if (type.name == "int8") return run(std::type_identity<std::int8_t>{});
  if (type.name == "uint16") return run(std::type_identity<std::uint16_t>{});
  if (type.name == "int16") return run(std::type_identity<std::int16_t>{});
  if (type.name == "uint32") return run(std::type_identity<std::uint32_t>{});
  if (type.name == "int32") return run(std::type_identity<std::int32_t>{});
  if (type.name == "float32") return run(std::type_identity<float>{});
  if (type.name == "float64") return run(std::type_identity<double>{});
  return false;
}

/// Stack of frames of plain elements in one file, from byte `offset` on. Checks that the file is long enough.
inline frame_stack plain_stack(std::filesystem::path const& path, std::array<index_t, 3> const& shape,
                               element_type const& type, index_t offset) {
  std::string const name = path.string();
  index_t const bytes = frame_bytes(name, shape, type.bytes), found = file_bytes(path);
  if (offset < 0 || offset > found || bytes > found - offset)
    scan_fail(name, "is truncated: " + shape_text(shape) + " of " + type.name + " after " + std::to_string(offset) +
                        " bytes needs " + std::to_string(bytes) + " bytes, the file has " +
                        std::to_string(std::max<index_t>(0, found - offset)));
  auto const read = [path, shape, type, offset](frame_window const& w, float* to) {
    std::ifstream file(path, std::ios::binary);
    // Rows of a window are contiguous within a frame; whole frames are read at once.
    index_t const channels = shape[2], run = w.rows * channels, frame = shape[1] * channels;
    bool const whole = w.rows == shape[1];
    std::vector<unsigned char> buffer(static_cast<std::size_t>(std::min<index_t>(run, index_t{1} << 20) * type.bytes));
    auto const step = static_cast<index_t>(buffer.size()) / type.bytes;
    for (index_t f = 0; f < w.count; f += whole ? w.count : 1) {
      index_t const elements = whole ? w.count * run : run;
      file.seekg(offset + ((w.first + f) * frame + w.first_row * channels) * type.bytes);
      for (index_t done = 0; done < elements; done += step) {
        index_t const count = std::min(step, elements - done);
        if (!file.read(reinterpret_cast<char*>(buffer.data()), count * type.bytes))
          scan_fail(path.string(), "cannot be read to its end");
        convert_elements(type, buffer.data(), count, to + f * run + done);
      }
    }
  };
  return {name, shape, type.name, read, {name}};
}

/// Orders names by their texts, in which numbers count as numbers: view_9 comes before view_10.
inline bool natural_less(std::string const& a, std::string const& b) {
  auto const digit = [](char c) { return c >= '0' && c <= '9'; };
  std::size_t i = 0, k = 0;
  while (i < a.size() && k < b.size()) {
    if (digit(a[i]) && digit(b[k])) {
      auto const number = [&](std::string const& s, std::size_t& at) {
        while (at + 1 < s.size() && s[at] == '0' && digit(s[at + 1])) ++at;
        std::size_t const start = at;
        while (at < s.size() && digit(s[at])) ++at;
        return s.substr(start, at - start);
      };
      auto const x = number(a, i), y = number(b, k);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
    } else {
      if (a[i] != b[k]) return a[i] < b[k];
      ++i;
      ++k;
    }
  }
  if (a.size() - i != b.size() - k) return a.size() - i < b.size() - k;
  return a < b;
}

/// Concatenates stacks of equal frames in the order given. @throws io_error naming the first that differs
inline frame_stack joined_stack(std::string const& name, std::vector<frame_stack> parts) {
  if (parts.empty()) scan_fail(name, "has no frames, expected at least one");
  frame_stack all{name, parts.front().shape, parts.front().type, {}};
  all.shape[0] = 0;
  for (auto const& part : parts) {
    if (part.shape[1] != all.shape[1] || part.shape[2] != all.shape[2])
      scan_fail(part.name, "has frames of " + std::to_string(part.shape[1]) + " x " + std::to_string(part.shape[2]) +
                               " pixels, expected those of " + parts.front().name + ", " +
                               std::to_string(all.shape[1]) + " x " + std::to_string(all.shape[2]));
    all.shape[0] += part.shape[0];
    all.files.insert(all.files.end(), part.files.begin(), part.files.end());
    all.memory = std::max(all.memory, part.memory);
  }
  all.read_window = [parts = std::move(parts)](frame_window w, float* to) {
    for (auto const& part : parts) {
      if (w.count == 0) break;
      index_t const n = part.shape[0];
      if (w.first >= n) {
        w.first -= n;
        continue;
      }
      index_t const count = std::min(w.count, n - w.first);
      part.read({w.first, count, w.first_row, w.rows}, to);
      to += count * w.rows * part.shape[2];
      w.first = 0;
      w.count -= count;
    }
  };
  return all;
}

/// Frames of a stack in the order of a list, such as the views of a scan that has white fields between them. Neighbours
/// in the list that are neighbours in the stack are read together.
inline frame_stack selected_stack(frame_stack const& stack, std::vector<index_t> frames, std::string const& name = {}) {
  for (auto const f : frames)
    if (f < 0 || f >= stack.shape[0]) scan_fail(stack.name, "has no frame " + std::to_string(f));
  frame_stack part{name.empty() ? stack.name : name,
                   {static_cast<index_t>(frames.size()), stack.shape[1], stack.shape[2]},
                   stack.type,
                   {},
                   stack.files,
                   stack.memory};
  part.read_window = [stack, frames = std::move(frames)](frame_window const& w, float* to) {
    for (index_t f = 0; f < w.count;) {
      auto const at = [&](index_t k) { return frames[static_cast<std::size_t>(w.first + k)]; };
      index_t run = 1;
      while (f + run < w.count && at(f + run) == at(f) + run) ++run;
      stack.read({at(f), run, w.first_row, w.rows}, to + f * w.rows * stack.shape[2]);
      f += run;
    }
  };
  return part;
}

}  // namespace detail
}  // namespace mbirk
