// Counts of direct reconstruction and weights against the models, integer by integer; no bit of a result changes.
#include "filter/support.hpp"
#include "instrument/same_counts.hpp"
#include "mbirk/instrument/counting.hpp"
#include "mbirk/recon/direct_recon.hpp"
#include "mbirk/recon/weights.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

TEST(DirectRecon, CountsEqualTheModels) {
  for (auto const& c : direct_cases()) {
    SCOPED_TRACE(c.name);
    visit_direct([&](auto const& s) {
      auto const y = random_array<3>(s.sinogram_shape(), 75);
      array<3> plain(s.recon_shape()), counted(s.recon_shape());
      instrument::ledger a, b;
      direct_recon(on_host(), s, y.all(), plain.all());
      direct_recon(context{exec::host{}, instrument::counting<>{a}}, s, y.all(), counted.all());
      direct_recon(context{exec::host{}, instrument::cost_model<>{b}}, s, view<float const, 3>(nullptr, y.shape),
                   view<float, 3>(nullptr, plain.shape));
      EXPECT_TRUE(same_bits(plain.data, counted.data)) << "counting must not change a bit";
      ASSERT_EQ(a.records().size(), 1u);
      ASSERT_EQ(b.records().size(), 1u);
      expect_same_counts(a.last(), b.last());
    }, make_scan(c.parameters));
  }
}

TEST(Weights, CountsEqualTheModel) {
  for (auto const type :
       {weight_type::unweighted, weight_type::transmission, weight_type::transmission_root, weight_type::emission})
    for (shape_3 const shape : {shape_3{3, 5, 7}, shape_3{2, 70, 300}}) {
      auto const y = random_array<3>(shape, 3);
      array<3> plain(shape), w(shape);
      gen_weights(on_host(), y.all(), type, plain.all());
      instrument::ledger counted, modelled;
      gen_weights(context{exec::host{}, instrument::counting<>{counted}}, y.all(), type, w.all());
      gen_weights(context{exec::host{}, instrument::cost_model<>{modelled}}, view<float const, 3>(nullptr, shape), type,
                  view<float, 3>(nullptr, shape));
      expect_same_counts(counted.last(), modelled.last());
      EXPECT_TRUE(same_bits(w.data, plain.data)) << "counting must not change a bit";
      EXPECT_EQ(counted.last().name, "gen_weights_" + std::string(weight_type_names[static_cast<std::size_t>(type)]));
      auto const bytes = 4 * y.data.size() * (type == weight_type::unweighted ? 1 : 2);
      std::size_t moved = 0;
      for (auto const& a : counted.last().arrays) moved += a.counts.bytes_loaded + a.counts.bytes_stored;
      EXPECT_EQ(moved, bytes);
    }
}

TEST(MarWeights, CountsEqualTheModel) {
  auto const compare = [](auto const& s) {
    auto const y = known_sinogram();
    auto const x = random_array<3>(s.recon_shape(), 5);
    // by the sinogram, by a reconstruction with a given threshold, and with an estimated one
    for (int const way : {0, 1, 2}) {
      std::optional<double> const threshold = way == 1 ? std::optional(0.8) : std::nullopt;
      auto const run = [&](auto const& ctx, float const* sinogram, float const* recon, float* weights) {
        auto const init = way == 0 ? std::nullopt : std::optional(view<float const, 3>(recon, s.recon_shape()));
        gen_weights_mar(ctx, s, view<float const, 3>(sinogram, y.shape), init, threshold, 1, 3,
                        view<float, 3>(weights, y.shape));
      };
      array<3> plain(y.shape), w(y.shape);
      instrument::ledger counted, modelled;
      run(on_host(), y.data.data(), x.data.data(), plain.data.data());
      run(context{exec::host{}, instrument::counting<>{counted}}, y.data.data(), x.data.data(), w.data.data());
      run(context{exec::host{}, instrument::cost_model<>{modelled}}, nullptr, nullptr, nullptr);
      expect_same_counts(counted.last(), modelled.last());
      EXPECT_EQ(counted.last().name, std::string(s.geometry().name) + "_gen_weights_mar");
      EXPECT_TRUE(same_bits(w.data, plain.data)) << "counting must not change a bit";
    }
  };
  compare(known_parallel());
  compare(known_cone());
}

}  // namespace
