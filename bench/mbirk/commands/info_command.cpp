// mbirk info: what a scan file holds, without reconstructing it.
#include <fmt/format.h>

#include <memory>
#include <numbers>

#include "commands/scan_options.hpp"
#include "input/measurement.hpp"
#include "process/streams.hpp"

namespace mbirk::program {
namespace {

struct info_command : common_options, scan_call {
  bool as_json = false;
};

json facts_json(std::vector<scan_fact> const& facts) {
  json all = json::array();
  for (auto const& f : facts) all.push_back({{"name", f.name}, {"value", f.value}, {"source", f.source}});
  return all;
}

int inform(info_command const& o) {
  require_host(o, "info");
  memory_budget const memory(memory_available());
  auto const scan = open_scan(o.files, memory);
  auto const part = select(o.part, scan.data.shape);
  // Angles, in lists of several types.
  memory.require(100 * static_cast<double>(part.shape[0]),
                 o.files.input + ": angles of " + std::to_string(part.shape[0]) + " views");
  std::vector<float> theta;
  for (index_t v = 0; v < part.shape[0] && !scan.angles.empty(); ++v)
    theta.push_back(static_cast<float>(scan.angles[static_cast<std::size_t>(part.first[0] + v * part.step)]));
  // The geometry may be incomplete, which is not an error here: the user asks what there is.
  std::vector<scan_fact> used;
  std::optional<geometry_file> g;
  std::string incomplete;
  try {
    g = scan_geometry(scan, part, theta, o.geometry, o.files.input, used, memory);
  } catch (error const& e) {
    if (!o.geometry.file.empty()) throw;
    incomplete = e.what();
  }
  std::vector<std::string> warnings = g ? checked_mistakes(o, scan, *g) : scan.warnings;
  index_t const white = scan.white ? scan.white->shape[0] : 0, dark = scan.dark ? scan.dark->shape[0] : 0;
  constexpr double degree = std::numbers::pi / 180;
  if (o.as_json) {
    json j = {{"input", o.files.input},          {"format", scan.format}, {"shape", scan.data.shape},
              {"type", scan.data.type},          {"white_frames", white}, {"dark_frames", dark},
              {"facts", facts_json(scan.facts)}, {"warnings", warnings}};
    if (scan.white_level) j["white_level"] = *scan.white_level;
    if (!scan.angles.empty())
      j["angles"] = {
          {"first", scan.angles.front() / degree}, {"last", scan.angles.back() / degree}, {"unit", "degree"}};
    if (!part.all()) j["selected_shape"] = part.shape;
    if (g) j["geometry"] = geometry_json(*g);
    else j["incomplete"] = incomplete;
    show("{}\n", dump_text(j, 1));
    return done;
  }
  show("{}: {}\n", o.files.input, scan.format);
  show("  {:22} {} views, {} rows, {} channels, {}\n", "data", scan.data.shape[0], scan.data.shape[1],
       scan.data.shape[2], scan.data.type);
  if (!part.all())
    show("  {:22} {} views, {} rows, {} channels\n", "selected", part.shape[0], part.shape[1], part.shape[2]);
  if (white > 0 || dark > 0) show("  {:22} {} white, {} dark frames\n", "fields", white, dark);
  if (!scan.angles.empty())
    show("  {:22} {:.6g} to {:.6g} degrees\n", "angles", scan.angles.front() / degree, scan.angles.back() / degree);
  if (g) {
    auto const document = geometry_json(*g);
    show("  {:22} {}, volume {}\n", "geometry", document["geometry"].get<std::string>(),
         mbirk::detail::shape_text(document["recon_shape"].get<std::array<index_t, 3>>()));
  } else {
    show("  {:22} incomplete: {}\n", "geometry", incomplete);
  }
  auto facts = scan.facts;
  for (auto const& f : used)
    if (f.source.starts_with("--")) facts.push_back(f);
  if (!facts.empty()) show("found\n");
  print_facts(facts);
  std::fflush(stdout);
  for (auto const& w : warnings) note("{}", w);
  return done;
}

}  // namespace

void add_info_command(CLI::App& app, chosen_command& chosen) {
  auto* const command = app.add_subcommand("info", "Show what a scan file holds and what is missing to reconstruct it");
  auto const o = std::make_shared<info_command>();
  add_scan_options(*command, *o);
  command->add_flag("--json", o->as_json, "As JSON");
  add_common_options(*command, *o);
  command->callback([o, &chosen] { chosen = [o] { return inform(*o); }; });
}

}  // namespace mbirk::program
