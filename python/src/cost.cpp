// Predicted work of an operation from the cost model: the kernels' own source on packs without data. Nothing is
// computed and no array is needed.
#include <nanobind/stl/string.h>

#include <functional>
#include <map>

#include "beam.hpp"
#include "groups.hpp"
#include "mbirk/instrument/counting.hpp"

namespace mbirk::python {
namespace {

nb::dict counts_of(instrument::op_counts const& c) {
  nb::dict d;
  for (std::size_t k = 0; k < instrument::operations; ++k)
    if (auto const n = c.of(static_cast<instrument::operation>(k))) d[instrument::operation_names[k]] = n;
  return d;
}
nb::dict cost_dict(instrument::operation_record const& r) {
  nb::dict d;
  d["operation"] = r.name;
  d["flops"] = r.operations.flops();
  d["bytes_accessed"] = instrument::bytes_accessed(r.arrays);
  d["bytes_accessed_output"] = instrument::bytes_accessed_output(r.arrays);
  d["bytes_compulsory"] = instrument::bytes_compulsory(r.arrays, false);
  d["operations"] = counts_of(r.operations);
  nb::list stages;
  for (auto const& s : r.stages) {
    nb::dict one;
    one["name"] = s.name, one["flops"] = s.operations.flops(),
    one["bytes_accessed"] = instrument::bytes_accessed(s.arrays);
    one["bytes_compulsory"] = instrument::bytes_compulsory(s.arrays, true);
    stages.append(one);
  }
  d["stages"] = stages;
  return d;
}

template <class Geometry> instrument::operation_record cost_of(model<Geometry> m, std::string const& operation,
                                                               bool weighted, int max_iterations) {
  using in = view<float const, 3>;
  using out = view<float, 3>;
  instrument::ledger ledger;
  context const ctx{exec::host{1}, instrument::cost_model<>{ledger}};
  in const y(nullptr, m.sinogram_shape()), x(nullptr, m.recon_shape());
  out const to_y(nullptr, m.sinogram_shape()), to_x(nullptr, m.recon_shape());
  auto const w = weighted ? std::optional<in>(y) : std::nullopt;
  recon_call_options const a{.max_iterations = max_iterations, .stop_threshold_change_pct = 0};
  std::map<std::string, std::function<void()>> operations{
      {"forward_project", [&] { m.forward_project(ctx, x, to_y); }},
      {"back_project", [&] { m.back_project(ctx, y, to_x); }},
      {"compute_hessian_diagonal", [&] { m.compute_hessian_diagonal(ctx, w, to_x); }},
      {"gen_weights", [&] { m.gen_weights(ctx, y, "transmission", to_y); }},
      {"recon", [&] { m.recon(ctx, y, w, to_x, a); }},
      {"prox_map", [&] { m.prox_map(ctx, x, y, w, to_x, a); }},
  };
  if constexpr (has_direct_recon<Geometry>) {
    operations["direct_filter"] = [&] { m.direct_filter(ctx, y, to_y); };
    operations["direct_recon"] = [&] { m.direct_recon(ctx, y, to_x); };
  }
  auto const found = operations.find(operation);
  require(found != operations.end(), [&] {
    std::string names;
    for (auto const& [name, run] : operations) names += (names.empty() ? "" : ", ") + name;
    return "cost: operation is \"" + operation + "\", expected one of " + names;
  });
  found->second();
  return ledger.last();
}

template <class Geometry> void bind(nb::module_& m) {
  m.def(
      "cost",
      [](beam<Geometry>& ct_model, std::string const& operation, bool weights, int max_iterations) {
        auto const snapshot = ct_model.ready();
        instrument::operation_record record;
        {
          nb::gil_scoped_release const released;
          record = cost_of(*snapshot, operation, weights, max_iterations);
        }
        return cost_dict(record);
      },
      "ct_model"_a, "operation"_a, nb::kw_only(), "weights"_a = false, "max_iterations"_a = 1,
      "The exact cost of a method of this model, without running it and without arrays: floating-point operations and "
      "bytes, by stage.\nCounts are those of kernels with four lanes, whatever instruction_set() returns, except in a "
      "build for one machine.\n\n"
      "operation: forward_project, back_project, compute_hessian_diagonal, direct_filter, direct_recon, gen_weights "
      "(transmission), recon or prox_map (with\n"
      "or without weights, for max_iterations). Returns a dictionary: flops (a fused multiply-add is two), "
      "bytes_accessed (loads and stores of kernels),\n"
      "bytes_accessed_output (stores), bytes_compulsory (each argument read once, each result written once), "
      "operations by kind, stages.\n"
      "It takes up to ten times as long as the operation itself on one thread.");
}

}  // namespace

void bind_cost(nb::module_& m) {
  geometries::each([&]<class Geometry>(std::type_identity<Geometry>) { bind<Geometry>(m); });
}

}  // namespace mbirk::python
