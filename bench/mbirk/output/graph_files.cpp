#include "output/graph_files.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <variant>

#include "mbirk/geometry/operation_name.hpp"
#include "mbirk/io/output_file.hpp"
#include "mbirk/record/cost.hpp"
#include "mbirk/record/html.hpp"
#include "mbirk/record/operations.hpp"
#include "mbirk/record/rewrite.hpp"
#include "mbirk/record/stablehlo.hpp"
#include "mbirk/record/text.hpp"

namespace mbirk::program {
namespace {

using json = nlohmann::json;

void write(std::filesystem::path const& path, std::string const& text) {
  output_file out(path, durability::unsynced);
  out.write(text);
  out.commit();
}

std::string suffix_of(record::fusion_form const& form) {
  std::string const kind = form.name;
  return kind == "as written" ? "" : "_" + kind;
}

/// Writes each form as text and DOT, and the page with all of them. With `steps` it also writes the numbered forms
/// between "unfused" and the one with all legal fusions, in which equal values have equal names.
void write_forms(std::filesystem::path const& folder, std::string const& stem, record::graph const& g,
                 std::vector<record::fusion_form> const& forms, bool steps) {
  auto const write_one = [&](std::string const& name, record::graph const& form, std::map<std::string, int>* names) {
    write(folder / (name + ".txt"), record::to_text(form, names));
    write(folder / (name + ".dot"), record::to_dot(form));
  };
  for (auto const& form : forms) write_one(stem + suffix_of(form), form.g, nullptr);
  write(folder / (stem + ".html"), record::to_html(stem, forms));
  if (!steps || forms.size() < 2) return;
  int number = 0;
  std::map<std::string, int> names;
  for (auto& step : record::lowering_steps(g)) {
    step.g.name = stem;
    write_one(fmt::format("{}_step{:02}_{}", stem, number++, step.name), step.g, &names);
  }
}

/// How often each kind of operation runs, and how the arrays are met.
json kinds_of(record::graph_cost const& c) {
  json kinds = json::object();
  for (auto const& [what, n] : c.operations) {
    std::string const name = record::op_name(what.first);
    kinds[name] = kinds.value(name, std::uint64_t{0}) + n;
  }
  std::uint64_t loads = 0, stores = 0;
  for (auto const& a : c.arrays) {
    loads += a.loads;
    stores += a.stores;
  }
  kinds["load"] = loads;
  kinds["store"] = stores;
  return kinds;
}

/// Graph of a part of an operation, or of a way to call it that the profile does not time, and its name after that of
/// the operation.
struct partial_graph {
  char const* name;
  record::graph graph;
};
/// One subset update of an iterative reconstruction: all pixels, as in its first iteration, and sigmas of 1. Weights by
/// an initial reconstruction, with the default beta and gamma.
std::optional<partial_graph> partial_graph_of(profile_entry const& entry, profile_problem const& problem) {
  return std::visit(
      [&](auto const& scan) -> std::optional<partial_graph> {
        if constexpr (requires { scan.geometry(); }) {
          index_t const all = std::ssize(scan.full_indices());
          auto const& op = entry.op->body;
          if (op == "recon")
            return partial_graph{"subset_update", record::vcd_subset_update(scan, qggmrf_parameters{}, 1, 1.5, all)};
          if (op == "prox_map")
            return partial_graph{"subset_update", record::prox_map_subset_update(scan, 1, 1, 1.5, all)};
          if (op == "gen_weights_mar")
            return partial_graph{"init_recon", record::gen_weights_mar(scan, 1, 3, all)};
        }
        return std::nullopt;
      },
      problem.scan());
}

/// Writes the files of a graph and returns its costs by form.
json write_graph(std::filesystem::path const& folder, std::string const& name, std::string const& stem,
                 record::graph const& graph, bool steps) {
  auto forms = record::fusion_forms(graph);
  json costs = json::object();
  for (auto& form : forms) {
    auto& g = form.g;
    auto const suffix = suffix_of(form), module = stem + suffix + ".mlir";
    g.name = name + suffix;
    record::axis_set sequential;
    if (record::largest_tensor_bytes(g, {}) > record::largest_tensor_at_once)
      sequential = record::axes_called(g, "view");
    auto const hlo = record::to_stablehlo(g, sequential);
    write(folder / module, hlo.module);
    auto const c = record::cost_of(g);
    costs[form.name] = {{"stages", g.stages.size()},
                        {"flops", c.flops()},
                        {"transcendentals", c.transcendentals()},
                        {"bytes compulsory", c.bytes_compulsory},
                        {"bytes between stages", c.bytes_between},
                        {"operations", kinds_of(c)},
                        {"module", module},
                        {"xla flops", hlo.cost.flops},
                        {"xla transcendentals", hlo.cost.transcendentals},
                        {"while loops", hlo.module.find("stablehlo.while") != std::string::npos}};
  }
  write_forms(folder, stem, graph, forms, steps);
  return costs;
}

}  // namespace

std::optional<record::graph> graph_of(profile_entry const& entry, profile_problem const& problem) {
  auto const& op = entry.op->body;
  return std::visit(
      [&](auto const& scan) -> std::optional<record::graph> {
        if constexpr (requires { scan.geometry(); }) {
          index_t const all = std::ssize(scan.full_indices());
          auto const listed = [&] {
            return shape_of(problem.make_operands(*entry.op, entry.arguments).inputs.at("pixel_indices")).at(0);
          };
          if (op == "forward_project") return record::sparse_forward_project(scan, all);
          if (op == "sparse_forward_project") return record::sparse_forward_project(scan, listed());
          if (op == "back_project") return record::sparse_back_project(scan, all);
          if (op == "sparse_back_project") return record::sparse_back_project(scan, listed());
          if (op == "hessian_diagonal")
            return record::sparse_back_project(scan, scan.recon_shape()[0] * scan.recon_shape()[1], 2);
          if constexpr (has_direct_recon<typename std::decay_t<decltype(scan)>::geometry_type>) {
            if (op == "direct_filter") return record::direct_filter(scan);
            if (op == "direct_recon") return record::direct_recon(scan, all);
          }
          if (op == "gen_weights") return record::gen_weights_transmission(scan.sinogram_shape());
          if (op == "median_filter3d") return record::median_filter3d(scan.recon_shape());
          if (op == "qggmrf_denoise")
            return record::qggmrf_gradient_and_hessian(scan.recon_shape(), qggmrf_parameters{},
                                                       scan.recon_shape()[0] * scan.recon_shape()[1]);
        }
        return std::nullopt;
      },
      problem.scan());
}

json write_graphs(std::filesystem::path const& folder, profile_entry const& entry, profile_problem const& problem,
                  index_t n, bool steps) {
  json costs = json::object();
  auto const stem = fmt::format("{}_v{}", entry.name, n);
  if (auto const part = partial_graph_of(entry, problem)) {
    auto const name = entry.name + '_' + part->name;
    costs[name] = write_graph(folder, name, stem + '_' + part->name, part->graph, steps);
  }
  if (auto const whole = graph_of(entry, problem))
    costs[entry.name] = write_graph(folder, entry.name, stem, *whole, steps);
  return costs;
}

}  // namespace mbirk::program
