#include "trace_excerpt.hpp"

#include <algorithm>
#include <vector>

namespace mbirk::program {

nlohmann::json trace_excerpt(instrument::trace_buffer const& trace, std::int64_t begin, std::int64_t end, std::size_t most) {
  using instrument::event_kind;
  std::vector<instrument::trace_event const*> chosen;
  for (auto const& e : trace.events())
    if ((e.kind == event_kind::operation || e.kind == event_kind::stage) && e.begin >= begin && e.end <= end && e.end > e.begin) chosen.push_back(&e);
  std::stable_sort(chosen.begin(), chosen.end(), [](auto const* a, auto const* b) { return a->begin != b->begin ? a->begin < b->begin : a->end > b->end; });
  nlohmann::json spans = nlohmann::json::array();
  index_t left_out = 0;
  auto const origin = chosen.empty() ? begin : chosen.front()->begin;
  for (auto const* e : chosen) {
    if (spans.size() >= most && e->kind != event_kind::operation) ++left_out;
    else spans.push_back({{"name", e->name}, {"begin", 1e-9 * static_cast<double>(e->begin - origin)}, {"end", 1e-9 * static_cast<double>(e->end - origin)}});
  }
  return {{"spans", spans}, {"left out", left_out}};
}

}  // namespace mbirk::program
