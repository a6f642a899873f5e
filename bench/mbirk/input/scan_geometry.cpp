// Puts the document together that read_geometry reads.
#include "input/scan_geometry.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "mbirk/recon/fan.hpp"

namespace mbirk::program {
namespace {

constexpr char const* lengths[] = {"source_detector_dist", "source_iso_dist",    "delta_det_channel",
                                   "delta_det_row",        "det_channel_offset", "det_row_offset"};

std::optional<double> const& length_of(scan_description const& scan, std::size_t k) {
  std::optional<double> const* const all[] = {&scan.source_detector_dist, &scan.source_iso_dist,
                                              &scan.delta_det_channel,    &scan.delta_det_row,
                                              &scan.det_channel_offset,   &scan.det_row_offset};
  return *all[k];
}

/// Offsets and pitches of the selected, binned detector.
void select_detector(json& params, selection const& s, bool has_rows) {
  auto const number = [&](char const* name, double missing) {
    return params.contains(name) && params[name].is_number() ? params[name].get<double>() : missing;
  };
  double const channel = number("delta_det_channel", 1), row = number("delta_det_row", 1);
  double const channel_offset = number("det_channel_offset", 0), row_offset = number("det_row_offset", 0);
  auto const moved = [&](std::size_t axis) { return s.middle(axis) - static_cast<double>(s.whole[axis] - 1) / 2; };
  if (moved(2) != 0) params["det_channel_offset"] = channel_offset - moved(2) * channel;
  if (has_rows && moved(1) != 0) params["det_row_offset"] = row_offset - moved(1) * row;
  if (s.bin > 1) {
    params["delta_det_channel"] = channel * static_cast<double>(s.bin);
    params["delta_det_row"] = row * static_cast<double>(s.bin);
  }
}

}  // namespace

geometry_file scan_geometry(scan_description const& scan, selection const& selected, std::vector<float> const& theta,
                            geometry_options const& options, std::string const& input, std::vector<scan_fact>& used,
                            memory_budget const& memory) {
  bool const given = !options.file.empty();
  json document = given ? read_json(options.file) : json::object();
  std::string const file = given ? options.file : input;
  auto const folder = std::filesystem::path(file).parent_path();
  json no_params = json::object();
  bool const usable = document.is_object() && (!document.contains("params") || document["params"].is_object());
  if (!usable) return read_geometry(document, file, folder, selected.shape, theta, memory);  // which says what is wrong
  bool const cone_by_option = options.source_detector.has_value();
  if (!document.contains("geometry") && !given)
    document["geometry"] = cone_by_option || scan.source_detector_dist ? "cone" : "parallel";
  json& params = document.contains("params") ? document["params"] : document["params"] = no_params;
  // A fan beam is read as the cone beam that it is; a file without G.json that has one row and distances is one.
  bool const one_row = selected.shape[1] == 1;
  bool const fan = document.value("geometry", json()) == "fan" ||
                   (!given && one_row && document.value("geometry", json()) == "cone");
  if (fan) document["geometry"] = "cone";
  bool has_distances = false;
  if (document.contains("geometry") && document["geometry"].is_string())
    geometries::with_name(document["geometry"].get<std::string>(), [&]<class Geometry>(std::type_identity<Geometry>) {
      has_distances = requires(typename Geometry::parameters const& p) { p.source_detector_dist; };
    });
  // Lengths of two files may have different units, so those of a scan are used only if G.json has none.
  bool const has_lengths = std::any_of(std::begin(lengths), std::end(lengths),
                                       [&](char const* name) { return params.contains(name); });
  for (std::size_t k = 0; k < std::size(lengths) && !has_lengths; ++k) {
    auto const& value = length_of(scan, k);
    bool const is_distance = k < 2;
    if (!value || (is_distance && !has_distances)) continue;
    params[lengths[k]] = *value;
    for (auto const& fact : scan.facts)
      if (fact.name == lengths[k]) used.push_back(fact);
  }
  auto const option = [&](char const* name, double value, char const* from) {
    params[name] = value;
    std::erase_if(used, [&](scan_fact const& f) { return f.name == name; });
    used.push_back({name, mbirk::detail::number_text(value), from});
  };
  if (options.source_detector) option("source_detector_dist", *options.source_detector, "--source-detector");
  if (options.source_iso) option("source_iso_dist", *options.source_iso, "--source-iso");
  if (!options.pitch.empty()) {
    option("delta_det_channel", options.pitch.front(), "--pitch");
    option("delta_det_row", options.pitch.back(), "--pitch");
  }
  if (options.centre) {
    double const pitch = params.contains("delta_det_channel") && params["delta_det_channel"].is_number()
                             ? params["delta_det_channel"].get<double>()
                             : 1;
    option("det_channel_offset", (*options.centre - static_cast<double>(selected.whole[2] - 1) / 2) * pitch,
           "--centre");
  }
  if (!selected.all()) document.erase("sinogram_shape");
  select_detector(params, selected, true);
  // By default a voxel is a channel wide; in parallel beam its height is that of a row whatever delta_voxel is.
  if (params.empty()) document.erase("params");
  auto g = read_geometry(document, file, folder, selected.shape, theta, memory);
  if (fan) {
    auto const& p = g.fan.emplace(std::get<cone_parameters>(g.parameters));
    try {
      g.parameters = fan_parameters(p);
      g.scan = cone_scan(std::get<cone_parameters>(g.parameters));
    } catch (parameter_error const& e) {
      throw parameter_error(file + ": " + e.what(), e.where);
    }
  }
  return g;
}

std::vector<std::string> likely_mistakes(scan_description const& description, geometry_file const& g) {
  std::vector<std::string> all;
  using mbirk::detail::number_text;
  std::visit([&]<class Geometry>(scan<Geometry> const& s) {
    auto const& geometry = s.geometry();
    auto const angles = angles_of(s);
    if (angles.size() > 1) {
      auto const [low, high] = std::minmax_element(angles.begin(), angles.end());
      double const least = static_cast<double>(*low), greatest = static_cast<double>(*high);
      constexpr double turn = 2 * std::numbers::pi;
      bool helical = false;
      if constexpr (requires { s.z_shifts(); })
        helical = std::any_of(s.z_shifts().begin(), s.z_shifts().end(), [](float z) { return z != 0; });
      if (greatest - least > 4 * turn && !helical)
        all.push_back("angles go from " + number_text(least) + " to " + number_text(greatest) +
                      " radians: are they degrees? (--angle-unit deg, or divide by 57.2958)");
      else if (greatest - least < turn / 72 && angles.size() > 16)
        all.push_back("angles go from " + number_text(least * 360 / turn) + " to " +
                      number_text(greatest * 360 / turn) + " degrees only: are they radians? (--angle-unit rad)");
    }
    if constexpr (requires { geometry.det_channel_offset; }) {
      double const channels = static_cast<double>(geometry.channels);
      double const axis = (channels - 1) / 2 + geometry.det_channel_offset / geometry.delta_det_channel;
      if (axis < 0 || axis > channels - 1)
        all.push_back("det_channel_offset = " + number_text(geometry.det_channel_offset) +
                      " puts the axis at channel " + number_text(axis) +
                      ", outside the detector: is it a channel? (--centre, or (centre - " +
                      number_text((channels - 1) / 2) + ") x pitch)");
    }
  }, g.scan);
  bool const integers =
      description.data.type.find("int") != std::string::npos || description.data.type.find('u') != std::string::npos;
  if (integers && !description.white && !description.white_level)
    all.push_back(
        description.data.name + " has " + description.data.type +
        " and no white field, and is taken as line integrals: is it counts? (--white FILE or --white-level X)");
  return all;
}

}  // namespace mbirk::program
