#include "trace_file.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "mbirk/io/output_file.hpp"
#include "mbirk/profile/heap.hpp"

namespace mbirk::program {
namespace {

std::string gzip(std::string const& text) {
  z_stream stream{};
  constexpr int gzip_window = 15 + 16;
  require<error>(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY) == Z_OK, [] { return "zlib cannot start"; });
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

/// Nanoseconds as microseconds with three decimals, exactly: a double would print 2214.7690000000002.
std::string microseconds(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

}  // namespace

void write_trace(std::filesystem::path const& path, instrument::trace_buffer const& trace) {
  using json = nlohmann::json;
  std::string text = R"({"displayTimeUnit":"ms","otherData":{"dropped events":)" + std::to_string(trace.dropped()) + R"(},"traceEvents":[
{"ph":"M","pid":1,"name":"process_name","args":{"name":"mbirk"}},
{"ph":"M","pid":1,"tid":1,"name":"thread_name","args":{"name":"operations"}})";
  for (auto const& e : trace.events()) {
    auto const name = json(e.name).dump(), begin = microseconds(e.begin);
    if (e.kind == instrument::event_kind::memory) {
      text += fmt::format(",\n{{\"ph\":\"C\",\"pid\":1,\"ts\":{},\"name\":\"live bytes\",\"args\":{{\"bytes\":{}}}}}", begin, e.value);
      continue;
    }
    bool const operation = e.kind == instrument::event_kind::operation;
    text += fmt::format(",\n{{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":{},\"dur\":{},\"name\":{},\"cat\":\"{}\"{}}}", begin, microseconds(e.end - e.begin), name,
                        operation ? "operation" : "stage", operation ? fmt::format(",\"args\":{{\"items\":{}}}", e.value) : "");
  }
  text += "]}\n";
  output_file out(path);
  out.write(path.extension() == ".gz" ? gzip(text) : text);
  out.commit();
}

void write_heaps(std::filesystem::path const& folder, std::string const& name, instrument::trace_buffer const& trace, std::int64_t begin, std::int64_t end) {
  auto const now = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  auto const write = [&](char const* when, profile::heap_snapshot const& heap) {
    output_file out(folder / (name + '_' + when + ".pb"));
    out.write(profile::to_pprof(heap, now));
    out.commit();
  };
  profile::heap_history const history(trace);
  write("before", history.at(begin));
  write("peak", history.peak(begin, end));
  write("after", history.at(end));
}

}  // namespace mbirk::program
