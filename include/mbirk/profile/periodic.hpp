// Periodic captures of a long loop: a few steps are recorded at regular intervals, and the latest captures are kept.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "mbirk/core/error.hpp"
#include "mbirk/profile/scope.hpp"
#include "mbirk/profile/session.hpp"

namespace mbirk::profile {

struct periodic_options {
  std::int64_t every = 1000;  ///< steps between the beginnings of two captures, and before the first one
  std::int64_t steps = 3;     ///< steps per capture, less than `every`
  int keep_last = 5;          ///< number of captures whose files are kept
  session_options session = {};  ///< options of each capture; on_close is called after each
};

/// Declare `periodic_capture capture("profiles", "step", {.every = 100});` and call capture.step() at the top of a
/// loop. Scopes with the capture as sink record while a capture runs. A capture is a session in the folder
/// "<name>_<step>", with a span "step" for each step, whose items are the step number. A step or scope that is not
/// captured costs one comparison. step() must be called by one thread, while no scope of the capture is open.
class periodic_capture {
 public:
  /// @throws io_error when the folder cannot be created or written to, parameter_error for invalid options or a name
  /// that cannot be a file name.
  periodic_capture(std::filesystem::path directory, std::string name, periodic_options options = {})
      : directory_(std::move(directory)), name_(std::move(name)), options_(std::move(options)), next_(options_.every) {
    require(options_.steps > 0 && options_.steps < options_.every && options_.keep_last > 0, [&] {
      return "periodic_capture: every = " + std::to_string(options_.every) +
             ", steps = " + std::to_string(options_.steps) + ", keep_last = " + std::to_string(options_.keep_last) +
             "; expected 0 < steps < every, 0 < keep_last";
    });
    detail::require_writable(directory_, "periodic_capture", name_);
  }
  ~periodic_capture() {
    if (!session_) return;
    try {
      end_step(count_ - 1);
      if (static_cast<int>(captures_.size()) == options_.keep_last) remove(captures_.front());
    } catch (std::exception const&) {}  // at worst an excess file remains
    trace_ = nullptr;                   // the session's destructor writes what was recorded
  }
  periodic_capture(periodic_capture const&) = delete;
  periodic_capture& operator=(periodic_capture const&) = delete;

  /// Marks the beginning of a step.
  /// @throws io_error when the files of a capture that ends here cannot be written.
  void step() {
    if (++count_ > next_) change();
  }
  /// The current recording; null while no capture runs.
  instrument::trace_buffer* trace() const noexcept { return trace_; }
  operator sink() const noexcept { return sink(&trace_); }

  std::int64_t steps() const noexcept { return count_; }
  /// Folders of the complete captures that are kept, the oldest first.
  std::vector<std::filesystem::path> captures() const {
    std::vector<std::filesystem::path> list;
    for (auto const& c : captures_) list.push_back(c.folder);
    return list;
  }

 private:
  struct capture {
    std::filesystem::path folder;
    std::vector<std::filesystem::path> files;
  };

  /// Called at the beginning of step count_ - 1 (counted from 0) when a capture or a captured step begins or ends.
  void change() {
    auto const now = count_ - 1;
    if (session_) end_step(now - 1);
    if (session_ && now == begun_ + options_.steps) {
      trace_ = nullptr;
      next_ = begun_ + options_.every;
      captures_.push_back({folder(), close().files});
      while (static_cast<int>(captures_.size()) > options_.keep_last) {
        remove(captures_.front());
        captures_.pop_front();
      }
    }
    if (now < next_) return;
    if (!session_) {
      // Set first, in case the folder cannot be created.
      begun_ = now;
      next_ = now + options_.every;
      session_.emplace(folder(), name_, options_.session);
      trace_ = &session_->trace();
    }
    next_ = now;  // change() is called at every step of a capture
    step_begin_ = trace_->now();
  }
  session_report close() {
    struct reset {
      std::optional<session>& s;
      ~reset() { s.reset(); }
    } const whatever_happens{session_};
    return session_->close();
  }
  void end_step(std::int64_t number) {
    trace_->add({"step", instrument::event_kind::operation, step_begin_, trace_->now(), number, trace_->track()});
  }
  std::filesystem::path folder() const {
    auto const digits = std::to_string(begun_);
    return directory_ / (name_ + '_' + std::string(digits.size() < 8 ? 8 - digits.size() : 0, '0') + digits);
  }
  /// Removes only the files that this object has written.
  void remove(capture const& old) const {
    std::error_code ignored;
    for (auto const& file : old.files) std::filesystem::remove(file, ignored);
    for (auto const& file : old.files)
      for (auto at = file.parent_path(); at.has_relative_path(); at = at.parent_path()) {
        std::filesystem::remove(at, ignored);  // removes a folder only if it is empty
        if (at == old.folder) break;
      }
  }

  std::filesystem::path directory_;
  std::string name_;
  periodic_options options_;
  std::int64_t count_ = 0, next_, begun_ = 0, step_begin_ = 0;
  instrument::trace_buffer* trace_ = nullptr;
  std::optional<session> session_;
  std::deque<capture> captures_;
};

}  // namespace mbirk::profile
