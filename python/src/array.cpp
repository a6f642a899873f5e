#include "array.hpp"

#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "mbirk/exec/array.hpp"

namespace mbirk::python {
namespace detail {
namespace {

std::string type_text(nb::dlpack::dtype type) {
  using code = nb::dlpack::dtype_code;
  auto const kind = static_cast<code>(type.code);
  char const* const name = kind == code::Int       ? "int"
                           : kind == code::UInt    ? "uint"
                           : kind == code::Float   ? "float"
                           : kind == code::Complex ? "complex"
                           : kind == code::Bool    ? "bool"
                                                   : "elements of DLPack type code ";
  return kind == code::Bool ? name
                            : (std::strchr(name, ' ') ? name + std::to_string(type.code) + " with " : name) +
                                  std::to_string(type.bits);
}
std::string what(expected const& e) { return std::string(e.operation) + ": " + e.name; }
std::string wanted(expected const& e) {
  return "an array of " + type_text(e.type) + " " + e.axes + ", dense in C order, in memory of the " +
         (e.of_policy ? "device" : "host");
}
[[noreturn]] void wrong_type(std::string const& text) { throw nb::type_error(text.c_str()); }
[[noreturn]] void wrong_value(std::string const& text) { throw nb::value_error(text.c_str()); }

std::string type_of(nb::handle object) { return nb::str(object.type().attr("__name__")).c_str(); }

/// JAX arrays are immutable, but old versions export their memory as if it were writable.
bool immutable(nb::handle object) {
  return std::string_view(nb::str(object.type().attr("__module__")).c_str()).starts_with("jax");
}

nb::ndarray<nb::ro> import_any(nb::handle object, expected const& e) {
  nb::ndarray<nb::ro> readable;
  if (e.writable && !immutable(object)) {
    nb::ndarray<> writable;
    if (nb::try_cast(object, writable, false)) return nb::ndarray<nb::ro>(writable);
  }
  if (!nb::try_cast(object, readable, false)) {
    std::string const name = type_of(object);
    bool const offers_memory = PyObject_CheckBuffer(object.ptr()) != 0 || nb::hasattr(object, "__dlpack__");
    wrong_type(what(e) + " is of type " + name + (offers_memory ? ", which does not give its memory as it is" : "") +
               ", expected " + wanted(e));
  }
  if (e.writable) wrong_value(what(e) + " is read-only, expected memory that may be written");
  return readable;
}

void require_dense(nb::ndarray<nb::ro> const& array, expected const& e) {
  std::int64_t step = 1;
  for (auto d = array.ndim(); d-- > 0;) {
    auto const extent = static_cast<std::int64_t>(array.shape(d));
    if (extent > 1 && array.stride(d) != step)
      wrong_value(what(e) + " is not dense in C order, expected " + wanted(e) + ": numpy.ascontiguousarray makes one");
    step *= extent;
  }
}

}  // namespace

memory import_array(nb::handle object, expected const& e) {
  auto array = import_any(object, e);
  if (e.of_policy && (array.device_type() != memory_type || array.device_id() != memory_device()))
    wrong_value(what(e) + " is in memory of DLPack device type " + std::to_string(array.device_type()) + ", number " +
                std::to_string(array.device_id()) + ", expected " + wanted(e) + ", which is of type " +
                std::to_string(memory_type) + ", number " + std::to_string(memory_device()));
  if (!e.of_policy && array.device_type() != nb::device::cpu::value)
    wrong_value(what(e) + " lies on a device (DLPack device type " + std::to_string(array.device_type()) +
                "), expected " + wanted(e) + (on_device ? "" : ": these functions run on the host"));
  if (array.dtype() != e.type)
    wrong_type(what(e) + " has elements of " + type_text(array.dtype()) + ", expected " + wanted(e));
  if (array.ndim() != static_cast<std::size_t>(e.rank))
    wrong_value(what(e) + " has " + std::to_string(array.ndim()) + " axes, expected " + wanted(e));
  memory m{.owner = {}, .data = nullptr, .shape = {}, .bytes = array.nbytes()};
  for (std::size_t d = 0; d < array.ndim(); ++d) m.shape[d] = static_cast<index_t>(array.shape(d));
  if (m.bytes > 0) {
    require_dense(array, e);
    m.data = const_cast<void*>(static_cast<void const*>(array.data()));  // written only if the array is writable
    if (reinterpret_cast<std::uintptr_t>(m.data) % (e.type.bits / 8u) != 0)
      wrong_value(what(e) + " is not aligned, expected " + wanted(e));
  }
  m.owner = std::move(array);
  return m;
}

nb::object new_device_array(index_t const* shape, int rank) {
  using array = exec::array<float, policy>;
  std::vector<std::size_t> const extents(shape, shape + rank);
  index_t count = 1;
  for (int d = 0; d < rank; ++d) count *= shape[d];
  auto memory = std::make_unique<array>(policy_with(0), count, "an array of the device");
  float* const data = memory->data();
  nb::capsule const owner(memory.get(), [](void* p) noexcept { delete static_cast<array*>(p); });
  memory.release();
  return nb::cast(nb::ndarray<nb::array_api, float>(data, extents.size(), extents.data(), owner, nullptr,
                                                    nb::dtype<float>(), memory_type, memory_device()));
}

nb::object new_array(index_t const* shape, int rank, bool of_floats) {
  if (on_device && of_floats) return new_device_array(shape, rank);
  nb::list extents;
  for (int d = 0; d < rank; ++d) extents.append(shape[d]);
  return nb::module_::import_("numpy").attr("empty")(nb::tuple(extents), of_floats ? "float32" : "int32");
}

namespace {

template <class T>
nb::object copied(std::vector<T> const& values, std::vector<index_t> const& shape, char const* type) {
  nb::list extents;
  for (auto const n : shape) extents.append(n);
  nb::object array = nb::module_::import_("numpy").attr("empty")(nb::tuple(extents), type);
  auto const memory = nb::cast<nb::ndarray<T, nb::c_contig>>(array);
  if (!values.empty()) std::memcpy(memory.data(), values.data(), values.size() * sizeof(T));
  return array;
}

}  // namespace
}  // namespace detail

nb::object as_array(std::vector<std::int32_t> const& values, std::vector<index_t> const& shape) {
  return detail::copied(values, shape, "int32");
}
nb::object as_array(std::vector<std::uint8_t> const& values, std::vector<index_t> const& shape) {
  return detail::copied(values, shape, "uint8");
}
nb::object as_array(std::vector<float> const& values, std::vector<index_t> const& shape) {
  return detail::copied(values, shape, "float32");
}

void call::require_apart() const {
  auto const begin = [](range const& r) { return static_cast<std::byte const*>(r.memory.data); };
  for (auto const& out : ranges_) {
    if (!out.written || out.memory.bytes == 0) continue;
    for (auto const& other : ranges_) {
      if (&other == &out || other.memory.bytes == 0) continue;
      bool const same = begin(other) == begin(out) && other.memory.bytes == out.memory.bytes;
      if (same && other.may_share == sharing::with_output) continue;
      bool const apart =
          begin(other) + other.memory.bytes <= begin(out) || begin(out) + out.memory.bytes <= begin(other);
      require(apart, [&] {
        return std::string(operation_) + ": " + out.name + " shares memory with " + other.name +
               ", expected memory of its own";
      });
    }
  }
}

}  // namespace mbirk::python
