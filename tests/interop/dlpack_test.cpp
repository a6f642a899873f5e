#include "mbirk/interop/dlpack.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <numeric>
#include <vector>

#include "core/messages.hpp"
#include "interop/dlpack_structs.hpp"
#include "mbirk/exec/emulated.hpp"
#include "mbirk/exec/host.hpp"
#include "mbirk/instrument/none.hpp"
#include "mbirk/projector/parallel.hpp"

namespace mbirk {
namespace {

using test::expect_error;

static_assert(!dlpack_managed<int> && !dlpack_versioned<test::dl_managed> &&
              dlpack_versioned<test::dl_managed_versioned>);
static_assert(!std::is_copy_constructible_v<dlpack_tensor<test::dl_managed>>, "its deleter is called once");

/// A policy with separate memory, like exec::cuda; nothing here touches that memory.
struct fake_cuda : exec::emulated {
  static constexpr std::string_view name = "cuda";
  void* stream() const noexcept { return nullptr; }
  int device() const noexcept { return 1; }
  void wait() const noexcept { ++*waits; }
  std::shared_ptr<int> waits = std::make_shared<int>(0);
};
static_assert(execution_policy<fake_cuda>);

/// A tensor as a producer makes it, with a count of its deleter calls.
template <class Managed> struct producer {
  std::vector<float> data = std::vector<float>(60);
  std::vector<std::int64_t> shape{3, 4, 5}, strides{20, 5, 1};
  Managed managed{};
  int deleted = 0;

  producer() {
    std::iota(data.begin(), data.end(), 0.0f);
    auto& t = managed.dl_tensor;
    t.data = data.data(), t.shape = shape.data(), t.strides = strides.data(), t.ndim = 3;
    t.dtype.code = 2, t.dtype.bits = 32, t.dtype.lanes = 1;
    place(1, 0);
    managed.manager_ctx = this;
    managed.deleter = [](Managed* m) { ++static_cast<producer*>(m->manager_ctx)->deleted; };
    if constexpr (dlpack_versioned<Managed>) managed.version.major = 1, managed.version.minor = 3;
  }
  void place(int type, int id) {
    auto& d = managed.dl_tensor.device;
    d.device_type = static_cast<decltype(d.device_type)>(type), d.device_id = id;
  }
  /// The error for a view of these numbers; the tensor is still deleted once.
  template <class Error, class T = float const, int Rank = 3, class Exec = exec::host>
  void expect_refusal(std::vector<std::string> const& parts, Exec const& exec = Exec()) {
    int const before = deleted;
    expect_error<Error>([&] { from_dlpack(&managed).template as_view<T, Rank>(exec); }, parts);
    EXPECT_EQ(deleted, before + 1);
  }
};

template <class Managed> struct DlpackOf : testing::Test { producer<Managed> from; };
using structs = testing::Types<test::dl_managed, test::dl_managed_versioned>;
TYPED_TEST_SUITE(DlpackOf, structs);

TYPED_TEST(DlpackOf, ATensorIsAViewOfTheSameMemoryUntilItGoes) {
  {
    auto const t = from_dlpack(&this->from.managed);
    auto const v = t.template as_view<float, 3>(exec::host{});
    EXPECT_EQ(v.data(), this->from.data.data());
    EXPECT_EQ(v.extents(), (std::array<index_t, 3>{3, 4, 5}));
    v(2, 3, 4) = -1;
    EXPECT_EQ(this->from.data[59], -1);
    EXPECT_EQ(t.shape(), (std::vector<index_t>{3, 4, 5}));
    EXPECT_FALSE(t.read_only());
    EXPECT_EQ(this->from.deleted, 0);
  }
  EXPECT_EQ(this->from.deleted, 1);
}

TYPED_TEST(DlpackOf, TheDeleterIsCalledOnceOrByTheConsumer) {
  {
    auto first = from_dlpack(&this->from.managed);
    auto second = std::move(first);
    EXPECT_EQ(second.get(), &this->from.managed);
  }
  EXPECT_EQ(this->from.deleted, 1);
  EXPECT_EQ(from_dlpack(&this->from.managed).release(), &this->from.managed);
  EXPECT_EQ(this->from.deleted, 1) << "not ours any more";
  this->from.managed.deleter = nullptr;  // allowed: nothing to free
  { auto const t = from_dlpack(&this->from.managed); }
  expect_error<parameter_error>([&] { from_dlpack(static_cast<TypeParam*>(nullptr)); }, {"the tensor is null"});
}

TYPED_TEST(DlpackOf, NoStridesMeanDense) {
  this->from.managed.dl_tensor.strides = nullptr;
  auto const t = from_dlpack(&this->from.managed);
  EXPECT_EQ((t.template as_view<float const, 3>(exec::host{}).strides()), (std::array<index_t, 3>{20, 5, 1}));
}

TYPED_TEST(DlpackOf, OffsetsAndGapsAreFollowed) {
  this->from.shape = {2, 2, 4}, this->from.strides = {30, 5, 1};
  this->from.managed.dl_tensor.byte_offset = 7 * sizeof(float);
  auto const t = from_dlpack(&this->from.managed);
  auto const v = t.template as_view<float const, 3>(exec::host{});
  EXPECT_EQ(v.data(), this->from.data.data() + 7);
  EXPECT_EQ(v(1, 1, 3), 7 + 30 + 5 + 3);
}

TYPED_TEST(DlpackOf, WhatCannotBeAViewIsRefusedAndDeleted) {
  auto& from = this->from;
  from.template expect_refusal<parameter_error, double const>({"holds float32, expected float64"});
  from.template expect_refusal<parameter_error, std::int32_t>({"holds float32, expected int32"});
  from.template expect_refusal<shape_error, float, 2>({"shape (3, 4, 5), expected 2 axes"});
  from.managed.dl_tensor.dtype.lanes = 4;
  from.template expect_refusal<parameter_error>({"holds float32x4, expected float32"});
  from.managed.dl_tensor.dtype.lanes = 1, from.managed.dl_tensor.dtype.code = 4, from.managed.dl_tensor.dtype.bits = 16;
  from.template expect_refusal<parameter_error>({"holds bfloat16, expected float32"});
  from.managed.dl_tensor.dtype.code = 2, from.managed.dl_tensor.dtype.bits = 32;
  from.strides = {20, 1, 4};
  from.template expect_refusal<shape_error>(
      {"from_dlpack: the tensor: has strides (20, 1, 4) for shape (3, 4, 5)", "copy it first"});
  from.strides = {0, 5, 1};
  from.template expect_refusal<shape_error, float>({"elements overlap"});
  EXPECT_EQ((from_dlpack(&from.managed).template as_view<float const, 3>(exec::host{}).stride(0)), 0);
  from.strides = {20, 5, 1}, from.managed.dl_tensor.byte_offset = 2;
  from.template expect_refusal<shape_error>({"no multiple of 4"});
}

TYPED_TEST(DlpackOf, MemoryMustBeThePolicys) {
  auto& from = this->from;
  fake_cuda const cuda;
  from.template expect_refusal<parameter_error, float, 3, fake_cuda>(
      {"in memory of CPU, device 0, expected CUDA, device 1 for exec::cuda"}, cuda);
  from.place(2, 0);
  from.template expect_refusal<parameter_error, float, 3, fake_cuda>({"CUDA, device 0, expected CUDA, device 1"}, cuda);
  from.template expect_refusal<parameter_error>({"CUDA, device 0, expected CPU for exec::host"});
  from.template expect_refusal<parameter_error, float, 3, exec::emulated>({"expected CPU for exec::emulated"});
  from.place(10, 0);
  from.template expect_refusal<parameter_error>({"device type 10, device 0"});

  void* const nowhere = reinterpret_cast<void*>(0x700);  // an address of a device
  from.managed.dl_tensor.data = nowhere;
  for (int const type : {2, 13}) {
    from.place(type, type == 2 ? 1 : 0);
    EXPECT_EQ((from_dlpack(&from.managed).template as_view<float const, 3>(cuda).data()), nowhere) << type;
  }
  from.place(3, 0);
  EXPECT_EQ((from_dlpack(&from.managed).template as_view<float const, 3>(exec::host{}).data()), nowhere)
      << "pinned memory is the host's";
}

TYPED_TEST(DlpackOf, AViewIsATensorWithItsOwner) {
  auto const watched = std::make_shared<int>();
  std::vector<float> data(60);
  view<float, 3> const v(data.data() + 1, {2, 3, 4}, {24, 8, 1});
  {
    auto const t = to_dlpack<TypeParam>(exec::host{}, v, watched);
    EXPECT_EQ(watched.use_count(), 2);
    auto const& d = t.get()->dl_tensor;
    EXPECT_EQ(d.data, v.data());
    EXPECT_EQ(d.byte_offset, 0u);
    EXPECT_EQ(static_cast<int>(d.device.device_type), 1);
    EXPECT_EQ(d.device.device_id, 0);
    EXPECT_EQ(d.ndim, 3);
    EXPECT_EQ((std::array<int, 3>{d.dtype.code, d.dtype.bits, d.dtype.lanes}), (std::array<int, 3>{2, 32, 1}));
    EXPECT_EQ(d.shape[2], 4);
    ASSERT_NE(d.strides, nullptr) << "versions from 1.2 on want them";
    EXPECT_EQ(d.strides[0], 24);
    EXPECT_FALSE(t.read_only());
    EXPECT_EQ((t.template as_view<float, 3>(exec::host{}).strides()), v.strides()) << "and back";
  }
  EXPECT_EQ(watched.use_count(), 1);
}

TYPED_TEST(DlpackOf, ConsumersCallTheDeleter) {
  std::vector<double> data(4);
  auto* const where = data.data();
  view<double, 1> const v(where, {4});
  auto* const managed = to_dlpack<TypeParam>(exec::host{}, v, std::move(data)).release();
  EXPECT_EQ(managed->dl_tensor.data, where) << "a vector that is moved stays where it is";
  EXPECT_EQ(managed->dl_tensor.dtype.bits, 64);
  managed->deleter(managed);  // the leak checker of the sanitizer build reports anything left
}

TYPED_TEST(DlpackOf, MemoryOfADeviceIsHandedOverWhenItIsReady) {
  fake_cuda const cuda;
  float* const nowhere = reinterpret_cast<float*>(0x700);
  auto const t = to_dlpack<TypeParam>(cuda, view<float, 1>(nowhere, {4}), 0);
  EXPECT_EQ(*cuda.waits, 1);
  EXPECT_EQ(static_cast<int>(t.get()->dl_tensor.device.device_type), 2);
  EXPECT_EQ(t.get()->dl_tensor.device.device_id, 1);
  EXPECT_EQ(t.get()->dl_tensor.data, nowhere);
}

TYPED_TEST(DlpackOf, OperationsRunOnTensors) {
  parallel_scan const scan(parallel_parameters{.sinogram_shape = {3, 4, 5}, .angles = {0.1f, 0.9f, 1.7f}});
  std::vector<float> expected(static_cast<std::size_t>(scan.recon_shape()[0] * scan.recon_shape()[1] * 4)),
      recon = expected;
  context const ctx{exec::host{1}, instrument::none{}};
  back_project(ctx, scan, view<float const, 3>(this->from.data.data(), {3, 4, 5}),
               view<float, 3>(expected.data(), scan.recon_shape()));
  auto const sinogram = from_dlpack(&this->from.managed);
  auto const out = to_dlpack<TypeParam>(ctx.exec, view<float, 3>(recon.data(), scan.recon_shape()), 0);
  back_project(ctx, scan, sinogram.template as_view<float const, 3>(ctx.exec),
               out.template as_view<float, 3>(ctx.exec));
  EXPECT_EQ(recon, expected);
  EXPECT_GT(expected[40], 0);
}

using versioned = producer<test::dl_managed_versioned>;

TEST(Dlpack, ReadOnlyTensorsAreNotWritten) {
  versioned from;
  from.managed.flags = 1;
  from.expect_refusal<parameter_error, float>({"is read-only"});
  EXPECT_EQ((from_dlpack(&from.managed).as_view<float const, 3>(exec::host{}).data()), from.data.data());
  from.managed.flags = 2;  // a copy: the consumer may write to it
  EXPECT_NO_THROW((from_dlpack(&from.managed).as_view<float, 3>(exec::host{})));
}

TEST(Dlpack, ConstantElementsMakeAReadOnlyTensor) {
  std::vector<float> const data(4);
  auto const t = to_dlpack<test::dl_managed_versioned>(exec::host{}, view<float const, 1>(data.data(), {4}), 0);
  EXPECT_TRUE(t.read_only());
  EXPECT_EQ(t.get()->version.major, 1u);
  EXPECT_EQ(t.get()->dl_tensor.data, data.data());
  expect_error<parameter_error>([&] { t.as_view<float, 1>(exec::host{}); }, {"is read-only"});
}

TEST(Dlpack, AnotherMajorVersionIsDeletedAndNothingElse) {
  versioned from;
  from.managed.version.major = 2, from.managed.version.minor = 7;
  from.managed.dl_tensor.shape = nullptr;  // an unknown version may have anything here
  expect_error<parameter_error>([&] { from_dlpack(&from.managed); }, {"DLPack version 2.7, expected 1.x"});
  EXPECT_EQ(from.deleted, 1);
}

}  // namespace
}  // namespace mbirk
