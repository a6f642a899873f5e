// Names of operations as users see them in traces and profiles: geometry_operation.
#pragma once

#include <cstddef>
#include <string_view>

namespace mbirk::detail {

/// A string literal as a template argument.
template <std::size_t Size> struct literal {
  char text[Size]{};
  constexpr literal() = default;
  constexpr literal(char const (&from)[Size]) {
    for (std::size_t k = 0; k < Size; ++k) text[k] = from[k];
  }
};

template <class Geometry, literal Operation> struct joined_name {
  static constexpr std::string_view geometry = Geometry::name, operation = Operation.text;
  static constexpr auto text = [] {
    literal<geometry.size() + 1 + operation.size() + 1> joined{};
    char* at = joined.text;
    for (char const c : geometry) *at++ = c;
    *at++ = '_';
    for (char const c : operation) *at++ = c;
    return joined;
  }();
};

/// "parallel_forward_project" for operation_name<parallel_geometry, "forward_project">.
template <class Geometry, literal Operation>
inline constexpr char const* operation_name = joined_name<Geometry, Operation>::text.text;

}  // namespace mbirk::detail

namespace mbirk {

/// Geometries with a direct reconstruction.
template <class Geometry>
concept has_direct_recon = !std::string_view(Geometry::direct_method).empty();

/// Geometries whose direct reconstruction has this usual name.
template <class Geometry, detail::literal Method>
concept direct_method = std::string_view(Geometry::direct_method) == Method.text;

}  // namespace mbirk
