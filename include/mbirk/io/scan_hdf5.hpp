// Frames from HDF5 files in any layout, read window by window through external links and virtual data sets. Requires
// the HDF5 C library, which has global state and must be used by one thread at a time.
#pragma once

#include <cctype>
#include <cmath>
#include <functional>
#include <memory>
#include <numbers>
#include <span>
#include <sstream>

#include "mbirk/io/hdf5.hpp"
#include "mbirk/io/scan_axes.hpp"

namespace mbirk {

/// How far a file is trusted.
struct hdf5_reading {
  hdf5_links links = hdf5_links::anywhere;
  /// Called before a list is read or made whose length the file says: bytes, and what they are for. It may throw.
  std::function<void(double bytes, std::string const& what)> require_memory = {};
};

namespace detail {

/// A data set that was found, in the file that holds it.
struct hdf5_place {
  std::shared_ptr<hdf5_file const> file;
  std::string set;
  std::string name() const { return file->path().string() + ": " + printable(set, 200); }
};

/// External links lead to other files; more than this many in a row are taken for a cycle.
constexpr int most_external_links = 16;

/// Finds a data set by its path. An external link whose file is not where it says is looked for beside the file that
/// has the link, because measurements are moved. @throws io_error
inline hdf5_place hdf5_locate(std::shared_ptr<hdf5_file const> file, std::string set) {
  namespace fs = std::filesystem;
  if (!set.starts_with('/')) set.insert(0, 1, '/');
  for (int hops = 0; hops < most_external_links; ++hops) {
    std::string rest;
    bool followed = false;
    for (auto end = set.find('/', 1);; end = set.find('/', end + 1)) {
      auto const part = set.substr(0, end);
      H5L_info_t info{};
      auto const known = hdf5_quietly([&] { return H5Lget_info(file->handle(), part.c_str(), &info, H5P_DEFAULT); });
      if (known < 0) hdf5_fail(file->path(), "has no data set " + set);
      if (info.type == H5L_TYPE_EXTERNAL) {
        std::vector<char> text(info.u.val_size + 1);
        unsigned flags = 0;
        char const *target = nullptr, *object = nullptr;
        hdf5_call(file->path(), "link " + part + " cannot be read", [&] {
          auto const got = H5Lget_val(file->handle(), part.c_str(), text.data(), info.u.val_size, H5P_DEFAULT);
          return got < 0 ? got : H5Lunpack_elink_val(text.data(), info.u.val_size, &flags, &target, &object);
        });
        if (file->links() == hdf5_links::inside)
          hdf5_refuse_link(file->path(), part, printable(object, 200) + " of file " + printable(target, 200));
        auto const folder = file->path().parent_path();
        fs::path other = folder / target;
        std::error_code ignored;
        if (!fs::exists(other, ignored)) other = folder / fs::path(target).filename();
        if (!fs::exists(other, ignored))
          hdf5_fail(file->path(),
                    part + " is an external link to " + target + ", which is neither there nor beside this file");
        rest = end == set.npos ? "" : set.substr(end);
        set = object + rest;
        if (!set.starts_with('/')) set.insert(0, 1, '/');
        file = std::make_shared<hdf5_file const>(other);
        followed = true;
        break;
      }
      if (end == set.npos) break;
    }
    if (!followed) return {file, set};
  }
  hdf5_fail(file->path(), set + " leads through more than " + std::to_string(most_external_links) +
                              " external links, expected no cycle");
}

/// Checks that the elements of a data set can be read: its filters are installed, the files of a virtual data set are
/// there, and something was written. Adds files to the stack, and the memory of a chunk, which is read as a whole.
/// @throws io_error with the remedy
inline void hdf5_require_readable(hdf5_place const& place, frame_stack& stack) {
  auto const& path = place.file->path();
  auto const what = place.set + " cannot be read";
  auto const set = place.file->open(place.set);
  hdf5_handle const properties(hdf5_call(path, what, [&] { return H5Dget_create_plist(set.get()); }), H5Pclose);
  int const filters = hdf5_call(path, what, [&] { return H5Pget_nfilters(properties.get()); });
  for (int k = 0; k < filters; ++k) {
    unsigned flags = 0, config = 0;
    std::size_t count = 0;
    char text[64] = {};
    auto const id = hdf5_call(path, what, [&] {
      return H5Pget_filter2(properties.get(), static_cast<unsigned>(k), &flags, &count, nullptr, sizeof text, text,
                            &config);
    });
    if (hdf5_quietly([&] { return H5Zfilter_avail(id); }) <= 0)
      hdf5_fail(path, "data set " + place.set + " is compressed by filter " + std::to_string(id) + " (" + text +
                          "), which is not installed; where it is, `h5repack -f GZIP=1 IN OUT` writes a readable copy");
  }
  auto const layout = hdf5_call(path, what, [&] { return H5Pget_layout(properties.get()); });
  if (layout == H5D_CHUNKED) {
    std::array<hsize_t, H5S_MAX_RANK> sizes{};
    int const rank = hdf5_call(path, what, [&] { return H5Pget_chunk(properties.get(), H5S_MAX_RANK, sizes.data()); });
    hdf5_handle const type(hdf5_call(path, what, [&] { return H5Dget_type(set.get()); }), H5Tclose);
    stack.memory = static_cast<double>(hdf5_type_bytes(type.get())) * (filters > 0 ? 2 : 1);
    for (int d = 0; d < rank; ++d) stack.memory *= static_cast<double>(sizes[static_cast<std::size_t>(d)]);
  }
  if (layout == H5D_VIRTUAL) {
    for (auto const& source : hdf5_sources(path, what, properties.get())) {
      std::error_code ignored;
      // A dot is this file; a percent sign stands for a series of files, of which any number may be missing.
      if (source == "." || source.find('%') != source.npos) continue;
      if (!std::filesystem::exists(path.parent_path() / source, ignored))
        hdf5_fail(path, "data set " + place.set + " is virtual, and " + source +
                            ", which has part of it, is not there; the library would read zeros");
      stack.files.push_back((path.parent_path() / source).string());
    }
  } else if (H5Dget_storage_size(set.get()) == 0) {
    hdf5_fail(path, "data set " + place.set + " was never written");
  }
}

/// Reads a window of a data set of rank 2 or 3 and brings its axes in order.
inline void hdf5_read_window(hdf5_place const& place, axis_order const& order, frame_window const& w, index_t channels,
                             float* to) {
  auto const& path = place.file->path();
  auto const what = "data set " + place.set + " cannot be read";
  auto const set = place.file->open(place.set);
  hdf5_handle const space(hdf5_call(path, what, [&] { return H5Dget_space(set.get()); }), H5Sclose);
  std::array<index_t, 3> first{}, count{};
  order.window(w, channels, first, count);
  std::array<hsize_t, 3> start{}, size{};
  hsize_t elements = 1;
  for (std::size_t d = 0; d < static_cast<std::size_t>(order.rank); ++d) {
    start[d] = static_cast<hsize_t>(first[d]);
    size[d] = static_cast<hsize_t>(count[d]);
    elements *= size[d];
  }
  hdf5_call(path, what, [&] {
    return H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, size.data(), nullptr);
  });
  hdf5_handle const memory(hdf5_call(path, what, [&] { return H5Screate_simple(1, &elements, nullptr); }), H5Sclose);
  auto const read = [&](float* buffer) {
    hdf5_call(path, what, [&] {
      return H5Dread(set.get(), H5T_NATIVE_FLOAT, memory.get(), space.get(), H5P_DEFAULT, buffer);
    });
  };
  bool const in_order = order.rank == 2 ? order.at[0] == 0 : order.at[0] == 0 && order.at[1] == 1;
  if (in_order) return read(to);
  std::vector<float> block(elements);
  read(block.data());
  std::array<index_t, 3> stride{};
  index_t step = 1;
  for (auto d = static_cast<std::size_t>(order.rank); d-- > 0;) {
    stride[d] = step;
    step *= count[d];
  }
  order.gather(block.data(), count, stride, to);
}

/// Opens a data set as frames.
inline frame_stack hdf5_stack(hdf5_place const& place, std::string const& axes = {}) {
  auto const sizes = place.file->shape(place.set);
  auto const order = parse_axes(axes, static_cast<int>(sizes.size()), place.name());
  frame_stack stack{place.name(), order.shape(sizes), place.file->type(place.set), {},
                    {place.file->path().string()}};
  frame_bytes(stack.name, stack.shape, 8);
  hdf5_require_readable(place, stack);
  stack.read_window = [place, order, channels = stack.shape[2]](frame_window const& w, float* to) {
    hdf5_read_window(place, order, w, channels, to);
  };
  return stack;
}

/// Value of a text attribute of a data set; "" if there is none.
inline std::string hdf5_text_of(hdf5_place const& place, std::string const& key) {
  for (auto const& [name, text] : place.file->attributes(place.set))
    if (name == key) return text;
  return {};
}

/// Whether a unit of angle is the degree; a warning when there is no unit, because degrees are assumed.
inline bool is_degrees(std::string unit, std::string const& name, std::vector<std::string>& warnings) {
  for (auto& c : unit) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (unit.starts_with("rad")) return false;
  if (unit.empty()) warnings.push_back(name + " has no units: taken as degrees");
  else if (!unit.starts_with("deg") && unit != "\xc2\xb0")
    scan_fail(name, "has units '" + unit.substr(0, 40) + "', expected degrees or radians");
  return true;
}

/// Reads angles, one per frame of a stack.
/// @param counts  the numbers of angles that are possible; nothing is read when there are others.
/// @throws io_error
inline std::vector<double> hdf5_angles(hdf5_place const& place, std::vector<std::string>& warnings,
                                       std::vector<index_t> const& counts, hdf5_reading const& how = {}) {
  auto const sizes = place.file->shape(place.set);
  if (sizes.size() != 1 || sizes[0] < 1 || sizes[0] > largest_axis)
    scan_fail(place.name(), "has shape " + shape_text(sizes) + ", expected one angle per view");
  if (std::find(counts.begin(), counts.end(), sizes[0]) == counts.end())
    scan_fail(place.name(), "has shape (" + std::to_string(sizes[0]) + "), expected one angle per view = " +
                                shape_text(counts));
  if (how.require_memory)
    how.require_memory(8 * static_cast<double>(sizes[0]), place.name() + ": angles of shape " + shape_text(sizes));
  auto angles = place.file->read<double>(place.set).data;
  bool const degrees = is_degrees(hdf5_text_of(place, "units"), place.name(), warnings);
  for (std::size_t k = 0; k < angles.size(); ++k) {
    if (!std::isfinite(static_cast<float>(angles[k])))
      scan_fail(place.name(),
                "value (" + std::to_string(k) + ") is " + number_text(angles[k]) + ", expected finite angles");
    if (degrees) angles[k] = angles[k] * std::numbers::pi / 180;
  }
  return angles;
}

/// Paths of all links in a file whose last part is `name`, sorted. Each group is visited once, so cycles end.
inline std::vector<std::string> hdf5_links_named(hdf5_file const& file, std::string const& name) {
  struct search {
    std::string name;
    std::vector<std::string> found;
  } all{name, {}};
  auto const visit = [](hid_t, char const* path, H5L_info_t const*, void* to) noexcept -> herr_t {
    auto& s = *static_cast<search*>(to);
    std::string const text = path;
    auto const slash = text.rfind('/');
    if ((slash == text.npos ? text : text.substr(slash + 1)) == s.name) s.found.push_back('/' + text);
    return 0;
  };
  hdf5_call(file.path(), "its groups cannot be read",
            [&] { return H5Lvisit(file.handle(), H5_INDEX_NAME, H5_ITER_INC, visit, &all); });
  return all.found;
}

}  // namespace detail

