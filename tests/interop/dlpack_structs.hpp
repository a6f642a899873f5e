// DLPack's structs laid out by its specification: the dlpack.h of Debian 12 has only the first. (An example includes
// that one.)
#pragma once

#include <cstdint>

namespace mbirk::test {

enum dl_device_type : std::int32_t { dl_cpu = 1, dl_cuda = 2, dl_cuda_host = 3, dl_rocm = 10, dl_cuda_managed = 13 };
struct dl_device {
  dl_device_type device_type;
  std::int32_t device_id;
};
struct dl_data_type {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct dl_tensor_struct {
  void* data;
  dl_device device;
  std::int32_t ndim;
  dl_data_type dtype;
  std::int64_t *shape, *strides;
  std::uint64_t byte_offset;
};
struct dl_managed {
  dl_tensor_struct dl_tensor;
  void* manager_ctx;
  void (*deleter)(dl_managed*);
};
struct dl_version {
  std::uint32_t major, minor;
};
struct dl_managed_versioned {
  dl_version version;
  void* manager_ctx;
  void (*deleter)(dl_managed_versioned*);
  std::uint64_t flags;
  dl_tensor_struct dl_tensor;
};

}  // namespace mbirk::test
