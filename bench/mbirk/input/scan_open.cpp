// Formats are told by the contents of a file; the names of text formats by their extension.
#include "input/scan_open.hpp"

#include <glob.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numbers>

#include "input/scan_child.hpp"
#include "mbirk/io/scan_mrc.hpp"
#include "mbirk/io/scan_npy.hpp"
#include "mbirk/io/scan_raw.hpp"
#include "mbirk/io/scan_text.hpp"
#if defined(MBIRK_WITH_HDF5)
#include "mbirk/io/scan_hdf5.hpp"
#endif
#if defined(MBIRK_WITH_TIFF)
#include "mbirk/io/scan_vendor.hpp"
#endif
#if defined(MBIRK_WITH_MATIO)
#include "mbirk/io/scan_matlab.hpp"
#endif
#if defined(MBIRK_WITH_GSF)
#include "mbirk/io/scan_zeiss.hpp"
#endif

namespace mbirk::program {
namespace {

namespace fs = std::filesystem;
using mbirk::detail::scan_fail;
using mbirk::detail::shape_text;

enum class format { npy, hdf5, tiff, tiff_series, matlab, mrc, described, zeiss, unknown };

bool is_pattern(std::string const& name) { return name.find_first_of("*?[") != name.npos; }

bool starts_as_hdf5(std::ifstream& file) {
  // The signature is at offset 0 or, after a user block, at 512, 1024, 2048, ...
  char start[8] = {};
  file.clear();
  file.seekg(0);
  file.read(start, sizeof start);
  for (std::streamoff at = 0; file.gcount() == sizeof start; at = at ? 2 * at : 512) {
    if (std::memcmp(start, "\x89HDF\r\n\x1a\n", 8) == 0) return true;
    file.clear();
    file.seekg(at ? 2 * at : 512);
    file.read(start, sizeof start);
  }
  return false;
}

format format_of(fs::path const& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return format::tiff_series;
  if (is_pattern(path.string()) && !fs::exists(path, ignored)) return format::tiff_series;
  mbirk::detail::require_file(path);
  std::ifstream file(path, std::ios::binary);
  char start[216] = {};
  file.read(start, sizeof start);
  auto const found = static_cast<std::size_t>(file.gcount());
  auto const begins = [&](char const* magic, std::size_t bytes) {
    return found >= bytes && std::memcmp(start, magic, bytes) == 0;
  };
  if (begins("\x93NUMPY", 6)) return format::npy;
  if (begins("II*\0", 4) || begins("MM\0*", 4) || begins("II+\0", 4) || begins("MM\0+", 4)) return format::tiff;
  if (begins("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 8)) return format::zeiss;
  if (starts_as_hdf5(file)) return format::hdf5;
  if (begins("MATLAB 5.0", 10)) return format::matlab;
  if (found >= 212 && std::memcmp(start + 208, "MAP", 3) == 0) return format::mrc;
  auto const extension = mbirk::detail::lower_case(path.extension().string());
  if (extension == ".xtekct" || extension == ".nsipro" || extension == ".log") return format::described;
  if (extension == ".mat") return format::matlab;
  if (extension == ".mrc" || extension == ".st" || extension == ".rec" || extension == ".ali") return format::mrc;
  return format::unknown;
}

[[maybe_unused, noreturn]] void fail_without(std::string const& name, char const* what, char const* package) {
  scan_fail(name, std::string("is ") + what + ", which this program cannot read: it was built without " + package);
}

#if defined(MBIRK_WITH_TIFF)
frame_stack open_series(std::string const& name) {
  std::vector<fs::path> files;
  if (is_pattern(name)) {
    glob_t found{};
    if (glob(name.c_str(), 0, nullptr, &found) == 0)
      for (std::size_t k = 0; k < found.gl_pathc; ++k) files.emplace_back(found.gl_pathv[k]);
    globfree(&found);
    std::sort(files.begin(), files.end(), [](fs::path const& a, fs::path const& b) {
      return mbirk::detail::natural_less(a.string(), b.string());
    });
  } else {
    files = tiff_files(name);
  }
  if (files.empty()) scan_fail(name, is_pattern(name) ? "matches no file" : "is a folder without TIFF files");
  return open_tiffs(name, files);
}
#endif

/// The raw files that a name or pattern means, each with as many frames of the layout as it has.
frame_stack open_raw_series(std::string const& name, raw_layout const& layout) {
  if (!is_pattern(name)) return open_raw_frames(name, layout);
  std::vector<std::string> names;
  glob_t found{};
  if (glob(name.c_str(), 0, nullptr, &found) == 0)
    for (std::size_t k = 0; k < found.gl_pathc; ++k) names.emplace_back(found.gl_pathv[k]);
  globfree(&found);
  std::sort(names.begin(), names.end(), mbirk::detail::natural_less);
  std::vector<frame_stack> parts;
  for (auto const& one : names) parts.push_back(open_raw_frames(one, layout));
  return mbirk::detail::joined_stack(name, std::move(parts));
}

#if defined(MBIRK_WITH_HDF5)
/// libhdf5 prints nothing itself, at the end of the process neither; files are closed by their owners.
void silence_hdf5() {
  static bool const once = [] {
    H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    return true;
  }();
  static_cast<void>(once);
}

hdf5_reading hdf5_how(measurement_files const& files, memory_budget const& memory) {
  return {files.trust.follow_links ? hdf5_links::anywhere : hdf5_links::inside,
          [memory](double bytes, std::string const& what) { memory.require(bytes, what); }};
}
#endif

/// Only an HDF5 file has several arrays; other formats ignore `set`.
scan_description open_format(std::string const& name, [[maybe_unused]] scan_options const& o,
                             [[maybe_unused]] measurement_files const& files,
                             [[maybe_unused]] memory_budget const& memory) {
  scan_description scan;
  switch (format_of(name)) {
    case format::npy:
      scan.format = "npy";
      scan.data = open_npy_stack(name, o.axes);
      return scan;
    case format::mrc: return open_mrc(name);
    case format::hdf5: {
#if defined(MBIRK_WITH_HDF5)
      silence_hdf5();
      auto const how = hdf5_how(files, memory);
      hdf5_file const file(name, how.links);
      if (!o.data.empty() && !(o.axes.empty() && is_nxtomo(file))) return open_hdf5(name, {o.data, o.axes}, how);
      if (file.has("/exchange/data")) return open_data_exchange(name, how);
      if (is_nxtomo(file)) return open_nxtomo(name, o.data, how);
      scan_fail(name,
                "has no data set /exchange/data, expected the Data Exchange layout, an image_key (NXtomo), or the "
                "path of the array by --data and --axes");
#else
      fail_without(name, "an HDF5 file", "HDF5");
#endif
    }
    case format::tiff:
    case format::tiff_series: {
#if defined(MBIRK_WITH_TIFF)
      scan.format = "TIFF";
      scan.data = format_of(name) == format::tiff ? open_tiff(name) : open_series(name);
      return scan;
#else
      fail_without(name, "a TIFF file or a folder", "libtiff");
#endif
    }
    case format::matlab: {
#if defined(MBIRK_WITH_MATIO)
      scan.format = "MATLAB";
      scan.data = open_matlab(name, o.data, o.axes);
      return scan;
#else
      fail_without(name, "a MATLAB file", "matio");
#endif
    }
    case format::described: {
#if defined(MBIRK_WITH_TIFF)
      return open_described(name, o.repeat_view);
#else
      fail_without(name, "the description of TIFF files", "libtiff");
#endif
    }
    case format::zeiss: {
#if defined(MBIRK_WITH_GSF)
      return open_zeiss(name);
#else
      fail_without(name, "a Zeiss file", "libgsf");
#endif
    }
    case format::unknown: break;
  }
  scan_fail(name,
            "is neither an npy file nor an HDF5 file, nor TIFF, MRC, MATLAB, Zeiss or a scanner's .xtekct, .nsipro "
            "or .log; raw pixels need --raw");
}

/// A white or dark field: a data set of INPUT, or a file.
frame_stack open_field(std::string const& name, [[maybe_unused]] char const* set, measurement_files const& files,
                       frame_stack const& data, memory_budget const& memory) {
  if (!files.scan.raw.empty()) {
    auto layout = parse_raw_layout(files.scan.raw, "--raw");
    layout.shape = data.shape;
    return open_raw_series(name, layout);
  }
#if defined(MBIRK_WITH_HDF5)
  std::error_code ignored;
  bool const is_file = fs::exists(name, ignored) || is_pattern(name);
  auto const input_is_hdf5 = format_of(files.input) == format::hdf5;
  auto const how = hdf5_how(files, memory);
  if (!is_file && input_is_hdf5) {
    hdf5_paths const paths{files.scan.data.empty() ? name : files.scan.data, files.scan.axes, "", name};
    return *open_hdf5(files.input, paths, how).white;
  }
  if (format_of(name) == format::hdf5) {
    silence_hdf5();
    auto const file = std::make_shared<hdf5_file const>(name, how.links);
    if (!file->has(set)) scan_fail(name, std::string("has no data set ") + set);
    return mbirk::detail::hdf5_stack(mbirk::detail::hdf5_locate(file, set));
  }
#endif
  return open_format(name, {}, files, memory).data;
}

/// A field of rows and channels is one frame.
void require_field(frame_stack& field, frame_stack const& data) {
  auto& s = field.shape;
  if (s[1] == 1 && s[0] == data.shape[1] && s[2] == data.shape[2] && data.shape[1] > 1) {
    auto const frames = field;
    field.shape = {1, s[0], s[2]};
    field.read_window = [frames](frame_window const& w, float* to) { frames.read(w.first_row, w.rows, to); };
  }
  if (s[1] != data.shape[1] || s[2] != data.shape[2])
    scan_fail(field.name,
              "has shape " + shape_text(s) + ", expected (frames, rows, channels) or (rows, channels) with " +
                  std::to_string(data.shape[1]) + " rows and " + std::to_string(data.shape[2]) + " channels");
}

/// Angles by option: FIRST:LAST in degrees, of the first view and of the one after the last; FIRST:LAST:closed counts
/// the last view; a file; or a data set of INPUT.
void read_angles(measurement_files const& files, scan_description& scan, memory_budget const& memory) {
  auto const& text = files.scan.angles;
  index_t const views = scan.data.shape[0];
  memory.require(12 * static_cast<double>(views), "--angles: " + std::to_string(views) + " angles");
  double factor = files.scan.angle_unit == "rad" ? 1 : std::numbers::pi / 180;
  std::vector<double> angles;
  auto const require_count = [&](index_t values) {
    if (values != views)
      scan_fail("--angles " + text.substr(0, 80), "has " + std::to_string(values) +
                                                      " values, expected one angle per view = (" +
                                                      std::to_string(views) + ")");
  };
  auto const number = [](std::string const& word, double& x) {
    auto const [end, code] = std::from_chars(word.data(), word.data() + word.size(), x);
    return !word.empty() && code == std::errc() && end == word.data() + word.size() && std::isfinite(x);
  };
  auto const parts = mbirk::detail::split_text(text, ':');
  double first = 0, last = 0;
  bool const closed = parts.size() == 3 && parts[2] == "closed";
  std::error_code ignored;
  if ((parts.size() == 2 || closed) && number(parts[0], first) && number(parts[1], last)) {
    auto const steps = static_cast<double>(closed ? std::max<index_t>(views - 1, 1) : views);
    for (index_t v = 0; v < views; ++v) angles.push_back(first + (last - first) * static_cast<double>(v) / steps);
  } else if (fs::exists(text, ignored)) {
    if (format_of(text) == format::npy) {
      auto const header = read_npy_header(text);
      require_count(header.elements);
      auto const array = read_npy<float>(text);
      require_finite(array, text);
      angles.assign(array.data.begin(), array.data.end());
    } else {
      angles = mbirk::detail::numbers_in_text(text, mbirk::detail::read_description(text));
    }
  } else {
#if defined(MBIRK_WITH_HDF5)
    if (format_of(files.input) == format::hdf5) {
      auto const how = hdf5_how(files, memory);
      auto const file = std::make_shared<hdf5_file const>(files.input, how.links);
      angles = mbirk::detail::hdf5_angles(mbirk::detail::hdf5_locate(file, text), scan.warnings, {views}, how);
      factor = files.scan.angle_unit.empty() ? 1 : factor;
    } else
#endif
      scan_fail("--angles", "'" + text.substr(0, 80) +
                                "' is neither FIRST:LAST in degrees, a file, nor a data set of " + files.input);
  }
  require_count(std::ssize(angles));
  for (auto& a : angles) a *= factor;
  scan.angles = std::move(angles);
  scan.facts.push_back({"angles", std::to_string(views) + " values", "--angles"});
}

scan_description open_here(measurement_files const& files, memory_budget const& memory) {
  scan_description scan;
  if (!files.scan.raw.empty()) {
    auto const layout = parse_raw_layout(files.scan.raw, "--raw");
    scan.format = "raw";
    scan.data = is_pattern(files.input) ? open_raw_series(files.input, layout) : open_raw(files.input, layout);
    if (scan.data.shape[0] != layout.shape[0])
      scan_fail(files.input, "has " + std::to_string(scan.data.shape[0]) + " views, but --raw says " +
                                 std::to_string(layout.shape[0]));
    scan.facts.push_back({"data", shape_text(layout.shape) + " " + layout.type.name, "--raw"});
  } else {
    scan = open_format(files.input, files.scan, files, memory);
  }
  auto const& s = scan.data.shape;
  if (s[0] < 1 || s[1] < 1 || s[2] < 1)
    scan_fail(scan.data.name,
              "has shape " + shape_text(s) + ", expected (views, rows, channels), at least one of each");
  if (!files.white.empty()) {
    scan.white = open_field(files.white, "/exchange/data_white", files, scan.data, memory);
    scan.white_at.clear();
    scan.white_level.reset();
    scan.facts.push_back({"white field", std::to_string(scan.white->shape[0]) + " frames", "--white"});
  }
  if (!files.dark.empty()) {
    scan.dark = open_field(files.dark, "/exchange/data_dark", files, scan.data, memory);
    scan.dark_at.clear();
    scan.facts.push_back({"dark field", std::to_string(scan.dark->shape[0]) + " frames", "--dark"});
  }
  if (scan.white) require_field(*scan.white, scan.data);
  if (scan.dark) require_field(*scan.dark, scan.data);
  if (files.scan.white_level) {
    scan.white_level = *files.scan.white_level;
    scan.facts.push_back({"white level", mbirk::detail::number_text(*scan.white_level), "--white-level"});
  }
  if (!files.scan.angles.empty()) read_angles(files, scan, memory);
  if (!scan.angles.empty() && static_cast<index_t>(scan.angles.size()) != s[0])
    scan_fail(scan.data.name, "has " + std::to_string(scan.angles.size()) + " angles, expected one angle per view = (" +
                                  std::to_string(s[0]) + ")");
  return scan;
}

/// Names the option in errors about links.
scan_description open_in_process(measurement_files const& files, memory_budget const& memory) {
#if defined(MBIRK_WITH_HDF5)
  try {
    return open_here(files, memory);
  } catch (hdf5_link_error const& e) {
    throw io_error(e.what() + std::string(" (--follow-links)"), e.where);
  }
#else
  return open_here(files, memory);
#endif
}

}  // namespace

scan_description open_scan(measurement_files const& files, memory_budget const& memory) {
  if (!files.trust.untrusted) return open_in_process(files, memory);
  return open_scan_in_child(files.input, files.trust.limits,
                            [files, memory] { return open_in_process(files, memory); });
}

std::vector<std::string> files_of(scan_description const& scan) {
  auto files = scan.data.files;
  for (auto const* const field : {&scan.white, &scan.dark})
    if (*field) files.insert(files.end(), (*field)->files.begin(), (*field)->files.end());
  return files;
}

std::string optional_formats() {
  std::string names;
  [[maybe_unused]] auto const add = [&](char const* name) { names += (names.empty() ? "" : ", ") + std::string(name); };
#if defined(MBIRK_WITH_HDF5)
  add("HDF5");
#endif
#if defined(MBIRK_WITH_TIFF)
  add("TIFF");
#endif
#if defined(MBIRK_WITH_MATIO)
  add("MATLAB");
#endif
#if defined(MBIRK_WITH_GSF)
  add("Zeiss");
#endif
  return names;
}

}  // namespace mbirk::program
