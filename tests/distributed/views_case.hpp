// Scans in cone beam, shared out in views, and reconstructions of them by ranks and in one memory.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>
#include <vector>

#include "device/device_copy.hpp"
#include "mbirk/distributed/recon.hpp"
#include "slices_case.hpp"

namespace testing_ranks {

using distributed::cone_views;

/// A cone-beam scan of some balls, with noise, and weights.
struct cone_problem {
  cone_parameters parameters;
  std::optional<cone_scan> scan;
  floats image, sinogram, weights;

  cone_problem(index_t views, index_t rows, index_t channels, bool helical) {
    auto& p = parameters;
    p.sinogram_shape = {views, rows, channels};
    p.source_detector_dist = 4.0 * static_cast<double>(channels);
    p.source_iso_dist = 2.0 * static_cast<double>(channels);
    p.det_channel_offset = 0.4;
    for (index_t v = 0; v < views; ++v) {
      p.angles.push_back(
          static_cast<float>(2 * std::numbers::pi * static_cast<double>(v) / static_cast<double>(views)));
      if (helical) p.helical_z_shifts.push_back(0.1f * static_cast<float>(v));
    }
    scan.emplace(p);
    auto const shape = scan->recon_shape();
    image = array(shape);
    sinogram = array(p.sinogram_shape);
    for (index_t i = 0, n = 0; i < shape[0]; ++i)
      for (index_t j = 0; j < shape[1]; ++j)
        for (index_t k = 0; k < shape[2]; ++k, ++n) {
          auto const at = [](index_t index, index_t count) {
            return (static_cast<double>(index) - static_cast<double>(count - 1) / 2) / static_cast<double>(count);
          };
          double const y = at(i, shape[0]) - 0.05, x = at(j, shape[1]), z = at(k, shape[2]);
          double const radius = x * x + y * y + z * z;
          if (radius < 0.12) image[static_cast<std::size_t>(n)] = x > y ? 0.03f : 0.02f;
        }
    forward_project(ctx, *scan, reading(image, shape), writing(sinogram, p.sinogram_shape));
    std::uint32_t state = 1;
    for (auto& y : sinogram) {
      state = state * 1664525u + 1013904223u;
      y += 0.002f * (static_cast<float>(state >> 8) / 0x1p24f - 0.5f);
      weights.push_back(std::exp(-y));
    }
  }
};
inline cone_problem const& circle() {
  static cone_problem const p(37, 13, 24, false);
  return p;
}
inline cone_problem const& helix() {
  static cone_problem const p(37, 13, 24, true);
  return p;
}
/// A scan with so many pixels that a subset is back projected in several pieces.
inline cone_problem const& wide() {
  static cone_problem const p(16, 5, 76, false);
  return p;
}
/// Fewer views than ranges, and fewer pixel rows than bands.
inline cone_problem const& small() {
  static cone_problem const p(10, 6, 11, false);
  return p;
}

struct cone_case {
  char const* name;
  cone_problem const& (*problem)();
  run_case run;
  bool damped = true;
};
inline std::vector<cone_case> cone_cases() {
  return {{"few subsets, damped", circle, {"", false, false, false, 2, {0, 2}}},
          {"many subsets, undamped", circle, {"", false, false, false, 2, {4, 5}}, false},
          {"weights", circle, {"", true, false, false, 2, {2, 4}}},
          {"positivity", circle, {"", true, true, false, 2, {1, 5}}},
          {"proximal map", circle, {"", true, false, true, 2, {2, 5}}},
          {"proximal map, undamped", circle, {"", false, true, true, 1, {4}}, false},
          {"a constant as first image", circle, {"", false, true, false, 1, {4}, run_case::constant}},
          {"a given first image", circle, {"", false, false, false, 1, {4}, run_case::given}},
          {"a helix", helix, {"", true, false, false, 2, {1, 4}}},
          {"several pieces", wide, {"", false, false, false, 2, {0, 3}}},
          {"fewer views than ranges", small, {"", true, true, false, 2, {1, 3}}}};
}
inline recon_options options_for(cone_case const& c) {
  auto o = options_of(c.run);
  if (!c.damped) o.slice_damping = false;
  return o;
}

struct cone_outcome { floats image; recon_log log; };

/// Views or pixel rows of this rank.
inline floats first_axis_part(floats const& all, std::array<index_t, 3> const& shape, distributed::index_range r) {
  return part(all, shape, 0, r);
}
inline constexpr auto unchanged = [](recon_options&, cone_views const&) {};

/// @param more  changes the options of this rank
template <class Comm, class Exec = exec::host, class More = decltype(unchanged)>
cone_outcome run_views(Comm const& ranks, cone_case const& c, Exec const& where = exec::host{1},
                       More const& more = unchanged) {
  auto const& d = c.problem();
  cone_views const mine(d.parameters, ranks.rank(), ranks.size());
  context const here{where, instrument::none{}};
  auto const all = d.scan->sinogram_shape(), all_x = d.scan->recon_shape(), shape = mine.sinogram_shape(),
             recon_shape = mine.recon_shape();
  cone_outcome out{floats(element_count(recon_shape), -1.0f), {}};
  auto const on = [&](floats const& values, std::array<index_t, 3> const& of) {
    return test::place(where, reading(values, of));
  };
  auto const y = on(first_axis_part(d.sinogram, all, mine.views()), shape),
             w = on(first_axis_part(d.weights, all, mine.views()), shape),
             v = on(first_axis_part(d.image, all_x, mine.rows()), recon_shape), x = on(out.image, recon_shape);
  auto const weights = c.run.weighted ? std::optional(w.in()) : std::nullopt;
  auto o = options_for(c);
  if (c.run.first == run_case::given) o.init_recon = v.in();
  more(o, mine);
  out.log = c.run.proximal ? distributed::prox_map(here, ranks, mine, v.in(), y.in(), weights, x.all(), o)
                           : distributed::recon(here, ranks, mine, y.in(), weights, x.all(), o);
  x.download(writing(out.image, recon_shape));
  return out;
}
/// @param resume  may be null
template <class Exec = exec::host>
cone_outcome run_whole(cone_case const& c, Exec const& where = exec::host{1}, recon_state const* resume = nullptr) {
  auto const& d = c.problem();
  context const here{where, instrument::none{}};
  auto const shape = d.scan->sinogram_shape(), recon_shape = d.scan->recon_shape();
  cone_outcome out{array(recon_shape), {}};
  auto const y = test::place(where, reading(d.sinogram, shape)), w = test::place(where, reading(d.weights, shape)),
             v = test::place(where, reading(d.image, recon_shape)),
             x = test::place(where, reading(out.image, recon_shape));
  auto const weights = c.run.weighted ? std::optional(w.in()) : std::nullopt;
  auto o = options_for(c);
  if (c.run.first == run_case::given) o.init_recon = v.in();
  o.resume = resume;
  out.log = c.run.proximal ? prox_map(here, *d.scan, v.in(), y.in(), weights, x.all(), o)
                           : recon(here, *d.scan, y.in(), weights, x.all(), o);
  x.download(writing(out.image, recon_shape));
  return out;
}
/// Whether a problem has enough views for the ranks.
inline bool fits(cone_case const& c) {
  auto const what = message_of<parameter_error>([&] {
    cone_views(c.problem().parameters, world().rank(), world().size());
  });
  return what == "nothing";
}
inline cone_views views_of_rank(cone_case const& c) {
  return cone_views(c.problem().parameters, world().rank(), world().size());
}

}  // namespace testing_ranks
