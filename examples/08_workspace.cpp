// User-provided memory for temporaries, and on a device (compiled by nvcc) a user-provided stream: repeated operations
// allocate once.
#include <cstdio>
#include <memory_resource>
#include <vector>

#include "mbirk/exec/array.hpp"
#include "mbirk/mbirk.hpp"
#if defined(__CUDACC__)
#include "mbirk/exec/cuda.cuh"
#endif

/// Upstream memory of a workspace; counts its allocations.
class upstream_memory : public std::pmr::memory_resource {
 public:
  int allocations = 0;

 private:
#if defined(__CUDACC__)
  void* do_allocate(std::size_t bytes, std::size_t) override {
    void* p = nullptr;
    ++allocations;
    if (cudaMalloc(&p, bytes) != cudaSuccess) throw std::bad_alloc();
    return p;
  }
  void do_deallocate(void* p, std::size_t, std::size_t) override { cudaFree(p); }
#else
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    ++allocations;
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override {
    std::pmr::new_delete_resource()->deallocate(p, bytes, alignment);
  }
#endif
  bool do_is_equal(std::pmr::memory_resource const& other) const noexcept override { return this == &other; }
};

int main() {
  using namespace mbirk;
  parallel_scan const scan(parallel_parameters{.sinogram_shape = {4, 8, 32}, .angles = {0.1f, 0.9f, 1.7f, 2.5f}});
  std::vector<float> sinogram(4 * 8 * 32, 1.0f), recon(32 * 32 * 8);
  upstream_memory upstream;
  // example: begin
#if defined(__CUDACC__)
  if (!exec::cuda::available()) {
    std::puts("no device here: nothing was run");
    return 77;
  }
  cudaStream_t stream = nullptr;
  exec::check_cuda(cudaStreamCreate(&stream), "cudaStreamCreate");
  exec::workspace workspace(&upstream);  // freed memory is reused at once, because the stream orders its use
  exec::cuda const where(stream, &workspace);
#else
  exec::workspace workspace(&upstream);   // keeps freed memory until release()
  exec::host const where(2, &workspace);  // two threads
#endif
  context const ctx{where, instrument::none{}};
  exec::array const y(where, std::span<float const>(sinogram)), x(where, std::span<float const>(recon));
  view<float const, 3> const from(y.data(), scan.sinogram_shape());
  view<float, 3> const to(x.data(), scan.recon_shape());
  for (int k = 0; k < 10; ++k) back_project(ctx, scan, from, to);
  x.download(recon);  // waits for a device
  // example: end
  int const once = upstream.allocations;
  back_project(ctx, scan, from, to);
  where.wait();
  std::printf("%d allocations for eleven projections, %zu bytes held\n", upstream.allocations, workspace.bytes());
  return upstream.allocations == once && recon[16 * 32 * 8 + 16 * 8] > 0 ? 0 : 1;
}
