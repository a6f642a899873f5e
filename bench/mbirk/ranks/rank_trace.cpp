#include "ranks/rank_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "machine/memory.hpp"
#include "mbirk/distributed/agreement.hpp"
#include "mbirk/distributed/clock_shift.hpp"
#include "mbirk/io/output_file.hpp"
#include "mbirk/profile/chrome_trace.hpp"
#include "mbirk/profile/session.hpp"
#include "mbirk/profile/xplane.hpp"
#include "operations/policy.hpp"
#include "output/trace_file.hpp"
#include "process/streams.hpp"

namespace mbirk::program {
namespace {

using json = nlohmann::json;

std::span<std::byte> bytes_of(std::int64_t& number) { return std::as_writable_bytes(std::span(&number, 1)); }

/// Seconds from the first event to the last.
double seconds_of(instrument::trace_buffer const& trace) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = 0;
  for (auto const& e : trace.events()) {
    first = std::min(first, e.begin);
    last = std::max(last, e.end);
  }
  return 1e-9 * static_cast<double>(std::max<std::int64_t>(0, last - first));
}

json summary_of(rank_messages const& ranks, instrument::trace_buffer const& trace,
                distributed::traffic_ledger const& traffic) {
  json of_rank{{"rank", ranks.rank()},
               {"seconds", seconds_of(trace)},
               {"seconds of messages", 1e-9 * static_cast<double>(ranks.nanoseconds())},
               {"peak bytes of temporaries", peak_between(trace, 0, trace.now())},
               {"dropped events", trace.dropped()}};
  of_rank.update(to_json(traffic));
  return of_rank;
}

void print_table(json const& all) {
  say("{:>5} {:>10} {:>12} {:>10} {:>12} {:>16}\n", "rank", "seconds", "in messages", "messages", "sent",
      "temporaries");
  for (auto const& r : all)
    say("{:>5} {:>10.3f} {:>12.3f} {:>10} {:>12} {:>16}\n", r["rank"].get<int>(), r["seconds"].get<double>(),
        r["seconds of messages"].get<double>(), r["messages"].get<index_t>(),
        bytes_text(r["bytes"].get<double>()), bytes_text(r["peak bytes of temporaries"].get<double>()));
}

void write_file(std::filesystem::path const& path, std::string const& bytes) {
  std::filesystem::create_directories(path.parent_path());
  output_file out(path, durability::unsynced);
  out.write(bytes);
  out.commit();
}

}  // namespace

std::vector<std::string> gather_texts(distributed::mpi const& ranks, std::string text) {
  auto const sizes = distributed::gather_number(ranks, "trace", std::ssize(text));
  std::vector<std::string> all;
  if (ranks.rank() > 0) {
    ranks.send("trace", std::as_bytes(std::span(text)), 0);
    return all;
  }
  all.push_back(std::move(text));
  for (int r = 1; r < ranks.size(); ++r) {
    auto& theirs = all.emplace_back(static_cast<std::size_t>(sizes[static_cast<std::size_t>(r)]), '\0');
    ranks.receive("trace", std::as_writable_bytes(std::span(theirs)), r);
  }
  return all;
}

json to_json(distributed::traffic_ledger const& traffic) {
  json of_what = json::object();
  distributed::traffic sum;
  for (auto const& [what, sent] : traffic) {
    of_what[what] = {{"messages", sent.messages}, {"bytes", sent.bytes}};
    sum.messages += sent.messages;
    sum.bytes += sent.bytes;
  }
  return {{"messages", sum.messages}, {"bytes", sum.bytes}, {"sent", of_what}};
}

index_t peak_between(instrument::trace_buffer const& trace, std::int64_t begin, std::int64_t end) {
  index_t before = 0, most = 0;
  for (auto const& e : trace.events()) {
    if (e.kind != instrument::event_kind::memory || e.end > end) continue;
    if (e.begin < begin) before = e.value;
    else most = std::max(most, e.value);
  }
  return std::max(before, most);
}

rank_trace::rank_trace(bool traced, distributed::mpi const& ranks, bool has_clock_of_root)
    : ranks_(ranks),
      has_clock_of_root_(has_clock_of_root),
      buffer_(traced ? std::make_unique<instrument::trace_buffer>(events) : nullptr),
      counted_(ranks, traffic_),
      messages_(counted_, buffer_.get()) {}

std::int64_t rank_trace::shift() {
  if (shift_) return *shift_;
  auto const& trace = *buffer_;
  // Ranks on the machine of rank 0 have its clock, so that only the origins of their traces differ.
  auto const origin = [&] {
    auto const now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count() - trace.now();
  };
  std::int64_t origin_of_root = origin();
  ranks_.broadcast("clock", bytes_of(origin_of_root), 0);
  auto const compared = distributed::clock_shift(ranks_, [&] { return trace.now(); });
  shift_ = ranks_.rank() == 0 ? 0 : has_clock_of_root_ ? origin() - origin_of_root : compared;
  return *shift_;
}

void rank_trace::write(std::filesystem::path const& folder) {
  auto const& trace = *buffer_;
  int const rank = ranks_.rank();
  std::int64_t unix_now = profile::detail::unix_nanoseconds() - trace.now();
  ranks_.broadcast("clock", bytes_of(unix_now), 0);
  auto const later = shift();
  std::string timeline, xplane;
  distributed::agree(ranks_, [&] {
    buffer_->finish();
    profile::chrome_options options{.process = fmt::format("rank {} of {}", rank, ranks_.size()),
                                    .process_id = rank + 1,
                                    .device_process_id = 1000 * (rank + 1),
                                    .shift = later,
                                    .devices = {fmt::format("device of rank {}", rank)}};
    options.about = {{"ranks", std::to_string(ranks_.size())}, {"cpu", cpu_name()}};
    timeline = profile::to_chrome_trace(trace, options);
    xplane = profile::to_xspace(trace, {}, {}, {.unix_nanoseconds = unix_now + later});
  });
  auto const timelines = gather_texts(ranks_, std::move(timeline)), xplanes = gather_texts(ranks_, std::move(xplane));
  distributed::agree(ranks_, [&] {
    if (rank > 0) return;
    std::filesystem::create_directories(folder);
    write_trace_text(folder / "trace.perfetto.json.gz", profile::merge_chrome_traces(timelines));
    auto const session = folder / "plugins" / "profile" / fmt::format("ranks_{}", unix_now);
    for (std::size_t r = 0; r < xplanes.size(); ++r)
      write_file(session / fmt::format("rank_{}.xplane.pb", r), xplanes[r]);
  });
}

void rank_trace::write_summary(std::filesystem::path const& folder, bool quiet) {
  std::string summary;
  distributed::agree(ranks_, [&] { summary = summary_of(messages_, *buffer_, traffic_).dump(); });
  auto const summaries = gather_texts(ranks_, std::move(summary));
  distributed::agree(ranks_, [&] {
    if (ranks_.rank() > 0) return;
    json all = json::array();
    for (auto const& text : summaries) all.push_back(json::parse(text));
    write_file(folder / "ranks.json", all.dump(1) + '\n');
    if (quiet) return;
    print_table(all);
    say("timeline of all ranks: {}\n", (folder / "trace.perfetto.json.gz").string());
  });
}

}  // namespace mbirk::program
