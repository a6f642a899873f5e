// All parameters of a model in one table, with MBIRJAX's names, defaults and rules, accessible by name with a value of
// any kind or as the structs that the free functions take. Values only: nothing here runs anything, prints anything or
// reads data.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "mbirk/geometry/list.hpp"
#include "mbirk/geometry/parameter_rules.hpp"
#include "mbirk/recon/options.hpp"
#include "mbirk/recon/parameter_value.hpp"

namespace mbirk {

/// Assignment of a value to the parameter of this name: set({{"sharpness", 1.5}, {"recon_shape", {64, 64, 32}}}).
struct parameter_setting {
  std::string name;
  parameter_value value;
};

/// Image without a scan, as the denoiser uses it.
struct image_parameters {
  std::array<index_t, 3> recon_shape{};  ///< shape of the image
  mask_setting use_ror_mask = false;
};
struct image_geometry {
  static constexpr char const* name = "image";
  static constexpr bool has_slice_damping = false;
  using parameters = image_parameters;
};

/// The values of the parameters.
template <class Geometry> struct parameter_values {
  typename Geometry::parameters scan;
  recon_model_options options = default_options();
  /// Used when auto_regularize_flag is false; otherwise the automatic values of the last call.
  double sigma_y = 1, sigma_x = 1, sigma_prox = 1;
  bool auto_regularize_flag = true;
  bool slice_damping = true;                        ///< of geometries that have it, such as cone beam
  index_t verbose = 1;
  std::string alu_unit = {};
  double alu_value = 1;

  static recon_model_options default_options() {
    if constexpr (std::same_as<Geometry, image_geometry>)
      return {.sharpness = 0, .granularity = {16}, .partition_sequence = {0}};
    recon_model_options o;
    if constexpr (requires { Geometry::set_defaults(o); }) Geometry::set_defaults(o);
    return o;
  }
};

/// Description of a parameter, without its value.
struct parameter_info {
  char const *name, *group, *expected, *doc;
  bool required = false;
  std::string default_text = {};  ///< "none" for a required parameter; filled in by list_parameters
  index_t per_view = 1;           ///< of a list with one entry per view: the numbers of an entry
};

namespace detail {

/// The table: calls f(info, rule, member) for every parameter of a geometry, in the order of lists and files.
template <class Geometry, class Values, class Row>
void each_parameter(std::type_identity<Geometry>, Values& v, Row const& f) {
  using namespace rules;
  constexpr bool is_image = std::same_as<Geometry, image_geometry>;
  auto& s = v.scan;
  auto& o = v.options;
  char const* group = "scan";
  auto const row = [&](char const* name, auto const& rule, auto& member, char const* doc, bool required = false) {
    f(parameter_info{name, group, rule.expected, doc, required, {}, rule.per_view}, rule, member);
  };
  if constexpr (!is_image) {
    row("sinogram_shape", sizes, s.sinogram_shape, "number of (views, detector rows, channels)", true);
    Geometry::each_scan_parameter(s, row);
    row("delta_det_channel", positive_number, s.delta_det_channel, "pitch of the detector channels");
    row("delta_det_row", positive_number, s.delta_det_row, "pitch of the detector rows");
    row("det_channel_offset", finite_number, s.det_channel_offset, "> 0: the object appears at higher channels");
    row("det_row_offset", finite_number, s.det_row_offset,
        "> 0: the object appears at higher rows; without effect in parallel beam");
  }
  group = "voxels";
  if constexpr (!is_image)
    row("delta_voxel", positive_number, s.delta_voxel,
        "pitch of the columns; sized automatically when the model is made");
  row("recon_shape", sizes, s.recon_shape, "(rows, cols, slices); sized automatically when the model is made",
      is_image);
  if constexpr (!is_image) {
    row("voxel_row_aspect", positive_number, s.voxel_row_aspect, "pitch of the rows / delta_voxel");
    row("voxel_slice_aspect", positive_number, s.voxel_slice_aspect,
        "pitch of the slices / delta_voxel; 1 in parallel beam");
    Geometry::each_voxel_parameter(s, row);
  }
  row("use_ror_mask", mask, s.use_ror_mask, "true: the ellipse inscribed in the grid; false: all pixels");
  group = "regularization";
  row("auto_regularize_flag", flag, v.auto_regularize_flag,
      "true: sigma_y, sigma_x and sigma_prox are computed from the data");
  if constexpr (!is_image)
    row("snr_db", finite_number, o.snr_db, "assumed signal to noise ratio of the sinogram, for the automatic sigma_y");
  row("sharpness", finite_number, o.sharpness, "the automatic sigma_x and sigma_prox double with each unit");
  row("sigma_y", positive_number, v.sigma_y,
      "standard deviation of a sample of weight 1; setting it makes auto_regularize_flag false");
  row("sigma_x", positive_number, v.sigma_x,
      "scale of the qGGMRF prior; setting it makes auto_regularize_flag false");
  if constexpr (!is_image)
    row("sigma_prox", positive_number, v.sigma_prox,
        "scale of the proximal prior; setting it makes auto_regularize_flag false");
  group = "prior";
  row("p", power, o.p, "power of small differences in the qGGMRF prior, 1 <= q <= p <= 2");
  row("q", power, o.q, "power of large differences in the qGGMRF prior");
  row("T", positive_number, o.T, "threshold between small and large differences, in units of sigma_x");
  row("qggmrf_nbr_wts", weights, o.qggmrf_nbr_wts,
      "weights of the neighbours at row, column, slice +- 1; only their ratios matter");
  group = "iterations";
  if constexpr (!is_image) row("positivity_flag", flag, o.positivity_flag, "true: no voxel becomes negative");
  row("granularity", counts, o.granularity, "number of subsets of pixels in each partition");
  row("partition_sequence", positions, o.partition_sequence,
      "index into granularity for each iteration; the last entry repeats");
  if constexpr (!is_image) row("max_alpha", positive_number, o.max_alpha, "largest step length of an update");
  if constexpr (Geometry::has_slice_damping)
    row("slice_damping", flag, v.slice_damping,
        "true: damps the change of each slice's mean, as MBIRJAX always does in cone beam");
  group = "labels";
  row("verbose", level, v.verbose, "accepted for scripts written for MBIRJAX; mbirk prints nothing");
  row("alu_unit", text, v.alu_unit, "name of the unit in which alu_value is given");
  row("alu_value", positive_number, v.alu_value, "length of one arbitrary length unit (ALU) in `alu_unit`");
}

/// Members with automatic sizes are optional; plain_member assumes that they have been sized.
template <class T> struct plain_type { using type = T; };
template <class T> struct plain_type<std::optional<T>> { using type = T; };
template <class T> T const& plain_member(T const& member) { return member; }
template <class T> T const& plain_member(std::optional<T> const& member) { return *member; }
inline bool is_empty(auto const&) { return false; }
template <class T> bool is_empty(std::optional<T> const& member) { return !member; }

/// What can be done with a member of parameter_values whose type is not known: the functions are compiled once for each
/// type and rule, not for each of some 200 rows of the tables.
struct member_functions {
  bool (*empty)(void const* member);
  bool (*valid)(void const* member);              ///< whether the rule admits its value; it is not empty
  parameter_value (*value)(void const* member);   ///< it is not empty
  bool (*assign)(void* member, parameter_value const& value);  ///< false, and no change, if the value does not fit
};
template <class Test, class Member> inline constexpr member_functions functions_of{
    [](void const* member) { return is_empty(*static_cast<Member const*>(member)); },
    [](void const* member) { return Test{}(plain_member(*static_cast<Member const*>(member))); },
    [](void const* member) { return parameter_value(plain_member(*static_cast<Member const*>(member))); },
    [](void* member, parameter_value const& value) {
      auto const converted = value.as<typename plain_type<Member>::type>();
      bool const fits = converted && Test{}(*converted);
      if (fits) *static_cast<Member*>(member) = *converted;
      return fits;
    }};

/// A row of the table for the values of one model.
struct parameter_row {
  parameter_info const& info;
  member_functions const& functions;
  void const* member;

