// States of interrupted reconstructions in parallel beam: that of a slab from that of the whole, and the reverse. The
// state of the whole is the one that mbirk::recon saves and resumes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "mbirk/core/element_count.hpp"
#include "mbirk/core/error.hpp"
#include "mbirk/core/index.hpp"
#include "mbirk/distributed/slices.hpp"
#include "mbirk/recon/options.hpp"

namespace mbirk::distributed {
namespace detail {

/// Calls f(of the whole, of the slab, elements) for every run of elements that both have in a row. Slices are the axis
/// `axis` of the arrays.
template <class F>
void each_run(std::array<index_t, 3> const& whole, std::size_t axis, index_range slab, F const& f) {
  index_t inner = 1, outer = 1;
  for (std::size_t d = 0; d < axis; ++d) outer *= whole[d];
  for (std::size_t d = axis + 1; d < 3; ++d) inner *= whole[d];
  for (index_t o = 0; o < outer; ++o)
    f((o * whole[axis] + slab.first) * inner, o * slab.count * inner, slab.count * inner);
}

/// Gives a state another number of slices. The values of its arrays are unspecified; fewer slices need no memory.
inline void set_slices(recon_state& s, index_t slices) {
  s.sinogram_shape[1] = slices;
  s.recon_shape[2] = slices;
  s.recon.resize(element_count(s.recon_shape));
  s.hessian.resize(s.recon.size());
  s.weighted_error.resize(element_count(s.sinogram_shape));
}
/// A state with the log of another one, for `slices`, and arrays of zeros.
inline recon_state empty_state(recon_state const& like, index_t slices) {
  recon_state s{like.sinogram_shape, like.recon_shape, like.seed, {}, {}, {}, like.record};
  set_slices(s, slices);
  return s;
}

/// Calls f(place in the whole, place in the slab, elements) for all runs of all arrays.
template <class Whole, class Slab, class F>
void each_state_run(Whole& whole, Slab& slab, index_range range, F const& f) {
  auto const array = [&](auto& of_whole, auto& of_slab, std::array<index_t, 3> const& shape, std::size_t axis) {
    each_run(shape, axis, range, [&](index_t there, index_t here, index_t count) {
      f(of_whole.begin() + there, of_slab.begin() + here, count);
    });
  };
  array(whole.recon, slab.recon, whole.recon_shape, 2);
  array(whole.hessian, slab.hessian, whole.recon_shape, 2);
  array(whole.weighted_error, slab.weighted_error, whole.sinogram_shape, 1);
}
/// Copies the arrays of a slab to those of the whole.
inline void add_slab(recon_state& whole, recon_state const& slab, index_range range) {
  each_state_run(whole, slab, range, [](auto to, auto from, index_t count) { std::copy_n(from, count, to); });
}

}  // namespace detail

/// The state of a slab, for recon_options::resume, from that of the whole, which any number of ranks has saved.
/// @throws shape_error if the state is not of the scan of the slab
inline recon_state state_of_slab(recon_state const& whole, parallel_slab const& slab) {
  auto const all = make_geometry(slab.whole());
  std::array<index_t, 3> const sinogram{all.views, all.rows, all.channels},
      recon{all.recon_rows, all.recon_cols, all.slices};
  require<shape_error>(whole.sinogram_shape == sinogram && whole.recon_shape == recon, [&] {
    using mbirk::detail::shape_text;
    return mbirk::detail::message("state_of_slab: the state is of a sinogram ", shape_text(whole.sinogram_shape),
                                  " and a recon ", shape_text(whole.recon_shape), ", expected ", shape_text(sinogram),
                                  " and ", shape_text(recon));
  });
  require<shape_error>(whole.recon.size() == element_count(recon) && whole.hessian.size() == whole.recon.size() &&
                           whole.weighted_error.size() == element_count(sinogram), [] {
    return "state_of_slab: the state has arrays that do not fit its shapes";
  });
  auto out = detail::empty_state(whole, slab.range().count);
  detail::each_state_run(whole, out, slab.range(),
                         [](auto from, auto to, index_t count) { std::copy_n(from, count, to); });
  return out;
}

}  // namespace mbirk::distributed
