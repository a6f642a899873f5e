// Graphs of operations that are made of others: direct reconstruction, and weights by a projection of metal.
#include <gtest/gtest.h>

#include "filter/support.hpp"
#include "mbirk/definition/direct_recon.hpp"
#include "mbirk/recon/direct_recon.hpp"
#include "mbirk/recon/weights.hpp"
#include "mbirk/record/operations.hpp"
#include "mbirk/record/rewrite.hpp"
#include "record/support.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

/// A graph has literals in float32, so positions up to the distance of the source, 60, are off by 2^-24 of that, in
/// every view.
double literal_error(any_scan const& s) { return 60 * 0x1p-24 * static_cast<double>(sinogram_shape(s)[0]); }

struct ComposedGraph : ::testing::TestWithParam<geometry_case> {
  any_scan const any = make_scan(GetParam().parameters);
  pixel_list const pixels = masked_in(any);
  index_t const count = std::ssize(pixels);
};

// Errors of the tuned operation as in recon/direct_recon_test.cpp.
TEST_P(ComposedGraph, OfDirectReconstructionIsTheTunedOperation) {
  std::visit([&]<class Geometry>(scan<Geometry> const& s) {
    if constexpr (has_direct_recon<Geometry>) {
      auto const y = random_array<3>(s.sinogram_shape(), 71);
      auto const q = define_filter(s, y.data), spread_error = filter_magnitude(s, y.data);
      std::vector<double> magnitude;
      for (double const value : q) magnitude.push_back(std::abs(value));
      auto const expected = define_back(s, q, pixels, 1), passed = define_back(s, spread_error, pixels, 1);
      double const most = largest(define_back(s, magnitude, pixels, 1));

      owning_interpreter m;
      std::vector<double> defined(expected.size());
      definition::direct_recon(m, s, m.input(view<float const, 3>(y.data.data(), s.sinogram_shape())),
                               m.input(view<std::int32_t const, 1>(pixels.data(), {count})), count,
                               view<double, 2>(defined.data(), {count, s.geometry().slices}));
      EXPECT_EQ(defined, expected);

      array<3> image(s.recon_shape());
      direct_recon(on_host(), s, y.all(), image.all());
      auto const tuned = cylinders_of(image, pixels);
      double const projector = tolerance(any, false, 1) * most, filter = filter_roundings(s.geometry()) * 0x1p-24;
      auto in = inputs_of(s, pixels);
      in["sinogram"] = numbers(y.data);
      for (auto const& form : record::fusion_forms(record::direct_recon(s, count))) {
        auto const found = record::evaluate<double>(form.g, in).outputs.at("voxel_values");
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t k = 0; k < found.size(); ++k) {
          ASSERT_NEAR(found[k], expected[k], literal_error(any) * most) << form.name << " at " << k;
          ASSERT_NEAR(found[k], static_cast<double>(tuned.data[k]),
                      literal_error(any) * most + projector + filter * passed[k])
              << form.name << " at " << k;
        }
      }
    } else {
      EXPECT_EQ(std::string(Geometry::name), "general");
    }
  }, any);
}

TEST_P(ComposedGraph, OfMetalWeightsIsTheTunedOperation) {
  std::visit([&](auto const& s) {
    constexpr double threshold = 0.96875, beta = 2, gamma = 1.5;
    auto const y = random_array<3>(s.sinogram_shape(), 72), x = random_array<3>(s.recon_shape(), 73);
    array<3> tuned(y.shape);
    gen_weights_mar(on_host(), s, y.all(), std::optional(view<float const, 3>(x.all())), threshold, beta, gamma,
                    tuned.all());
    auto metal = x;
    for (auto& value : metal.data) value = static_cast<double>(value) > threshold ? 1.0f : 0.0f;
    auto const traces = define_forward(s, cylinders_of(metal, pixels).data, pixels);
    auto in = inputs_of(s, pixels);
    in["sinogram"] = numbers(y.data), in["init_recon"] = numbers(x.data), in["metal_threshold"] = {threshold};
    for (auto const& form : record::fusion_forms(record::gen_weights_mar(s, beta, gamma, count))) {
      auto const found = record::evaluate<double>(form.g, in).outputs.at("weights");
      std::size_t hit = 0;
      for (std::size_t k = 0; k < found.size(); ++k) {
        if (traces[k] > 0 && traces[k] < 1e-5) continue;  // float32 may decide either way
        bool const is_metal = traces[k] > 0;
        hit += is_metal;
        double const exponent = -static_cast<double>(y.data[k]) * (1 + (is_metal ? gamma : 0)) / beta;
        double const expected = std::exp(exponent);
        // the factor of the exponent is a literal in float32; in the tuned operation so are product and exp
        ASSERT_NEAR(found[k], expected, (1 + std::abs(exponent)) * 0x1p-24 * expected) << form.name << " at " << k;
        ASSERT_NEAR(found[k], static_cast<double>(tuned.data[k]), (5 + 3 * std::abs(exponent)) * 0x1p-24 * expected)
            << form.name << " at " << k;
      }
      EXPECT_GT(hit, 0u);
      EXPECT_LT(hit, found.size());
    }
  }, any);
}

INSTANTIATE_TEST_SUITE_P(Every, ComposedGraph, ::testing::ValuesIn(one_of_each_geometry()), case_name);

}  // namespace
