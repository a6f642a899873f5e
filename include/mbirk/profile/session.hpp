// A profiling session: a trace of bounded size that is written to files in a folder when it is closed.
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

/// Result of a session.
struct session_report {
  std::string name;
  std::uint64_t events = 0, dropped = 0;
  std::vector<std::filesystem::path> files;
  /// Nothing recorded, or events dropped; after destruction without close() also errors.
  std::vector<std::string> warnings;
};

struct session_options {
  std::size_t events = 100'000;  ///< capacity, about 90 bytes each; excess events are counted
  std::vector<exporter> exporters = default_exporters();
  /// Called once, also by the destructor, which ignores exceptions.
  std::function<void(session_report const&)> on_close = {};
};

namespace detail {

/// Makes the folder if necessary and checks that it is writable by creating and removing a file.
/// @param kind, name  of the writer, e.g. "session"; the name becomes part of file names.
/// @throws io_error with the folder and the system's message, parameter_error for a name that cannot be a file name.
inline void require_writable(std::filesystem::path const& folder, std::string const& kind, std::string const& name) {
  require(!name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos,
          [&] { return kind + ": '" + name + "' is not a file name"; });
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  auto const where = [&] { return kind + " '" + name + "': the folder '" + folder.string() + "' "; };
  require<io_error>(!code, [&] { return where() + "cannot be created: " + code.message(); });
  try {
    output_file const probe(folder / "probe");
  } catch (io_error const& e) {
    throw io_error(where() + "cannot be written: " + e.what(), source_location::current());
  }
}

}  // namespace detail

/// `session s("profiles", "training");` collects the events of scopes, samples and instrument::tracing(s.trace()).
/// close() or the destructor writes "<name>.trace.json", "<name>.components.txt", "<name>.heap_peak.pb" and the files
/// of other exporters. Each file replaces an older one only when it is complete.
class session {
 public:
  /// @param directory  made if necessary.
  /// @param name       name of the files: not empty, without folders.
  /// @throws io_error when the folder cannot be created or written to, parameter_error for an invalid name or a
  /// capacity of 0 events.
  explicit session(std::filesystem::path directory, std::string name = "profile", session_options options = {})
      : directory_(checked(std::move(directory), name)), options_(std::move(options)), trace_(options_.events) {
    report_.name = std::move(name);
    require(options_.events > 0, [] { return "session: events is 0, so nothing could be recorded"; });
  }
  ~session() {
    if (!closed_) try { finish(true); } catch (...) {}  // a destructor can report failures only through on_close
  }
  session(session const&) = delete;
  session& operator=(session const&) = delete;

  instrument::trace_buffer& trace() noexcept { return trace_; }
  operator sink() noexcept { return trace_; }

  /// Writes the files and returns the report; recording must have ended. Further calls only return the report.
  /// @throws io_error when a file cannot be written.
  session_report const& close() {
    if (!closed_) finish(false);
    return report_;
  }
  std::filesystem::path const& directory() const noexcept { return directory_; }
  /// Warnings so far: nothing recorded, events dropped.
  std::vector<std::string> warnings() const {
    if (closed_) return report_.warnings;
    std::vector<std::string> list;
    auto const events = trace_.events().size();
    if (events == 0) list.push_back("session '" + report_.name + "': nothing was recorded");
    if (auto const lost = trace_.dropped(); lost > 0)
      list.push_back("session '" + report_.name + "': " + std::to_string(lost) + " events were dropped, " +
                     std::to_string(events) + " kept; there is room for " + std::to_string(trace_.capacity()));
    return list;
  }

 private:
  static std::filesystem::path checked(std::filesystem::path directory, std::string const& name) {
    detail::require_writable(directory, "session", name);
    return directory;
  }

  /// @param forgive  turns failures into warnings.
  void finish(bool forgive) {
    trace_.finish();
    auto warnings = this->warnings();
    closed_ = true;
    report_.warnings = std::move(warnings);
    report_.events = trace_.events().size();
    report_.dropped = trace_.dropped();
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
    bool const inside =
        file.name.is_relative() && std::find(file.name.begin(), file.name.end(), "..") == file.name.end();
    require(inside, [&] {
      return "session: an exporter named the file '" + file.name.string() +
             "', which is outside the session's folder";
    });
    auto const path = directory_ / file.name;
    std::error_code ignored;  // opening the file reports the problem
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
