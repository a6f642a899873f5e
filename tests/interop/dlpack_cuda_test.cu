// DLPack tensors of device memory; tests that need no device are in dlpack_test.cpp.
#include <gtest/gtest.h>

#include <vector>

#include "core/messages.hpp"
#include "interop/dlpack_structs.hpp"
#include "mbirk/exec/array.hpp"
#include "mbirk/exec/cuda.hpp"
#include "mbirk/interop/dlpack.hpp"

namespace mbirk {
namespace {

static_assert(detail::dlpack_cuda_policy<exec::cuda>);

TEST(DlpackCuda, DeviceMemoryComesAndGoesInPlace) {
  if (!exec::cuda::available()) GTEST_SKIP() << "no device";
  exec::cuda const gpu;
  std::vector<float> const values{1, 2, 3, 4, 5, 6};
  exec::array<float, exec::cuda> const memory(gpu, values);
  auto const t = to_dlpack<test::dl_managed>(gpu, view<float, 2>(memory.data(), {2, 3}), 0);
  EXPECT_EQ(t.get()->dl_tensor.data, memory.data());
  EXPECT_EQ(t.get()->dl_tensor.device.device_type, test::dl_cuda);
  EXPECT_EQ(t.get()->dl_tensor.device.device_id, gpu.device());
  EXPECT_EQ((t.as_view<float const, 2>(gpu).data()), memory.data());
  test::expect_error<parameter_error>([&] { t.as_view<float const, 2>(exec::host{}); },
                                      {"CUDA, device", "expected CPU for exec::host"});
}

}  // namespace
}  // namespace mbirk
