// Arrays with gaps, for tests of strides.
#pragma once

#include <algorithm>
#include <functional>
#include <numeric>

#include "projector/operations.hpp"

namespace mbirk::test {

/// An array in memory that has gaps between its rows, columns and planes, filled with a mark.
template <int Rank> class spread_array {
 public:
  static constexpr float mark = -12345.5f;

  explicit spread_array(std::array<index_t, Rank> const& extents) : extents_(extents) {
    index_t step = 1;
    for (int d = Rank - 1; d >= 0; --d) {
      strides_[static_cast<std::size_t>(d)] = step;
      step = step * extents[static_cast<std::size_t>(d)] + 3 + d;  // odd gaps of at least three elements
    }
    data_.assign(static_cast<std::size_t>(step + 64), mark);
  }
  explicit spread_array(array<Rank> const& dense) : spread_array(dense.shape) {
    for (std::size_t k = 0; k < dense.data.size(); ++k) data_[at(k)] = dense.data[k];
  }
  view<float, Rank> all() { return {data_.data(), extents_, strides_}; }
  std::vector<float> dense() const {
    std::vector<float> values;
    for (std::size_t k = 0; k < elements(); ++k) values.push_back(data_[at(k)]);
    return values;
  }
  /// Every float outside the elements still has the mark.
  bool gaps_untouched() const {
    auto copy = data_;
    for (std::size_t k = 0; k < elements(); ++k) copy[at(k)] = mark;
    return std::all_of(copy.begin(), copy.end(), [](float x) { return x == mark; });
  }

 private:
  std::size_t elements() const {
    return static_cast<std::size_t>(std::accumulate(extents_.begin(), extents_.end(), index_t{1}, std::multiplies<>()));
  }
  std::size_t at(std::size_t k) const {
    auto rest = static_cast<index_t>(k);
    index_t offset = 0;
    for (int d = Rank - 1; d >= 0; --d) {
      auto const i = static_cast<std::size_t>(d);
      offset += rest % extents_[i] * strides_[i];
      rest /= extents_[i];
    }
    return static_cast<std::size_t>(offset);
  }
  std::array<index_t, Rank> extents_, strides_{};
  std::vector<float> data_;
};

}  // namespace mbirk::test
