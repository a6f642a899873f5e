// Python arrays that the library reads and writes in place: dense, in C order, in the memory of the module's policy,
// from anything that supports DLPack or the buffer protocol. Nothing is copied or converted; an unsuitable array is an
// error that states the requirements.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "mbirk/context.hpp"
#include "mbirk/core/view.hpp"
#include "mbirk/instrument/none.hpp"
#include "policy.hpp"

namespace mbirk::python {

namespace nb = nanobind;
using namespace nb::literals;

/// An argument that is read, or one that is written and returned. Inspected only on use, so that errors can name it.
template <class T, int Rank> struct input { nb::object object; };
template <class T, int Rank> struct output { nb::object object; };

using volume = input<float, 3>;
using volume_out = output<float, 3>;

/// Names of the axes in messages.
inline constexpr char const *sinogram_axes = "(views, rows, channels)", *recon_axes = "(rows, cols, slices)",
                            *pixel_axes = "(pixels)", *column_axes = "(pixels, slices)",
                            *detector_axes = "(rows, channels)";

namespace detail {

/// Address of an array. Keeps it alive; made and destroyed with the GIL held.
struct memory {
  nb::ndarray<nb::ro> owner;
  void* data = nullptr;
  std::array<index_t, 3> shape{};
  std::size_t bytes = 0;
};
struct expected {
  char const *operation, *name, *axes;
  int rank;
  nb::dlpack::dtype type;
  bool writable;
  bool of_policy;  ///< in the memory of the policy; lists of pixels are on the host
};
memory import_array(nb::handle array, expected const& e);
nb::object new_array(index_t const* shape, int rank, bool of_floats);
/// Not initialised; exported by DLPack. @throws allocation_error
nb::object new_device_array(index_t const* shape, int rank);

template <int Rank> std::array<index_t, Rank> first_extents(std::array<index_t, 3> const& shape) {
  std::array<index_t, Rank> e{};
  for (std::size_t d = 0; d < e.size(); ++d) e[d] = shape[d];
  return e;
}

}  // namespace detail

/// One call of an operation from Python: receives its arrays, checks that no output overlaps an input in memory, and
/// runs it without the GIL.
class call {
 public:
  explicit call(char const* operation) noexcept : operation_(operation) {}

  enum class sharing { none, with_output };  ///< with_output: may share the memory of the output

  template <class T, int Rank> view<T const, Rank> read(input<T, Rank> const& array, char const* name, char const* axes,
                                                        sharing may_share = sharing::none) {
    return as_view<T const, Rank>(take<T>(array.object, name, axes, Rank, false), name, may_share, false);
  }
  template <class T, int Rank> std::optional<view<T const, Rank>> read(std::optional<input<T, Rank>> const& array,
                                                                       char const* name, char const* axes,
                                                                       sharing may_share = sharing::none) {
    if (!array) return {};
    return read(*array, name, axes, may_share);
  }
  /// @param out  the caller's array, or none: then a new array of this shape is made.
  template <class T, int Rank> view<T, Rank> write(std::optional<output<T, Rank>>& out,
                                                   typename view<T, Rank>::shape_type const& shape, char const* name,
                                                   char const* axes) {
    if (!out) out.emplace(detail::new_array(shape.data(), Rank, std::is_same_v<T, float>));
    auto const v =
        as_view<T, Rank>(take<T>(out->object, name, axes, Rank, true), name, sharing::none, true);
    require_extents(v, shape, operation_, name, axes);
    return v;
  }

  /// f(context) without the GIL. @param threads  as of policy_with
  template <class F> auto run(int threads, F const& f) const {
    require(threads >= 0, [&] {
      return std::string(operation_) + ": threads is " + std::to_string(threads) + ", expected 0 (all) or more";
    });
    require_apart();
    nb::gil_scoped_release const released;
    context const ctx{policy_with(threads), instrument::none{}};
    device_turn turn(ctx.exec);
    if constexpr (std::is_void_v<decltype(f(ctx))>) {
      f(ctx);
      turn.finish();
    } else {
      auto result = f(ctx);
      turn.finish();
      return result;
    }
  }

 private:
  struct range {
    char const* name;
    detail::memory memory;
    sharing may_share;
    bool written;
  };
  template <class T, int Rank>
  view<T, Rank> as_view(detail::memory m, char const* name, sharing may_share, bool written) {
    view<T, Rank> const v(static_cast<T*>(m.data), detail::first_extents<Rank>(m.shape));
    ranges_.push_back({name, std::move(m), may_share, written});
    return v;
  }
  template <class T>
  detail::memory take(nb::handle array, char const* name, char const* axes, int rank, bool writable) const {
    return detail::import_array(array, {operation_, name, axes, rank, nb::dtype<T>(), writable,
                                        on_device && std::is_same_v<T, float>});
  }
  void require_apart() const;

  char const* operation_;
  std::vector<range> ranges_;
};

/// A new array with these values.
nb::object as_array(std::vector<std::int32_t> const& values, std::vector<index_t> const& shape);
nb::object as_array(std::vector<std::uint8_t> const& values, std::vector<index_t> const& shape);
nb::object as_array(std::vector<float> const& values, std::vector<index_t> const& shape);

}  // namespace mbirk::python

/// Signatures and type stubs show NumPy arrays with their required type and shape.
template <class T, int Rank> struct nanobind::detail::type_caster<mbirk::python::input<T, Rank>> {
  using python_array =
      nanobind::ndarray<nanobind::numpy, T const, nanobind::ndim<Rank>, nanobind::c_contig, nanobind::device::cpu>;
  using argument = mbirk::python::input<T, Rank>;
  NB_TYPE_CASTER(argument, type_caster<python_array>::Name)
  bool from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
    value.object = borrow(source);
    return true;
  }
};
template <class T, int Rank> struct nanobind::detail::type_caster<mbirk::python::output<T, Rank>> {
  using python_array =
      nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<Rank>, nanobind::c_contig, nanobind::device::cpu>;
  using argument = mbirk::python::output<T, Rank>;
  NB_TYPE_CASTER(argument, type_caster<python_array>::Name)
  bool from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
    value.object = borrow(source);
    return true;
  }
  static handle from_cpp(mbirk::python::output<T, Rank> const& array, rv_policy, cleanup_list*) noexcept {
    return array.object.inc_ref();
  }
};
