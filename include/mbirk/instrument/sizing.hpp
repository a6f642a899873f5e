// Sizing: the memory of an operation, array by array, before anything is allocated. No kernel runs and no array has
// data, so it takes milliseconds at any size.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "mbirk/core/index.hpp"
#include "mbirk/instrument/concepts.hpp"

namespace mbirk::instrument {

namespace detail {

/// Backend without data that kernels are instantiated with but never run with; lists of pixels still have data.
template <class Native> struct without_data : Native {
  static constexpr bool has_data = false;
  using index_backend = Native;
};

}  // namespace detail

/// An array and its size in bytes.
struct sized_array {
  std::string name;
  array_role role;
  index_t bytes;
};

/// Memory of one operation: its arguments and results, and the temporaries at their peak.
class size_record {
 public:
  std::string name;
  index_t items = 0;
  std::vector<sized_array> outer;       ///< arguments and outputs
  std::vector<sized_array> at_peak;     ///< temporaries, including the scratch of all threads
  index_t temporary_peak = 0;           ///< bytes of at_peak

  /// Peak bytes of arguments, results and temporaries together.
  index_t peak() const {
    index_t sum = temporary_peak;
    for (auto const& a : outer) sum += a.bytes;
    return sum;
  }

  void observed(array_info const& a, index_t item_bytes) {
    if (a.role != array_role::argument && a.role != array_role::output) return;
    for (auto const& known : outer)
      if (known.name == a.name) return;
    outer.push_back({a.name, a.role, a.elements * item_bytes});
  }
  void allocated(char const* what, index_t bytes) {
    if (bytes == 0) return;
    live_.push_back({what, std::string_view(what) == "scratch" ? array_role::scratch : array_role::temporary, bytes});
    live_bytes_ += bytes;
    if (live_bytes_ > temporary_peak) {
      temporary_peak = live_bytes_;
      at_peak = live_;
    }
  }
  void released(char const* what, index_t bytes) {
    auto const found =
        std::find_if(live_.rbegin(), live_.rend(), [&](auto const& a) { return a.name == what && a.bytes == bytes; });
    if (found == live_.rend()) return;  // arrays of 0 bytes are not recorded
    live_.erase(std::next(found).base());
    live_bytes_ -= bytes;
  }

 private:
  std::vector<sized_array> live_;
  index_t live_bytes_ = 0;
};

/// Records the allocations an operation would make. Arguments need shapes but no data; lists of pixels and partitions
/// need data, because they determine sizes.
///
///   instrument::size_record size;
///   // The views have null data and the right extents.
///   recon(context{exec::host{}, instrument::sizing{size}}, scan, sinogram_view, {}, recon_view, options);
///   size.peak();  // bytes
///
/// Exact for the temporaries of the policy's memory resource, with as many threads as the policy has; data-dependent
/// choices are resolved as if no reconstruction stopped early. Not included: tables with a few numbers per pixel and
/// view. Use one record per operation.
class sizing {
 public:
  using policy_category = instrumentation_policy_tag;
  static constexpr std::string_view name = "sizing";
  static constexpr instrumentation_traits traits{.has_data = false, .runs_kernels = false, .observes_arrays = true};
  template <class Native> using backend = detail::without_data<Native>;

  /// @param into  record that receives the sizes; must outlive the policy.
  explicit sizing(size_record& into) noexcept : into_(&into) {}

  struct guard {};
  [[nodiscard]] guard scope(op_info op) const {
    if (into_->name.empty()) {
      into_->name = op.name;
      into_->items = op.items;
    }
    return {};
  }
  [[nodiscard]] guard stage(char const*) const noexcept { return {}; }
  void allocated(char const* what, index_t bytes) const { into_->allocated(what, bytes); }
  void released(char const* what, index_t bytes) const { into_->released(what, bytes); }
  template <class T> T* observe(T* data, array_info info) const {
    into_->observed(info, static_cast<index_t>(sizeof(T)));
    return data;
  }

 private:
  size_record* into_;
};

static_assert(instrumentation_policy<sizing>);

}  // namespace mbirk::instrument
