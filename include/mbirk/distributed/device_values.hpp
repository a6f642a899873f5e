// Arrays of the host where the kernels of a policy find them. Not for users.
#pragma once

#include <optional>
#include <type_traits>

#include "mbirk/memory.hpp"

namespace mbirk::distributed::detail {

/// Values in the memory of the host itself, or on a device a copy of them.
template <class Context> class device_values {
 public:
  /// @param needed  whether the values are read, rather than only written
  device_values(Context const& ctx, char const* name, float* values, index_t count, bool needed = true)
      : ctx_(ctx), values_(values) {
    if constexpr (on_device<Context>) {
      copy_.emplace(ctx, name, count);
      if (needed) put(ctx, values, count, copy_->data());
    }
  }
  float* data() const noexcept {
    if constexpr (on_device<Context>) return copy_->data();
    else return values_;
  }
  /// Makes the values of the host those of the device.
  void copy_back() const {
    if constexpr (on_device<Context>) get(ctx_, copy_->data(), copy_->size(), values_);
  }

 private:
  struct nothing {};
  Context const& ctx_;
  float* values_;
  [[no_unique_address]] std::conditional_t<on_device<Context>, std::optional<temporary<float, Context>>, nothing> copy_;
};

}  // namespace mbirk::distributed::detail
