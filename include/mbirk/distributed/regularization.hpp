// Data checks and automatic regularisation of a sinogram whose rows or views are shared out. Not for users.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mbirk/distributed/agreement.hpp"
#include "mbirk/distributed/slices.hpp"
#include "mbirk/distributed/views.hpp"
#include "mbirk/recon/regularization.hpp"

namespace mbirk::distributed::detail {

using namespace mbirk::detail;

/// require_finite_sinogram and require_weights of a part of the data, whose weights may all be 0.
/// @param of_part  the operation, and from where on the rows or views of a message are counted
/// @return whether some weight is positive; true without weights
template <class Context>
bool require_data_of_part(Context const& ctx, std::string const& of_part, view<float const, 3> sinogram,
                          std::optional<view<float const, 3>> const& weights) {
  require_finite_sinogram(ctx, sinogram, of_part.c_str());
  if (!weights) return true;
  [[maybe_unused]] auto const guard = ctx.instr.stage("check weights");
  auto const& w = *weights;
  auto const range = find_range(
      ctx, kernel::make_strided_cursor(observe(ctx, w, "weights", array_role::argument), w),
      kernel::make_elementwise_range(kernel::any_tasks, w));
  bool const positive = range.maximum > 0;
  if (!range.finite() || range.minimum < 0 || positive) require_weights(ctx, w, of_part.c_str());
  return positive;
}
/// @throws parameter_error unless some weight of all parts is positive
inline void require_positive(bool some, char const* operation) {
  require(some, [&] {
    return message(operation, ": every one of the weights is 0, expected at least one that is positive");
  });
}

/// require_finite_sinogram and require_weights of all ranks together.
/// @param of_rank  see require_data_of_part
template <class Context, communicator Comm>
void require_data(Context const& ctx, Comm const& ranks, std::string const& of_rank, view<float const, 3> sinogram,
                  std::optional<view<float const, 3>> const& weights, char const* operation) {
  bool positive = false;  // one positive weight anywhere is enough
  agree(ranks, [&] { positive = require_data_of_part(ctx, of_rank, sinogram, weights); });
  if (!weights) return;
  require_positive(all_reduce(ranks, "check weights", positive ? 1 : 0, reduction::maximum) > 0, operation);
}

/// Appends the samples of a view of a sinogram.
template <class Context>
void append_view(Context const& ctx, view<float const, 3> const& sinogram, index_t at, std::vector<float>& to) {
  view<float const, 2> const samples(sinogram.data() + at * sinogram.stride(0),
                                     {sinogram.extent(1), sinogram.extent(2)},
                                     {sinogram.stride(1), sinogram.stride(2)});
  host_view const one(ctx, samples);
  for (index_t j = 0; j < one.extent(0); ++j)
    for (index_t k = 0; k < one.extent(1); ++k) to.push_back(one(j, k));
}

/// The rows of every step-th view of all ranks, on rank 0; empty on the others.
template <class Context, communicator Comm>
std::vector<float> gather_sampled(Context const& ctx, Comm const& ranks, char const* what, parallel_slab const& slab,
                                  index_t step, view<float const, 3> v) {
  index_t const views = ceil_div(v.extent(0), step), channels = v.extent(2);
  auto const size = [&](index_t rows) { return static_cast<std::size_t>(views * rows * channels); };
  std::vector<float> mine, all;
  agree(ranks, [&] {
    bool const receives = ranks.rank() == 0;
    mine.reserve(size(receives ? most_slices(slab.slices(), ranks.size()) : v.extent(1)));
    for (index_t i = 0; i < v.extent(0); i += step) append_view(ctx, v, i, mine);
    if (receives) all.resize(size(slab.slices()));
  });
  if (ranks.rank() > 0) {
    ranks.send(what, std::as_bytes(std::span(mine)), 0);
    return {};
  }
  for (int r = 0; r < ranks.size(); ++r) {
    auto const rows = slices_of(slab.slices(), r, ranks.size());
    if (r > 0) {
      mine.resize(size(rows.count));
      ranks.receive(what, std::as_writable_bytes(std::span(mine)), r);
    }
    index_t const run = rows.count * channels;
    for (index_t i = 0; i < views; ++i)
      std::copy_n(mine.begin() + i * run, run, all.begin() + (i * slab.slices() + rows.first) * channels);
  }
  return all;
}

/// Those of every step-th view of all ranks that each of them has, on rank 0; empty on the others.
template <class Context, communicator Comm>
std::vector<float> gather_sampled(Context const& ctx, Comm const& ranks, char const* what, cone_views const& part,
                                  index_t step, view<float const, 3> v) {
  index_t const rows = v.extent(1), channels = v.extent(2);
  auto const sampled_before = [&](index_t view) { return ceil_div(view, step); };
  std::vector<float> all;
  agree(ranks, [&] {
    bool const receives = ranks.rank() == 0;
    auto const mine = part.views();
    index_t const some = sampled_before(mine.end()) - sampled_before(mine.first);
    all.reserve(static_cast<std::size_t>(
        (receives ? sampled_before(part.whole().geometry().views) : some) * rows * channels));
    for (index_t i = sampled_before(mine.first) * step; i < mine.end(); i += step)
      append_view(ctx, v, i - mine.first, all);
  });
  if (ranks.rank() > 0) {
    ranks.send(what, std::as_bytes(std::span(all)), 0);
    return {};
  }
  for (int r = 1; r < ranks.size(); ++r) {
    auto const before = all.size();
    auto const views = part.views(r);
    all.resize(before + static_cast<std::size_t>((sampled_before(views.end()) - sampled_before(views.first)) * rows *
                                                 channels));
    ranks.receive(what, std::as_writable_bytes(std::span(all).subspan(before)), r);
  }
  return all;
}

/// auto_regularization of the whole sinogram, which the caller has checked: rank 0 receives the 20 to 39 views that it
/// looks at, and sends the scales to all. @param views  of all ranks
template <class Context, communicator Comm, class Shared>
regularization regularize(Context const& ctx, Comm const& ranks, Shared const& shared, index_t views,
                          view<float const, 3> sinogram, std::optional<view<float const, 3>> const& weights,
                          double snr_db, double sharpness, char const* operation) {
  agree(ranks, [&] {
    for (auto const& [x, what] : {std::pair(snr_db, "snr_db"), std::pair(sharpness, "sharpness")})
      require(std::isfinite(x), [&] {
        return message(operation, ": ", what, " is ", x, ", expected a finite number");
      });
  });
  index_t const step = sampling_step(views);
  auto const samples = gather_sampled(ctx, ranks, "sampled views", shared, step, sinogram);
  std::vector<float> sampled_weights;
  if (weights) sampled_weights = gather_sampled(ctx, ranks, "sampled views", shared, step, *weights);
  regularization found;
  agree(ranks, [&] {
    if (ranks.rank() > 0) return;
    auto const scan = shared.sampled(step);
    device_table const all(ctx, samples, "sampled views"), all_weights(ctx, sampled_weights, "sampled weights");
    view<float const, 3> const y(all.data(), scan.sinogram_shape());
    std::optional<view<float const, 3>> w;
    if (weights) w.emplace(all_weights.data(), scan.sinogram_shape());
    found = find_regularization(ctx, scan, y, w, snr_db, sharpness);
  });
  std::array<float, 3> scales{found.sigma_y, found.sigma_x, found.sigma_prox};
  ranks.broadcast("sigmas", std::as_writable_bytes(std::span(scales)), 0);
  found.sigma_y = scales[0];
  found.sigma_x = scales[1];
  found.sigma_prox = scales[2];
  auto const warnings = all_reduce(ranks, "sigmas", static_cast<std::int64_t>(found.warnings.size()),
                                   reduction::maximum);
  found.warnings.resize(static_cast<std::size_t>(warnings));
  for (auto& text : found.warnings) text = broadcast_text(ranks, "sigmas", std::move(text), 0);
  return found;
}

}  // namespace mbirk::distributed::detail
