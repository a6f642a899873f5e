// Every source of the program makes these library calls, compiled with its own flags.
#pragma once

#include <cmath>
#include <mbirk/exec/host.hpp>
#include <mbirk/exec/instruction_set.hpp>
#include <mbirk/instrument/none.hpp>
#include <mbirk/projector/all.hpp>
#include <stdexcept>
#include <string>
#include <vector>

struct results {
  std::vector<std::vector<float>> arrays;
  int lanes_of_own_kernel;
};
results call_from_baseline();
results call_from_wide();

inline void expect(bool ok, std::string const& what) {
  if (!ok) throw std::runtime_error(what);
}

namespace {  // compiled in each source

using context = mbirk::context<mbirk::exec::host, mbirk::instrument::none>;

std::vector<float> varied(std::size_t n) {
  std::vector<float> x(n);
  for (std::size_t k = 0; k < n; ++k) x[k] = static_cast<float>((k * 2654435761u >> 7) % 1000) / 1000;
  return x;
}
double dot(std::vector<float> const& a, std::vector<float> const& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += double{a[k]} * double{b[k]};
  return sum;
}
std::size_t size_of(std::array<mbirk::index_t, 3> const& shape) {
  return static_cast<std::size_t>(shape[0] * shape[1] * shape[2]);
}

/// Projects both ways, with a plan and without. The projections are transposes of each other, whatever runs them.
template <class Scan> void project(context const& ctx, Scan const& scan, results& r) {
  auto const x = varied(size_of(scan.recon_shape())), y = varied(size_of(scan.sinogram_shape()));
  std::vector<float> ax(y.size()), aty(x.size()), planned(y.size());
  mbirk::view<float const, 3> const image(x.data(), scan.recon_shape()), sinogram(y.data(), scan.sinogram_shape());
  mbirk::view<float, 3> const projected(ax.data(), scan.sinogram_shape()), back(aty.data(), scan.recon_shape());
  mbirk::forward_project(ctx, scan, image, projected);
  mbirk::back_project(ctx, scan, sinogram, back);
  double const one = dot(ax, y), other = dot(x, aty);
  expect(one > 0 && std::abs(one - other) <= 1e-5 * one, "the projections are no transposes");

  mbirk::projection_plan plan(ctx, scan);  // made by the library, moved and destroyed here
  auto const moved = std::move(plan);
  expect(moved.pixels() == static_cast<mbirk::index_t>(scan.full_indices().size()), "the plan has other pixels");
  mbirk::forward_project(ctx, moved, image, mbirk::view<float, 3>(planned.data(), scan.sinogram_shape()));
  expect(planned == ax, "the plan changes bits");

  try {
    mbirk::forward_project(ctx, scan, sinogram, projected);
    expect(false, "a wrong shape is accepted");
  } catch (mbirk::shape_error const& e) {
    expect(std::string(e.what()).find("forward_project") == 0, e.what());
  }
  r.arrays.push_back(ax);
  r.arrays.push_back(aty);
}

/// A kernel that the library does not hold.
template <class B> struct own_kernel {
  float* to;
  void operator()(mbirk::index_t task) const { B::store(to + task * B::lanes, B::broadcast(static_cast<float>(task))); }
};

[[maybe_unused]] results call() {
  context const ctx{mbirk::exec::host{2}, {}};
  results r;
  std::vector<float> const angles{0, 0.4f, 0.9f, 1.7f, 2.6f};
  project(ctx, mbirk::parallel_scan({.sinogram_shape = {5, 7, 19}, .angles = angles}), r);
  project(ctx,
          mbirk::cone_scan(
              {.sinogram_shape = {5, 7, 19}, .angles = angles, .source_detector_dist = 76, .source_iso_dist = 38}),
          r);

  using B = context::backend;
  std::vector<float> numbers(4 * B::lanes);
  mbirk::launch(ctx, 4, own_kernel<B>{numbers.data()});
  for (int k = 0; k < 4 * B::lanes; ++k)
    expect(numbers[static_cast<std::size_t>(k)] == float(k / B::lanes), "the own kernel");
  r.lanes_of_own_kernel = B::lanes;
  return r;
}

}  // namespace
