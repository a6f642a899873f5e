// Runs the definitions on the plain interpreter in double; shared by the definition tests, and the oracle of the
// projector tests.
#pragma once

#include <algorithm>
#include <concepts>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "mbirk/definition/cone.hpp"
#include "mbirk/definition/general.hpp"
#include "mbirk/definition/multiaxis.hpp"
#include "mbirk/definition/parallel.hpp"
#include "mbirk/definition/translation.hpp"
#include "mbirk/geometry/list.hpp"

namespace mbirk::test {

using pixel_list = std::vector<std::int32_t>;

inline std::size_t count_of(std::array<index_t, 3> const& shape) {
  return static_cast<std::size_t>(shape[0] * shape[1] * shape[2]);
}

/// The plain interpreter in double with temporaries of its own, for definitions that are made of others.
class owning_interpreter : public definition::plain_interpreter<double> {
 public:
  template <int Rank> view<double, Rank> temporary(char const* name, index_t const (&shape)[Rank]) {
    std::array<index_t, Rank> extents;
    std::copy_n(shape, Rank, extents.begin());
    std::size_t size = 1;
    for (index_t const n : extents) size *= static_cast<std::size_t>(n);
    return {owned_.emplace_back(name, size).values.data(), extents};
  }
  /// The first temporary of this name.
  std::vector<double> const& values(std::string_view name) const {
    return std::ranges::find(owned_, name, &owned::name)->values;
  }