/// Paths of the arrays in an HDF5 file whose layout the user knows.
struct hdf5_paths {
  std::string data, axes = {}, angles = {}, white = {}, dark = {};
};

/// Opens any HDF5 file by the paths of its data sets. @throws io_error
inline scan_description open_hdf5(std::filesystem::path const& path, hdf5_paths const& paths,
                                  hdf5_reading const& how = {}) {
  auto const file = std::make_shared<hdf5_file const>(path, how.links);
  scan_description scan;
  scan.format = "HDF5";
  scan.data = detail::hdf5_stack(detail::hdf5_locate(file, paths.data), paths.axes);
  scan.facts.push_back({"data", detail::shape_text(scan.data.shape) + " " + scan.data.type, paths.data});
  auto const field = [&](std::string const& set, std::optional<frame_stack>& to) {
    if (set.empty()) return;
    auto const place = detail::hdf5_locate(file, set);
    // A single frame may have two axes, rows and channels.
    auto stack = detail::hdf5_stack(place);
    if (place.file->shape(place.set).size() == 2 && scan.data.shape[1] != 1) {
      auto const frames = stack;
      stack.shape = {1, frames.shape[0], frames.shape[2]};
      stack.read_window = [frames](frame_window const& w, float* values) { frames.read(w.first_row, w.rows, values); };
    }
    to = stack;
  };
  field(paths.white, scan.white);
  field(paths.dark, scan.dark);
  if (!paths.angles.empty()) {
    auto const place = detail::hdf5_locate(file, paths.angles);
    scan.angles = detail::hdf5_angles(place, scan.warnings, {scan.data.shape[0]}, how);
    scan.facts.push_back({"angles", std::to_string(scan.angles.size()) + " values", paths.angles});
  }
  return scan;
}

