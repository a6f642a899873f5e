// The list of geometries, from which everything that exists once per geometry is generated: variants, names in messages
// and tables, compiled instances.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "mbirk/geometry/general.hpp"
#include "mbirk/geometry/scan.hpp"
#include "mbirk/geometry/translation.hpp"

/// X(arguments..., Geometry) for every geometry with a direct reconstruction, and for every geometry: the same lists
/// for the preprocessor, which declares and defines compiled instances.
#define MBIRK_EACH_DIRECT_GEOMETRY(X, ...) \
  X(__VA_ARGS__, parallel_geometry) \
  X(__VA_ARGS__, cone_geometry) \
  X(__VA_ARGS__, multiaxis_geometry) \
  X(__VA_ARGS__, translation_geometry)
#define MBIRK_EACH_GEOMETRY(X, ...) \
  MBIRK_EACH_DIRECT_GEOMETRY(X, __VA_ARGS__) \
  X(__VA_ARGS__, general_geometry)

namespace mbirk {

template <class... Geometry> struct geometry_types {
  /// A variant of Of<Geometry> for every geometry, after First.
  template <template <class> class Of, class... First> using variant_of = std::variant<First..., Of<Geometry>...>;
  /// A variant of Of<Geometry> for every geometry, before Of<Last>.
  template <template <class> class Of, class Last> using variant_with = std::variant<Of<Geometry>..., Of<Last>>;

  /// Calls f(std::type_identity<Geometry>) for every geometry.
  template <class F> static constexpr void each(F const& f) { (f(std::type_identity<Geometry>{}), ...); }

  /// Calls f(std::type_identity<Geometry>) for the geometry of this name.
  /// @return whether there is one.
  template <class F> static constexpr bool with_name(std::string_view name, F const& f) {
    return ((name == Geometry::name && (f(std::type_identity<Geometry>{}), true)) || ...);
  }

  /// {"parallel", "cone"}
  static std::vector<std::string> names() { return {Geometry::name...}; }

  /// "parallel or cone" for messages: the names, each between two quotes, followed by further ones.
  static std::string names_text(std::vector<std::string> const& further = {}, std::string const& quote = "") {
    auto all = names();
    all.insert(all.end(), further.begin(), further.end());
    std::string text;
    for (std::size_t k = 0; k < all.size(); ++k)
      text += (k == 0 ? "" : k + 1 < all.size() ? ", " : " or ") + quote + all[k] + quote;
    return text;
  }
};

using geometries = geometry_types<
    parallel_geometry, cone_geometry, multiaxis_geometry, translation_geometry, general_geometry>;

template <class Geometry> using parameters_of = typename Geometry::parameters;

/// A scan of any geometry, and the parameters of one.
using scan_variant = geometries::variant_of<scan>;
using parameters_variant = geometries::variant_of<parameters_of>;

}  // namespace mbirk