  bool empty() const { return functions.empty(member); }
  bool valid() const { return functions.valid(member); }
  parameter_value value() const { return functions.value(member); }
  /// Assigns to the member, whose values must not be const.
  bool assign(parameter_value const& value) const { return functions.assign(const_cast<void*>(member), value); }
};

/// A reference to a function of a row, which is compiled once for all geometries. Not std::function, which takes longer
/// to compile.
class row_function {
 public:
  template <class F>
    requires(!std::same_as<F, row_function>)
  row_function(F const& f)
      : object_(&f), call_([](void const* object, parameter_row const& row) {
          (*static_cast<F const*>(object))(row);
        }) {}
  void operator()(parameter_row const& row) const { call_(object_, row); }

 private:
  void const* object_;
  void (*call_)(void const*, parameter_row const&);
};

/// Calls f(row) for every parameter of a geometry, in the order of each_parameter.
template <class Geometry> void each_row(parameter_values<Geometry> const& values, row_function f) {
  each_parameter(std::type_identity<Geometry>{}, values,
                 [&]<class Test, class Member>(parameter_info const& info, parameter_rule<Test> const&,
                                               Member const& member) {
                   f(parameter_row{info, functions_of<Test, Member>, &member});
                 });
}

/// Levenshtein distance of a and b: the number of insertions, deletions and replacements.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> line(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) line[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1, corner = std::exchange(line[0], i); j <= b.size(); ++j)
      corner = std::exchange(line[j], std::min({line[j] + 1, line[j - 1] + 1, corner + (a[i - 1] != b[j - 1])}));
  return line[b.size()];
}

}  // namespace detail