 private:
  struct owned {
    std::string name;
    std::vector<double> values;
    owned(char const* called, std::size_t size) : name(called), values(size) {}
  };
  std::deque<owned> owned_;
};

/// Projection: (pixels, slices) to (views, rows, channels).
template <class E>
std::vector<double> define_forward(parallel_scan const& s, std::vector<E> const& x, pixel_list const& pixels) {
  definition::plain_interpreter<double> m;
  auto const count = static_cast<index_t>(pixels.size());
  std::vector<double> y(count_of(s.sinogram_shape()));
  definition::parallel_forward(m, s, m.input(view<E const, 2>(x.data(), {count, s.geometry().slices})),
                               m.input(view<std::int32_t const, 1>(pixels.data(), {count})), count,
                               view<double, 3>(y.data(), s.sinogram_shape()));
  return y;
}
template <std::derived_from<cone_geometry> Geometry, class E>
std::vector<double> define_forward(scan<Geometry> const& s, std::vector<E> const& x, pixel_list const& pixels) {
  definition::plain_interpreter<double> m;
  auto const count = static_cast<index_t>(pixels.size());
  auto const& g = s.geometry();
  std::vector<double> y(count_of(s.sinogram_shape())), columns(static_cast<std::size_t>(count * g.rows));
  definition::cone_forward(m, s, m.input(view<E const, 2>(x.data(), {count, g.slices})),
                           m.input(view<std::int32_t const, 1>(pixels.data(), {count})), count,
                           view<double, 2>(columns.data(), {count, g.rows}),
                           view<double, 3>(y.data(), s.sinogram_shape()));
  return y;
}
template <class E>
std::vector<double> define_forward(multiaxis_scan const& s, std::vector<E> const& x, pixel_list const& pixels) {
  definition::plain_interpreter<double> m;
  auto const count = static_cast<index_t>(pixels.size());
  auto const& g = s.geometry();
  std::vector<double> y(count_of(s.sinogram_shape())), columns(static_cast<std::size_t>(count * g.rows));
  definition::multiaxis_forward(m, s, m.input(view<E const, 2>(x.data(), {count, g.slices})),
                                m.input(view<std::int32_t const, 1>(pixels.data(), {count})), count,
                                view<double, 2>(columns.data(), {count, g.rows}),
                                view<double, 3>(y.data(), s.sinogram_shape()));
  return y;
}

template <class E>
std::vector<double> define_forward(general_scan const& s, std::vector<E> const& x, pixel_list const& pixels) {
  definition::plain_interpreter<double> m;
  auto const count = static_cast<index_t>(pixels.size());
  std::vector<double> y(count_of(s.sinogram_shape()));
  definition::operators<general_geometry>::forward(
      m, s, m.input(view<E const, 2>(x.data(), {count, s.geometry().slices})),
      m.input(view<std::int32_t const, 1>(pixels.data(), {count})), count,
      view<double, 3>(y.data(), s.sinogram_shape()));
  return y;
}

/// Back projection: (views, rows, channels) to (pixels, slices).
template <class E>
std::vector<double> define_back(parallel_scan const& s, std::vector<E> const& y, pixel_list const& pixels, int power) {
  definition::plain_interpreter<double> m;
  auto const count = static_cast<index_t>(pixels.size());
  std::vector<double> x(static_cast<std::size_t>(count * s.geometry().slices));
  definition::parallel_back(m, s, m.input(view<E const, 3>(y.data(), s.sinogram_shape())),
                            m.input(view<std::int32_t const, 1>(pixels.data(), {count})), count, power,
                            view<double, 2>(x.data(), {count, s.geometry().slices}));
  return x;
}
template <std::derived_from<cone_geometry> Geometry, class E>
std::vector<double> define_back(scan<Geometry> const& s, std::vector<E> const& y, pixel_list const& pixels, int power) {
  definition::plain_interpreter<double> m;
  auto const count = static_cast<index_t>(pixels.size());
  auto const& g = s.geometry();
  std::vector<double> x(static_cast<std::size_t>(count * g.slices)), columns(static_cast<std::size_t>(count * g.rows));
  definition::cone_back(m, s, m.input(view<E const, 3>(y.data(), s.sinogram_shape())),
                        m.input(view<std::int32_t const, 1>(pixels.data(), {count})), count, power,
                        view<double, 2>(columns.data(), {count, g.rows}), view<double, 2>(x.data(), {count, g.slices}));
  return x;
}
template <class E>
std::vector<double> define_back(multiaxis_scan const& s, std::vector<E> const& y, pixel_list const& pixels, int power) {
  definition::plain_interpreter<double> m;
  auto const count = static_cast<index_t>(pixels.size());
  auto const& g = s.geometry();
  std::vector<double> x(static_cast<std::size_t>(count * g.slices)), columns(static_cast<std::size_t>(count * g.rows));
  definition::multiaxis_back(m, s, m.input(view<E const, 3>(y.data(), s.sinogram_shape())),
                             m.input(view<std::int32_t const, 1>(pixels.data(), {count})), count, power,
                             view<double, 2>(columns.data(), {count, g.rows}),
                             view<double, 2>(x.data(), {count, g.slices}));
  return x;
}

template <class E>
std::vector<double> define_back(general_scan const& s, std::vector<E> const& y, pixel_list const& pixels, int power) {
  definition::plain_interpreter<double> m;
  auto const count = static_cast<index_t>(pixels.size());
  std::vector<double> x(static_cast<std::size_t>(count * s.geometry().slices));
  definition::operators<general_geometry>::back(
      m, s, m.input(view<E const, 3>(y.data(), s.sinogram_shape())),
      m.input(view<std::int32_t const, 1>(pixels.data(), {count})), count, power,
      view<double, 2>(x.data(), {count, s.geometry().slices}));
  return x;
}

// Tests of projectors, reconstructions and filters run the definitions, so these are compiled once, with optimisation
// (support.cpp).
#define MBIRK_TEST_DEFINITION_OF(EXTERN, E, G)                                                                  \
  EXTERN template std::vector<double> define_forward(scan<G> const&, std::vector<E> const&, pixel_list const&); \
  EXTERN template std::vector<double> define_back(scan<G> const&, std::vector<E> const&, pixel_list const&, int);
#define MBIRK_TEST_DEFINITIONS(EXTERN)                         \
  MBIRK_EACH_GEOMETRY(MBIRK_TEST_DEFINITION_OF, EXTERN, float) \
  MBIRK_EACH_GEOMETRY(MBIRK_TEST_DEFINITION_OF, EXTERN, double)
MBIRK_TEST_DEFINITIONS(extern)

}  // namespace mbirk::test
