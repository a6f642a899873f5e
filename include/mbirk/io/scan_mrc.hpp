// Tilt series in the MRC format (2000 and 2014), with tilts in a .rawtlt or .tlt file. C++ standard library only.
// Source: Cheng et al., MRC2014: Extensions to the MRC format header for electron cryo-microscopy and tomography, 2015.
#pragma once

#include <charconv>
#include <cmath>
#include <cstring>
#include <numbers>
#include <sstream>

#include "mbirk/io/frame_stack.hpp"

namespace mbirk {
namespace detail {

/// Numbers in a text, separated by white space or commas; # begins a comment. @throws io_error naming the line
inline std::vector<double> numbers_in_text(std::string const& name, std::string const& text) {
  std::vector<double> numbers;
  std::istringstream lines(text);
  std::string line;
  for (int at = 1; std::getline(lines, line); ++at) {
    line = line.substr(0, line.find('#'));
    for (auto& c : line)
      if (c == ',' || c == ';' || c == '\t' || c == '\r') c = ' ';
    std::istringstream words(line);
    std::string word;
    while (words >> word) {
      double x = 0;
      char const* const first = word.data() + (word.front() == '+' ? 1 : 0);
      auto const [end, code] = std::from_chars(first, word.data() + word.size(), x);
      if (code != std::errc() || end != word.data() + word.size() || !std::isfinite(x))
        scan_fail(name, "line " + std::to_string(at) + ": '" + word.substr(0, 40) + "' is not a number");
      numbers.push_back(x);
    }
  }
  return numbers;
}

}  // namespace detail

/// What the header of an MRC file says.
struct mrc_header {
  std::array<index_t, 3> shape{};  ///< (sections, rows, columns)
  detail::element_type type;
  index_t offset = 0;                  ///< byte of the first element
  double pixel_angstrom = 0;           ///< 0 when the header does not say
};

/// Parses a header of 1024 bytes. @param name  for messages. @throws io_error
inline mrc_header parse_mrc_header(unsigned char const* bytes, index_t count, std::string const& name) {
  if (count < 1024)
    detail::scan_fail(name, "is truncated: an MRC header needs 1024 bytes, the file has " + std::to_string(count));
  if (std::memcmp(bytes + 208, "MAP", 3) != 0)
    detail::scan_fail(name, "is not an MRC file: bytes 208 to 210 are not MAP");
  bool const swap = bytes[212] == 0x11;
  auto const word = [&](int at) {
    unsigned char raw[4];
    std::memcpy(raw, bytes + 4 * (at - 1), 4);
    if (swap) std::reverse(std::begin(raw), std::end(raw));
    std::uint32_t value;
    std::memcpy(&value, raw, 4);
    return value;
  };
  auto const integer = [&](int at) { return static_cast<index_t>(static_cast<std::int32_t>(word(at))); };
  mrc_header h;
  h.shape = {integer(3), integer(2), integer(1)};
  index_t const mode = integer(4), extended = integer(24);
  if (mode == 0) h.type = {"int8", 1, false};
  else if (mode == 1) h.type = {"int16", 2, swap};
  else if (mode == 2) h.type = {"float32", 4, swap};
  else if (mode == 6) h.type = {"uint16", 2, swap};
  else
    detail::scan_fail(name,
                      "has mode " + std::to_string(mode) + ", expected 0, 1, 2 or 6 (int8, int16, float32, uint16)");
  if (extended < 0 || extended > detail::largest_axis)
    detail::scan_fail(name, "has an extended header of " + std::to_string(extended) + " bytes, expected 0 to 2^30");
  h.offset = 1024 + extended;
  float const cell = std::bit_cast<float>(word(11));
  if (integer(8) > 0 && cell > 0 && std::isfinite(cell))
    h.pixel_angstrom = static_cast<double>(cell) / static_cast<double>(integer(8));
  return h;
}

/// Opens a tilt series. Tilts, in degrees, come from the file of the same name with .rawtlt or .tlt, if there is one.
/// @throws io_error
inline scan_description open_mrc(std::filesystem::path const& path) {
  detail::require_file(path);
  std::vector<unsigned char> bytes(1024);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(bytes.data()), 1024);
  auto const h = parse_mrc_header(bytes.data(), static_cast<index_t>(file.gcount()), path.string());
  scan_description scan;
  scan.format = "MRC";
  scan.data = detail::plain_stack(path, h.shape, h.type, h.offset);
  if (h.pixel_angstrom > 0) {
    scan.delta_det_channel = scan.delta_det_row = h.pixel_angstrom / 10;
    scan.unit = "nm";
    scan.facts.push_back(
        {"delta_det_channel", detail::number_text(h.pixel_angstrom / 10) + " nm", "map header, cell / mx"});
  }
  for (char const* extension : {".rawtlt", ".tlt"}) {
    auto tilts = path;
    tilts.replace_extension(extension);
    std::error_code ignored;
    if (!std::filesystem::exists(tilts, ignored)) continue;
    auto const degrees = detail::numbers_in_text(tilts.string(), detail::read_text(tilts));
    if (static_cast<index_t>(degrees.size()) != h.shape[0])
      detail::scan_fail(tilts.string(), "has " + std::to_string(degrees.size()) +
                                            " tilts, expected one per section = " + std::to_string(h.shape[0]));
    for (auto const d : degrees) scan.angles.push_back(d * std::numbers::pi / 180);
    scan.facts.push_back({"angles", std::to_string(degrees.size()) + " tilts in degrees", tilts.filename().string()});
    break;
  }
  return scan;
}

}  // namespace mbirk
