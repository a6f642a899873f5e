// The rows of the table of parameters (recon/parameters.hpp) as files have them: members of `params`, and beside it
// lists with one entry per view.
#pragma once

#include <algorithm>
#include <concepts>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "mbirk/recon/parameters.hpp"

namespace mbirk::program {

/// Parameters of the scan that are not in `params` but next to it, as are lists with one entry per view.
inline constexpr std::string_view shape_fields[] = {"sinogram_shape", "recon_shape"};

/// Parameters of the scan and its grid, and parameters of the reconstruction. Labels change no result.
enum class parameter_kind { of_the_scan, of_a_reconstruction, label };
inline parameter_kind kind_of(parameter_info const& info) {
  std::string_view const group = info.group;
  return group == "scan" || group == "voxels" ? parameter_kind::of_the_scan
         : group == "labels"                  ? parameter_kind::label
                                              : parameter_kind::of_a_reconstruction;
}

/// Whether a parameter is a list with one entry per view: those of float32, and those of several doubles per view.
template <class Member> bool is_view_list([[maybe_unused]] parameter_info const& info) {
  if constexpr (std::same_as<std::remove_const_t<Member>, std::vector<double>>) return info.per_view > 1;
  else return std::same_as<std::remove_const_t<Member>, std::vector<float>>;
}

/// Calls row(info, rule, member) for the rows of the table of parameters that `params` may have.
template <class Geometry, class Values, class Row> void each_member(Values& values, Row const& row) {
  mbirk::detail::each_parameter(
      std::type_identity<Geometry>{}, values,
      [&]<class Member>(parameter_info const& info, auto const& rule, Member& member) {
        if constexpr (!std::same_as<std::remove_const_t<Member>, std::vector<float>>)
          if (!is_view_list<Member>(info) && std::ranges::find(shape_fields, info.name) == std::end(shape_fields))
            row(info, rule, member);
      });
}
/// Calls row(info, member) for those that are lists with one entry per view.
template <class Geometry, class Values, class Row> void each_view_list(Values& values, Row const& row) {
  mbirk::detail::each_parameter(
      std::type_identity<Geometry>{}, values,
      [&]<class Member>(parameter_info const& info, auto const&, Member& member) {
        if constexpr (requires { typename Member::value_type; }) {
          using number = typename Member::value_type;
          if constexpr (std::same_as<std::remove_const_t<Member>, std::vector<number>> && std::floating_point<number>)
            if (is_view_list<Member>(info)) row(info, member);
        }
      });
}
template <class Geometry> std::vector<std::string> view_lists_of() {
  std::vector<std::string> names;
  parameter_values<Geometry> const values;
  each_view_list<Geometry>(values, [&](parameter_info const& info, auto const&) { names.push_back(info.name); });
  return names;
}

/// Calls row(name, option, value) for the parameters that are optional in the options: empty until given.
template <class Values, class Row> void each_optional(recon_model_options& o, Values& values, Row const& row) {
  row("sigma_y", o.sigma_y, values.sigma_y);
  row("sigma_x", o.sigma_x, values.sigma_x);
  row("sigma_prox", o.sigma_prox, values.sigma_prox);
  row("slice_damping", o.slice_damping, values.slice_damping);
}

}  // namespace mbirk::program
