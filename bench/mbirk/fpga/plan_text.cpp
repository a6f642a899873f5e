#include "fpga/plan_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "fpga/plan.hpp"
#include "input/measured_times.hpp"
#include "process/streams.hpp"

namespace mbirk::program {
namespace {

std::string seconds_text(double s) {
  return s >= 1      ? fmt::format("{:.3g} s", s)
         : s >= 1e-3 ? fmt::format("{:.3g} ms", 1e3 * s)
                     : fmt::format("{:.3g} us", 1e6 * s);
}
std::string joules_text(json const& j) {
  if (!j.is_number()) return "unknown energy";
  double const x = j;
  return x >= 1 ? fmt::format("{:.3g} J", x) : fmt::format("{:.3g} mJ", 1e3 * x);
}
std::string times_text(double x) { return x < 10 ? fmt::format("{:.2g}", x) : fmt::format("{:.0f}", x); }
std::string interval_text(json const& i) {
  auto const one = [](json const& x) { return x.is_number() ? times_text(x.get<double>()) : std::string("any"); };
  return fmt::format("{} times ({} to {})", one(i[1]), one(i[0]), one(i[2]));
}
std::string joined(std::vector<std::string> const& all, char const* last) {
  std::string out;
  for (std::size_t k = 0; k < all.size(); ++k)
    out += (k == 0 ? "" : k + 1 == all.size() ? fmt::format(" {} ", last) : ", ") + all[k];
  return out;
}
std::string device_text(json const& column) {
  return column["kind"] == "host" ? "this host" : column["device"].get<std::string>();
}
json const& column_of(json const& recon, json const& device) {
  return *std::ranges::find_if(recon["columns"], [&](json const& c) { return c["device"] == device; });
}
std::string problem_text(json const& recon) {
  auto const name = recon["operation"].get<std::string>();
  auto const n = recon["size"].get<long>();
  return fmt::format("{} iterations of {} beam at {}\u00b3", recon["iterations"].get<int>(),
                     name.substr(0, name.find('_')), n);
}
/// What an FPGA has more of in the device that would pay.
std::string more_of(std::string const& bounded_by) {
  if (bounded_by == "memory") return "memory bandwidth";
  if (bounded_by == "ports") return "ports of memory";
  if (bounded_by == "launch") return "starts a second";
  return "lanes";
}

/// The group that is nearest to paying: the fewest times faster that an FPGA has to be.
json const* nearest(json const& plan, json const** of) {
  json const* best = nullptr;
  for (auto const& recon : plan["reconstructions"])
    for (auto const& g : recon["groups"]) {
      auto const& f = g["fpga"];
      if (f.is_null() || !f["times faster needed"].is_number() || f["share"].get<double>() < 0.02 ||
          f["pays"].get<bool>())
        continue;
      if (!best || f["times faster needed"].get<double>() < (*best)["fpga"]["times faster needed"].get<double>()) {
        best = &g;
        *of = &recon;
      }
    }
  return best;
}

std::string geometry_of(json const& recon) {
  auto const name = recon["operation"].get<std::string>();
  return name.substr(0, name.find('_'));
}

std::string headline(json const& plan) {
  std::vector<std::string> devices, paying;
  for (auto const& recon : plan["reconstructions"]) {
    auto const device = device_text(column_of(recon, recon["best"]));
    if (std::ranges::find(devices, device) == devices.end()) devices.push_back(device);
    for (auto const& g : recon["best set"]["groups"]) {
      auto const f = std::ranges::find_if(recon["groups"], [&](json const& x) { return x["group"] == g; });
      paying.push_back(fmt::format("{} in {} beam ({}, {} as fast)", g.get<std::string>(), geometry_of(recon),
                                   (*f)["fpga"]["target"].get<std::string>(), interval_text((*f)["fpga"]["speed-up"])));
    }
  }
  auto text = fmt::format("Best plan for whole reconstructions: {} for everything", joined(devices, "or"));
  // An FPGA for everything has no link in the middle.
  std::vector<std::string> alone;
  for (auto const& recon : plan["reconstructions"])
    if (recon.contains("fpga alone") && recon["fpga alone"]["pays"].get<bool>() &&
        recon["fpga alone"]["for"] == "speed")
      alone.push_back(fmt::format(
          "{} beam ({} as fast{})", geometry_of(recon), interval_text(recon["fpga alone"]["speed-up"]),
          recon["fpga alone"]["energy ratio"].is_number()
              ? fmt::format(", {} times less energy", times_text(recon["fpga alone"]["energy ratio"].get<double>()))
              : ""));
  if (!alone.empty())
    return fmt::format(
        "Best plan for whole reconstructions at {}\u00b3: one {} for everything in {}, by the model, against {}. "
        "Larger "
        "sizes favour the GPU: profile yours.",
        plan["reconstructions"][0]["size"].get<long>(),
        plan["reconstructions"][0]["fpga alone"]["target"].get<std::string>(), joined(alone, "and"),
        joined(devices, "or"));
  if (!paying.empty()) return text + " but " + joined(paying, "and") + ", where an FPGA pays.";
  text += "; an FPGA pays for no stage";
  json const* of = nullptr;
  if (auto const* g = nearest(plan, &of)) {
    auto const& f = (*g)["fpga"];
    double const needed = f["times faster needed"];
    text += needed > 1.05
                ? fmt::format(". Nearest: {} in {} beam, which needs {} times more {} than the {} has",
                              (*g)["group"].get<std::string>(), geometry_of(*of), times_text(needed),
                              more_of(f["bounded by"]), f["target"].get<std::string>())
                : fmt::format(". Nearest: {} in {} beam on the {}, at {} the speed: open until {} is known better",
                              (*g)["group"].get<std::string>(), geometry_of(*of), f["target"].get<std::string>(),
                              interval_text(f["speed-up"]), f["flips on"].get<std::string>());
  } else {
    text += ": the link alone takes longer than the stages do";
  }
  return text + ".";
}

json why(json const& plan) {
  auto const& recon = plan["reconstructions"][0];
  json out = json::array();
  std::vector<std::string> columns;
  bool gpu = false, fpga = false;
  for (auto const& c : recon["columns"]) {
    // The fastest of each kind, and the host.
    if ((c["kind"] == "gpu" && gpu) || (c["kind"] == "fpga" && fpga)) continue;
    gpu = gpu || c["kind"] == "gpu";
    fpga = fpga || c["kind"] == "fpga";
    columns.push_back(fmt::format("{} and {} on {} ({})", seconds_text(c["seconds"][1].get<double>()),
                                  joules_text(c["joules"]), device_text(c), c["source"].get<std::string>()));
  }
  out.push_back(fmt::format("{} take {}.", problem_text(recon), joined(columns, "and")));
  json largest;
  for (auto const& g : recon["groups"])
    if (!g["fpga"].is_null() && (largest.is_null() || g["fpga"]["share"] > largest["fpga"]["share"])) largest = g;
  if (largest.is_null()) {
    out.push_back("No stage has arithmetic that an FPGA could take over.");
    out.push_back("Nothing flips this.");
    return out;
  }
  auto const& f = largest["fpga"];
  out.push_back(fmt::format(
      "Its longest stage there, {}, takes {:.0f} % of the time; beside {} the {} would do it at {} the speed, limited "
      "by "
      "{} with {} accesses, and the whole would become {} times as fast.",
      largest["group"].get<std::string>(), 100 * f["share"].get<double>(), device_text(column_of(recon, recon["best"])),
      f["target"].get<std::string>(), interval_text(f["speed-up"]), more_of(f["bounded by"]),
      f["access"].get<std::string>(), times_text(f["reconstruction faster"].get<double>())));
  if (recon.contains("fpga alone"))
    out.push_back(fmt::format(
        "All of it on one {} would run at {} the speed of {}{}; the answer flips on {}.",
        recon["fpga alone"]["target"].get<std::string>(), interval_text(recon["fpga alone"]["speed-up"]),
        device_text(column_of(recon, recon["best"])),
        recon["fpga alone"]["energy ratio"].is_number()
            ? fmt::format(" with {} times less energy", times_text(recon["fpga alone"]["energy ratio"].get<double>()))
            : "",
        f["flips on"].get<std::string>()));
  return out;
}

}  // namespace

void add_plan_text(json& plan, json const& operations) {
  if (!plan["reconstructions"].empty()) {
    plan["headline"] = headline(plan);
    plan["why"] = why(plan);
    return;
  }
  std::vector<std::string> good;
  std::size_t judged = 0, all = 0;
  index_t const size = size_to_compare(operations);
  for (auto const& o : operations) {
    if (o["size"] != size) continue;
    ++all;
    if (!o["verdict"].is_string()) continue;
    ++judged;
    if (o["verdict"].get<std::string>().starts_with("candidate")) good.push_back(o["operation"]);
  }
  auto const which = judged == all ? "" : fmt::format(", {} of which have a verdict", judged);
  plan["headline"] = fmt::format(
      "No whole reconstruction was profiled, so there is no plan for one. Of the {} single operations at size {}{}, {}.",
      all, size, which,
      good.empty() ? "none deserves an FPGA"
                   : joined(good, "and") + (good.size() == 1 ? " deserves" : " deserve") + " an FPGA");
  plan["why"] = json::array();
}

std::string opponents_text(json const& candidates) {
  std::vector<std::string> all;
  for (auto const& one : candidates["against"]) {
    auto const name = one.get<std::string>();
    if (name == "all") return candidates["baseline"]["device"].get<std::string>() + " and every GPU that is known";
    all.push_back(name == "host" ? candidates["baseline"]["device"].get<std::string>() : name);
  }
  return joined(all, "and");
}

void print_plan(json const& plan) {
  say("\n{}\n", plan["headline"].get<std::string>());
  for (auto const& sentence : plan["why"]) say("  {}\n", sentence.get<std::string>());
  for (auto const& recon : plan["reconstructions"]) {
    say("\n{}:\n", problem_text(recon));
    for (auto const& c : recon["columns"])
      say("  {:<40}{:>12}  ({} to {}) {:>10}  {}\n", c["device"].get<std::string>(),
                 seconds_text(c["seconds"][1].get<double>()), seconds_text(c["seconds"][0].get<double>()),
                 seconds_text(c["seconds"][2].get<double>()), joules_text(c["joules"]), c["source"].get<std::string>());
  }
}

}  // namespace mbirk::program
