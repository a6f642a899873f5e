// A child process with limits on memory and time, for work on data that can crash or stop the libraries that read them.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "mbirk/core/error.hpp"

namespace mbirk::program {

struct process_limits {
  std::size_t memory = std::size_t{2} << 30;  ///< bytes, beyond those of this process when the child starts
  std::chrono::milliseconds time{60'000};     ///< per request, and as much processor time
  double bytes_per_second = 4e6;              ///< adds to the time of a request for data
};

/// A child process answers requests until this object is destroyed. It prints nothing and writes no files. Whatever
/// becomes of it is an exception here.
class limited_process {
 public:
  using reply_function = std::function<void(void const* data, std::size_t bytes)>;
  /// Runs in the child: answers a request by one call of reply, or throws, which the parent then does.
  using serve_function = std::function<void(std::string const& request, reply_function const& reply)>;

  /// Starts the child, which is a copy of this process, so that it has to be the only thread.
  /// @param name  of what is read, for messages.
  /// @throws io_error when the child cannot be started
  limited_process(std::string name, process_limits const& limits, serve_function const& serve);
  ~limited_process() { stop(); }
  limited_process(limited_process const&) = delete;
  limited_process& operator=(limited_process const&) = delete;

  /// Returns the answer, of at most `most` bytes.
  /// @throws io_error for any end of the child, and for errors that it reports; allocation_error for want of memory
  std::string ask(std::string const& request, std::size_t most);
  /// Asks for data of this many bytes. @throws as above
  void ask(std::string const& request, void* to, std::size_t bytes);
  /// Ends the child, whose answers are wrong. @throws io_error
  [[noreturn]] void fail(std::string const& what, source_location w = source_location::current());

 private:
  using time_point = std::chrono::steady_clock::time_point;
  void stop() noexcept;
  [[noreturn]] void fail_by_end();
  void receive(void* to, std::size_t bytes, time_point until);
  std::size_t ask_head(std::string const& request, std::size_t most, std::size_t data, time_point until);
  time_point deadline(std::size_t data) const;

  std::string name_;
  process_limits limits_;
  ::pid_t child_ = -1;
  int socket_ = -1;
};

}  // namespace mbirk::program
