// Calls one operation once, on one thread, in a function that callgrind looks for: bench/instructions.py counts the
// instructions inside.
#include <cstdio>
#include <string_view>
#include <vector>

#include "mbirk/mbirk.hpp"

namespace {

using namespace mbirk;

constexpr index_t size = 32;
exec::workspace memory;
context const ctx{exec::host{1, &memory}, instrument::none{}};

/// Arrays of a scan.
template <class Scan> struct problem {
  Scan scan;
  std::vector<float> recon_data, sinogram_data, column_data;
  std::vector<std::int32_t> subset;

  problem()
      : scan(Scan::geometry_type::typical_scan({size / 2, size, size})),
        recon_data(size * size * size), sinogram_data(size * size * size / 2) {
    nested_ellipsoids(recon());
    forward_project(ctx, scan, view<float const, 3>(recon()), sinogram());
    for (std::size_t k = 0; k < scan.full_indices().size(); k += 4) subset.push_back(scan.full_indices()[k]);
    column_data.assign(subset.size() * size, 1);
  }
  view<float, 3> recon() { return {recon_data.data(), scan.recon_shape()}; }
  view<float, 3> sinogram() { return {sinogram_data.data(), scan.sinogram_shape()}; }
  view<float, 2> voxel_columns() { return {column_data.data(), {static_cast<index_t>(subset.size()), size}}; }
  view<std::int32_t const, 1> pixels() const { return {subset.data(), {static_cast<index_t>(subset.size())}}; }
};

problem<parallel_scan> parallel;
problem<cone_scan> cone;
std::vector<float> image(size * size * size);
view<float, 3> volume(std::vector<float>& data) { return {data.data(), {size, size, size}}; }
recon_options const once{{.max_iterations = 1, .stop_threshold_change_pct = 0}};

template <class P> void back(P& p) { back_project(ctx, p.scan, view<float const, 3>(p.sinogram()), p.recon()); }
template <class P> void forward(P& p) { forward_project(ctx, p.scan, view<float const, 3>(p.recon()), p.sinogram()); }
template <class P> void sparse_back(P& p) {
  sparse_back_project(ctx, p.scan, view<float const, 3>(p.sinogram()), p.pixels(), p.voxel_columns());
}
template <class P> void sparse_forward(P& p) {
  sparse_forward_project(ctx, p.scan, view<float const, 2>(p.voxel_columns()), p.pixels(), p.sinogram());
}
template <class P> void unweighted_hessian(P& p) { hessian_diagonal(ctx, p.scan, {}, p.recon()); }
template <class P> void filter(P& p) { direct_filter(ctx, p.scan, view<float const, 3>(p.sinogram()), p.sinogram()); }
template <class P> void iterate(P& p) { recon(ctx, p.scan, view<float const, 3>(p.sinogram()), {}, p.recon(), once); }

struct kernel {
  std::string_view name;
  void (*call)();
};
constexpr kernel kernels[] = {
    {"parallel_forward_project", [] { forward(parallel); }},
    {"parallel_back_project", [] { back(parallel); }},
    {"parallel_sparse_forward_project", [] { sparse_forward(parallel); }},
    {"parallel_sparse_back_project", [] { sparse_back(parallel); }},
    {"parallel_hessian_diagonal", [] { unweighted_hessian(parallel); }},
    {"parallel_direct_filter", [] { filter(parallel); }},
    {"parallel_mbir_recon", [] { iterate(parallel); }},
    {"cone_forward_project", [] { forward(cone); }},
    {"cone_back_project", [] { back(cone); }},
    {"cone_sparse_forward_project", [] { sparse_forward(cone); }},
    {"cone_sparse_back_project", [] { sparse_back(cone); }},
    {"cone_hessian_diagonal", [] { unweighted_hessian(cone); }},
    {"cone_mbir_recon", [] { iterate(cone); }},
    {"qggmrf_denoise",
     [] { qggmrf_denoise(ctx, view<float const, 3>(parallel.recon()), {{.max_iterations = 1}}, volume(image)); }},
    {"median_filter3d", [] { median_filter3d(ctx, view<float const, 3>(parallel.recon()), volume(image)); }},
};

/// The function that callgrind looks for.
[[gnu::noinline]] void measured_call(kernel const& k) { k.call(); }

}  // namespace

/// kernels NAME calls that operation; without a name it lists all.
int main(int count, char** words) {
  for (auto const& k : kernels) {
    if (count < 2) std::puts(k.name.data());
    else if (k.name == words[1]) return measured_call(k), 0;
  }
  return count < 2 ? 0 : 2;
}
