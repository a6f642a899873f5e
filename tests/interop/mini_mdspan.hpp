// The parts of std::mdspan that matter to views, for compilers that have none: dynamic extents, one static extent, the
// layouts right, left and stride.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <tuple>

namespace mbirk::test {

template <class Index, std::size_t Rank, std::size_t Last = std::dynamic_extent> struct mini_extents {
  using index_type = Index;
  std::array<Index, Rank> sizes{};
  template <class... N>
    requires(sizeof...(N) == Rank)
  explicit mini_extents(N... n) : sizes{static_cast<Index>(n)...} {}
  static constexpr std::size_t static_extent(std::size_t d) { return d + 1 == Rank ? Last : std::dynamic_extent; }
};

template <bool FromTheRight> struct mini_dense {
  template <class Extents> struct mapping {
    explicit mapping(Extents const& e) : extents(e) {}
    auto stride(std::size_t d) const {
      typename Extents::index_type step = 1;
      if (FromTheRight)
        for (std::size_t k = d + 1; k < extents.sizes.size(); ++k)
          step = static_cast<typename Extents::index_type>(step * extents.sizes[k]);
      else
        for (std::size_t k = 0; k < d; ++k) step = static_cast<typename Extents::index_type>(step * extents.sizes[k]);
      return step;
    }
    Extents extents;
  };
};
using mini_right = mini_dense<true>;
using mini_left = mini_dense<false>;
struct mini_stride {
  template <class Extents> struct mapping {
    using sizes = decltype(Extents::sizes);
    mapping(Extents const& e, sizes const& s) : extents(e), strides_(s) {}
    auto stride(std::size_t d) const { return strides_[d]; }
    sizes strides() const { return strides_; }
    Extents extents;
    sizes strides_;
  };
};

template <class T, class Extents, class Layout = mini_right> class mini_mdspan {
 public:
  using element_type = T;
  using extents_type = Extents;
  using layout_type = Layout;
  using mapping_type = typename Layout::template mapping<Extents>;
  mini_mdspan(T* data, mapping_type const& m) : data_(data), mapping_(m) {}
  static constexpr std::size_t rank() { return std::tuple_size_v<decltype(Extents::sizes)>; }
  T* data_handle() const { return data_; }
  auto extent(std::size_t d) const { return mapping_.extents.sizes[d]; }
  auto stride(std::size_t d) const { return mapping_.stride(d); }
  bool is_strided() const { return strided; }
  bool strided = true;  // a test may set it to false

 private:
  T* data_;
  mapping_type mapping_;
};

}  // namespace mbirk::test
