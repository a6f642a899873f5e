#include "output/cost_json.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace mbirk::program {
namespace {

using json = nlohmann::json;
using counted = instrument::operation;

json operations_json(instrument::op_counts const& c) {
  json out = json::object();
  for (int o = 0; o < instrument::operations; ++o)
    if (auto const n = c.of(static_cast<counted>(o)))
      out[instrument::operation_names[static_cast<std::size_t>(o)]] = n;
  return out;
}

/// Flops as counted by XLA's cost analysis: each operation counts one, a fused multiply-add two.
std::uint64_t flops_xla(instrument::op_counts const& c) {
  std::uint64_t n = c.flops();
  for (auto const o : {counted::div, counted::min_max, counted::compare, counted::select, counted::round,
                       counted::convert, counted::integer, counted::absolute})
    n += c.of(o);
  return n;
}

json reuse_json(instrument::reuse_result const& r) {
  json j{{"line bytes", instrument::reuse_engine::line_bytes},
         {"accesses", r.accesses},
         {"cold", r.cold},
         {"capacity lines", r.capacity_lines},
         {"read misses", r.read_misses},
         {"stream", "serial"}};
  if (!r.write_backs.empty()) j["write backs"] = r.write_backs;
  return j;
}

/// Requests of whole warps. A request for the same element in all lanes counts as one lane.
json access_json(instrument::array_record const& a) {
  auto const& c = a.counts;
  auto const requests = static_cast<double>(c.requests);
  return {
      {"group", warp_lanes},
      {"requests", c.requests},
      {"sectors", c.sectors},
      {"sectors per request", static_cast<double>(c.sectors) / requests},
      {"lanes per request",
       static_cast<double>((c.bytes_loaded + c.bytes_stored) / static_cast<std::uint64_t>(a.item_bytes)) / requests}};
}

json values_json(instrument::value_range const& v) {
  json exponents = json::object();
  for (auto const& [e, n] : v.exponents) exponents[std::to_string(e)] = n;
  return {{"min", v.min},           {"max", v.max},     {"min nonzero magnitude", v.min_nonzero_magnitude},
          {"exponents", exponents}, {"zeros", v.zeros}, {"not finite", v.not_finite}};
}

json arrays_json(std::vector<instrument::array_record> const& arrays, instrument::operation_record const& r,
                 bool whole) {
  json out = json::array();
  for (auto const& a : arrays) {
    json j{{"name", a.name},
           {"role", role_name(a.role)},
           {"type", a.type},
           {"elements", a.elements},
           {"bytes", static_cast<std::uint64_t>(a.elements) * static_cast<std::uint64_t>(a.item_bytes)},
           {"loads", a.counts.loads},
           {"stores", a.counts.stores},
           {"bytes loaded", a.counts.bytes_loaded},
           {"bytes stored", a.counts.bytes_stored}};
    if (a.counts.requests) j["access"] = access_json(a);
    if (r.unique) {
      j["bytes unique read"] = a.counts.unique_read;
      j["bytes unique written"] = a.counts.unique_written;
    }
    if (whole && r.has_reuse) j["reuse"] = reuse_json(a.reuse);
    if (whole && a.values.valid) j["values"] = values_json(a.values);
    out.push_back(std::move(j));
  }
  return out;
}

/// Counts common to an operation and a stage.
json counts_json(instrument::op_counts const& c, std::vector<instrument::array_record> const& arrays,
                 instrument::operation_record const& r, bool stage) {
  auto const accessed = bytes_accessed(arrays), compulsory = bytes_compulsory(arrays, stage);
  auto const ratio = [](std::uint64_t a, std::uint64_t b) {
    return b ? static_cast<double>(a) / static_cast<double>(b) : 0.0;
  };
  json j{{"flops", c.flops()},
         {"flops by type", {{"f32", c.flops(instrument::number::f32)}, {"f64", c.flops(instrument::number::f64)}}},
         {"flops xla", flops_xla(c)},
         {"operations", operations_json(c)},
         {"vector operations", c.vector_operations()},
         {"transcendentals", c.of(counted::sqrt) + c.of(counted::exp) + c.of(counted::log)},
         {"bytes accessed", accessed},
         {"bytes accessed output", bytes_accessed_output(arrays)},
         {"bytes scratch", bytes_scratch(arrays)},
         {"arithmetic intensity", ratio(c.flops(), accessed)}};
  if (r.unique) {
    j["bytes compulsory"] = compulsory;
    j["bytes touched"] = bytes_touched(arrays);
    j["arithmetic intensity compulsory"] = ratio(c.flops(), compulsory);
  }
  if (c.lanes_executed) j["lanes useful"] = ratio(c.lanes_useful, c.lanes_executed);
  return j;
}

/// Miss curves of the stages, merged by name, in the order of their first run.
json reuse_by_stage(std::vector<instrument::stage_record> const& stages) {
  struct curves {
    std::string name;
    instrument::reuse_result all;
    std::vector<std::pair<instrument::array_record const*, instrument::reuse_result>> arrays;
  };
  std::vector<curves> merged;
  auto const find = [](auto& list, auto const& same) -> auto& {
    auto const it = std::find_if(list.begin(), list.end(), same);
    return it == list.end() ? list.emplace_back() : *it;
  };
  for (auto const& s : stages) {
    auto& to = find(merged, [&](auto const& c) { return c.name == s.name; });
    to.name = s.name;
    to.all += s.reuse;
    for (auto const& a : s.arrays) {
      auto& [array, sum] = find(to.arrays, [&](auto const& known) {
        return known.first->name == a.name && known.first->role == a.role && known.first->elements == a.elements;
      });
      array = &a;
      sum += a.reuse;
    }
  }
  json out = json::array();
  for (auto const& c : merged) {
    json arrays = json::array();
    for (auto const& [a, sum] : c.arrays)
      arrays.push_back(
          {{"name", a->name}, {"role", role_name(a->role)}, {"elements", a->elements}, {"reuse", reuse_json(sum)}});
    out.push_back({{"name", c.name}, {"reuse", reuse_json(c.all)}, {"arrays", arrays}});
  }
  return out;
}

json kernels_json(std::vector<instrument::kernel_record> const& kernels) {
  json out = json::array();
  for (auto const& k : kernels) {
    auto const flops = k.operations.flops(), bytes = k.bytes_loaded + k.bytes_stored;
    out.push_back({{"stage", k.stage},
                   {"name", k.name},
                   {"launches", k.launches},
                   {"tasks", k.tasks},
                   {"flops", flops},
                   {"bytes loaded", k.bytes_loaded},
                   {"bytes stored", k.bytes_stored},
                   {"arithmetic intensity", bytes ? static_cast<double>(flops) / static_cast<double>(bytes) : 0.0}});
  }
  return out;
}

}  // namespace

