// Frames without a header: elements of a type that the user names. C++ standard library only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mbirk/io/frame_stack.hpp"

namespace mbirk {

/// Layout of a raw file: "u16le,views,rows,channels" or "u16le,views,rows,channels,skip". Types are u8, i8, u16, i16,
/// u32, i32, f32 and f64; those of more than one byte end in le or be. `skip` is the number of bytes before the frames.
struct raw_layout {
  detail::element_type type;
  std::array<index_t, 3> shape{};
  index_t skip = 0;
};

namespace detail {

inline element_type raw_type(std::string const& text, std::string const& place) {
  constexpr struct {
    std::string_view letters, name;
    index_t bytes;
  } types[] = {{"u8", "uint8", 1},   {"i8", "int8", 1},   {"u16", "uint16", 2},  {"i16", "int16", 2},
               {"u32", "uint32", 4}, {"i32", "int32", 4}, {"f32", "float32", 4}, {"f64", "float64", 8}};
  for (auto const& t : types) {
    if (t.bytes == 1 && text == t.letters) return {std::string(t.name), 1, false};
    bool const big = text == std::string(t.letters) + "be";
    if (big || text == std::string(t.letters) + "le") return {std::string(t.name), t.bytes, big};
  }
  scan_fail(place, "type " + text + " is not known, expected u8, i8, or u16, i16, u32, i32, f32, f64 with le or be");
}

/// A whole number from 0 to 2^59 in text. @throws io_error
inline index_t whole_number(std::string const& text, std::string const& place) {
  index_t n = 0;
  bool const ok = !text.empty() && text.size() <= 18 && text.find_first_not_of("0123456789") == text.npos;
  if (!ok) scan_fail(place, "'" + text.substr(0, 40) + "' is not a whole number of at most 18 digits");
  for (char const c : text) n = 10 * n + (c - '0');
  return n;
}

inline std::vector<std::string> split_text(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (std::size_t from = 0;;) {
    auto const to = text.find(at, from);
    parts.emplace_back(text.substr(from, to == text.npos ? to : to - from));
    if (to == text.npos) return parts;
    from = to + 1;
  }
}

}  // namespace detail

/// Parses a layout. @throws io_error with `place` ("--raw"), the part, and what was expected
inline raw_layout parse_raw_layout(std::string_view text, std::string const& place = "raw") {
  auto const parts = detail::split_text(text, ',');
  if (parts.size() != 4 && parts.size() != 5)
    detail::scan_fail(place, "'" + std::string(text.substr(0, 80)) +
                                 "' has " + std::to_string(parts.size()) +
                                 " parts, expected TYPE,VIEWS,ROWS,CHANNELS[,SKIP], such as u16le,180,1,512");
  raw_layout layout;
  layout.type = detail::raw_type(parts[0], place);
  for (std::size_t d = 0; d < 3; ++d) layout.shape[d] = detail::whole_number(parts[d + 1], place);
  if (parts.size() == 5) layout.skip = detail::whole_number(parts[4], place);
  detail::frame_bytes(place, layout.shape, layout.type.bytes);
  return layout;
}

/// Opens a raw file. @throws io_error when it is shorter than the layout says
inline frame_stack open_raw(std::filesystem::path const& path, raw_layout const& layout) {
  return detail::plain_stack(path, layout.shape, layout.type, layout.skip);
}

/// Opens a raw file of as many frames of the layout's type and size as it has, such as a white field.
/// @throws io_error when the size of the file is not a multiple of a frame
inline frame_stack open_raw_frames(std::filesystem::path const& path, raw_layout layout) {
  index_t const frame = detail::frame_bytes(path.string(), {1, layout.shape[1], layout.shape[2]}, layout.type.bytes);
  index_t const bytes = detail::file_bytes(path) - layout.skip;
  if (bytes < frame || bytes % frame != 0)
    detail::scan_fail(path.string(), "has " + std::to_string(bytes) + " bytes of frames, expected a multiple of " +
                                         std::to_string(frame) + ", the bytes of one frame");
  layout.shape[0] = bytes / frame;
  return open_raw(path, layout);
}

}  // namespace mbirk
