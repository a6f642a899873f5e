// A wrapper that times the calls of a function, with the first calls reported separately.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "mbirk/core/error.hpp"
#include "mbirk/profile/scope.hpp"
#include "mbirk/profile/statistics.hpp"

namespace mbirk::profile {

struct wrap_options {
  int warm_up = 0;     ///< number of first calls reported separately; named "<name> (warm-up)" on the trace
  sink into = {};      ///< receives each call as a span
  span_info info = {};
};

/// `wrapped step(fn, "step", {.warm_up = 2, .into = session});` is called like fn, from one or several threads; calls
/// that throw count too.
template <class F> class wrapped {
 public:
  /// @param name  must outlive the trace, like a literal.
  /// @throws parameter_error when warm_up is negative.
  wrapped(F fn, char const* name, wrap_options options = {})
      : fn_(std::move(fn)), name_(name), options_(options), warm_up_left_(options.warm_up) {
    require(options.warm_up >= 0,
            [&] { return "wrapped: warm_up is " + std::to_string(options.warm_up) + ", less than 0"; });
  }
  wrapped(wrapped const&) = delete;
  wrapped& operator=(wrapped const&) = delete;

  template <class... Args> decltype(auto) operator()(Args&&... args) {
    call const timed(*this);
    return std::invoke(fn_, std::forward<Args>(args)...);
  }
  char const* name() const noexcept { return name_; }
  /// Statistics of the calls so far in seconds, without the warm-up.
  running_stats calls() const { return get(calls_); }
  running_stats warm_up() const { return get(warm_up_); }

 private:
  class call {
   public:
    explicit call(wrapped& of) : of_(of), warm_up_(of.starts_warm_up()), span_(of.span(warm_up_)) {}
    ~call() {
      double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
      std::lock_guard const lock(of_.mutex_);
      (warm_up_ ? of_.warm_up_ : of_.calls_).add(seconds);
    }
    call(call const&) = delete;
    call& operator=(call const&) = delete;

   private:
    wrapped& of_;
    bool warm_up_;
    scope span_;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  };

  bool starts_warm_up() {
    std::lock_guard const lock(mutex_);
    return warm_up_left_ > 0 && warm_up_left_-- > 0;
  }
  scope span(bool warm_up) const {
    if (warm_up && options_.into.get()) return scope(options_.into, std::string(name_) + " (warm-up)", options_.info);
    return scope(options_.into, name_, options_.info);
  }
  running_stats get(running_stats const& from) const {
    std::lock_guard const lock(mutex_);
    return from;
  }

  F fn_;
  char const* name_;
  wrap_options options_;
  mutable std::mutex mutex_;
  int warm_up_left_;
  running_stats calls_, warm_up_;
};

}  // namespace mbirk::profile