json cost_json(instrument::operation_record const& r, char const* source, std::uint64_t minimal, int threads,
               transfer_counts const& transfers) {
  json j = counts_json(r.operations, r.arrays, r, false);
  j["source"] = source;
  if (minimal) j["flops minimal"] = minimal;
  auto const argument = bytes_of(r.arrays, array_role::argument), output = bytes_of(r.arrays, array_role::output);
  auto const temporary = bytes_of(r.arrays, array_role::temporary) +
                         bytes_of(r.arrays, array_role::scratch) * static_cast<std::uint64_t>(threads);
  j["memory"] = {
      {"argument", argument}, {"output", output}, {"temporary", temporary}, {"peak", argument + output + temporary}};
  j["items"] = r.items;
  j["launches"] = r.launches;
  j["allocations"] = r.allocations;
  j["transfers"] = {{"host to device", {{"count", transfers.uploads}, {"bytes", transfers.bytes_up}}},
                    {"device to host", {{"count", transfers.downloads}, {"bytes", transfers.bytes_down}}},
                    {"device to device", {{"count", 0}, {"bytes", 0}}}};  // no policy copies between devices
  j["arrays"] = arrays_json(r.arrays, r, true);
  j["stages"] = json::array();
  for (auto const& s : r.stages) {
    json stage = counts_json(s.operations, s.arrays, r, true);
    stage["name"] = s.name;
    stage["arrays"] = arrays_json(s.arrays, r, false);
    j["stages"].push_back(std::move(stage));
  }
  j["kernels"] = kernels_json(r.kernels);
  if (r.has_reuse) {
    j["reuse"] = reuse_json(r.reuse);
    j["reuse by stage"] = reuse_by_stage(r.stages);
  }
  return j;
}

}  // namespace mbirk::program
