// A DLPack tensor without a version cannot say that it is read-only, so constant elements do not become one.
// expect: only a versioned DLPack tensor can be read-only
#include "mbirk/exec/host.hpp"
#include "mbirk/interop/dlpack.hpp"

struct tensor {
  struct {
    void* data;
    struct { int device_type, device_id; } device;
    int ndim;
    struct { unsigned char code, bits; unsigned short lanes; } dtype;
    std::int64_t *shape, *strides;
    std::uint64_t byte_offset;
  } dl_tensor;
  void* manager_ctx;
  void (*deleter)(tensor*);
};

#if defined(MBIRK_GOOD)
using element = float;
#else
using element = float const;
#endif

auto lend(mbirk::view<element, 2> v) { return mbirk::to_dlpack<tensor>(mbirk::exec::host{}, v, 0); }
