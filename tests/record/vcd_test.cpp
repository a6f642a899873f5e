// The subset update of an iterative reconstruction as a definition: the plain interpreter matches the oracle, and so
// does its graph.
#include "mbirk/definition/vcd.hpp"

#include <gtest/gtest.h>

#include "mbirk/record/evaluate.hpp"
#include "mbirk/record/operations.hpp"
#include "mbirk/record/rewrite.hpp"
#include "recon/recon_oracle.hpp"
#include "recon/recon_support.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

std::vector<double> numbers(std::vector<float> const& data) { return {data.begin(), data.end()}; }
double largest(std::vector<double> const& v) {
  double m = 0;
  for (double const x : v) m = std::max(m, std::abs(x));
  return m;
}
void expect_near(std::vector<double> const& found, std::vector<double> const& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t k = 0; k < found.size(); ++k) ASSERT_NEAR(found[k], expected[k], tolerance * largest(expected)) << k;
}

/// A weighted problem, and the oracle's result after one update of one subset.
struct VcdUpdate : ::testing::Test {
  vcd_problem problem = make_problem(odd_parallel(), 3);
  parallel_scan const& scan = std::get<parallel_scan>(problem.scan);
  pixel_list const pixels = masked_in(problem.scan);
  shape_3 const shape = scan.recon_shape(), samples = scan.sinogram_shape();
  index_t const count = std::ssize(pixels), slices = shape[2];
  qggmrf_parameters prior{.sigma_x = 0.2};
  std::vector<double> x, e, w, hessian, values, error;

  VcdUpdate() {
    problem.weights = patchy_weights(problem.scan, 77);
    auto& o = problem.options;
    o.granularity = {1}, o.partition_sequence = {0}, o.max_iterations = 0;
    system_matrix const a(problem.scan);
    vcd_oracle const before(problem.scan, a, problem.sinogram.data, problem.weights->data, problem.start.data, o);
    o.max_iterations = 1;
    vcd_oracle const after(problem.scan, a, problem.sinogram.data, problem.weights->data, problem.start.data, o);
    x = before.x, e = before.e, error = after.e, w = numbers(problem.weights->data);
    for (auto const p : pixels)
      for (index_t k = 0; k < slices; ++k) {
        auto const voxel = static_cast<std::size_t>(p * slices + k);
        hessian.push_back(before.hessian[voxel]), values.push_back(after.x[voxel]);
      }
    EXPECT_FALSE(after.repeats_within_a_subset);
    EXPECT_NE(after.x, before.x);
  }
};

TEST_F(VcdUpdate, IsThatOfTheOracle) {
  using machine = definition::plain_interpreter<double>;
  machine m;
  std::vector<double> weighted(e.size()), z(e.size()), slope(hessian.size()), gp(hessian.size()), hp(hessian.size()),
      d(hessian.size()), step(1);
  std::vector<double> new_values(hessian.size()), new_error(e.size());
  auto const sinogram = [&](auto& v) { return view<double, 3>(v.data(), samples); };
  auto const columns = [&](auto& v) { return view<double, 2>(v.data(), {count, slices}); };
  definition::vcd_temporaries<view<double, 3>, view<double, 2>, view<double, 1>> const between{
      .weighted_error = sinogram(weighted),
      .projection = sinogram(z),
      .slope = columns(slope),
      .prior_slope = columns(gp),
      .prior_curvature = columns(hp),
      .direction = columns(d),
      .step = view<double, 1>(step.data(), {1})};
  definition::vcd_subset_update(m, scan, prior, *problem.options.sigma_y, problem.options.max_alpha,
                                m.input(view<double, 3>(x.data(), shape)), m.input(sinogram(e)), m.input(sinogram(w)),
                                m.input(columns(hessian)),
                                m.input(view<std::int32_t const, 1>(pixels.data(), {count})), count, between,
                                columns(new_values), sinogram(new_error));
  EXPECT_GT(step[0], 0.1);
  expect_near(new_values, values, 1e-10);  // sums of some hundred terms in double, in another order
  expect_near(new_error, error, 1e-10);
}

TEST_F(VcdUpdate, ItsGraphComputesTheSameBeforeAndAfterFusion) {
  auto const g = record::vcd_subset_update(scan, prior, *problem.options.sigma_y, problem.options.max_alpha, count);
  EXPECT_EQ(std::count_if(g.arrays.begin(), g.arrays.end(), [](auto const& a) { return a.name == "angles"; }), 1)
      << "both projectors read one array";
  record::named_arrays in{{"recon", x},
                          {"error", e},
                          {"weights", w},
                          {"hessian", hessian},
                          {"pixel_indices", {pixels.begin(), pixels.end()}}};
  for (auto const angle : scan.angles()) in["angles"].push_back(static_cast<double>(angle));
  for (auto const& form : record::fusion_forms(g)) {
    auto const out = record::evaluate<double>(form.g, in).outputs;
    expect_near(out.at("new_values"), values, 1e-5);  // literals of a graph are float32
    expect_near(out.at("new_error"), error, 1e-5);
  }
}

}  // namespace