/// Descriptions of the parameters of a geometry, in the order of the table.
template <class Geometry> std::vector<parameter_info> list_parameters() {
  std::vector<parameter_info> all;
  detail::each_row(parameter_values<Geometry>{}, [&](detail::parameter_row const& row) {
    auto& info = all.emplace_back(row.info);
    info.default_text = info.required ? "none" : row.empty() ? "automatic" : row.value().text();
  });
  return all;
}

/// The parameters of a model: each is valid on its own from the start; their combination is checked when a scan is
/// constructed from them.
///
/// MBIRJAX's rules apply: setting sigma_y, sigma_x or sigma_prox clears auto_regularize_flag; setting sharpness or
/// snr_db afterwards sets it again. Automatic sizes are computed once, by the constructor, and on request: changing a
/// pitch later does not change them. Each of the three adds a warning.
template <class Geometry> class parameter_set {
 public:
  using scan_parameters = typename Geometry::parameters;

  /// @param scan  parameters of the scan; empty optionals are sized automatically.
  /// @throws parameter_error naming the parameter, its value and what was expected.
  explicit parameter_set(scan_parameters scan) : parameter_set(parameter_values<Geometry>{std::move(scan)}) {}
  explicit parameter_set(parameter_values<Geometry> values);

  /// @throws parameter_error for a name that is not a parameter, with similar names.
  parameter_value get(std::string_view name) const;
  /// Value converted to T: get<double>("sharpness"), get<std::array<index_t, 3>>("recon_shape").
  /// @throws parameter_error also when T cannot hold the value.
  template <class T> T get(std::string_view name) const {
    auto const value = get(name);
    auto const converted = value.template as<T>();
    require(converted.has_value(), [&] {
      return detail::message(name, " is ", value.text(), ", which the type that was asked for cannot hold");
    });
    return *converted;
  }

  /// Sets all parameters or, if one is invalid, none.
  /// @return whether a parameter of the groups scan and voxels was among them, so that existing scans are out of date.
  /// @throws parameter_error naming the parameter, its value and what was expected; for a name that is not a parameter,
  ///         with similar names.
  bool set(std::span<parameter_setting const> settings);
  bool set(std::initializer_list<parameter_setting> settings) {
    return set(std::span<parameter_setting const>(settings.begin(), settings.size()));
  }
  bool set(std::string_view name, parameter_value value) { return set({{std::string(name), std::move(value)}}); }

  /// Sizes delta_voxel, recon_shape and recon_slice_offset automatically for the current scan, replacing any values.
  void auto_set_recon_geometry() { size_automatically(true); }

  parameter_values<Geometry> const& values() const noexcept { return values_; }
  scan_parameters const& scan() const noexcept { return values_.scan; }
  /// Options for recon and prox_map; the sigmas are empty while auto_regularize_flag is true.
  recon_model_options options() const;
  /// Stores the result of automatic regularization, so that the sigmas can be queried; auto_regularize_flag is
  /// unchanged.
  void set_found_regularization(double sigma_y, double sigma_x, double sigma_prox) {
    values_.sigma_y = sigma_y;
    values_.sigma_x = sigma_x;
    values_.sigma_prox = sigma_prox;
  }

  /// Warnings from setting parameters, oldest first.
  std::vector<std::string> const& warnings() const noexcept { return warnings_; }
  void clear_warnings() { warnings_.clear(); }

  /// All parameters as lines "name = value", in the order of the table.
  std::string text() const;

 private:
  [[noreturn]] static void refuse(parameter_info const& info, parameter_value const& value);
  [[noreturn]] static void unknown(std::string_view name);
  static void require_valid(parameter_values<Geometry> const& values);

  void size_automatically(bool all);
  void warn_of_size(scan_parameters const& changed);

  parameter_values<Geometry> values_;
  std::vector<std::string> warnings_;
};

