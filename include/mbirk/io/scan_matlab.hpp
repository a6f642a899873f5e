// Arrays from MATLAB files of version 5 (and 4, 7). Requires libmatio and zlib. Version 7.3 is HDF5: scan_hdf5.hpp.
#pragma once

#include <matio.h>

#include <memory>

#include "mbirk/io/frame_stack.hpp"
#include "mbirk/io/matlab_elements.hpp"
#include "mbirk/io/scan_axes.hpp"

namespace mbirk {
namespace detail {

struct matlab_closer {
  void operator()(mat_t* file) const noexcept { Mat_Close(file); }
  void operator()(matvar_t* variable) const noexcept { Mat_VarFree(variable); }
};
using matlab_file = std::unique_ptr<mat_t, matlab_closer>;
using matlab_variable = std::unique_ptr<matvar_t, matlab_closer>;

inline matlab_file open_matlab_file(std::filesystem::path const& path) {
  require_file(path);
  matlab_file file(Mat_Open(path.string().c_str(), MAT_ACC_RDONLY));
  if (!file) scan_fail(path.string(), "cannot be read as a MATLAB file");
  return file;
}

inline element_type matlab_type(matvar_t const& v) {
  switch (v.class_type) {
    case MAT_C_DOUBLE: return {"float64", 8, false};
    case MAT_C_SINGLE: return {"float32", 4, false};
    case MAT_C_INT8: return {"int8", 1, false};
    case MAT_C_UINT8: return {"uint8", 1, false};
    case MAT_C_INT16: return {"int16", 2, false};
    case MAT_C_UINT16: return {"uint16", 2, false};
    case MAT_C_INT32: return {"int32", 4, false};
    case MAT_C_UINT32: return {"uint32", 4, false};
    default: return {};
  }
}

/// Whether a variable is a numeric array of two or three axes with more than one element.
inline bool is_matlab_stack(matvar_t const& v) {
  return v.name && (v.rank == 2 || v.rank == 3) && v.isComplex == 0 && !matlab_type(v).name.empty() &&
         v.dims[0] > 0 && v.dims[1] > 0 && (v.dims[0] > 1 || v.dims[1] > 1);
}

}  // namespace detail

/// Opens the only numeric array of two or three axes, or the one named. Axes count in MATLAB's order, size(A).
/// @param axes  meaning of the axes; "views,channels" or "views,rows,channels" when empty.
/// @throws io_error naming all candidates when there are several
inline frame_stack open_matlab(std::filesystem::path const& path, std::string const& variable = {},
                               std::string const& axes = {}) {
  detail::matlab_elements(path).check();
  auto const file = detail::open_matlab_file(path);
  std::string names, chosen;
  std::array<index_t, 3> sizes{};
  int rank = 0, found = 0;
  detail::element_type type;
  while (detail::matlab_variable v{Mat_VarReadNextInfo(file.get())}) {
    if (!detail::is_matlab_stack(*v)) continue;
    names += (names.empty() ? "" : ", ") + std::string(v->name);
    if (!variable.empty() && variable != v->name) continue;
    ++found;
    chosen = v->name;
    rank = v->rank;
    for (int d = 0; d < rank; ++d) sizes[static_cast<std::size_t>(d)] = static_cast<index_t>(v->dims[d]);
    type = detail::matlab_type(*v);
  }
  if (found == 0)
    detail::scan_fail(path.string(), (variable.empty() ? std::string("has no") : "has no " + variable + " that is a") +
                                         " numeric array of two or three axes" +
                                         (names.empty() ? "" : ", expected --data with one of " + names));
  if (found > 1)
    detail::scan_fail(path.string(), "has several numeric arrays, expected --data with one of " + names);
  std::string const name = path.string() + ": " + printable(chosen, 80);
  detail::axis_order const order = detail::parse_axes(axes, rank, name);
  // MATLAB stores the first axis fastest: the stored order is the reverse of size(A).
  frame_stack stack{name, order.shape({sizes.data(), static_cast<std::size_t>(rank)}), type.name, {},
                    {path.string()}};
  index_t const bytes = detail::frame_bytes(name, stack.shape, type.bytes);
  if (static_cast<double>(bytes) > 4096.0 * static_cast<double>(detail::file_bytes(path)))
    detail::scan_fail(name, "is said to have " + std::to_string(bytes) + " bytes, more than its file can hold");
  detail::matlab_elements(path).check(chosen);
  stack.read_window = [path, chosen, order, rank, sizes, type, name](frame_window const& w, float* to) {
    auto const again = detail::open_matlab_file(path);
    detail::matlab_variable const v{Mat_VarReadInfo(again.get(), chosen.c_str())};
    // matio takes the first array of that name, and writes what its class and number of axes ask for.
    auto const same = [](std::size_t a, index_t b) { return a == static_cast<std::size_t>(b); };
    if (!v || !detail::is_matlab_stack(*v) || detail::matlab_type(*v).name != type.name || v->rank != rank ||
        !std::equal(v->dims, v->dims + rank, sizes.begin(), same))
      detail::scan_fail(name, "cannot be read: the first array of that name is another one");
    std::array<int, 3> start{}, stride{1, 1, 1}, edge{};
    std::array<index_t, 3> first{}, count{};
    order.window(w, static_cast<index_t>(v->dims[order.of_axis(2)]), first, count);
    index_t elements = 1;
    for (int d = 0; d < rank; ++d) {
      auto const k = static_cast<std::size_t>(d);
      start[k] = static_cast<int>(first[k]);
      edge[k] = static_cast<int>(count[k]);
      elements *= count[k];
    }
    std::vector<unsigned char> raw(static_cast<std::size_t>(elements * type.bytes));
    if (Mat_VarReadData(again.get(), v.get(), raw.data(), start.data(), stride.data(), edge.data()) != 0)
      detail::scan_fail(name, "cannot be read to its end, the file is damaged or truncated");
    std::vector<float> values(static_cast<std::size_t>(elements));
    detail::convert_elements(type, raw.data(), elements, values.data());
    // Strides of the stored axes, first axis fastest.
    std::array<index_t, 3> strides{};
    index_t step = 1;
    for (int d = 0; d < rank; ++d) {
      strides[static_cast<std::size_t>(d)] = step;
      step *= count[static_cast<std::size_t>(d)];
    }
    order.gather(values.data(), count, strides, to);
  };
  return stack;
}

}  // namespace mbirk
