#include "output/trace_file.hpp"

#include <zlib.h>

#include <chrono>
#include <string>

#include "mbirk/io/output_file.hpp"
#include "mbirk/profile/lifetimes.hpp"

namespace mbirk::program {
namespace {

std::string gzip(std::string const& text) {
  z_stream stream{};
  constexpr int gzip_window = 15 + 16;
  require<error>(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY) == Z_OK,
                 [] { return "zlib cannot start"; });
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  int const status = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  require<error>(status == Z_STREAM_END, [] { return "zlib cannot compress the trace"; });
  return out;
}

}  // namespace

profile::chrome_options trace_options(char const* command, chosen_policy const& policy) {
  auto const environment = policy.environment();
  profile::chrome_options options{.process = command, .devices = {}};
  for (auto const& name : environment["devices"])
    options.devices.push_back(policy.name() + ": " + name.get<std::string>());
  options.about = {{"policy", policy.name()},
                   {"cpu", cpu_name()},
                   {"threads", environment["threads"].dump()},
                   {"compiler", environment["compiler"]}};
  return options;
}

void write_trace(std::filesystem::path const& path, instrument::trace_buffer const& trace,
                 profile::chrome_options const& options) {
  write_trace_text(path, profile::to_chrome_trace(trace, options));
}

void write_trace_text(std::filesystem::path const& path, std::string const& text) {
  output_file out(path, durability::unsynced);
  out.write(path.extension() == ".gz" ? gzip(text) : text);
  out.commit();
}

nlohmann::json write_memory(std::filesystem::path const& folder, std::string const& name,
                            instrument::trace_buffer const& trace, std::int64_t begin, std::int64_t end) {
  auto const now =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  auto const write = [&](char const* what, std::string const& text) {
    output_file out(folder / (name + '_' + what), durability::unsynced);
    out.write(text);
    out.commit();
  };
  profile::heap_history const history(trace);
  write("before.pb", profile::to_pprof(history.at(begin), now));
  write("peak.pb", profile::to_pprof(history.peak(begin, end), now));
  write("after.pb", profile::to_pprof(history.at(end), now));

  auto const table = profile::lifetimes(history, begin, end);
  write("lifetimes.txt", profile::to_text(table));
  auto const seconds = [](std::int64_t ns) { return 1e-9 * static_cast<double>(ns); };
  auto rows = nlohmann::json::array();
  for (auto const& r : table.rows)
    rows.push_back({{"stack", r.stack},
                    {"arrays", r.arrays},
                    {"bytes", r.bytes},
                    {"largest", r.largest},
                    {"first", seconds(r.first - begin)},
                    {"last", seconds(r.last - begin)},
                    {"longest", seconds(r.longest)},
                    {"lived", seconds(r.lived)},
                    {"at peak", r.at_peak},
                    {"share of peak", r.share},
                    {"never released", r.unreleased}});
  return {{"peak", table.peak_bytes}, {"peak time", seconds(table.peak_time - begin)}, {"time", seconds(end - begin)},
          {"dropped trace events", table.dropped}, {"arrays", rows}};
}

}  // namespace mbirk::program