/// Opens a file in the Data Exchange layout: /exchange/data, data_white, data_dark, theta.
/// Source: De Carlo et al., Scientific data exchange: a schema for HDF5-based storage of raw and analyzed data, 2014.
inline scan_description open_data_exchange(std::filesystem::path const& path, hdf5_reading const& how = {}) {
  hdf5_file const file(path, how.links);
  auto const if_there = [&](char const* set) { return file.has(set) ? std::string(set) : std::string(); };
  auto scan = open_hdf5(path, {"/exchange/data", "", if_there("/exchange/theta"), if_there("/exchange/data_white"),
                               if_there("/exchange/data_dark")},
                        how);
  scan.format = "Data Exchange";
  // What `mbirk prepare` adds: lengths of the geometry as attributes of the data.
  struct length {
    char const* name;
    std::optional<double> scan_description::*field;
  };
  constexpr length lengths[] = {{"source_detector_dist", &scan_description::source_detector_dist},
                                {"source_iso_dist", &scan_description::source_iso_dist},
                                {"delta_det_channel", &scan_description::delta_det_channel},
                                {"delta_det_row", &scan_description::delta_det_row},
                                {"det_channel_offset", &scan_description::det_channel_offset},
                                {"det_row_offset", &scan_description::det_row_offset}};
  for (auto const& [key, text] : file.attributes("/exchange/data"))
    for (auto const& l : lengths)
      if (key == l.name) {
        std::istringstream words(text);
        double x = 0;
        if (!(words >> x) || !std::isfinite(x))
          detail::scan_fail(path.string(), "attribute " + key + " of /exchange/data is not a number");
        scan.*l.field = x;
        scan.facts.push_back({key, detail::number_text(x), "attribute of /exchange/data"});
      }
  return scan;
}

