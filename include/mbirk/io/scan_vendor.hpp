// Scans of Nikon, SkyScan and North Star: a text and TIFF files beside it. Requires libtiff.
#pragma once

#include "mbirk/io/folder.hpp"
#include "mbirk/io/scan_text.hpp"
#include "mbirk/io/scan_tiff.hpp"

namespace mbirk {
namespace detail {

inline bool is_tiff_name(std::filesystem::path const& path) {
  auto const extension = lower_case(path.extension().string());
  return extension == ".tif" || extension == ".tiff";
}

}  // namespace detail

/// TIFF files of a folder whose names begin with `prefix`, in the order of the numbers in their names.
/// @throws io_error when the folder cannot be read
inline std::vector<std::filesystem::path> tiff_files(std::filesystem::path const& folder,
                                                     std::string const& prefix = {}) {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  std::error_code code;
  auto const names = detail::names_in(folder, code);
  if (code) detail::scan_fail(folder.string(), "cannot be read: " + code.message());
  for (auto const& name : names)
    if (name.starts_with(prefix) && detail::is_tiff_name(name) && fs::is_regular_file(folder / name, code))
      files.push_back(folder / name);
  std::sort(files.begin(), files.end(), [](fs::path const& a, fs::path const& b) {
    return detail::natural_less(a.filename().string(), b.filename().string());
  });
  return files;
}

namespace detail {

/// Frames flipped, then turned clockwise by quarter turns. Reads whole frames, one at a time.
inline frame_stack oriented_stack(frame_stack const& stack, described_frames const& how) {
  if (how.quarter_turns == 0 && !how.flip_rows && !how.flip_channels) return stack;
  frame_stack turned = stack;
  bool const lies = how.quarter_turns % 2 == 1;
  if (lies) std::swap(turned.shape[1], turned.shape[2]);
  turned.read_window = [stack, how](frame_window const& w, float* to) {
    index_t const rows = stack.shape[1], channels = stack.shape[2];
    index_t const width = how.quarter_turns % 2 == 1 ? rows : channels;
    std::vector<float> frame(static_cast<std::size_t>(rows * channels));
    for (index_t f = 0; f < w.count; ++f) {
      stack.read(w.first + f, 1, frame.data());
      for (index_t r = w.first_row; r < w.first_row + w.rows; ++r)
        for (index_t c = 0; c < width; ++c) {
          index_t row = r, channel = c;  // of the frame before the turns
          if (how.quarter_turns == 1) {
            row = rows - 1 - c;
            channel = r;
          } else if (how.quarter_turns == 2) {
            row = rows - 1 - r;
            channel = channels - 1 - c;
          } else if (how.quarter_turns == 3) {
            row = c;
            channel = channels - 1 - r;
          }
          if (how.flip_rows) row = rows - 1 - row;
          if (how.flip_channels) channel = channels - 1 - channel;
          *to++ = frame[static_cast<std::size_t>(row * channels + channel)];
        }
    }
  };
  return turned;
}

/// Finds the frames of a description: files that begin with its prefix, else with the description's own name, else all
/// TIFF files of the folder; as many as it says or one file that has them all.
inline frame_stack described_stack(std::filesystem::path const& path, described_frames const& frames, bool may_repeat) {
  namespace fs = std::filesystem;
  auto const stem = path.stem().string();
  std::vector<fs::path> folders{path.parent_path().empty() ? fs::path(".") : path.parent_path()};
  std::error_code code;
  if (!frames.folder.empty()) {
    // Only a folder within that of the description: names of the scanner's own drives are not followed.
    fs::path const inner = fs::path(frames.folder).filename();
    if (fs::is_directory(folders.front() / inner, code)) folders.insert(folders.begin(), folders.front() / inner);
  }
  auto const views = static_cast<std::size_t>(frames.shape[0]);
  std::size_t most = 0;
  std::vector<fs::path> single;
  for (auto const& folder : folders)
    for (auto const& prefix : {frames.prefix, stem, std::string()}) {
      if (prefix.empty() && &folder != &folders.front()) continue;
      auto files = tiff_files(folder, prefix);
      most = std::max(most, files.size());
      if (files.size() > views && !prefix.empty()) files.resize(views);  // the scanner may have appended others
      if (files.size() == views) return oriented_stack(open_tiffs(path.string(), files), frames);
      if (files.size() == 1 && single.empty()) single = files;
    }
  if (!single.empty()) {
    auto const stack = open_tiff(single.front());
    if (stack.shape[0] == frames.shape[0] || (may_repeat && stack.shape[0] == 1)) return oriented_stack(stack, frames);
    scan_fail(path.string(), "says there are " + std::to_string(views) + " projections, but " +
                                 single.front().filename().string() + " has " + std::to_string(stack.shape[0]) +
                                 ", expected one TIFF file per projection (--repeat-view for a body of revolution)");
  }
  scan_fail(path.string(), "says there are " + std::to_string(views) + " projections, but at most " +
                               std::to_string(most) + " TIFF files that fit are beside it");
}

}  // namespace detail

/// Opens the scan that a .xtekct, .log or .nsipro file describes.
/// @param repeat_view  allows one frame for all views, of a body of revolution.
/// @throws io_error
inline scan_description open_described(std::filesystem::path const& path, bool repeat_view = false) {
  auto const text = detail::read_description(path);
  auto const extension = detail::lower_case(path.extension().string());
  scan_description scan;
  described_frames frames;
  if (extension == ".xtekct") frames = parse_xtekct(text, path.string(), scan);
  else if (extension == ".log") frames = parse_skyscan(text, path.string(), scan);
  else frames = parse_nsipro(text, path.string(), scan);
  scan.data = detail::described_stack(path, frames, repeat_view);
  auto const& found = scan.data.shape;
  if (found[1] != frames.shape[1] || found[2] != frames.shape[2])
    detail::scan_fail(scan.data.name, "has frames of " + std::to_string(found[1]) + " x " + std::to_string(found[2]) +
                                          " pixels, but " + path.filename().string() + " says " +
                                          std::to_string(frames.shape[1]) + " x " + std::to_string(frames.shape[2]));
  if (repeat_view && found[0] == 1 && frames.shape[0] > 1) {
    scan.data = detail::selected_stack(scan.data, std::vector<index_t>(static_cast<std::size_t>(frames.shape[0]), 0));
    scan.facts.push_back({"data", "one view, repeated " + std::to_string(frames.shape[0]) + " times", "--repeat-view"});
  }
  scan.facts.push_back({"data", detail::shape_text(scan.data.shape) + " " + scan.data.type, "TIFF"});
  if (scan.white_level && scan.data.type.starts_with("float")) {
    // The white level belongs to the detector's integers; floats are transmission already.
    scan.white_level = 1;
    scan.facts.push_back({"white level", "1", "pixels are " + scan.data.type + ": transmission"});
  }
  if (extension == ".nsipro") {
    auto const corrections = path.parent_path() / "Corrections";
    std::error_code ignored;
    auto const field = [&](char const* name, std::optional<frame_stack>& to) {
      if (std::filesystem::exists(corrections / name, ignored))
        to = detail::oriented_stack(open_tiff(corrections / name), frames);
    };
    field("gain0.tif", scan.white);
    field("offset.tif", scan.dark);
  }
  return scan;
}

}  // namespace mbirk
