// Memory available on this machine.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace mbirk::program {

struct available_memory {
  double bytes;
  std::string source;  ///< "MemAvailable", "the memory limit of the control group"
};
/// The smaller of the system's available memory and the limits of this process's control groups; nothing if neither can
/// be read.
/// @param root  folder that contains /proc and /sys
std::optional<available_memory> memory_available(std::filesystem::path const& root = "/");

/// From now on the system gets arrays of a MiB or more back when they are freed. Otherwise glibc keeps some of them, in
/// pieces that no other array fits into, beyond the memory that was planned.
void return_freed_arrays() noexcept;

/// Formats bytes: "1.5 GiB".
std::string bytes_text(double bytes);

/// Memory that a command may take. Readers ask for it with sizes known from shapes, before they allocate anything.
class memory_budget {
 public:
  memory_budget() = default;  ///< without a limit
  explicit memory_budget(std::optional<available_memory> available) : available_(std::move(available)) {}

  std::optional<available_memory> const& available() const noexcept { return available_; }
  /// Bytes; infinity without a limit.
  double limit() const noexcept;
  /// @param what  subject of the message: "scan.npy: an array of shape (3, 4, 5)"
  /// @throws allocation_error unless so many bytes fit
  void require(double bytes, std::string const& what) const;

 private:
  std::optional<available_memory> available_;
};

}  // namespace mbirk::program
