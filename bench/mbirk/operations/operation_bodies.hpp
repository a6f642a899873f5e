// Operations as function objects for any policy: body(ctx, scan, x) with operands x in the policy's memory. A body that
// accepts any_scan needs no scan. Its static members are its entry in the table: its name and entry(). This header
// has what the bodies in operations_*.hpp share.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "mbirk/geometry/mask.hpp"
#include "mbirk/instances/any.hpp"
#include "mbirk/instances/counting.hpp"
#include "mbirk/projector/cone.hpp"
#include "mbirk/projector/parallel.hpp"
#include "mbirk/recon/denoise.hpp"
#include "mbirk/recon/direct_recon.hpp"
#include "mbirk/recon/recon.hpp"
#include "mbirk/recon/weights.hpp"
#include "mbirk/util/median.hpp"
#include "mbirk/util/partition_set.hpp"
#include "operations/operations.hpp"

namespace mbirk::program {

/// A scan of some geometry; excludes cases without geometry.
template <class T> concept some_scan = requires(T const& scan) { scan.geometry(); };

/// A scan with a direct reconstruction.
template <class T>
concept direct_scan = some_scan<T> && has_direct_recon<typename T::geometry_type>;

// Options of calls, from arguments and settings.

inline filter_options filter_of(auto const& x) { return {.name = x.text("filter_name")}; }

/// Reads the options of a call from arguments; an optional argument that is null leaves its option as it is.
template <class Options> void read_call_options(auto const& x, Options& o) {
  mbirk::detail::each_call_option(o, [&]<class T>(char const* name, auto const&, T& member, char const*) {
    if constexpr (std::same_as<T, bool>) member = x.boolean(name);
    else if constexpr (std::integral<T>) member = static_cast<T>(x.integer(name));
    else if (auto const number = x.number(name)) member = *number;
  });
}

inline recon_options recon_options_of(auto const& x) {
  recon_options o({}, x.settings);
  read_call_options(x, o);
  if (auto const image = x.optional_volume("init_recon")) o.init_recon = *image;
  return o;
}

inline denoise_options denoise_options_of(auto const& x) {
  denoise_options o = x.denoiser;
  read_call_options(x, o);
  o.use_ror_mask = x.boolean("use_ror_mask");
  return o;
}

/// The grid of a partition with its mask: those of the scan, or the case's recon_shape with the mask enabled.
struct masked_grid {
  std::vector<std::uint8_t> mask;
  index_t rows, cols;
};
inline masked_grid grid_of(any_scan const& any, operands const& x) {
  return std::visit([&](auto const& scan) -> masked_grid {
    if constexpr (requires { scan.geometry(); }) {
      return {scan.mask(), scan.geometry().recon_rows, scan.geometry().recon_cols};
    } else {
      require<shape_error>(x.recon_shape.has_value(),
                           [] { return std::string("recon_shape is missing, expected [rows, cols, slices]"); });
      auto const [rows, cols, slices] = *x.recon_shape;
      return {make_mask(rows, cols, true), rows, cols};
    }
  }, any);
}

/// Base of bodies that run on the host under every policy, so that their operands are never copied to a device.
struct made_on_host {};
template <class Body> inline constexpr bool host_only = std::derived_from<Body, made_on_host>;

/// Bodies of a source: it compiles them for its policies.
template <class... Bodies> struct body_list {};
template <class... Lists> struct joined_lists;
template <class... Bodies> struct joined_lists<body_list<Bodies...>> { using type = body_list<Bodies...>; };
template <class... First, class... Second, class... Lists>
struct joined_lists<body_list<First...>, body_list<Second...>, Lists...>
    : joined_lists<body_list<First..., Second...>, Lists...> {};
template <class... Lists> using joined = typename joined_lists<Lists...>::type;

}  // namespace mbirk::program
