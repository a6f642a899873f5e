// Memory that a reconstruction will take, predicted before any of it is allocated and compared with actual use.
#include <algorithm>
#include <cstdio>
#include <memory_resource>
#include <vector>

#include "mbirk/instrument/sizing.hpp"
#include "mbirk/mbirk.hpp"

/// Measures peak memory in use.
class watched_memory : public std::pmr::memory_resource {
 public:
  std::size_t peak() const { return peak_; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    peak_ = std::max(peak_, used_ += bytes);
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override {
    used_ -= bytes;
    std::pmr::new_delete_resource()->deallocate(p, bytes, alignment);
  }
  bool do_is_equal(std::pmr::memory_resource const& other) const noexcept override { return this == &other; }
  std::size_t used_ = 0, peak_ = 0;
};

mbirk::parallel_scan scan_of(mbirk::index_t n) {
  mbirk::parallel_parameters p{.sinogram_shape = {n / 2, n, n}, .angles = {}};
  for (mbirk::index_t v = 0; v < n / 2; ++v)
    p.angles.push_back(static_cast<float>(v) * 3.14159f / static_cast<float>(n / 2));
  return mbirk::parallel_scan(p);
}

int main() {
  using namespace mbirk;
  exec::host const two_threads(2);  // each has scratch memory
  auto const size_at = [&](parallel_scan const& scan) {
    instrument::size_record size;  // null views: nothing is read
    recon(context{two_threads, instrument::sizing{size}}, scan, view<float const, 3>(nullptr, scan.sinogram_shape()),
          {}, view<float, 3>(nullptr, scan.recon_shape()), recon_options{});
    return size;
  };
  auto const large = size_at(scan_of(256));
  std::printf("%s of 256^3 voxels: %.2f GB\n", large.name.c_str(), static_cast<double>(large.peak()) * 1e-9);
  for (auto const* arrays : {&large.outer, &large.at_peak})
    for (auto const& a : *arrays)
      std::printf("  %-24s %8.1f MB\n", a.name.c_str(), static_cast<double>(a.bytes) * 1e-6);

  auto const small = scan_of(16);
  std::vector<float> y(8 * 16 * 16, 1.0f), x(16 * 16 * 16);
  watched_memory memory;
  recon(context{exec::host{2, &memory}, instrument::none{}}, small,
        view<float const, 3>(y.data(), small.sinogram_shape()), {}, view<float, 3>(x.data(), small.recon_shape()),
        recon_options{});
  std::printf("16^3 voxels: temporaries of %zu bytes, %lld were expected\n", memory.peak(),
              static_cast<long long>(size_at(small).temporary_peak));
  return static_cast<index_t>(memory.peak()) == size_at(small).temporary_peak ? 0 : 1;
}
