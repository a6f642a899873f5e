// DLPack: tensors of other libraries as views, and views as tensors, without copying. No dlpack.h is included:
// DLManagedTensor and DLManagedTensorVersioned, of whatever version a program uses, are recognised by their members.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "mbirk/exec/concepts.hpp"
#include "mbirk/interop/view.hpp"

namespace mbirk {

/// DLManagedTensor or its successor.
template <class M>
concept dlpack_managed = requires(M m) {
  { m.dl_tensor.data } -> std::convertible_to<void const*>;
  { m.dl_tensor.shape } -> std::convertible_to<std::int64_t const*>;
  { m.dl_tensor.strides } -> std::convertible_to<std::int64_t const*>;
  m.dl_tensor.device.device_type;
  m.dl_tensor.device.device_id;
  m.dl_tensor.ndim;
  m.dl_tensor.byte_offset;
  m.dl_tensor.dtype.code;
  m.dl_tensor.dtype.bits;
  m.dl_tensor.dtype.lanes;
  m.manager_ctx;
  m.deleter(&m);
};
/// DLManagedTensorVersioned, which has a read-only flag.
template <class M>
concept dlpack_versioned = dlpack_managed<M> && requires(M m) {
  m.version.major;
  m.version.minor;
  m.flags;
};

namespace detail {

// Constants of the DLPack ABI, version 1.
inline constexpr int dlpack_major = 1;
inline constexpr int dlpack_cpu = 1, dlpack_cuda = 2, dlpack_cuda_host = 3, dlpack_cuda_managed = 13;
inline constexpr std::uint64_t dlpack_read_only = 1;

/// Policy with device memory that identifies its CUDA device.
template <class Exec>
concept dlpack_cuda_policy = block_policy<Exec> && requires(Exec const& e) {
  e.stream();
  { e.device() } -> std::same_as<int>;
};

/// Whether kernels of the policy can access memory of this kind.
template <class Exec> bool dlpack_reaches([[maybe_unused]] Exec const& exec, int type, [[maybe_unused]] int id) {
  if constexpr (dlpack_cuda_policy<Exec>)
    return (type == dlpack_cuda && id == exec.device()) || type == dlpack_cuda_managed;
  else return type == dlpack_cpu || type == dlpack_cuda_host;
}
inline std::string dlpack_device_text(int type, int id) {
  std::string const name = type == dlpack_cpu            ? "CPU"
                           : type == dlpack_cuda         ? "CUDA"
                           : type == dlpack_cuda_host    ? "pinned by CUDA"
                           : type == dlpack_cuda_managed ? "managed by CUDA"
                                                         : "device type " + std::to_string(type);
  return name + ", device " + std::to_string(id);
}
template <class Exec> std::string dlpack_expected_device(Exec const& exec) {
  if constexpr (dlpack_cuda_policy<Exec>) return dlpack_device_text(dlpack_cuda, exec.device());
  else return "CPU";
}

/// DLPack code of a number type: 0 for signed integers, 1 for unsigned integers, 2 for floating-point numbers.
template <class T> constexpr int dlpack_code() {
  static_assert(std::is_arithmetic_v<T> && !std::is_same_v<std::remove_const_t<T>, bool>,
                "DLPack tensors of mbirk hold integers and reals");
  return std::is_floating_point_v<T> ? 2 : std::is_signed_v<T> ? 0 : 1;
}
inline std::string dlpack_type_text(int code, int bits, int lanes) {
  constexpr char const* names[] = {"int", "uint", "float", "opaque", "bfloat", "complex", "bool"};
  std::string const name = code >= 0 && code < 7 ? names[code] : message("type ", code, " of bits ");
  return lanes == 1 ? message(name, bits) : message(name, bits, "x", lanes);
}

/// Exported tensor together with the owner that it keeps alive.
template <class Managed, int Rank, class Owner> struct dlpack_export {
  Managed managed{};
  std::array<std::int64_t, Rank> shape, strides;
  Owner owner;
};

}  // namespace detail

/// Owner of a tensor: calls its deleter once, in the destructor, unless the tensor was released. Views of it are valid
/// until then.
template <dlpack_managed Managed> class dlpack_tensor {
 public:
  /// Takes ownership of the tensor, even if the constructor throws.
  /// @throws parameter_error when the tensor is null, or of another major version of DLPack.
  explicit dlpack_tensor(Managed* managed, source_location w = source_location::current()) : managed_(managed) {
    require(managed != nullptr, [] { return std::string("from_dlpack: the tensor is null"); }, w);
    if constexpr (dlpack_versioned<Managed>)  // other major versions guarantee only the deleter
      require(
          managed->version.major == detail::dlpack_major,
          [&] {
            return "from_dlpack: the tensor has DLPack version " + std::to_string(managed->version.major) + '.' +
                   std::to_string(managed->version.minor) + ", expected " + std::to_string(detail::dlpack_major) + ".x";
          },
          w);
  }

  std::vector<index_t> shape() const { return {tensor().shape, tensor().shape + std::max<int>(tensor().ndim, 0)}; }
  /// Whether the producer forbids writing. An unversioned tensor cannot express this.
  bool read_only() const noexcept {
    if constexpr (dlpack_versioned<Managed>) return (managed_->flags & detail::dlpack_read_only) != 0;
    else return false;
  }

  /// View of its elements in place: `t.as_view<float const, 3>(exec)`.
  ///
  /// @param exec  the policy whose kernels will read or write it. exec::cuda accepts memory of its device, and managed
  ///              memory; its stream must be ordered after the producer's work (in Python, pass the stream to the
  ///              producer's `__dlpack__(stream=...)`). All other policies accept host memory.
  /// @throws parameter_error for another element type or device, or for writable access to a read-only tensor;
  ///         shape_error for another rank, and the errors of checked_view.
  template <class T, int Rank, execution_policy Exec>
  view<T, Rank> as_view(Exec const& exec, source_location w = source_location::current()) const {
    auto const& t = tensor();
    constexpr int code = detail::dlpack_code<T>(), bits = 8 * static_cast<int>(sizeof(T));
    require(
        t.dtype.code == code && t.dtype.bits == bits && t.dtype.lanes == 1,
        [&] {
          return "from_dlpack: the tensor holds " +
                 detail::dlpack_type_text(t.dtype.code, t.dtype.bits, t.dtype.lanes) + ", expected " +
                 detail::dlpack_type_text(code, bits, 1);
        },
        w);
    int const type = static_cast<int>(t.device.device_type), id = static_cast<int>(t.device.device_id);
    require(
        detail::dlpack_reaches(exec, type, id),
        [&] {
          return "from_dlpack: the tensor lies in memory of " + detail::dlpack_device_text(type, id) + ", expected " +
                 detail::dlpack_expected_device(exec) + " for exec::" + std::string(Exec::name);
        },
        w);
    require(
        std::is_const_v<T> || !read_only(),
        [] { return std::string("from_dlpack: the tensor is read-only, expected one that may be written"); }, w);
    require<shape_error>(
        t.ndim == Rank,
        [&] {
          return "from_dlpack: the tensor has shape " + detail::shape_text(shape()) + ", expected " +
                 std::to_string(Rank) + " axes";
        },
        w);
    std::array<index_t, Rank> extents;
    std::copy_n(t.shape, Rank, extents.begin());
    T* const data = t.data ? reinterpret_cast<T*>(static_cast<char*>(t.data) + t.byte_offset) : nullptr;
    view<T, Rank> v(data, extents);  // without strides the tensor is dense
    if (t.strides) {
      std::array<index_t, Rank> strides;
      std::copy_n(t.strides, Rank, strides.begin());
      v = {data, extents, strides};
    }
    return checked_view(v, "from_dlpack: the tensor", w);
  }

  Managed* get() const noexcept { return managed_.get(); }
  /// Transfers ownership to the consumer, which calls the deleter. Null afterwards.
  [[nodiscard]] Managed* release() noexcept { return managed_.release(); }

 private:
  struct call_deleter {
    void operator()(Managed* m) const {
      if (m->deleter) m->deleter(m);  // the deleter is null when there is nothing to free
    }
  };
  auto const& tensor() const noexcept { return managed_->dl_tensor; }

  std::unique_ptr<Managed, call_deleter> managed_;
};

/// Takes ownership of a tensor:
///   auto const t = from_dlpack(managed);
///   back_project(ctx, scan, t.as_view<float const, 3>(ctx.exec), x);
template <dlpack_managed Managed>
dlpack_tensor<Managed> from_dlpack(Managed* managed, source_location w = source_location::current()) {
  return dlpack_tensor<Managed>(managed, w);
}

/// Exports a view as a tensor:
///   consumer(to_dlpack<DLManagedTensorVersioned>(ctx.exec, v, std::move(vector)).release());
///
/// Waits for the policy, because a tensor carries no stream: the elements are complete for any stream of the consumer.
/// A view of constant elements becomes a read-only tensor, which requires the versioned struct.
/// @param owner  object that keeps the elements alive, moved into the tensor and destroyed by its deleter: a vector, a
///               shared_ptr, or 0 when they outlive it anyway. Moving it must not relocate the elements.
template <dlpack_managed Managed, execution_policy Exec, class T, int Rank, class Owner>
dlpack_tensor<Managed> to_dlpack(Exec const& exec, view<T, Rank> const& v, Owner owner) {
  static_assert(dlpack_versioned<Managed> || !std::is_const_v<T>, "only a versioned DLPack tensor can be read-only");
  using kept = detail::dlpack_export<Managed, Rank, Owner>;
  exec.wait();
  auto memory = std::make_unique<kept>(kept{{}, v.extents(), v.strides(), std::move(owner)});
  Managed& m = memory->managed;
  m.manager_ctx = memory.get();
  m.deleter = [](Managed* self) { delete static_cast<kept*>(self->manager_ctx); };
  auto& t = m.dl_tensor;
  t.data = const_cast<std::remove_const_t<T>*>(v.data());
  t.shape = memory->shape.data();
  t.strides = memory->strides.data();
  t.ndim = Rank;
  t.dtype.code = detail::dlpack_code<T>();
  t.dtype.bits = 8 * sizeof(T);
  t.dtype.lanes = 1;
  using device_type = decltype(t.device.device_type);
  if constexpr (detail::dlpack_cuda_policy<Exec>) {
    t.device.device_type = static_cast<device_type>(detail::dlpack_cuda);
    t.device.device_id = exec.device();
  } else t.device.device_type = static_cast<device_type>(detail::dlpack_cpu);
  if constexpr (dlpack_versioned<Managed>) {
    m.version.major = detail::dlpack_major;
    if (std::is_const_v<T>) m.flags = detail::dlpack_read_only;
  }
  memory.release();  // from here on the deleter owns it
  return dlpack_tensor<Managed>(&m);
}

}  // namespace mbirk
