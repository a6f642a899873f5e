// mbirk ops: prints the table of operations.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "commands/command.hpp"
#include "operations/operations.hpp"
#include "operations/policy.hpp"
#include "process/streams.hpp"

namespace mbirk::program {
namespace {

using nlohmann::json;

struct ops_options : common_options {
  bool as_json = false;
};

std::string joined(std::vector<std::string> const& words) { return fmt::format("{}", fmt::join(words, ", ")); }

/// Inputs and arguments of an operation: "sinogram, pixel_indices; coeff_power = 1".
std::string needs(operation const& op) {
  std::vector<std::string> inputs, arguments;
  for (auto const& i : op.inputs) inputs.push_back(i.required ? i.name : '[' + i.name + ']');
  for (auto const& a : op.arguments) arguments.push_back(a.name + " = " + a.fallback.dump());
  return joined(inputs) + (arguments.empty() ? "" : "; " + joined(arguments));
}

json as_json(operation const& op) {
  json inputs = json::array(), arguments = json::array();
  for (auto const& i : op.inputs)
    inputs.push_back({{"name", i.name},
                      {"type", is_index_array(i.kind) ? "int32" : "float32"},
                      {"shape", axes_of(i.kind)},
                      {"required", i.required}});
  for (auto const& a : op.arguments)
    arguments.push_back({{"name", a.name}, {"type", name_of(a.kind)}, {"default", a.fallback}});
  return {{"name", op.name},
          {"group", op.group},
          {"needs", {{"geometry", op.geometries}, {"inputs", inputs}, {"args", arguments}}},
          {"output", {{"type", is_index_array(op.output) ? "int32" : "float32"}, {"shape", axes_of(op.output)}}},
          {"policies", policies_of(op)}};
}

int list(ops_options const& o) {
  chosen_policy const policy(o);  // throws if the policy is not available
  if (o.as_json) {
    json all = json::array();
    for (auto const& op : operations()) all.push_back(as_json(op));
    show("{}\n", all.dump(1));
    return done;
  }
  std::vector<std::vector<std::string>> rows{{"operation", "group", "geometry", "needs", "gives", "policies"}};
  for (auto const& op : operations())
    rows.push_back({op.name, op.group, joined(op.geometries), needs(op), axes_of(op.output), joined(policies_of(op))});
  std::vector<std::size_t> width(rows[0].size());
  for (auto const& row : rows)
    for (std::size_t k = 0; k < row.size(); ++k) width[k] = std::max(width[k], row[k].size());
  for (auto const& row : rows) {
    for (std::size_t k = 0; k + 1 < row.size(); ++k) show("{:{}}  ", row[k], width[k]);
    show("{}\n", row.back());
  }
  return done;
}

}  // namespace

void add_ops_command(CLI::App& app, chosen_command& chosen) {
  auto* const command =
      app.add_subcommand("ops", "List the operations: inputs, arguments, results, and the policies that run them");
  auto const o = std::make_shared<ops_options>();
  command->add_flag("--json", o->as_json, "Print JSON");
  add_common_options(*command, *o, true);
  command->callback([o, &chosen] { chosen = [o] { return list(*o); }; });
}

}  // namespace mbirk::program
