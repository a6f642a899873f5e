#include "graph_files.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <variant>

#include "mbirk/io/output_file.hpp"
#include "mbirk/record/cost.hpp"
#include "mbirk/record/operations.hpp"
#include "mbirk/record/rewrite.hpp"
#include "mbirk/record/stablehlo.hpp"
#include "mbirk/record/text.hpp"

namespace mbirk::program {
namespace {

using json = nlohmann::json;

void write(std::filesystem::path const& path, std::string const& text) {
  output_file out(path);
  out.write(text);
  out.commit();
}

}  // namespace

std::optional<record::graph> graph_of(profile_entry const& entry, profile_problem const& problem) {
  auto const& op = entry.op->name;
  return std::visit(
      [&](auto const& scan) -> std::optional<record::graph> {
        if constexpr (requires { scan.geometry(); }) {
          index_t const all = std::ssize(scan.full_indices());
          auto const listed = [&] { return shape_of(problem.make_operands(*entry.op, entry.arguments).inputs.at("pixel_indices")).at(0); };
          if (op == "forward_project") return record::sparse_forward_project(scan, all);
          if (op == "sparse_forward_project") return record::sparse_forward_project(scan, listed());
          if (op == "back_project") return record::sparse_back_project(scan, all);
          if (op == "sparse_back_project") return record::sparse_back_project(scan, listed());
          if (op == "hessian_diagonal") return record::sparse_back_project(scan, scan.recon_shape()[0] * scan.recon_shape()[1], 2);
          if (op.ends_with("_filter")) return record::direct_filter(scan);
          if (op == "gen_weights") return record::gen_weights_transmission(scan.sinogram_shape());
          if (op == "median_filter3d") return record::median_filter3d(scan.recon_shape());
          if (op == "qggmrf_denoise")
            return record::qggmrf_gradient_and_hessian(scan.recon_shape(), qggmrf_parameters{}, scan.recon_shape()[0] * scan.recon_shape()[1]);
        }
        return std::nullopt;
      },
      problem.scan());
}

json write_graphs(std::filesystem::path const& folder, profile_entry const& entry, profile_problem const& problem, index_t n) {
  auto const found = graph_of(entry, problem);
  if (!found) return nullptr;
  std::vector<std::pair<char const*, record::graph>> forms{{"", *found}};
  if (auto unfused = record::cut_all(*found); unfused.stages.size() > found->stages.size()) forms.emplace_back("_unfused", std::move(unfused));
  if (auto fused = record::fuse_all(*found); fused.stages.size() < found->stages.size()) forms.emplace_back("_fused", std::move(fused));
  json costs = json::object();
  for (auto& [suffix, g] : forms) {
    auto const name = fmt::format("{}_v{}{}", entry.name, n, suffix);
    g.name = entry.name + suffix;
    record::axis_set sequential;
    if (record::largest_tensor_bytes(g, {}) > record::largest_tensor_at_once) sequential = record::axes_called(g, "view");
    auto const hlo = record::to_stablehlo(g, sequential);
    write(folder / (name + ".txt"), record::to_text(g));
    write(folder / (name + ".dot"), record::to_dot(g));
    write(folder / (name + ".mlir"), hlo.module);
    auto const c = record::cost_of(g);
    costs[*suffix ? suffix + 1 : "as written"] = {{"stages", g.stages.size()},
                                                  {"flops", c.flops()},
                                                  {"transcendentals", c.transcendentals()},
                                                  {"bytes compulsory", c.bytes_compulsory},
                                                  {"bytes between stages", c.bytes_between},
                                                  {"module", name + ".mlir"},
                                                  {"xla flops", hlo.cost.flops},
                                                  {"xla transcendentals", hlo.cost.transcendentals},
                                                  {"while loops", hlo.module.find("stablehlo.while") != std::string::npos}};
  }
  return costs;
}

}  // namespace mbirk::program