// Not in the class, where they would be inline, so that users of mbirk::compiled do not compile them.

template <class Geometry>
parameter_set<Geometry>::parameter_set(parameter_values<Geometry> values) : values_(std::move(values)) {
  require_valid(values_);
  size_automatically(false);
}

template <class Geometry>
MBIRK_COLD void parameter_set<Geometry>::require_valid(parameter_values<Geometry> const& values) {
  detail::each_row(values, [](detail::parameter_row const& row) {
    if (!row.empty() && !row.valid()) refuse(row.info, row.value());
  });
}

template <class Geometry>
parameter_value parameter_set<Geometry>::get(std::string_view name) const {
  std::optional<parameter_value> found;
  detail::each_row(values_, [&](detail::parameter_row const& row) {
    if (name == row.info.name) found = row.value();
  });
  if (!found) unknown(name);
  return *found;
}

template <class Geometry>
bool parameter_set<Geometry>::set(std::span<parameter_setting const> settings) {
  auto changed = values_;
  bool of_scan = false, sizing = false, scales = false, meta = false;
  for (auto const& [name, value] : settings) {
    bool known = false;
    detail::each_row(changed, [&](detail::parameter_row const& row) {
      if (name != row.info.name) return;
      known = true;
      if (!row.assign(value)) refuse(row.info, value);
      std::string_view const group = row.info.group;
      of_scan = of_scan || group == "scan" || group == "voxels";
      if (name == "delta_voxel" || name == "recon_shape" || name == "recon_slice_offset") sizing = true;
    });
    if (!known) unknown(name);
    scales = scales || name == "sigma_y" || name == "sigma_x" || name == "sigma_prox";
    meta = meta || name == "sharpness" || name == "snr_db";
  }
  if (of_scan && !sizing) warn_of_size(changed.scan);
  values_ = std::move(changed);
  if (scales) {
    values_.auto_regularize_flag = false;
    warnings_.push_back(
        "sigma_y, sigma_x or sigma_prox was set by hand: automatic regularization is off (auto_regularize_flag is "
        "false now)");
  }
  if (meta && !values_.auto_regularize_flag) {
    values_.auto_regularize_flag = true;
    warnings_.push_back(
        "sharpness or snr_db was set: automatic regularization is on again (auto_regularize_flag is true now)");
  }
  return of_scan;
}

template <class Geometry>
recon_model_options parameter_set<Geometry>::options() const {
  auto o = values_.options;
  if (!values_.auto_regularize_flag) {
    o.sigma_y = values_.sigma_y;
    o.sigma_x = values_.sigma_x;
    o.sigma_prox = values_.sigma_prox;
  }
  if (Geometry::has_slice_damping) o.slice_damping = values_.slice_damping;
  return o;
}

template <class Geometry>
std::string parameter_set<Geometry>::text() const {
  std::string s;
  detail::each_row(values_, [&](detail::parameter_row const& row) {
    s += detail::message(row.info.name, " = ", row.value().text(), "\n");
  });
  return s;
}

template <class Geometry>
MBIRK_COLD void parameter_set<Geometry>::refuse(parameter_info const& info, parameter_value const& value) {
  throw parameter_error(detail::message(info.name, " is ", value.text(), ", expected ", info.expected),
                        source_location::current());
}

