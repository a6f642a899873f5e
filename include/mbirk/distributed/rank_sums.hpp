// Sums of an iterative reconstruction in parallel beam whose ranks have their slices on devices: a device adds up what
// its tasks leave, and the sums of the ranks are added in their order. So sums depend on the number of ranks, to
// rounding in double precision; those of unit_sums.hpp, which the host takes, do not. Not for users.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "mbirk/distributed/units_of_ranks.hpp"
#include "mbirk/recon/task_sums.hpp"

namespace mbirk::distributed::detail {

using namespace mbirk::detail;

template <class Context, class Geometry, communicator Comm> class rank_sums
    : public task_sums<Context, projector<Geometry>> {
  using mine = task_sums<Context, projector<Geometry>>;
  using sinogram = temporary<float, Context>;

 public:
  using typename mine::of_subset;

  template <class Part> rank_sums(Context const& ctx, Part const& part, kernel::chunked_shape const& shape,
                                  index_t slices, char const* operation)
      : mine(ctx, part, shape, slices, operation), all_(part.whole_ranks()) {}

  fit_products fit(sinogram const& z, sinogram const& data, std::optional<sinogram> const& weights) const {
    auto const own = mine::fit(z, data, weights);
    auto const [with_data, with_itself] = add<2>("fit", {own.with_data, own.with_itself});
    return {with_data, with_itself};
  }
  double weight_sum(sinogram const& weights) const { return add<1>("mean weight", {mine::weight_sum(weights)})[0]; }
  double error_sum(sinogram const& error, std::optional<sinogram> const& weights) const {
    return add<1>("rmse", {mine::error_sum(error, weights)})[0];
  }
  /// Waits for the device. @throws error if the step is not finite, in every process
  kernel::step_length find_step(index_t place, kernel::vcd_line_search const& search, of_subset const& sums) {
    return this->search_->find_of_all(place, search, sums.slopes, sums.squares,
                                      [&](auto const& three) { return add<3>("line search", three); });
  }
  template <class Image> iteration_sums end_iteration(Image const& image) {
    auto own = mine::end_iteration(image);
    auto const [moved, norm] = add<2>("change and norm", {own.moved, own.norm});
    return {moved, own.alphas, norm};
  }

 private:
  template <std::size_t Numbers>
  std::array<double, Numbers> add(char const* what, std::array<double, Numbers> const& own) const {
    return all_.template sum<Numbers>(what, std::vector<double>(own.begin(), own.end()));
  }

  units_of_ranks<Comm> all_;
};

}  // namespace mbirk::distributed::detail
