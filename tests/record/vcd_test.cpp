// The subset update of recon and prox_map as a definition, in every geometry: the plain interpreter matches the oracle,
// and its graph matches both the oracle and the tuned operation.
#include "mbirk/definition/vcd.hpp"

#include <gtest/gtest.h>

#include "mbirk/record/operations.hpp"
#include "mbirk/record/rewrite.hpp"
#include "mbirk/recon/recon.hpp"
#include "recon/recon_oracle.hpp"
#include "recon/recon_support.hpp"
#include "record/support.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

struct update_case {
  std::string name;
  any_parameters parameters;
  bool proximal;
};
void PrintTo(update_case const& c, std::ostream* out) { *out << c.name; }

std::vector<update_case> update_cases() {
  std::vector<update_case> cases;
  auto const all = all_cases();
  std::vector<geometry_case> const scans{{"parallel", odd_parallel()},
                                         {"cone", odd_cone()},
                                         {"cone_helical", helical_cone()},
                                         {"multiaxis", case_called(all, "multiaxis_odd").parameters},
                                         {"translation", case_called(all, "translation_long_rows").parameters},
                                         {"general", case_called(all, "general_odd").parameters}};
  for (auto const& [name, parameters] : scans) {
    cases.push_back({name, parameters, false});
    cases.push_back({name + "_prox_map", parameters, true});
  }
  return cases;
}

/// A weighted problem, and the oracle's result after one update of one subset.
struct VcdUpdate : ::testing::TestWithParam<update_case> {
  bool const proximal = GetParam().proximal;
  vcd_problem problem = make_problem(GetParam().parameters, 3);
  pixel_list const pixels = masked_in(problem.scan);
  shape_3 const shape = recon_shape(problem.scan), samples = sinogram_shape(problem.scan);
  index_t const count = std::ssize(pixels), slices = shape[2];
  qggmrf_parameters prior{.sigma_x = 0.2};
  std::vector<double> x, e, w, v, hessian, damping, values, error;

  VcdUpdate() {
    problem.weights = patchy_weights(problem.scan, 77);
    if (proximal) problem.prox_input = random_array<3>(shape, 78);
    auto const given = proximal ? problem.prox_input->data : std::vector<float>();
    auto& o = problem.options;
    o.granularity = {1}, o.partition_sequence = {0}, o.max_iterations = 0;
    system_matrix const a(problem.scan);
    auto const run = [&] {
      return vcd_oracle(problem.scan, a, problem.sinogram.data, problem.weights->data, problem.start.data, o, given);
    };
    auto const before = run();
    o.max_iterations = 1;
    auto const after = run();
    x = before.x, e = before.e, error = after.e, w = numbers(problem.weights->data), v = numbers(given);
    hessian = listed(before.hessian), damping = before.damping(), values = listed(after.x);
    EXPECT_FALSE(after.repeats_within_a_subset);
    EXPECT_NE(after.x, before.x);
  }
  /// Voxel columns of the pixels, from an image.
  std::vector<double> listed(std::vector<double> const& image) const {
    std::vector<double> columns;
    for (auto const p : pixels)
      for (index_t k = 0; k < slices; ++k) columns.push_back(image[static_cast<std::size_t>(p * slices + k)]);
    return columns;
  }
};

TEST_P(VcdUpdate, IsThatOfTheOracle) {
  std::visit([&]<class Geometry>(scan<Geometry> const& s) {
    owning_interpreter m;
    std::vector<double> new_values(hessian.size()), new_error(e.size());
    auto const sinogram = [&](auto& data) { return view<double, 3>(data.data(), samples); };
    auto const image = [&](auto& data) { return view<double, 3>(data.data(), shape); };
    auto const columns = [&](auto& data) { return view<double, 2>(data.data(), {count, slices}); };
    auto const update = [&](auto const& term, auto const& damp) {
      definition::vcd_subset_update(m, s, term, damp, *problem.options.sigma_y, problem.options.max_alpha,
                                    m.input(image(x)), m.input(sinogram(e)), m.input(sinogram(w)),
                                    m.input(columns(hessian)),
                                    m.input(view<std::int32_t const, 1>(pixels.data(), {count})), count,
                                    columns(new_values), sinogram(new_error));
    };
    auto const update_by = [&](auto const& term) {
      if constexpr (Geometry::has_slice_damping) update(term, m.input(view<double, 1>(damping.data(), {slices})));
      else update(term, definition::undamped{});
    };
    if (proximal) update_by(definition::proximal_prior{*problem.options.sigma_prox, m.input(image(v))});
    else update_by(prior);
    EXPECT_GT(m.values("step")[0], 0.1);
    expect_near(new_values, values, 1e-10);  // sums of some hundred terms in double, in another order
    expect_near(new_error, error, 1e-10);
  }, problem.scan);
}

TEST_P(VcdUpdate, ItsGraphComputesTheSameBeforeAndAfterFusion) {
  std::visit([&](auto const& s) {
    auto const& o = problem.options;
    auto const g = proximal ? record::prox_map_subset_update(s, *o.sigma_prox, *o.sigma_y, o.max_alpha, count)
                            : record::vcd_subset_update(s, prior, *o.sigma_y, o.max_alpha, count);
    for (auto const& a : g.arrays)
      EXPECT_EQ(std::count_if(g.arrays.begin(), g.arrays.end(), [&](auto const& b) { return b.name == a.name; }), 1)
          << a.name;
    auto in = inputs_of(s, pixels);
    auto const angles = [](auto const& a) { return a.name.starts_with("angles"); };
    EXPECT_EQ(std::count_if(g.arrays.begin(), g.arrays.end(), angles), in.contains("angles"))
        << "both projectors read one array";
    in["recon"] = x, in["error"] = e, in["weights"] = w, in["hessian"] = hessian, in["prox_input"] = v;
    in["slice_damping"] = damping;
    array<3> tuned(shape);
    auto call = o;
    call.init_recon = problem.start.all();
    if (proximal)
      prox_map(on_host(), s, problem.prox_input->all(), problem.sinogram.all(), problem.weights_view(), tuned.all(),
               call);
    else
      recon(on_host(), s, problem.sinogram.all(), problem.weights_view(), tuned.all(), call);
    auto const found = listed(numbers(tuned.data));
    for (auto const& form : record::fusion_forms(g)) {
      SCOPED_TRACE(form.name);
      auto const out = record::evaluate<double>(form.g, in).outputs;
      expect_near(out.at("new_values"), values, 1e-5);  // literals of a graph are float32
      expect_near(out.at("new_error"), error, 1e-5);
      expect_near(out.at("new_values"), found, 1e-5 + 2e-6);  // and so is the tuned operation (recon_oracle_test.cpp)
    }
  }, problem.scan);
}

INSTANTIATE_TEST_SUITE_P(Every, VcdUpdate, ::testing::ValuesIn(update_cases()),
                         [](auto const& info) { return info.param.name; });

}  // namespace
