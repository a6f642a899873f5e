// Arrays of other libraries in place: Eigen's matrices and DLPack's tensors, read and written without a copy.
// docs/interop.md shows the marked part.
#include <Eigen/Core>
#include <cstdio>
#include <dlpack/dlpack.h>
#include <memory>
#include <vector>

#include "mbirk/interop/dlpack.hpp"
#include "mbirk/interop/eigen.hpp"
#include "mbirk/mbirk.hpp"

/// A producer's tensor, with a deleter that is called when nobody needs the tensor any more.
DLManagedTensor* make_tensor(std::vector<std::int64_t> shape, bool& deleted) {
  struct owner {
    DLManagedTensor managed;
    std::vector<std::int64_t> shape;
    std::vector<float> data;
    bool* deleted;
  };
  std::size_t size = 1;
  for (auto const n : shape) size *= static_cast<std::size_t>(n);
  auto* const k = new owner{{}, std::move(shape), std::vector<float>(size, 1.0f), &deleted};
  k->managed.dl_tensor = {
      k->data.data(), {kDLCPU, 0}, static_cast<int>(k->shape.size()), {kDLFloat, 32, 1}, k->shape.data(), nullptr, 0};
  k->managed.manager_ctx = k;
  k->managed.deleter = [](DLManagedTensor* m) {
    auto* const self = static_cast<owner*>(m->manager_ctx);
    *self->deleted = true;
    delete self;
  };
  return &k->managed;
}

int main() {
  using namespace mbirk;
  parallel_scan const scan(parallel_parameters{.sinogram_shape = {4, 3, 16}, .angles = {0.1f, 0.9f, 1.7f, 2.5f}});
  host_context const ctx;
  bool deleted = false;
  DLManagedTensor* const from_elsewhere = make_tensor({4, 3, 16}, deleted);
  // example: begin
  auto const sinogram = from_dlpack(from_elsewhere);  // calls the tensor's deleter once, in its destructor
  auto recon = std::make_shared<std::vector<float>>(16 * 16 * 3);
  view<float, 3> const x = to_view(std::span(*recon), scan.recon_shape());
  auto const y = sinogram.as_view<float const, 3>(ctx.exec);     // throws unless it is float32 of 3 axes on the host
  back_project(ctx, scan, y, x);
  auto tensor = to_dlpack<DLManagedTensor>(ctx.exec, x, recon);  // owns `recon`; a consumer gets tensor.release()

  Eigen::VectorXf weights(4 * 3 * 16);
  gen_weights(ctx, y, weight_type::transmission, to_view(weights, scan.sinogram_shape()));
  auto const pixels = to_eigen(view<float, 2>(x.data(), {16 * 16, 3}));  // pixels x slices: a row-major matrix in place
  Eigen::VectorXf const means = pixels.colwise().mean();                 // one per slice
  // example: end
  std::printf("means of the slices: %g, %g, %g; weights of %g\n", static_cast<double>(means[0]),
              static_cast<double>(means[1]), static_cast<double>(means[2]), static_cast<double>(weights.mean()));
  bool const in_place = pixels.data() == recon->data() && tensor.get()->dl_tensor.data == recon->data();
  return in_place && means[1] > 0 && weights.mean() > 0 && !deleted ? 0 : 1;
}