template <class Geometry>
MBIRK_COLD void parameter_set<Geometry>::unknown(std::string_view name) {
  std::string what = "'" + std::string(name) + "' is not a parameter";
  constexpr std::string_view of_a_call[] = {"max_iterations", "first_iteration", "stop_threshold_change_pct",
                                            "compute_prior_loss", "seed", "sigma_noise", "init_recon", "weights",
                                            "logfile_path", "print_logs"};
  if (std::find(std::begin(of_a_call), std::end(of_a_call), name) != std::end(of_a_call))
    throw parameter_error(what + ": it is an argument of a call", source_location::current());
  if constexpr (!std::same_as<Geometry, image_geometry>) {
    std::string beams;
    geometries::each([&]<class Other>(std::type_identity<Other>) {
      for (auto const& info : list_parameters<Other>())
        if (name == info.name) beams += (beams.empty() ? "" : " and ") + std::string(Other::beam);
    });
    if (!beams.empty())
      throw parameter_error(what + " of " + Geometry::beam + ", only of " + beams, source_location::current());
  }
  std::vector<std::pair<std::size_t, std::string_view>> near;
  if (name == "max_overrelaxation") near.emplace_back(0, "max_alpha");  // the name on MBIRJAX's main branch
  auto const names = list_parameters<Geometry>();
  for (auto const& info : names) {
    std::string_view const other = info.name;
    auto const edits = detail::edit_distance(name, other);
    bool const inside =
        name.size() >= 4 && (other.find(name) != other.npos || name.find(other) != name.npos) && other.size() >= 4;
    if (inside || edits <= std::min<std::size_t>(3, std::max(name.size(), other.size()) / 3))
      near.emplace_back(edits, other);
  }
  std::sort(near.begin(), near.end());
  std::string list;
  for (std::size_t k = 0; k < std::min<std::size_t>(near.size(), 5); ++k)
    list += (k ? ", " : "") + std::string(near[k].second);
  what += std::string(" of a model with geometry ") + Geometry::name +
          (list.empty() ? ", and no name is similar" : "; similar: " + list);
  throw parameter_error(what, source_location::current());
}

template <class Geometry>
MBIRK_COLD void parameter_set<Geometry>::size_automatically(bool all) {
  if constexpr (requires { auto_size(values_.scan); }) {
    auto sized = values_;
    auto& s = sized.scan;
    auto const size = auto_size(s);
    if (all || !s.delta_voxel) s.delta_voxel = size.delta_voxel;
    if (all || !s.recon_shape) s.recon_shape = size.recon_shape;
    if constexpr (requires { s.recon_slice_offset; }) {
      if (all || !s.recon_slice_offset) s.recon_slice_offset = size.recon_slice_offset;
    }
    if constexpr (requires { s.voxel_row_aspect.has_value(); }) {
      if (all || !s.voxel_row_aspect) s.voxel_row_aspect = size.voxel_row_aspect;
    }
    require_valid(sized);  // parameters that are valid on their own may give no size
    values_ = std::move(sized);
  }
}

template <class Geometry>
MBIRK_COLD void parameter_set<Geometry>::warn_of_size(scan_parameters const& changed) {
  if constexpr (requires { auto_size(changed); }) {
    auto const before = auto_size(values_.scan), after = auto_size(changed);
    if (before.delta_voxel == after.delta_voxel && before.recon_shape == after.recon_shape &&
        before.recon_slice_offset == after.recon_slice_offset)
      return;
    warnings_.push_back(detail::message("the scan has changed, but delta_voxel = ", *changed.delta_voxel,
                                        " and recon_shape = ", detail::shape_text(*changed.recon_shape),
                                        " stay; automatic sizing would give ", after.delta_voxel, " and ",
                                        detail::shape_text(after.recon_shape), " (auto_set_recon_geometry)"));
  }
}

#if defined(MBIRK_COMPILED)
#define MBIRK_DECLARE_PARAMETER_SET(nothing, G) extern template class parameter_set<G>;
MBIRK_EACH_GEOMETRY(MBIRK_DECLARE_PARAMETER_SET, )
extern template class parameter_set<image_geometry>;
#undef MBIRK_DECLARE_PARAMETER_SET
#endif

/// The parameters of a denoiser as options of qggmrf_denoise: one partition, the first of the sequence.
/// @throws index_error when the first entry of partition_sequence is not an index into granularity.
inline denoise_model_options denoise_model(recon_model_options const& o) {
  auto const first = o.partition_sequence.front();
  require<index_error>(first < std::ssize(o.granularity), [&] {
    return detail::message("partition_sequence begins with ", first, ", expected 0 to ", o.granularity.size() - 1,
                           " (granularity has ", o.granularity.size(), " entries)");
  });
  return {.sharpness = o.sharpness, .p = o.p, .q = o.q, .T = o.T, .qggmrf_nbr_wts = o.qggmrf_nbr_wts,
          .granularity = o.granularity[static_cast<std::size_t>(first)]};
}

using parallel_parameter_set = parameter_set<parallel_geometry>;
using cone_parameter_set = parameter_set<cone_geometry>;
using image_parameter_set = parameter_set<image_geometry>;

}  // namespace mbirk
