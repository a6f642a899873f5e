// States of interrupted reconstructions in cone beam: that of a rank's views and rows from that of the whole, and the
// reverse. The state of the whole is the one that mbirk::recon saves and resumes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "mbirk/core/element_count.hpp"
#include "mbirk/core/error.hpp"
#include "mbirk/distributed/views.hpp"
#include "mbirk/recon/options.hpp"

namespace mbirk::distributed {
namespace detail {

/// Gives a state the shapes and arrays of all ranks. The values of the arrays are 0.
inline recon_state empty_state_of_views(recon_state const& like, cone_views const& part) {
  recon_state s{part.whole().sinogram_shape(), part.whole().recon_shape(), like.seed, {}, {}, {}, like.record};
  s.recon.resize(element_count(s.recon_shape));
  s.hessian.resize(s.recon.size());
  s.weighted_error.resize(element_count(s.sinogram_shape));
  return s;
}
/// Calls f(part of the array of the whole, array of the other state) for the arrays of a rank.
template <class Whole, class Other, class F>
void each_part_of_state(Whole& whole, Other& other, cone_views const& part, int rank, F const& f) {
  auto const some = [](auto& array, std::array<index_t, 3> const& shape, index_range r) {
    index_t const each = shape[1] * shape[2];
    return std::span(array).subspan(static_cast<std::size_t>(r.first * each), static_cast<std::size_t>(r.count * each));
  };
  f(some(whole.recon, whole.recon_shape, part.rows(rank)), other.recon);
  f(some(whole.hessian, whole.recon_shape, part.rows(rank)), other.hessian);
  f(some(whole.weighted_error, whole.sinogram_shape, part.views(rank)), other.weighted_error);
}

}  // namespace detail

/// The state of a rank, for recon_options::resume, from that of the whole, which any number of ranks has saved.
/// @throws shape_error if the state is not of the scan
inline recon_state state_of_views(recon_state const& whole, cone_views const& part, int rank) {
  auto const sinogram = part.whole().sinogram_shape(), recon = part.whole().recon_shape();
  require<shape_error>(whole.sinogram_shape == sinogram && whole.recon_shape == recon, [&] {
    using mbirk::detail::shape_text;
    return mbirk::detail::message("state_of_views: the state is of a sinogram ", shape_text(whole.sinogram_shape),
                                  " and a recon ", shape_text(whole.recon_shape), ", expected ", shape_text(sinogram),
                                  " and ", shape_text(recon));
  });
  require<shape_error>(whole.recon.size() == element_count(recon) && whole.hessian.size() == whole.recon.size() &&
                           whole.weighted_error.size() == element_count(sinogram), [] {
    return "state_of_views: the state has arrays that do not fit its shapes";
  });
  recon_state out{part.sinogram_shape(), part.recon_shape(), whole.seed, {}, {}, {}, whole.record};
  detail::each_part_of_state(whole, out, part, rank, [](std::span<float const> from, std::vector<float>& to) {
    to.assign(from.begin(), from.end());
  });
  return out;
}

}  // namespace mbirk::distributed
