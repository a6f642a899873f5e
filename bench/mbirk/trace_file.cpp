#include "trace_file.hpp"

#include <zlib.h>

#include <nlohmann/json.hpp>
#include <string>

#include "mbirk/io/output_file.hpp"

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

}  // namespace

void write_trace(std::filesystem::path const& path, instrument::trace_buffer const& trace) {
  using json = nlohmann::json;
  json events = json::array();
  events.push_back({{"ph", "M"}, {"pid", 1}, {"name", "process_name"}, {"args", {{"name", "mbirk"}}}});
  events.push_back({{"ph", "M"}, {"pid", 1}, {"tid", 1}, {"name", "thread_name"}, {"args", {{"name", "operations"}}}});
  for (auto const& e : trace.events()) {
    double const begin = static_cast<double>(e.begin) * 1e-3, length = static_cast<double>(e.end - e.begin) * 1e-3;  // microseconds
    if (e.kind == instrument::event_kind::memory) {
      events.push_back({{"ph", "C"}, {"pid", 1}, {"ts", begin}, {"name", "live bytes"}, {"args", {{"bytes", e.value}}}});
    } else {
      bool const operation = e.kind == instrument::event_kind::operation;
      json event{{"ph", "X"}, {"pid", 1}, {"tid", 1}, {"ts", begin}, {"dur", length}, {"name", e.name}, {"cat", operation ? "operation" : "stage"}};
      if (operation) event["args"] = {{"items", e.value}};
      events.push_back(event);
    }
  }
  json const whole{{"traceEvents", events}, {"displayTimeUnit", "ms"}, {"otherData", {{"dropped events", trace.dropped()}}}};
  output_file out(path);
  auto const text = whole.dump();
  out.write(path.extension() == ".gz" ? gzip(text) : text);
  out.commit();
}

}  // namespace mbirk::program
