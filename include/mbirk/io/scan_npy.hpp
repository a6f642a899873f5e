// Frames from .npy files, read window by window. C++ standard library only.
#pragma once

#include <memory>

#include "mbirk/io/npy.hpp"
#include "mbirk/io/scan_axes.hpp"

namespace mbirk {

/// Opens an array (views, rows, channels) or (views, channels), or with its axes in the order given. The first window
/// of a file in Fortran order, or with other axes, reads the whole array, which is kept.
/// @throws io_error
inline frame_stack open_npy_stack(std::filesystem::path const& path, std::string const& axes = {}) {
  auto const header = read_npy_header(path);
  auto const order = detail::parse_axes(axes, static_cast<int>(header.shape.size()), path.string());
  frame_stack stack{path.string(), order.shape(header.shape), header.dtype, {}, {path.string()}};
  detail::frame_bytes(stack.name, stack.shape, header.element_bytes);
  bool const in_order = axes.empty() || axes == "views,rows,channels" || axes == "views,channels";
  if (!in_order || header.fortran_order) {
    // Numbers as they are stored, which are then put into another order.
    stack.memory = (header.fortran_order ? 8 : 4) * static_cast<double>(header.elements);
    auto const whole = std::make_shared<npy_array<float>>();
    stack.read_window = [path, whole, order, channels = stack.shape[2]](frame_window const& w, float* to) {
      if (whole->data.empty()) *whole = read_npy<float>(path);
      std::array<index_t, 3> first{}, count{}, stride{};
      order.window(w, channels, first, count);
      index_t step = 1, at = 0;
      for (auto d = whole->shape.size(); d-- > 0;) {
        stride[d] = step;
        at += first[d] * step;
        step *= whole->shape[d];
      }
      order.gather(whole->data.data() + at, count, stride, to);
    };
    return stack;
  }
  stack.read_window = [path, header, shape = stack.shape](frame_window const& w, float* to) {
    std::ifstream file(path, std::ios::binary);
    index_t const frame = shape[1] * shape[2], run = w.rows * shape[2];
    bool const whole = w.rows == shape[1];
    for (index_t f = 0; f < w.count; f += whole ? w.count : 1) {
      index_t const before = (w.first + f) * frame + w.first_row * shape[2];
      npy_header part = header;
      part.elements = whole ? w.count * run : run;
      file.seekg(header.offset + before * header.element_bytes);
      detail::npy_with_stored_type(part, [&]<class S>(std::type_identity<S>) {
        detail::npy_read_elements<float, S>(path, file, part, to + f * run, before);
      });
    }
  };
  return stack;
}

}  // namespace mbirk