namespace detail {

/// Opens the detector whose image_key has this path; frames are sorted by their key.
inline scan_description open_nxtomo_detector(std::shared_ptr<hdf5_file const> const& file, std::string const& key_path,
                                             std::string const& data_path, hdf5_reading const& how) {
  scan_description scan;
  scan.format = "NXtomo";
  auto const frames = hdf5_stack(hdf5_locate(file, data_path));
  auto const key_place = hdf5_locate(file, key_path);
  auto const key_shape = key_place.file->shape(key_place.set);
  if (key_shape != std::vector<index_t>{frames.shape[0]})
    scan_fail(key_place.name(), "has shape " + shape_text(key_shape) + ", expected one key per frame of " + data_path +
                                    " = " + std::to_string(frames.shape[0]));
  // Keys, the lists that they are sorted into, and angles.
  if (how.require_memory)
    how.require_memory(32 * static_cast<double>(frames.shape[0]),
                       key_place.name() + ": keys of shape " + shape_text(key_shape));
  auto const keys = key_place.file->read<std::int64_t>(key_place.set).data;
  std::vector<index_t> views, white, dark;
  for (index_t f = 0; f < frames.shape[0]; ++f) {
    auto const key = keys[static_cast<std::size_t>(f)];
    auto const before = static_cast<index_t>(views.size());
    if (key == 0) views.push_back(f);
    else if (key == 1) {
      white.push_back(f);
      scan.white_at.push_back(before);
    } else if (key == 2) {
      dark.push_back(f);
      scan.dark_at.push_back(before);
    } else if (key != 3)  // 3 marks frames that are not valid
      scan_fail(key_place.name(),
                "frame " + std::to_string(f) + " has key " + std::to_string(key) + ", expected 0 to 3");
  }
  if (views.empty()) scan_fail(key_place.name(), "has no frame with key 0, expected projections");
  scan.data = selected_stack(frames, views);
  if (!white.empty()) scan.white = selected_stack(frames, white, frames.name + " (image_key 1)");
  if (!dark.empty()) scan.dark = selected_stack(frames, dark, frames.name + " (image_key 2)");
  scan.facts.push_back({"data", shape_text(scan.data.shape) + " " + frames.type, data_path});
  scan.facts.push_back({"fields",
                        std::to_string(views.size()) + " projections, " + std::to_string(white.size()) + " white, " +
                            std::to_string(dark.size()) + " dark",
                        key_path});
  // Angles lie in the sample's group or in the data group, one per frame or one per projection.
  for (auto const& angle_path : hdf5_links_named(*file, "rotation_angle")) {
    try {
      std::vector<std::string> warnings;
      auto const all = hdf5_angles(hdf5_locate(file, angle_path), warnings, {frames.shape[0], std::ssize(views)}, how);
      if (std::ssize(all) == frames.shape[0])
        for (auto const v : views) scan.angles.push_back(all[static_cast<std::size_t>(v)]);
      else scan.angles = all;
      scan.warnings.insert(scan.warnings.end(), warnings.begin(), warnings.end());
      scan.facts.push_back({"angles", std::to_string(scan.angles.size()) + " values", angle_path});
      break;
    } catch (hdf5_link_error const&) {
      throw;
    } catch (io_error const&) {
      continue;  // another link may have them
    }
  }
  return scan;
}

}  // namespace detail

