#include "output/trace_excerpt.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace mbirk::program {
namespace {

using instrument::event_kind;

/// Operations and stages between two times, enclosing spans first.
std::vector<instrument::trace_event const*> spans_between(instrument::trace_buffer const& trace, std::int64_t begin,
                                                          std::int64_t end) {
  std::vector<instrument::trace_event const*> chosen;
  for (auto const& e : trace.events())
    if ((e.kind == event_kind::operation || e.kind == event_kind::stage) && e.begin >= begin && e.end <= end &&
        e.end > e.begin)
      chosen.push_back(&e);
  std::stable_sort(chosen.begin(), chosen.end(), [](auto const* a, auto const* b) {
    return a->begin != b->begin ? a->begin < b->begin : a->end > b->end;
  });
  return chosen;
}

}  // namespace

nlohmann::json trace_excerpt(instrument::trace_buffer const& trace, std::int64_t begin, std::int64_t end,
                             std::size_t most) {
  auto const chosen = spans_between(trace, begin, end);
  nlohmann::json spans = nlohmann::json::array();
  index_t left_out = 0;
  auto const origin = chosen.empty() ? begin : chosen.front()->begin;
  for (auto const* e : chosen) {
    if (spans.size() >= most && e->kind != event_kind::operation) ++left_out;
    else
      spans.push_back({{"name", e->name},
                       {"begin", 1e-9 * static_cast<double>(e->begin - origin)},
                       {"end", 1e-9 * static_cast<double>(e->end - origin)}});
  }
  return {{"spans", spans}, {"left out", left_out}};
}

nlohmann::json stage_times(instrument::trace_buffer const& trace, std::int64_t begin, std::int64_t end) {
  struct stage_time {
    double seconds = 0;
    index_t runs = 0;
  };
  std::map<std::string, stage_time> stages;  // by path
  std::vector<instrument::trace_event const*> open;
  for (auto const* e : spans_between(trace, begin, end)) {
    while (!open.empty() && open.back()->end <= e->begin) open.pop_back();
    open.push_back(e);
    std::string path;
    for (std::size_t k = 1; k < open.size(); ++k) path += (k > 1 ? "/" : "") + std::string(open[k]->name);
    if (path.empty()) continue;
    auto& one = stages[path];
    one.seconds += 1e-9 * static_cast<double>(e->end - e->begin);
    one.runs += 1;
  }
  nlohmann::json times = nlohmann::json::object();
  for (auto const& [path, one] : stages) times[path] = {{"seconds", one.seconds}, {"runs", one.runs}};
  return times;
}

}  // namespace mbirk::program
