// Line searches of the subsets of an iteration. On a device the steps stay there, so that only the end of an iteration
// waits for them. Not for users.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mbirk/kernel/device/device_reduce.hpp"
#include "mbirk/kernel/shared/step.hpp"
#include "mbirk/launch.hpp"

namespace mbirk::detail {

/// Step length of a subset's update, and `Changes` sums over what the update has changed.
template <int Changes> struct subset_step {
  double alpha = 0;
  std::array<double, Changes> changes{};
};

template <class Context, int Changes> class step_search {
  using B = typename Context::backend;
  using partial_sums = temporary<double, Context>;
  static constexpr index_t numbers = 1 + Changes;

 public:
  /// @param failure  text of the error if a search finds no finite step
  step_search(Context const& ctx, index_t subsets, std::string failure)
      : ctx_(ctx), steps_(static_cast<std::size_t>(subsets)), failure_(std::move(failure)) {
    if constexpr (on_device<Context>) device_steps_.emplace(ctx, "steps", numbers * subsets);
  }

  /// Step of a subset: formula(sums of the two numbers that every task has left in `pairs`, and of `more`, if given).
  /// @throws error if the step is not finite; on a device steps() does.
  template <class Formula>
  kernel::step_length find(index_t subset, Formula const& formula, partial_sums const& pairs,
                           partial_sums const* more = nullptr) {
    if constexpr (on_device<Context>) {
      kernel::device_reduce<B, Formula> reduction{
          observe(ctx_, pairs), pairs.size() / 2, 2, {}, 0, formula, device_numbers(subset)};
      if (more) {
        reduction.more = observe(ctx_, *more);
        reduction.more_tasks = more->size();
      }
      launch_blocks(ctx_, reduction);
      return {0, device_steps_->data() + numbers * subset};
    } else {
      double alpha[1] = {1};
      auto const [first, second] = reduce_each<2>(ctx_, pairs);
      double const third = more ? reduce(ctx_, *more) : 0;
      if constexpr (B::has_data) {
        formula({first, second, third}, alpha);
        require_finite(alpha[0]);
      }
      at(subset).alpha = alpha[0];
      return {alpha[0]};
    }
  }

  /// Finds a step as `find` does, where several processes share the sums: `all` adds those of this process to those of
  /// the others, and the call waits for a device. @throws error if the step is not finite.
  template <class Formula, class All>
  kernel::step_length find_of_all(index_t subset, Formula const& formula, partial_sums const& pairs,
                                  partial_sums const& more, All const& all) {
    auto const sums = all(sums_of(pairs, more));
    double alpha[1];
    formula({sums[0], sums[1], sums[2]}, alpha);
    require_finite(alpha[0]);
    at(subset).alpha = alpha[0];
    if constexpr (on_device<Context>) put(ctx_, alpha, 1, device_steps_->data() + numbers * subset);
    return {alpha[0]};
  }

  /// Sums up what the update of a subset has changed: `Changes` numbers per task.
  void add_changes(index_t subset, partial_sums const& partial) {
    if constexpr (on_device<Context>) {
      launch_blocks(ctx_, kernel::device_reduce<B, kernel::plain_sums<Changes>>{
                              observe(ctx_, partial), partial.size() / Changes, Changes, {}, 0, {},
                              device_numbers(subset) + 1});
    } else {
      at(subset).changes = reduce_each<Changes>(ctx_, partial);
    }
  }

  /// The steps of all subsets; waits for a device. @throws error if one is not finite.
  std::vector<subset_step<Changes>> const& steps() {
    if constexpr (on_device<Context>) {
      host_copy const found(ctx_, *device_steps_);
      for (index_t s = 0; s < std::ssize(steps_); ++s) {
        at(s).alpha = found[numbers * s];
        for (int k = 0; k < Changes; ++k) at(s).changes[static_cast<std::size_t>(k)] = found[numbers * s + 1 + k];
        require_finite(at(s).alpha);
      }
    }
    return steps_;
  }

 private:
  std::array<double, 3> sums_of(partial_sums const& pairs, partial_sums const& more) const {
    if constexpr (on_device<Context>) {
      partial_sums const found(ctx_, "sums of a line search", 3);
      launch_blocks(ctx_, kernel::device_reduce<B, kernel::plain_sums<3>>{observe(ctx_, pairs), pairs.size() / 2, 2,
                                                                          observe(ctx_, more), more.size(), {},
                                                                          observe(ctx_, found)});
      host_copy const sums(ctx_, found);
      return {sums[0], sums[1], sums[2]};
    } else {
      auto const [first, second] = reduce_each<2>(ctx_, pairs);
      return {first, second, reduce(ctx_, more)};
    }
  }
  subset_step<Changes>& at(index_t subset) { return steps_[static_cast<std::size_t>(subset)]; }
  auto device_numbers(index_t subset) const { return observe(ctx_, *device_steps_) + numbers * subset; }
  void require_finite(double alpha) const {
    require<error>(std::isfinite(alpha), [&] { return failure_; });
  }

  Context const& ctx_;
  std::vector<subset_step<Changes>> steps_;
  std::optional<partial_sums> device_steps_;  // (subsets, numbers)
  std::string failure_;
};

}  // namespace mbirk::detail
