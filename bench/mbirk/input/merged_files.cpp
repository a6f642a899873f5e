#include "input/merged_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "input/mbirjax_profile.hpp"
#include "operations/profile_problem.hpp"
#include "output/json_object.hpp"

namespace mbirk::program {
namespace {

double positive(json_field const& from, std::string const& key) {
  auto const field = from.at(key, "a number > 0");
  double const x = field.number("a number > 0");
  if (!(x > 0) || !std::isfinite(x)) field.wrong("a number > 0");
  return x;
}
void append(json& run, json times) {
  auto& all = run["gpu_times"];
  if (!all.is_array()) all = json::array();
  for (auto& one : times) all.push_back(std::move(one));
}

}  // namespace

void add_mbirjax(json& run, std::string const& profile, std::string const& costs) {
  json times = json::array();
  for (auto const& t : read_mbirjax_profile(profile))
    times.push_back({{"operation", t.operation},
                     {"size", t.size},
                     {"device", t.device},
                     {"seconds", t.seconds},
                     {"calls", t.calls},
                     {"source", "measured (MBIRJAX)"},
                     {"from", t.file}});
  if (!costs.empty()) {
    json const document = read_json(costs);
    json_field const root(document, costs);
    auto const sizes = root.has("cost_analysis") ? root.at("cost_analysis", "") : root;
    std::size_t matched = 0;
    for (auto const& [size, operations] : sizes.members())
      for (auto const& [operation, cost] : operations.members()) {
        double const flops = cost.at("flops", "a number").number(),
                     bytes = cost.at("bytes accessed", "a number").number();
        for (auto& t : times)
          if (std::to_string(t["size"].get<index_t>()) == size && t["operation"] == operation) {
            t["xla"] = {{"flops", flops}, {"bytes accessed", bytes}};
            ++matched;
          }
      }
    require<io_error>(matched > 0, [&] {
      return costs + " has no operation and size of " + profile +
             ", expected an object by size and operation such as " + times.front()["size"].dump() + ", " +
             times.front()["operation"].get<std::string>();
    });
  }
  append(run, std::move(times));
}

void add_published(json& run, std::string const& file) {
  json const document = read_json(file);
  json_field const root(document, file);
  std::set<std::string> known;
  for (auto const& entry : profile_entries()) known.insert(entry.name);
  json times = json::array();
  for (auto const& one : root.elements("an array of times")) {
    auto const operation = one.at("operation", "the name of an operation").text();
    if (!known.contains(operation))
      one.at("operation", "").wrong("an operation of mbirk profile, such as " + *known.begin());
    auto const size = one.at("size", "a whole number > 0").integer("a whole number > 0");
    if (size < 1) one.at("size", "").wrong("a whole number > 0");
    times.push_back({{"operation", operation},
                     {"size", size},
                     {"device", one.at("device", "the name of a GPU").text()},
                     {"seconds", positive(one, "seconds")},
                     {"source", "published"},
                     {"from", one.at("from", "where it was published").text()}});
  }
  append(run, std::move(times));
}

void add_synthesis(json& run, std::string const& file) {
  json const document = read_json(file);
  json_field const root(document, file);
  auto const operation = root.at("operation", "the name of an operation").text(),
             kernel = root.at("kernel", "the digest of the kernel").text(),
             target = root.at("target", "the name of an FPGA").text();
  auto const size = root.at("size", "a whole number").integer();
  auto const result = root.at("synthesised", "an object of numbers");
  double const clock = positive(result, "clock"), latency = positive(result, "latency clocks");
  for (auto const* key : {"dsp", "lut", "bram36", "uram"})
    if (auto const f = result.at(key, "a number >= 0"); !(f.number("a number >= 0") >= 0)) f.wrong("a number >= 0");
  json const* exported = nullptr;
  if (run.contains("hand_off"))
    for (auto const& h : run["hand_off"])
      if (h.value("operation", "") == operation && h.contains("hls")) exported = &h["hls"];
  require<io_error>(exported, [&] {
    return file + " is of " + operation + ", which the run has not exported, expected an operation of its hand_off";
  });
  require<io_error>((*exported)["kernel"] == kernel && (*exported)["size"] == size, [&] {
    return fmt::format("{} is of another kernel: {} at size {}, expected {} at size {}", file, kernel, size,
                       (*exported)["kernel"].get<std::string>(), (*exported)["size"].get<index_t>());
  });
  json one = document;
  one["seconds"] = latency / clock;
  one["file"] = file;
  object_in(run, "synthesis")[operation + ' ' + std::to_string(size) + ' ' + target] = std::move(one);
}

}  // namespace mbirk::program
