// A profiling session: a trace of bounded size that becomes files in a folder when it is closed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "mbirk/core/error.hpp"
#include "mbirk/instrument/trace.hpp"
#include "mbirk/io/output_file.hpp"
#include "mbirk/profile/exporters.hpp"
#include "mbirk/profile/scope.hpp"

namespace mbirk::profile {

/// What a session left.
struct session_report {
  std::string name;
  std::uint64_t events = 0, dropped = 0;
  std::vector<std::filesystem::path> files;
  std::vector<std::string> warnings;  ///< nothing was recorded, events were dropped; of a session that was not closed but destroyed also what went wrong
};

struct session_options {
  std::size_t events = 100'000;  ///< room, about 90 bytes each; what does not fit is counted
  std::vector<exporter> exporters = default_exporters();
  std::function<void(session_report const&)> on_close = {};  ///< called once, also by the destructor, which ignores what it throws
};

namespace detail {

/// Makes the folder if need be, and a file in it, which is removed again.
/// @param kind, name  of what writes there: "session". The name is part of names of files.
/// @throws io_error naming the folder and what the system said, parameter_error for a name that cannot be one of a file.
inline void require_writable(std::filesystem::path const& folder, std::string const& kind, std::string const& name) {
  require(!name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos,
          [&] { return kind + ": '" + name + "' is no name of a file"; });
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  auto const where = [&] { return kind + " '" + name + "': the folder '" + folder.string() + "' "; };
  require<io_error>(!code, [&] { return where() + "cannot be made: " + code.message(); });
  try {
    output_file const probe(folder / "probe");
  } catch (io_error const& e) {
    throw io_error(where() + "cannot be written: " + e.what(), source_location::current());
  }
}

}  // namespace detail

/// `session s("profiles", "training");` records what scopes, samples and instrument::tracing(s.trace()) write to it, until close() or its end writes files:
/// "<name>.trace.json", "<name>.components.txt", "<name>.heap_peak.pb" and what other exporters make. Each replaces an older one, when it is complete.
class session {
 public:
  /// @param directory  is made if need be.
  /// @param name       that of the files: not empty, no folder.
  /// @throws io_error when the folder cannot be made or written to, parameter_error for a name that cannot be one, or no room for events.
  explicit session(std::filesystem::path directory, std::string name = "profile", session_options options = {})
      : directory_(checked(std::move(directory), name)), options_(std::move(options)), trace_(options_.events) {
    report_.name = std::move(name);
    require(options_.events > 0, [] { return "session: events is 0, so nothing could be recorded"; });
  }
  ~session() {
    if (!closed_) try { finish(true); } catch (...) {}  // a destructor has no one to tell but on_close
  }
  session(session const&) = delete;
  session& operator=(session const&) = delete;

  instrument::trace_buffer& trace() noexcept { return trace_; }
  operator sink() noexcept { return trace_; }

  /// Writes the files and says what there is to say; nobody may record any more. The second time it only says it again.
  /// @throws io_error when a file cannot be written.
  session_report const& close() {
    if (!closed_) finish(false);
    return report_;
  }
  std::filesystem::path const& directory() const noexcept { return directory_; }
  /// What is wrong so far: nothing recorded, events dropped.
  std::vector<std::string> warnings() const {
    if (closed_) return report_.warnings;
    std::vector<std::string> list;
    auto const events = trace_.events().size();
    if (events == 0) list.push_back("session '" + report_.name + "': nothing was recorded");
    if (auto const lost = trace_.dropped(); lost > 0)
      list.push_back("session '" + report_.name + "': " + std::to_string(lost) + " events were dropped, " + std::to_string(events) +
                     " kept; there is room for " + std::to_string(trace_.capacity()));
    return list;
  }

 private:
  static std::filesystem::path checked(std::filesystem::path directory, std::string const& name) {
    detail::require_writable(directory, "session", name);
    return directory;
  }

  /// @param forgive  failures become warnings.
  void finish(bool forgive) {
    trace_.finish();
    auto warnings = this->warnings();
    closed_ = true;
    report_.warnings = std::move(warnings);
    report_.events = trace_.events().size(), report_.dropped = trace_.dropped();
    for (auto const& make : options_.exporters) {
      try {
        for (auto const& file : make(trace_, report_.name)) write(file);
      } catch (std::exception const& e) {
        if (!forgive) throw;
        report_.warnings.emplace_back(e.what());
      }
    }
    if (options_.on_close) options_.on_close(report_);
  }
  void write(exported_file const& file) {
    bool const inside = file.name.is_relative() && std::find(file.name.begin(), file.name.end(), "..") == file.name.end();
    require(inside, [&] { return "session: an exporter named the file '" + file.name.string() + "', which does not lie in the session's folder"; });
    auto const path = directory_ / file.name;
    std::error_code ignored;  // the file says it
    std::filesystem::create_directories(path.parent_path(), ignored);
    output_file out(path);
    out.write(file.bytes);
    out.commit();
    report_.files.push_back(path);
  }

  std::filesystem::path directory_;
  session_options options_;
  instrument::trace_buffer trace_;
  session_report report_;
  bool closed_ = false;
};

}  // namespace mbirk::profile
