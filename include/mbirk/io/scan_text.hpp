// Text files that describe a scan whose frames are TIFF files beside them: Nikon .xtekct, North Star .nsipro, SkyScan
// .log. Values only; scan_vendor.hpp finds the frames. C++ standard library only.
#pragma once

#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <numbers>
#include <sstream>

#include "mbirk/io/frame_stack.hpp"
#include "mbirk/io/scan_raw.hpp"

namespace mbirk {
namespace detail {

/// Largest text that describes a scan.
constexpr index_t largest_description = index_t{1} << 24;

inline std::string trimmed(std::string_view text) {
  auto const blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0 || c == 0; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return std::string(text);
}

inline std::string lower_case(std::string text) {
  for (auto& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// Texts by name, from one file. Names are compared without case.
class text_fields {
 public:
  explicit text_fields(std::string file) : file_(std::move(file)) {}

  void add(std::string const& name, std::string const& value) { values_.emplace(lower_case(name), value); }
  bool has(std::string const& name) const { return values_.contains(lower_case(name)); }
  bool empty() const noexcept { return values_.empty(); }
  std::string const& file() const noexcept { return file_; }

  std::string text(std::string const& name, std::string const& missing = {}) const {
    auto const found = values_.find(lower_case(name));
    return found == values_.end() ? missing : found->second;
  }
  /// A finite number. @throws io_error with the file and the field
  double number(std::string const& name) const {
    if (!has(name)) scan_fail(file_, name + " is missing, expected a number");
    auto const value = text(name);
    double x = 0;
    auto const [end, code] = std::from_chars(value.data() + (value.starts_with('+') ? 1 : 0),
                                             value.data() + value.size(), x);
    if (code != std::errc() || end != value.data() + value.size() || !std::isfinite(x))
      scan_fail(file_, name + " is '" + value.substr(0, 40) + "', expected a number");
    return x;
  }
  double number(std::string const& name, double missing) const { return has(name) ? number(name) : missing; }
  double positive(std::string const& name) const {
    double const x = number(name);
    if (!(x > 0)) scan_fail(file_, name + " is " + number_text(x) + ", expected a positive number");
    return x;
  }
  /// A size of an array, from 1 to 2^30.
  index_t count(std::string const& name) const {
    double const x = number(name);
    if (!(x >= 1 && x <= static_cast<double>(largest_axis)) || x != std::floor(x))
      scan_fail(file_, name + " is " + number_text(x) + ", expected a whole number from 1 to 2^30");
    return static_cast<index_t>(x);
  }
  /// As many numbers as `size`, separated by blanks.
  std::vector<double> numbers(std::string const& name, std::size_t size) const {
    std::istringstream words(text(name));
    std::vector<double> all;
    double x = 0;
    while (words >> x) all.push_back(x);
    if (all.size() != size || !std::all_of(all.begin(), all.end(), [](double v) { return std::isfinite(v); }))
      scan_fail(file_, name + " is '" + text(name).substr(0, 60) + "', expected " + std::to_string(size) + " numbers");
    return all;
  }

 private:
  std::string file_;
  std::map<std::string, std::string> values_;
};

/// Lines "name=value"; lines "[section]" begin sections whose names are not kept. The first of equal names counts.
inline text_fields parse_ini(std::string const& text, std::string const& file) {
  text_fields fields(file);
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    auto const equals = line.find('=');
    if (equals == line.npos || trimmed(line).starts_with('[')) continue;
    fields.add(trimmed(std::string_view(line).substr(0, equals)), trimmed(std::string_view(line).substr(equals + 1)));
  }
  return fields;
}

/// Lines "<name>value" within "<section>" and "</section>"; fields are called "section/name". A value ends at the end
/// of its line or at its closing tag.
inline text_fields parse_tagged(std::string const& text, std::string const& file) {
  text_fields fields(file);
  std::vector<std::string> sections;
  std::istringstream lines(text);
  std::string raw;
  while (std::getline(lines, raw)) {
    auto const line = trimmed(raw);
    auto const end = line.find('>');
    if (!line.starts_with('<') || end == line.npos) continue;
    auto const name = line.substr(1, end - 1);
    if (name.starts_with('/')) {
      if (!sections.empty()) sections.pop_back();
      continue;
    }
    auto value = line.substr(end + 1);
    value = trimmed(value.substr(0, value.find("</" + name)));
    if (value.empty() && line.find("</" + name) == line.npos) {
      if (sections.size() < 64) sections.push_back(name);
    } else {
      fields.add((sections.empty() ? "" : sections.back() + "/") + name, value);
    }
  }
  return fields;
}

inline std::string read_description(std::filesystem::path const& path) {
  if (file_bytes(path) > largest_description)
    scan_fail(path.string(), "has " + std::to_string(file_bytes(path)) + " bytes, expected a text of at most 16 MiB");
  return read_text(path);
}

/// Angles start + v * step, v = 0, ..., in radians from degrees.
inline std::vector<double> stepped_angles(double start, double step, index_t views) {
  std::vector<double> angles;
  for (index_t v = 0; v < views; ++v)
    angles.push_back((start + step * static_cast<double>(v)) * std::numbers::pi / 180);
  return angles;
}

/// Adds a length to a description, and where it came from.
inline void set_length(scan_description& scan, std::optional<double> scan_description::*field, char const* name,
                       double value, std::string const& source) {
  scan.*field = value;
  scan.facts.push_back({name, number_text(value) + " " + scan.unit, source});
}

}  // namespace detail

/// What a description says that is not a field of scan_description: how many frames of which size, and their names.
struct described_frames {
  std::array<index_t, 3> shape{};   ///< (views, rows, channels)
  std::string prefix;               ///< how the names of the frames' files begin
  std::string folder;               ///< folder of the frames beside the description; empty: its own
  int quarter_turns = 0;            ///< clockwise turns that the frames need
  bool flip_rows = false, flip_channels = false;  ///< before the turns
};

/// Parses a Nikon .xtekct file: mm and degrees. Detector offsets are those of the detector's centre, and
/// CentreOfRotation (Top, Bottom) is the distance of the axis from the line through source and detector centre, at the
/// axis. @throws io_error with the file and the field
inline described_frames parse_xtekct(std::string const& text, std::string const& file, scan_description& scan) {
  auto const f = detail::parse_ini(text, file);
  if (!f.has("SrcToDetector")) detail::scan_fail(file, "has no SrcToDetector, expected a Nikon .xtekct file");
  scan.format = "Nikon";
  scan.unit = "mm";
  described_frames frames;
  frames.shape = {f.count("Projections"), f.count("DetectorPixelsY"), f.count("DetectorPixelsX")};
  frames.prefix = f.text("Name");
  frames.folder = f.text("InputFolderName");
  using d = scan_description;
  detail::set_length(scan, &d::source_detector_dist, "source_detector_dist", f.positive("SrcToDetector"),
                     "SrcToDetector");
  detail::set_length(scan, &d::source_iso_dist, "source_iso_dist", f.positive("SrcToObject"), "SrcToObject");
  detail::set_length(scan, &d::delta_det_channel, "delta_det_channel", f.positive("DetectorPixelSizeX"),
                     "DetectorPixelSizeX");
  detail::set_length(scan, &d::delta_det_row, "delta_det_row", f.positive("DetectorPixelSizeY"), "DetectorPixelSizeY");
  double const top = f.number("CentreOfRotationTop", 0), bottom = f.number("CentreOfRotationBottom", 0);
  double const magnification = *scan.source_detector_dist / *scan.source_iso_dist;
  double const axis = (top + bottom) / 2 * magnification - f.number("DetectorOffsetX", 0);
  if (axis != 0)
    detail::set_length(scan, &d::det_channel_offset, "det_channel_offset", axis, "CentreOfRotation, DetectorOffsetX");
  if (top != bottom)
    scan.warnings.push_back(file + ": CentreOfRotationTop and Bottom differ: the axis is tilted, see --rotate");
  if (double const y = f.number("DetectorOffsetY", 0); y != 0)
    detail::set_length(scan, &d::det_row_offset, "det_row_offset", y, "DetectorOffsetY");
  double const step = f.number("AngularStep", 360 / static_cast<double>(frames.shape[0]));
  scan.angles = detail::stepped_angles(f.number("InitialAngle", 0), step, frames.shape[0]);
  scan.facts.push_back({"angles",
                        std::to_string(frames.shape[0]) + " from " + detail::number_text(f.number("InitialAngle", 0)) +
                            " by " + detail::number_text(step) + " degrees",
                        "InitialAngle, AngularStep"});
  if (f.has("WhiteLevel")) {
    scan.white_level = f.positive("WhiteLevel");
    scan.facts.push_back({"white level", detail::number_text(*scan.white_level), "WhiteLevel"});
  }
  return frames;
}

/// Parses a SkyScan or Bruker .log file: mm, um and degrees. @throws io_error with the file and the field
inline described_frames parse_skyscan(std::string const& text, std::string const& file, scan_description& scan) {
  auto const f = detail::parse_ini(text, file);
  if (!f.has("Number of Files") || !f.has("Object to Source (mm)"))
    detail::scan_fail(file, "has no Number of Files or no Object to Source (mm), expected a SkyScan .log file");
  scan.format = "SkyScan";
  scan.unit = "mm";
  described_frames frames;
  frames.shape = {f.count("Number of Files"), f.count("Number of Rows"), f.count("Number of Columns")};
  frames.prefix = f.text("Filename Prefix");
  using d = scan_description;
  double const object = f.positive("Object to Source (mm)"), voxel = f.positive("Image Pixel Size (um)") / 1000;
  if (f.has("Camera to Source (mm)")) {
    double const camera = f.positive("Camera to Source (mm)");
    detail::set_length(scan, &d::source_detector_dist, "source_detector_dist", camera, "Camera to Source (mm)");
    detail::set_length(scan, &d::source_iso_dist, "source_iso_dist", object, "Object to Source (mm)");
    // The pixel at the axis is given; the camera's own may be binned.
    detail::set_length(scan, &d::delta_det_channel, "delta_det_channel", voxel * camera / object,
                       "Image Pixel Size (um) x magnification");
  } else {
    detail::set_length(scan, &d::delta_det_channel, "delta_det_channel", voxel, "Image Pixel Size (um)");
  }
  scan.delta_det_row = *scan.delta_det_channel * f.number("Camera X/Y Ratio", 1);
  if (f.has("Optical Axis (line)")) {
    double const middle = (static_cast<double>(frames.shape[1]) - 1) / 2;
    // Lines count from the bottom of the image, rows from the top.
    double const row = static_cast<double>(frames.shape[1]) - 1 - f.number("Optical Axis (line)");
    if (scan.source_detector_dist)
      detail::set_length(scan, &d::det_row_offset, "det_row_offset", (row - middle) * *scan.delta_det_row,
                         "Optical Axis (line)");
  }
  if (double const shift = f.number("Postalignment", 0); shift != 0)
    detail::set_length(scan, &d::det_channel_offset, "det_channel_offset", shift * *scan.delta_det_channel,
                       "Postalignment");
  double const step = f.number("Rotation Step (deg)");
  double const sign = detail::lower_case(f.text("Rotation Direction", "CC")).starts_with("cc") ? 1 : -1;
  scan.angles = detail::stepped_angles(f.number("Scanning Start Angle", 0), sign * step, frames.shape[0]);
  scan.facts.push_back({"angles", std::to_string(frames.shape[0]) + " by " + detail::number_text(step) + " degrees",
                        "Rotation Step (deg)"});
  if (f.has("Reference Intensity")) {
    scan.white_level = f.positive("Reference Intensity");
    scan.facts.push_back({"white level", detail::number_text(*scan.white_level), "Reference Intensity"});
  }
  return frames;
}

/// Parses a North Star Imaging .nsipro file: mm and degrees, with the vectors of source, detector and axis.
/// @throws io_error with the file and the field
inline described_frames parse_nsipro(std::string const& text, std::string const& file, scan_description& scan) {
  auto const f = detail::parse_tagged(text, file);
  if (!f.has("Result/source")) detail::scan_fail(file, "has no <source> in <Result>, expected an .nsipro file");
  scan.format = "North Star";
  scan.unit = "mm";
  described_frames frames;
  frames.shape = {f.count("Object Radiograph/number"), f.count("Detector/height pixels"),
                  f.count("Detector/width pixels")};
  frames.folder = "Radiographs";
  auto const flag = [&](char const* name) { return detail::lower_case(f.text(name)) == "true"; };
  frames.flip_rows = flag("Correction/flipV");
  frames.flip_channels = flag("Correction/flipH");
  double const turn = f.number("Correction/rotate", 0);
  if (turn != 0 && turn != 90 && turn != 180 && turn != 270)
    detail::scan_fail(file, "Correction/rotate is " + detail::number_text(turn) + ", expected 0, 90, 180 or 270");
  frames.quarter_turns = static_cast<int>(turn) / 90;
  bool const lies = frames.quarter_turns % 2 == 1;
  if (lies) std::swap(frames.shape[1], frames.shape[2]);
  using vector = std::vector<double>;
  vector const source = f.numbers("Result/source", 3), reference = f.numbers("Result/reference", 3),
               normal = f.numbers("Result/normal", 3), horizontal = f.numbers("Result/horizontal", 3),
               pitch = f.numbers("Object Radiograph/pitch", 2);
  vector axis = f.has("Result/axis") ? f.numbers("Result/axis", 3) : vector{0, -1, 0};
  if (axis[1] > 0)
    for (auto& a : axis) a = -a;  // down, as rows count
  auto const dot = [](vector const& a, vector const& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; };
  auto const combine = [](vector const& a, double s, vector const& b) {
    return vector{a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]};
  };
  double const iso = std::abs(dot(source, normal)), full = std::abs(dot(combine(reference, -1, source), normal));
  if (!(iso > 0 && full > iso))
    detail::scan_fail(file, "source, reference and normal give the distances " + detail::number_text(iso) + " and " +
                                detail::number_text(full) + ", expected an axis between source and detector");
  if (!(pitch[0] > 0 && pitch[1] > 0)) detail::scan_fail(file, "Object Radiograph/pitch is not positive");
  using d = scan_description;
  detail::set_length(scan, &d::source_detector_dist, "source_detector_dist", full, "source, reference, normal");
  detail::set_length(scan, &d::source_iso_dist, "source_iso_dist", iso, "source, normal");
  detail::set_length(scan, &d::delta_det_channel, "delta_det_channel", pitch[0], "pitch");
  detail::set_length(scan, &d::delta_det_row, "delta_det_row", pitch[1], "pitch");
  // The reference is the middle of pixel (0, 0); the ray through the axis meets the detector at `foot`.
  auto const middle = combine(combine(reference, pitch[0] * (static_cast<double>(frames.shape[2]) - 1) / 2, horizontal),
                              pitch[1] * (static_cast<double>(frames.shape[1]) - 1) / 2, axis);
  auto const foot = combine(source, -full / iso, source);
  auto const from_middle = combine(foot, -1, middle);
  detail::set_length(scan, &d::det_channel_offset, "det_channel_offset", dot(from_middle, horizontal),
                     "reference, horizontal");
  detail::set_length(scan, &d::det_row_offset, "det_row_offset", dot(from_middle, axis), "reference, axis");
  double const step = f.number("Object Radiograph/angleStep") * (flag("Processed/clockwise") ? 1 : -1);
  scan.angles = detail::stepped_angles(0, step, frames.shape[0]);
  scan.facts.push_back({"angles", std::to_string(frames.shape[0]) + " by " + detail::number_text(step) + " degrees",
                        "angleStep, clockwise"});
  return frames;
}

}  // namespace mbirk
