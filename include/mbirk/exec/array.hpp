// Owning arrays in the memory that a policy's kernels read and write. Operations take views of them.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <type_traits>

#include "mbirk/core/error.hpp"
#include "mbirk/exec/allocate.hpp"
#include "mbirk/exec/concepts.hpp"

namespace mbirk::exec {

/// Array in the memory of a policy: from the memory resource on the host, else in device memory. Not initialised unless
/// constructed from values.
template <class T, execution_policy Exec> class array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// @param name  name of the array in error messages. @throws allocation_error with the requested size.
  array(Exec const& exec, index_t count, std::string const& name = "an array") : exec_(exec), count_(count) {
    if (count > 0) data_ = static_cast<T*>(allocate_for(exec, bytes(), [&] { return name; }));
  }
  array(Exec const& exec, std::span<T const> values, std::string const& name = "an array")
      : array(exec, static_cast<index_t>(values.size()), name) {
    if (count_ == 0) return;
    if constexpr (block_policy<Exec>) exec.upload(data_, values.data(), bytes());
    else std::memcpy(data_, values.data(), bytes());
  }
  ~array() {
    if (data_) exec_.deallocate(data_, bytes());
  }
  array(array const&) = delete;
  array& operator=(array const&) = delete;

  T* data() const noexcept { return data_; }
  index_t size() const noexcept { return count_; }
  /// Copies the first to.size() elements to the host; waits for the device.
  void download(std::span<T> to) const {
    require<shape_error>(static_cast<index_t>(to.size()) <= count_, [&] {
      return "array: " + std::to_string(to.size()) + " elements requested, expected at most its " +
             std::to_string(count_);
    });
    if (to.empty()) return;
    if constexpr (block_policy<Exec>) exec_.download(to.data(), data_, to.size_bytes());
    else std::memcpy(to.data(), data_, to.size_bytes());
  }

 private:
  std::size_t bytes() const noexcept { return static_cast<std::size_t>(count_) * sizeof(T); }

  Exec exec_;
  index_t count_;
  T* data_ = nullptr;
};

}  // namespace mbirk::exec
