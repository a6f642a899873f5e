// A policy that is chosen at run time: one compilation of an operation for none, tracing, NVTX, live memory and both of
// two.
#pragma once

#include <memory>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "mbirk/exec/concepts.hpp"
#include "mbirk/instrument/concepts.hpp"

namespace mbirk::instrument {

namespace detail {

struct held_guard {
  virtual ~held_guard() = default;
  virtual bool observes_tasks() const noexcept { return false; }
  virtual void task_done(int /*worker*/) noexcept {}
};
/// For guards of operations and stages, which have no tasks.
template <class Guard> struct held_guard_of : held_guard {
  Guard guard;
  template <class Make> explicit held_guard_of(Make const& make) : guard(make()) {}
};
template <class Guard> struct held_kernel_guard_of final : held_guard_of<Guard> {
  using held_guard_of<Guard>::held_guard_of;
  bool observes_tasks() const noexcept override { return this->guard.observes_tasks(); }
  void task_done(int worker) noexcept override { this->guard.task_done(worker); }
};
template <class Make> std::unique_ptr<held_guard> hold_guard(Make const& make) {
  return std::make_unique<held_guard_of<decltype(make())>>(make);
}
template <class Make> std::unique_ptr<held_guard> hold_kernel_guard(Make const& make) {
  return std::make_unique<held_kernel_guard_of<decltype(make())>>(make);
}

/// The interface that `any` reports to.
struct observer_interface {
  virtual ~observer_interface() = default;
  virtual std::unique_ptr<held_guard> scope(op_info op) const = 0;
  virtual std::unique_ptr<held_guard> stage(char const* what) const = 0;
  virtual void allocated(char const* what, index_t bytes) const = 0;
  virtual void released(char const* what, index_t bytes) const = 0;
  virtual std::unique_ptr<held_guard> kernel(void const* exec, std::type_info const& type,
                                             kernel_info const& k) const = 0;
  virtual std::unique_ptr<held_guard> copy(void const* exec, std::type_info const& type, char const* what,
                                           index_t bytes) const = 0;
};

template <class Instr, class... Execs> struct observer_of final : observer_interface {
  Instr instr;
  explicit observer_of(Instr const& i) : instr(i) {}

  std::unique_ptr<held_guard> scope(op_info op) const override {
    return hold_guard([&] { return instr.scope(op); });
  }
  std::unique_ptr<held_guard> stage(char const* what) const override {
    return hold_guard([&] { return instr.stage(what); });
  }
  void allocated(char const* what, index_t bytes) const override { instr.allocated(what, bytes); }
  void released(char const* what, index_t bytes) const override { instr.released(what, bytes); }
  std::unique_ptr<held_guard> kernel(void const* exec, std::type_info const& type,
                                     kernel_info const& k) const override {
    if constexpr (Instr::traits.observes_kernels)
      return on_exec(exec, type, [&](auto const& on) -> std::unique_ptr<held_guard> {
        if constexpr (block_policy<std::remove_cvref_t<decltype(on)>>)
          return hold_guard([&] { return instr.kernel(on, k); });
        else return hold_kernel_guard([&] { return instr.kernel(on, k); });
      });
    else return nullptr;
  }
  std::unique_ptr<held_guard> copy(void const* exec, std::type_info const& type, char const* what,
                                   index_t bytes) const override {
    if constexpr (Instr::traits.observes_copies)
      return on_exec(exec, type, [&](auto const& on) -> std::unique_ptr<held_guard> {
        if constexpr (block_policy<std::remove_cvref_t<decltype(on)>>)
          return hold_guard([&] { return instr.copy(on, what, bytes); });
        else return nullptr;
      });
    else return nullptr;
  }

 private:
  /// observe(the execution policy), or null if it is none of Execs.
  template <class Observe>
  static std::unique_ptr<held_guard> on_exec(void const* exec, std::type_info const& type, Observe const& observe) {
    std::unique_ptr<held_guard> guard;
    auto const try_one = [&]<class Exec>(std::type_identity<Exec>) {
      if (type == typeid(Exec)) guard = observe(*static_cast<Exec const*>(exec));
    };
    (try_one(std::type_identity<Execs>{}), ...);
    return guard;
  }
};

}  // namespace detail

/// Forwards to a policy that is chosen at run time, or observes nothing. Costs a virtual call and an allocation for
/// each operation, stage and launch, which take microseconds, and virtual calls for each task only if the policy
/// observes tasks. Copies report to the same policy.
///
///     instrument::any const observe = trace ? instrument::any(host, instrument::tracing(buffer)) : instrument::any();
///     forward_project(context{host, observe}, scan, recon, sinogram);
class any {
 public:
  using policy_category = instrumentation_policy_tag;
  static constexpr std::string_view name = "any";
  static constexpr instrumentation_traits traits{.observes_kernels = true, .observes_copies = true};
  template <class Native> using backend = Native;

  /// Observes nothing.
  any() = default;
  /// @param exec   the execution policy of the contexts that it will be used in; launches on others are not reported.
  /// @param instr  a policy that leaves kernels and data alone.
  template <execution_policy Exec, instrumentation_policy Instr>
  any([[maybe_unused]] Exec const& exec, Instr const& instr) {
    static_assert(!Instr::traits.serial && Instr::traits.has_data && Instr::traits.runs_kernels &&
                      !Instr::traits.observes_arrays && !Instr::traits.observes_scratch &&
                      !Instr::traits.observes_release &&
                      std::is_same_v<typename Instr::template backend<typename Exec::backend>, typename Exec::backend>,
                  "instrument::any: the policy changes the kernels, so it must be known at compile time");
    if constexpr (block_policy<Exec>)
      observer_ = std::make_shared<detail::observer_of<Instr, Exec, typename Exec::host_side>>(instr);
    else observer_ = std::make_shared<detail::observer_of<Instr, Exec>>(instr);
  }

  class guard {
   public:
    guard() = default;
    explicit guard(std::unique_ptr<detail::held_guard> held) noexcept : held_(std::move(held)) {}
    bool observes_tasks() const noexcept { return held_ && held_->observes_tasks(); }
    void task_done(int worker) noexcept {
      if (held_) held_->task_done(worker);
    }

   private:
    std::unique_ptr<detail::held_guard> held_;
  };
  [[nodiscard]] guard scope(op_info op) const { return observer_ ? guard(observer_->scope(op)) : guard(); }
  [[nodiscard]] guard stage(char const* what) const { return observer_ ? guard(observer_->stage(what)) : guard(); }
  void allocated(char const* what, index_t bytes) const {
    if (observer_) observer_->allocated(what, bytes);
  }
  void released(char const* what, index_t bytes) const {
    if (observer_) observer_->released(what, bytes);
  }
  template <class Exec> [[nodiscard]] guard kernel(Exec const& exec, kernel_info const& k) const {
    return observer_ ? guard(observer_->kernel(&exec, typeid(Exec), k)) : guard();
  }
  template <class Exec> [[nodiscard]] guard copy(Exec const& exec, char const* what, index_t bytes) const {
    return observer_ ? guard(observer_->copy(&exec, typeid(Exec), what, bytes)) : guard();
  }

 private:
  std::shared_ptr<detail::observer_interface const> observer_;
};

static_assert(instrumentation_policy<any>);

}  // namespace mbirk::instrument
