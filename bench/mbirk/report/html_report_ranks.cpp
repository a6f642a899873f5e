// The sections about runs of mbirk-mpi: what several ranks gain, and what their messages take.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "input/json_field.hpp"
#include "report/html_report_plot.hpp"
#include "report/html_report_sections.hpp"
#include "report/html_report_table.hpp"

namespace mbirk::program::report {
namespace {

/// Ranks that the timeline shows.
constexpr std::size_t lanes = 32;

struct message_span {
  std::string name;
  double begin, end;
};
struct sent_data {
  index_t messages = 0, bytes = 0;
};
/// The record that a rank has of a call.
struct rank_record {
  index_t rank;
  double seconds, in_messages;
  std::optional<double> median;  ///< of timed calls
  index_t messages, bytes, temporaries;
  std::map<std::string, sent_data> sent;
  double begin = 0, end = 0;
  std::vector<message_span> timeline;
};
struct rank_result {
  std::string operation;
  index_t size;
  double in_messages;  ///< share of the traced call
  std::optional<double> alone, speed_up, efficiency, model, difference;
  std::vector<rank_record> ranks;

  template <class Member> double most(Member member) const {
    double found = 0;
    for (auto const& r : ranks) found = std::max(found, static_cast<double>(r.*member));
    return found;
  }
};
struct ranks_of_run {
  index_t count;
  std::optional<double> latency, bandwidth;
  std::vector<rank_result> results;
  std::vector<std::string> left_out;
};

std::optional<double> optional_number(json_field const& from, std::string const& key) {
  if (!from.has(key) || from.at(key, "").value().is_null()) return {};
  return from.at(key, "").number();
}

rank_record read_record(json_field const& from) {
  rank_record r{.rank = from.at("rank", "a whole number").integer(),
                .seconds = from.at("seconds", "seconds").number(),
                .in_messages = from.at("seconds of messages", "seconds").number(),
                .median = optional_number(from, "median"),
                .messages = from.at("messages", "a whole number").integer(),
                .bytes = from.at("bytes", "a whole number").integer(),
                .temporaries = from.at("peak bytes of temporaries", "a whole number").integer(),
                .sent = {},
                .timeline = {}};
  for (auto const& [what, of] : from.at("sent", "an object").members())
    r.sent[what] = {of.at("messages", "a whole number").integer(), of.at("bytes", "a whole number").integer()};
  return r;
}

void read_timeline(json_field const& from, rank_record& r) {
  r.begin = from.at("begin", "seconds").number();
  r.end = from.at("end", "seconds").number();
  for (auto const& m : from.at("messages", "an array of spans").elements("an array of spans")) {
    message_span one{m.at("name", "a name").text(), m.at("begin", "seconds").number(), m.at("end", "seconds").number()};
    if (!(one.end >= one.begin)) m.wrong("begin <= end");
    r.timeline.push_back(std::move(one));
  }
}

rank_result read_result(std::string const& operation, index_t size, json_field const& from) {
  rank_result r{.operation = operation,
                .size = size,
                .in_messages = from.at("share of messages", "a share").number(),
                .alone = {},
                .speed_up = optional_number(from, "speed-up"),
                .efficiency = optional_number(from, "efficiency"),
                .model = {},
                .difference = optional_number(from, "difference"),
                .ranks = {}};
  if (from.has("alone") && !from.at("alone", "").at("disturbed", "true or false").boolean())
    r.alone = from.at("alone", "").at("time", "seconds").number();
  if (from.has("model")) r.model = from.at("model", "").at("efficiency", "a share").number();
  for (auto const& one : from.at("by rank", "an array of ranks").elements("an array of ranks"))
    r.ranks.push_back(read_record(one));
  auto const timelines = from.at("timeline", "an array of timelines").elements("an array of timelines");
  for (std::size_t k = 0; k < std::min(timelines.size(), r.ranks.size()); ++k) read_timeline(timelines[k], r.ranks[k]);
  return r;
}

ranks_of_run read_ranks(profile const& p, nlohmann::json const& run) {
  auto const from = json_field(run, p.file).at("ranks", "an object");
  ranks_of_run all{.count = from.at("count", "a whole number").integer(),
                   .latency = {},
                   .bandwidth = {},
                   .results = {},
                   .left_out = {}};
  if (all.count < 1) from.at("count", "").wrong("1 or more");
  if (from.has("network")) {
    auto const network = from.at("network", "");
    all.latency = network.at("latency", "seconds").number();
    all.bandwidth = network.at("bytes per second", "a rate").number();
  }
  for (auto const& one : from.at("left out", "an array").elements())
    all.left_out.push_back(fmt::format("{} at {}: {}", one.at("operation", "a string").text(),
                                       one.at("volume_size", "a whole number").integer(),
                                       one.at("reason", "a string").text()));
  if (!from.has("operations")) return all;
  for (auto const& [size, operations] : from.at("operations", "").members()) {
    auto const n = whole_number(size);
    if (!n) operations.wrong("a size as its name");
    for (auto const& [name, result] : operations.members()) all.results.push_back(read_result(name, *n, result));
  }
  return all;
}

timing const* time_of(profile const& p, rank_result const& r) {
  for (auto const& op : p.operations)
    if (op.name == r.operation)
      if (auto const at = op.times.find(r.size); at != op.times.end()) return &at->second;
  return nullptr;
}

std::string bytes_cell(double bytes) { return number_cell(bytes, bytes_text(bytes)); }
std::string whole_cell(index_t n) { return number_cell(static_cast<double>(n), std::to_string(n)); }
std::string optional_text(std::optional<double> x, char const* format) {
  return x ? fmt::format(fmt::runtime(format), *x) : "";
}
std::string share_cell(std::optional<double> x) { return number_cell(x, x ? percent(*x) : ""); }

/// The result at the largest size whose operation takes longest; null if there is none.
rank_result const* slowest(profile const& p, ranks_of_run const& all, bool with_messages) {
  rank_result const* found = nullptr;
  double longest = 0;
  for (auto const& r : all.results) {
    if (r.size != p.largest || (with_messages && r.most(&rank_record::messages) == 0)) continue;
    auto const* t = time_of(p, r);
    if (!t || t->best_guess() <= longest) continue;
    longest = t->best_guess();
    found = &r;
  }
  return found;
}

/// A sentence about the gain that is missing.
std::string loss_sentence(ranks_of_run const& all, rank_result const& r) {
  if (all.count == 1 || *r.efficiency > 0.98) return "";
  return fmt::format(
      "<p>Messages take {} of its traced call, waiting for other ranks included. What else is missing goes into work "
      "that sharing does not make less, such as what every rank plans, and into memory and caches that ranks "
      "share.</p>",
      percent(r.in_messages));
}

std::string answer_of(profile const& p, ranks_of_run const& all) {
  std::string out = "<section class=\"answer\" aria-label=\"Summary\">";
  if (!p.disturbed.empty()) out += "<p class=\"lead no\">" + escaped(p.disturbed) + ".</p>";
  auto const* r = slowest(p, all, false);
  if (!r) {
    out += "<p class=\"lead\">Nothing was timed.</p>";
  } else {
    auto const* t = time_of(p, *r);
    out += fmt::format("<p class=\"lead\"><b>{}</b> takes the most time: {} at size {} by {} {}", escaped(r->operation),
                       seconds_text(t->best_guess()), r->size, all.count, all.count == 1 ? "rank" : "ranks");
    if (r->efficiency)
      out += fmt::format(", {:.2f} times as fast as one of them alone: {} of what {} can gain", *r->speed_up,
                         percent(*r->efficiency), all.count);
    out += ".</p>";
    if (r->efficiency) out += loss_sentence(all, *r);
  }
  if (all.latency)
    out += fmt::format("<p>Between these ranks a step of a message to all takes {}, and a rank sends {}B/s.</p>",
                       seconds_text(*all.latency), rate_text(*all.bandwidth));
  if (!p.failures.empty())
    out += fmt::format("<p><span class=\"no\">{} failed</span>; see <a href=\"#notes\">the notes</a>.</p>",
                       p.failures.size());
  return out + "</section>\n";
}

std::string table_of(profile const& p, ranks_of_run const& all) {
  table t("t-ranks", "Operations by all ranks and by one",
          {{"operation", true},
           {"N"},
           {"time", false, "median; of the slowest rank, of iterations that of rank 0"},
           {"one rank", false, "median of rank 0 alone, with its threads"},
           {"speed-up"},
           {"efficiency", false, "speed-up over the number of ranks"},
           {"model", false, "efficiency that mbirk estimate predicts for this network"},
           {"in messages", false, "share of the traced call, waiting included, on average over the ranks"},
           {"messages", false, "of the rank with most, in one call"},
           {"sent", false, "by the rank that sends most, in one call"},
           {"temporaries", false, "highest memory of the rank with most"},
           {"difference", false, "largest difference between the results of all ranks and of one, over the peak"}});
  for (auto const& r : all.results) {
    auto const* time = time_of(p, r);
    bool const trusted = time && time->trusted();
    t.row({text_cell(r.operation), whole_cell(r.size),
           trusted ? number_cell(time->median, seconds_text(time->median)) : text_cell("disturbed"),
           number_cell(r.alone, r.alone ? seconds_text(*r.alone) : ""),
           number_cell(r.speed_up, optional_text(r.speed_up, "{:.2f}")), share_cell(r.efficiency), share_cell(r.model),
           share_cell(r.in_messages), number_cell(r.most(&rank_record::messages),
                                                  fmt::format("{:.0f}", r.most(&rank_record::messages))),
           bytes_cell(r.most(&rank_record::bytes)), bytes_cell(r.most(&rank_record::temporaries)),
           number_cell(r.difference, r.difference == 0.0 ? "0" : optional_text(r.difference, "{:.1e}"))});
  }
  return "<section id=\"ranks\"><h2>All ranks, and one</h2><p class=\"note\">Iterations of VCD have 128 subsets; the "
         "other iterative operations take one iteration with few subsets, and prepare it.</p>" +
         t.html() + "</section>\n";
}

std::string timeline_of(profile const& p, ranks_of_run const& all) {
  std::string out = "<section id=\"timeline\"><h2>Timeline of the ranks</h2>";
  auto const* r = slowest(p, all, true);
  if (!r) return out + "<p>No operation of the largest size sends messages.</p></section>\n";
  auto const shown = std::min(r->ranks.size(), lanes);
  double first = r->ranks.front().begin, last = r->ranks.front().end;
  std::size_t messages = 0;
  for (std::size_t k = 0; k < shown; ++k) {
    first = std::min(first, r->ranks[k].begin);
    last = std::max(last, r->ranks[k].end);
    messages += r->ranks[k].timeline.size();
  }
  constexpr double width = 1080, left = 70, height = 22;
  double const scale = last > first ? (width - left) / (last - first) : 0;
  std::string body;
  for (std::size_t k = 0; k < shown; ++k) {
    auto const& rank = r->ranks[k];
    double const y = static_cast<double>(k) * (height + 4);
    auto const bar = [&](char const* css, double begin, double end, std::string const& hint) {
      body += fmt::format(
          "<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.0f}\" width=\"{:.2f}\" height=\"{:.0f}\"><title>{}</title></rect>",
          css, left + scale * (begin - first), y, std::max(0.5, scale * (end - begin)), height, escaped(hint));
    };
    body += fmt::format("<text class=\"lab\" x=\"0\" y=\"{:.0f}\">rank {}</text>", y + 15, rank.rank);
    bar("t0 span", rank.begin, rank.end, fmt::format("rank {}: {}", rank.rank, seconds_text(rank.end - rank.begin)));
    for (auto const& m : rank.timeline)
      bar("t1 span", m.begin, m.end, fmt::format("{}: {}, from {}", m.name, seconds_text(m.end - m.begin),
                                                 seconds_text(m.begin - first)));
  }
  return out +
         fmt::format("<p class=\"note\">The traced call of {} at size {}, {}: what the ranks compute, and over it "
                     "{} messages (the longest of each rank), with the time that they wait for others. The trace has "
                     "all.</p><div class=\"box\" role=\"region\" tabindex=\"0\" aria-label=\"Timeline of the ranks\">"
                     "<svg class=\"wide\" role=\"img\" aria-label=\"Timeline of {}\" viewBox=\"0 0 {:.0f} {:.0f}\">{}"
                     "</svg></div></section>\n",
                     escaped(r->operation), r->size, seconds_text(last - first), messages, escaped(r->operation), width,
                     static_cast<double>(shown) * (height + 4), body);
}

std::string messages_of(ranks_of_run const& all) {
  table data("t-messages", "Messages by operation and data",
             {{"operation", true},
              {"N"},
              {"data", true},
              {"messages", false, "of the rank with most"},
              {"sent", false, "by the rank that sends most of it"},
              {"sent by all"}});
  for (auto const& r : all.results) {
    std::map<std::string, std::pair<sent_data, index_t>> by_data;
    for (auto const& rank : r.ranks)
      for (auto const& [what, sent] : rank.sent) {
        auto& [most, sum] = by_data[what];
        most.messages = std::max(most.messages, sent.messages);
        most.bytes = std::max(most.bytes, sent.bytes);
        sum += sent.bytes;
      }
    for (auto const& [what, found] : by_data) {
      auto const& [most, sum] = found;
      data.row({text_cell(r.operation), whole_cell(r.size),
                text_cell(what), whole_cell(most.messages), bytes_cell(static_cast<double>(most.bytes)),
                bytes_cell(static_cast<double>(sum))});
    }
  }
  return "<section id=\"messages\"><h2>Messages by operation and data</h2><p class=\"note\">Of one call; bytes are "
         "those that a rank hands to MPI. The table in <code>docs/distributed.md</code> has the formulas.</p>" +
         data.html() + "</section>\n";
}

std::string records_of(ranks_of_run const& all) {
  table t("t-by-rank", "Operations by rank",
          {{"operation", true},
           {"N"},
           {"rank"},
           {"median", false, "of timed calls, disturbed ones included; iterations are timed on rank 0"},
           {"traced call"},
           {"in messages", false, "seconds of the traced call, waiting included"},
           {"messages"},
           {"sent"},
           {"temporaries"}});
  for (auto const& r : all.results)
    for (auto const& rank : r.ranks) {
      auto const seconds = [](std::optional<double> x) { return number_cell(x, x ? seconds_text(*x) : ""); };
      t.row({text_cell(r.operation), whole_cell(r.size),
             whole_cell(rank.rank), seconds(rank.median),
             seconds(rank.seconds), seconds(rank.in_messages),
             whole_cell(rank.messages), bytes_cell(static_cast<double>(rank.bytes)),
             bytes_cell(static_cast<double>(rank.temporaries))});
    }
  return "<section id=\"by-rank\"><h2>By rank</h2>" + t.html() + "</section>\n";
}

std::string notes_of(profile const& p, ranks_of_run const& all) {
  std::string items;
  auto const item = [&](std::string const& html) { items += "<li>" + html + "</li>\n"; };
  for (auto const& f : p.failures)
    item(fmt::format("<span class=\"no\">Failed</span>: {} at {}: {}", escaped(f.operation), f.size, escaped(f.error)));
  for (auto const& op : p.operations)
    for (auto const& [n, t] : op.times)
      if (!t.trusted())
        item(fmt::format("<span class=\"no\">Disturbed</span>: {} at {}: {}", escaped(op.name), n,
                         escaped(t.disturbed)));
  for (auto const& text : all.left_out) item("Left out: " + escaped(text));
  index_t lost = 0;
  if (p.dropped)
    for (auto const& [n, events] : *p.dropped) lost += events;
  if (lost > 0)
    item(fmt::format("{} trace events of all ranks were dropped, so that temporaries may be more, and messages are "
                     "missing in timelines.", lost));
  item("Whether other programs disturbed a call is known of the machine of rank 0 only.");
  item("Times in messages are those of one traced call. They include the time until other ranks come.");
  item("One rank alone has the processors of rank 0. Where ranks share a machine, it also has more of its memory "
       "bandwidth and caches than when all of them work.");
  item("Costs and candidates for an FPGA are those of one process: mbirk profile has them.");
  table t("t-environment", "Environment", {{"environment", true}, {"", true}});
  for (auto const& [name, value] : p.environment) t.row({text_cell(name), text_cell(value, true)});
  return "<section id=\"notes\"><h2>What this does not say</h2><ul class=\"plain\">" + items + "</ul>" + t.html() +
         "</section>\n";
}

}  // namespace

std::string ranks_sections(profile const& p, nlohmann::json const& run, std::vector<report_link> const& links) {
  auto all = read_ranks(p, run);
  std::ranges::stable_sort(all.results, std::greater<>(), [&](rank_result const& r) {
    auto const* t = time_of(p, r);
    return std::pair(r.size, t ? t->best_guess() : 0);
  });
  auto const fold = [](std::string const& title, std::string const& section) {
    return "<details class=\"fold\"><summary>" + title + "</summary>" + section + "</details>\n";
  };
  return answer_of(p, all) + table_of(p, all) + timeline_of(p, all) +
         fold("Messages by operation and data", messages_of(all)) + fold("Operations by rank", records_of(all)) +
         files_section(links) + notes_of(p, all);
}

}  // namespace mbirk::program::report
