// Reading of views as RTK and TIGRE describe them.
#include "input/view_import.hpp"

#include <algorithm>
#include <string>

#include "input/geometry_file.hpp"
#include "input/similar_name.hpp"
#include "mbirk/io/input_file.hpp"
#include "mbirk/io/npy.hpp"

namespace mbirk::program {
namespace {

namespace fs = std::filesystem;

/// Bound on the size of a geometry file; about 1000 bytes per projection are usual.
constexpr std::size_t largest_geometry_file = std::size_t{64} << 20;

void require_known(json_field const& field, std::vector<std::string> const& known) {
  for (auto const& [key, value] : field.members())
    require<io_error>(std::ranges::find(known, key) != known.end(),
                      [&] { return value.place() + " is not known, expected " + one_of(key, known); });
}

/// Prefixes errors of read() with the place of the field.
template <class Read> auto with_place(json_field const& field, Read const& read) {
  try {
    return read();
  } catch (parameter_error const& e) {
    throw io_error(field.place() + ": " + e.what(), e.where);
  } catch (io_error const& e) {
    throw io_error(field.place() + ": " + e.what(), e.where);
  }
}

/// Reads two numbers, x and y.
std::array<double, 2> read_pair(json_field const& field) {
  auto const numbers = field.elements("two numbers: x and y");
  if (numbers.size() != 2) field.wrong("two numbers: x and y");
  return {numbers[0].number(), numbers[1].number()};
}

imported_views read_rtk(json_field const& field, fs::path const& folder,
                        std::array<index_t, 3> const& sinogram_shape) {
  require_known(field, {"rtk", "spacing", "origin"});
  auto const name = field.at("rtk", "");
  auto const path = folder / name.text("the name of a geometry file of RTK");
  auto const spacing = field.at("spacing", "the pitches of the projections, [x, y]");
  matrix_detector detector{.rows = sinogram_shape[1], .channels = sinogram_shape[2]};
  auto const pitches = read_pair(spacing);
  if (!(pitches[0] > 0 && pitches[1] > 0)) spacing.wrong("two numbers > 0");
  detector.channel_pitch = pitches[0];
  detector.row_pitch = pitches[1];
  auto const middle = [](index_t cells, double pitch) { return -0.5 * static_cast<double>(cells - 1) * pitch; };
  detector.first_channel = middle(detector.channels, pitches[0]);
  detector.first_row = middle(detector.rows, pitches[1]);
  if (field.has("origin")) {
    auto const origin = read_pair(field.at("origin", ""));
    detector.first_channel = origin[0];
    detector.first_row = origin[1];
  }
  auto views = with_place(name, [&] {
    return views_from_rtk(mbirk::detail::read_text(path, largest_geometry_file), detector);
  });
  require_one_per_view(name, std::ssize(views.view_vectors) / 12, sinogram_shape[0]);
  return views;
}

/// Reads groups of numbers, one for all views or one per view, into a list per number of a group.
template <std::size_t Count>
std::array<std::vector<double>, Count> read_groups(json_field const& field, std::string const& group, index_t views) {
  std::array<std::vector<double>, Count> lists;
  auto const add = [&](json_field const& one) {
    auto const numbers = one.elements(group);
    if (numbers.size() != Count) one.wrong(group);
    for (std::size_t k = 0; k < Count; ++k) lists[k].push_back(numbers[k].number());
  };
  auto const all = field.elements(group + ", or an array of them, one per view");
  if (!all.empty() && all[0].value().is_array()) {
    require_one_per_view(field, std::ssize(all), views);
    for (auto const& one : all) add(one);
  } else {
    add(field);
  }
  return lists;
}

/// Reads one or three angles per view.
std::vector<double> read_tigre_angles(json_field const& field, fs::path const& folder, index_t views) {
  if (field.value().is_string()) {
    bool const three = with_place(field, [&] { return read_npy_header(folder / field.text()).shape.size() == 2; });
    return read_line_file<double>(field, folder, views, three ? 3 : 1);
  }
  std::vector<double> angles;
  auto const all = field.elements("an array of angles or of three angles each, or the name of an npy file");
  require_one_per_view(field, std::ssize(all), views);
  bool const three = !all.empty() && all[0].value().is_array();
  for (auto const& one : all) {
    if (!three) {
      angles.push_back(one.number());
      continue;
    }
    auto const euler = one.elements("three angles");
    if (euler.size() != 3) one.wrong("three angles");
    for (auto const& angle : euler) angles.push_back(angle.number());
  }
  return angles;
}

imported_views read_tigre(json_field const& field, fs::path const& folder,
                          std::array<index_t, 3> const& sinogram_shape) {
  require_known(field,
                {"DSD", "DSO", "dDetector", "angles", "offDetector", "offOrigin", "rotDetector", "COR", "mode"});
  index_t const views = sinogram_shape[0];
  tigre_geometry g{.DSD = field.at("DSD", "a number").number(),
                   .DSO = field.at("DSO", "a number").number()};
  auto const pitch = field.at("dDetector", "[v, u]");
  auto const pitches = pitch.elements("[v, u]");
  if (pitches.size() != 2) pitch.wrong("[v, u]");
  g.dDetector_v = pitches[0].number();
  g.dDetector_u = pitches[1].number();
  if (!(g.dDetector_v > 0 && g.dDetector_u > 0)) pitch.wrong("two numbers > 0");
  auto const read = [&](char const* name, std::string const& group, auto&... lists) {
    if (!field.has(name)) return;
    auto const groups = read_groups<sizeof...(lists)>(field.at(name, ""), group, views);
    std::size_t next = 0;
    ((lists = groups[next++]), ...);
  };
  read("offDetector", "[v, u]", g.offDetector_v, g.offDetector_u);
  read("offOrigin", "[z, y, x]", g.offOrigin_z, g.offOrigin_y, g.offOrigin_x);
  read("rotDetector", "[roll, pitch, yaw]", g.dRoll, g.dPitch, g.dYaw);
  if (field.has("COR")) {
    auto const centre = field.at("COR", "");
    if (centre.value().is_array()) {
      require_one_per_view(centre, std::ssize(centre.value()), views);
      for (auto const& one : centre.elements()) g.COR.push_back(one.number());
    } else {
      g.COR = {centre.number("a number, or one per view")};
    }
  }
  if (field.has("mode")) {
    auto const mode = field.at("mode", "");
    if (mode.value() != "cone" && mode.value() != "parallel") mode.wrong("cone or parallel");
    g.parallel = mode.value() == "parallel";
  }
  auto const angles =
      read_tigre_angles(field.at("angles", "one or three angles per view, radians"), folder, views);
  return with_place(field, [&] { return views_from_tigre(g, angles, views); });
}

}  // namespace

imported_views read_imported_views(json_field const& field, fs::path const& folder,
                                   std::array<index_t, 3> const& sinogram_shape) {
  if (field.has("rtk")) return read_rtk(field, folder, sinogram_shape);
  if (!field.has("tigre")) field.wrong("an object with rtk or tigre");
  require_known(field, {"tigre"});
  return read_tigre(field.at("tigre", ""), folder, sinogram_shape);
}

std::vector<fs::path> files_of_imported_views(json_field const& field, fs::path const& folder) {
  std::vector<fs::path> files;
  auto const add = [&](json_field const& from, char const* name) {
    if (from.has(name) && from.at(name, "").value().is_string()) files.push_back(folder / from.at(name, "").text());
  };
  add(field, "rtk");
  if (field.has("tigre") && field.at("tigre", "").value().is_object()) add(field.at("tigre", ""), "angles");
  return files;
}

}  // namespace mbirk::program
