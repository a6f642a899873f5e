#include "input/mbirjax_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <regex>
#include <set>

#include "mbirk/core/error.hpp"
#include "mbirk/io/folder.hpp"
#include "mbirk/io/input_file.hpp"
#include "operations/common_options.hpp"
#include "operations/profile_problem.hpp"
#if defined(MBIRK_WITH_PROTOZERO)
#include <protozero/pbf_reader.hpp>
#endif

namespace mbirk::program {

namespace fs = std::filesystem;

#if defined(MBIRK_WITH_PROTOZERO)
namespace {

using message = protozero::pbf_reader;

/// A span in picoseconds of the clock that all lines of a file share.
struct span {
  std::int64_t begin, end;
  std::string const* name;
};
struct line {
  std::string name;
  std::vector<span> spans;
};
struct plane {
  std::string name, model;  ///< model: the name of the device, if the file has it
  std::map<std::int64_t, std::string> names;
  std::vector<line> lines;
};

/// An entry of a map: the name of a metadata message, by its key.
void read_name(message entry, std::map<std::int64_t, std::string>& names) {
  std::int64_t key = 0;
  std::string name;
  while (entry.next())
    if (entry.tag() == 1) key = entry.get_int64();
    else if (entry.tag() == 2) {
      auto of = entry.get_message();
      while (of.next())
        if (of.tag() == 2) name = of.get_string();
        else of.skip();
    } else entry.skip();
  names[key] = name;
}

line read_line(message in, std::map<std::int64_t, std::string> const& names) {
  line out;
  std::int64_t begin = 0;
  std::vector<std::array<std::int64_t, 3>> events;  // metadata, offset, duration
  while (in.next()) switch (in.tag()) {
      case 2: out.name = in.get_string(); break;
      case 3: begin = in.get_int64() * 1000; break;
      case 4: {
        auto event = in.get_message();
        std::array<std::int64_t, 3> e{};
        while (event.next())
          if (event.tag() >= 1 && event.tag() <= 3) e[event.tag() - 1] = event.get_int64();
          else event.skip();
        events.push_back(e);
        break;
      }
      default: in.skip();
    }
  for (auto const& [id, offset, duration] : events)
    if (auto const name = names.find(id); name != names.end() && duration >= 0)
      out.spans.push_back({begin + offset, begin + offset + duration, &name->second});
  return out;
}

/// Lines refer to names that may come after them, so they are read last.
plane read_plane(message in) {
  plane p;
  std::vector<message> lines, stats;
  std::map<std::int64_t, std::string> stat_names;
  while (in.next()) switch (in.tag()) {
      case 2: p.name = in.get_string(); break;
      case 3: lines.push_back(in.get_message()); break;
      case 4: read_name(in.get_message(), p.names); break;
      case 5: read_name(in.get_message(), stat_names); break;
      case 6: stats.push_back(in.get_message()); break;
      default: in.skip();
    }
  for (auto& stat : stats) {
    std::int64_t id = 0;
    std::string text;
    while (stat.next())
      if (stat.tag() == 1) id = stat.get_int64();
      else if (stat.tag() == 5) text = stat.get_string();
      else stat.skip();
    auto const name = stat_names.find(id);
    if (name != stat_names.end() &&
        (name->second.find("device") != std::string::npos || name->second.find("gpu_model") != std::string::npos) &&
        text.size() > p.model.size())
      p.model = text;
  }
  for (auto const& l : lines) p.lines.push_back(read_line(l, p.names));
  return p;
}

/// The time covered by spans in a window, each instant once.
std::int64_t covered(std::vector<span> const& sorted, std::int64_t begin, std::int64_t end) {
  std::int64_t sum = 0, reached = begin;
  for (auto const& s : sorted) {
    if (s.begin >= end) break;
    auto const from = std::max(reached, s.begin), to = std::min(s.end, end);
    if (to > from) {
      sum += to - from;
      reached = to;
    }
  }
  return sum;
}

/// The operation and size of a name such as "jit_parallel_back_project_v64(123)"; the size is 0 if it has none.
struct named_call {
  std::string operation;
  index_t size = 0;
};
std::optional<named_call> call_of(std::string const& name, std::set<std::string> const& known) {
  static std::regex const pattern("(?:jit_)?([a-z0-9_]*[a-z3d])(?:_v([0-9]{1,5}))?(?:\\(.*\\))?");
  std::smatch m;
  if (!std::regex_match(name, m, pattern) || !known.contains(m[1].str())) return std::nullopt;
  return named_call{m[1].str(), m[2].matched ? std::stol(m[2].str()) : 0};
}

index_t size_in(fs::path const& file) {
  static std::regex const volume("vol([0-9]{1,5})");
  std::smatch m;
  for (auto const& part : file) {
    auto const text = part.string();
    if (std::regex_match(text, m, volume)) return std::stol(m[1].str());
  }
  return 0;
}

}  // namespace

std::vector<mbirjax_time> mbirjax_times(std::string const& bytes, fs::path const& file) {
  std::vector<plane> planes;
  try {
    message space(bytes);
    while (space.next())
      if (space.tag() == 1) planes.push_back(read_plane(space.get_message()));
      else space.skip();
  } catch (protozero::exception const& e) {
    throw io_error(file.string() + " is damaged: " + e.what() + ", expected an XSpace of jax.profiler",
                   source_location::current());
  }
  std::set<std::string> known;
  for (auto const& entry : profile_entries()) known.insert(entry.name);
  std::vector<span> kernels;
  std::string device;
  std::vector<std::pair<named_call, span>> calls;
  bool on_device = false;
  for (auto const& p : planes) {
    bool const gpu = p.name.starts_with("/device:GPU");
    if (gpu) device = p.model.empty() ? p.name : p.model;
    for (auto const& l : p.lines)
      for (auto const& s : l.spans) {
        // Lines of streams hold kernels; the others repeat them by module, operation and scope.
        if (gpu && l.name.starts_with("Stream")) kernels.push_back(s);
        if (auto const call = call_of(*s.name, known)) {
          on_device = on_device || gpu;
          calls.emplace_back(*call, s);
        }
      }
  }
  require<io_error>(!planes.empty(),
                    [&] { return file.string() + " has no plane, expected an XSpace of jax.profiler"; });
  require<io_error>(!device.empty(), [&] {
    return file.string() + " has no GPU, expected a plane /device:GPU:0 of a run of MBIRJAX on one";
  });
  require<io_error>(!calls.empty(), [&] {
    return file.string() + " is of another program: it names no operation, expected ranges such as " + *known.begin();
  });
  std::sort(kernels.begin(), kernels.end(), [](auto const& a, auto const& b) { return a.begin < b.begin; });
  std::map<std::pair<std::string, index_t>, std::vector<std::pair<std::int64_t, double>>> times;  // begin, seconds
  for (auto const& [call, s] : calls) {
    auto const size = call.size > 0 ? call.size : size_in(file);
    require<io_error>(size > 0, [&] {
      return file.string() + " says no size of " + call.operation + ", expected a name such as " + call.operation +
             "_v64 or a folder vol64";
    });
    if (double const seconds = 1e-12 * static_cast<double>(covered(kernels, s.begin, s.end)); seconds > 0)
      times[{call.operation, size}].emplace_back(s.begin, seconds);
  }
  std::vector<mbirjax_time> out;
  for (auto& [key, list] : times) {
    std::sort(list.begin(), list.end());
    if (list.size() > 1) list.erase(list.begin());
    std::vector<double> seconds;
    for (auto const& [begin, time] : list) seconds.push_back(time);
    std::sort(seconds.begin(), seconds.end());
    out.push_back({key.first, device, key.second, seconds[seconds.size() / 2], std::ssize(seconds), file.string()});
  }
  require<io_error>(!out.empty(), [&] {
    return file.string() + " has no kernel of " + device + " within an operation, expected lines Stream with kernels";
  });
  return out;
}
#else
std::vector<mbirjax_time> mbirjax_times(std::string const&, fs::path const&) {
  throw unavailable_error("profiles of JAX are not read: this program was built without protozero",
                          source_location::current());
}
#endif

std::vector<mbirjax_time> read_mbirjax_profile(fs::path const& path) {
  std::vector<fs::path> files;
  std::error_code failed;
  if (fs::is_directory(path, failed)) {
    for (auto& file : mbirk::detail::paths_below(path, fs::file_type::regular))
      if (file.string().ends_with(".xplane.pb")) files.push_back(std::move(file));
  } else {
    files.push_back(path);
  }
  require<io_error>(!files.empty(), [&] {
    return path.string() + " has no *.xplane.pb below it, expected a folder of jax.profiler.trace";
  });
  std::sort(files.begin(), files.end());
  std::vector<mbirjax_time> all;
  for (auto const& file : files)
    for (auto& one : mbirjax_times(mbirk::detail::read_text(file), file)) all.push_back(std::move(one));
  return all;
}

}  // namespace mbirk::program