/// Whether an HDF5 file has an image_key, by which NXtomo files are known.
inline bool is_nxtomo(hdf5_file const& file) { return !detail::hdf5_links_named(file, "image_key").empty(); }

/// Opens a NeXus file with the application definition NXtomo: data, white and dark fields in one array, sorted by
/// image_key. Of several detectors, the one whose data can be read is taken.
/// @param data  path of the data set, if there are several detectors.
/// @throws io_error naming what is missing, or the detectors when several can be read
inline scan_description open_nxtomo(std::filesystem::path const& path, std::string const& data = {},
                                    hdf5_reading const& how = {}) {
  auto const file = std::make_shared<hdf5_file const>(path, how.links);
  auto const keys = detail::hdf5_links_named(*file, "image_key");
  if (keys.empty()) detail::scan_fail(path.string(), "has no image_key, expected a NeXus file of the type NXtomo");
  std::vector<scan_description> found;
  std::string first_error, names;
  for (auto const& key : keys) {
    auto const group = key.substr(0, key.rfind('/'));
    if (!data.empty() && data.substr(0, data.rfind('/')) != group) continue;
    try {
      auto const set = data.empty() ? group + "/data" : data;
      bool twice = false;
      auto scan = detail::open_nxtomo_detector(file, key, set, how);
      for (auto const& other : found) twice = twice || other.data.name == scan.data.name;
      if (twice) continue;  // the same array by another link
      names += (names.empty() ? "" : ", ") + set;
      found.push_back(std::move(scan));
    } catch (hdf5_link_error const&) {
      throw;
    } catch (io_error const& e) {
      if (first_error.empty()) first_error = e.what();
    }
  }
  if (found.empty())
    throw io_error(first_error.empty() ? path.string() + ": has no image_key beside " + data : first_error,
                   source_location::current());
  if (found.size() > 1) detail::scan_fail(path.string(), "has several detectors, expected --data with one of " + names);
  return std::move(found.front());
}

}  // namespace mbirk
