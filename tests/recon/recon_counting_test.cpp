// recon and prox_map under instrumentation: counts equal the model's, bits equal those of a run without, stages appear
// in a trace.
#include <map>
#include <stdexcept>
#include <type_traits>

#include "instrument/same_counts.hpp"
#include "mbirk/instrument/counting.hpp"
#include "mbirk/instrument/tracing.hpp"
#include "mbirk/mbirk.hpp"
#include "mbirk/recon/recon.hpp"
#include "recon/recon_support.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;
using const_view = view<float const, 3>;

/// A problem in parallel or cone beam under any policy; without data (the cost model) no array is read or written, so
/// none is allocated.
template <class Context> vcd_outcome solve_on(Context const& ctx, vcd_problem const& p) {
  bool constexpr has_data = Context::backend::has_data;
  auto const in = [](array<3> const& a) { return has_data ? a.all() : const_view(nullptr, a.shape); };
  auto o = p.options;
  if (std::holds_alternative<const_view>(o.init_recon)) o.init_recon = in(p.start);
  vcd_outcome out{array<3>(recon_shape(p.scan), NAN), {}};
  view<float, 3> const result(has_data ? out.image.data.data() : nullptr, out.image.shape);
  std::optional<const_view> weights;
  if (p.weights) weights = in(*p.weights);
  out.record = std::visit(
      [&]<class Scan>(Scan const& scan) -> recon_log {
        // Reconstructions of the other geometries would only take longer to compile.
        if constexpr (std::is_same_v<Scan, parallel_scan> || std::is_same_v<Scan, cone_scan>)
          return p.prox_input ? prox_map(ctx, scan, in(*p.prox_input), in(p.sinogram), weights, result, o)
                              : recon(ctx, scan, in(p.sinogram), weights, result, o);
        else throw std::logic_error("the problem is neither in parallel nor in cone beam");
      },
      p.scan);
  return out;
}

/// Both geometries at odd sizes; with everything automatic, with weights and the constraint from a given image, and as
/// a proximal map.
std::vector<std::pair<std::string, vcd_problem>> problems() {
  std::vector<std::pair<std::string, vcd_problem>> all;
  any_scan const parallel = parallel_scan(parallel_parameters{.sinogram_shape = {5, 19, 13},
                                                              .angles = some_angles(5),
                                                              .det_channel_offset = 0.4,
                                                              .delta_voxel = 0.9,
                                                              .recon_shape = shape_3{12, 11, 19}});
  any_scan const cone = cone_scan(cone_parameters{.sinogram_shape = {5, 17, 13},
                                                  .angles = some_angles(5),
                                                  .source_detector_dist = 60,
                                                  .source_iso_dist = 41,
                                                  .helical_z_shifts = {-1, -0.5f, 0, 0.5f, 1},
                                                  .det_channel_offset = 0.4,
                                                  .delta_voxel = 0.7,
                                                  .recon_shape = shape_3{11, 12, 21}});
  for (auto const& s : {parallel, cone}) {
    std::string const name = std::holds_alternative<cone_scan>(s) ? "cone " : "parallel ";
    vcd_problem p{
        .scan = s, .sinogram = noisy_sinogram(s, 51), .start = random_array<3>(recon_shape(s), 52), .options = {}};
    p.options.max_iterations = 2, p.options.stop_threshold_change_pct = 0;
    all.emplace_back(name + "recon", p);
    p.options.granularity = {1, 2, 7}, p.options.partition_sequence = {2, 0};
    p.options.sigma_y = 0.3, p.options.sigma_x = 0.2, p.options.sigma_prox = 0.3;
    p.options.positivity_flag = p.options.compute_prior_loss = true, p.options.init_recon = const_view(p.start.all());
    p.weights = patchy_weights(s, 53);
    all.emplace_back(name + "recon, weighted and positive", p);
    p.options.init_recon = 0.0, p.options.positivity_flag = false, p.options.slice_damping = false;
    all.emplace_back(name + "recon from 0, undamped", p);
    p.options = {};
    p.options.max_iterations = 2, p.options.stop_threshold_change_pct = 0, p.options.granularity = {1, 2, 7},
    p.options.partition_sequence = {1};
    p.prox_input = random_array<3>(recon_shape(s), 54);
    all.emplace_back(name + "prox_map", p);
  }
  return all;
}

/// In each subset, the view-wise back projection applies the error update left pending by the previous subset; the last
/// pending update is applied at the end.
TEST(ReconCounting, ManySubsetsGoByViews) {
  for (auto const kind : all_small_subset_cases) {
    SCOPED_TRACE(name_of(kind));
    bool const parallel = kind == small_subset_case::parallel;
    auto p = small_subset_problem(55, kind);
    p.options.init_recon = const_view(p.start.all()), p.options.positivity_flag = true;
    instrument::ledger counted, modelled;
    auto const image = solve_on(context{exec::host{}, instrument::counting<>{counted}}, p).image;
    solve_on(context{exec::host{}, instrument::cost_model<>{modelled}}, p);
    expect_same_counts(counted.last(), modelled.last());
    EXPECT_TRUE(same_bits(image.data, solve(p, 2).image.data));
    std::map<std::string, std::uint64_t> launches;
    for (auto const& k : counted.last().kernels) launches[k.name] += k.launches;
    EXPECT_EQ(launches[parallel ? "parallel_fused_update_backproject" : "cone_fused_update_backproject"],
              20u + 24 + 16);
    EXPECT_EQ(launches["reduce_partials"], 20u + 24 + 16);
    if (parallel)
      EXPECT_EQ(launches["parallel_project_subset"], 20u + 24 + 16 + 3)
          << "measured in every subset, subtracted once an iteration";
    else EXPECT_EQ(launches["axpy_projection"], 3u) << "once an iteration";
    for (auto const& a : counted.last().arrays) EXPECT_EQ(a.outside, 0u) << a.name;
  }
}

TEST(ReconCounting, EqualsTheModelInEveryInteger) {
  for (auto const& [name, p] : problems()) {
    SCOPED_TRACE(name);
    instrument::ledger counted, modelled;
    solve_on(context{exec::host{}, instrument::counting<>{counted}}, p);
    solve_on(context{exec::host{}, instrument::cost_model<>{modelled}}, p);
    ASSERT_EQ(counted.records().size(), 1u);
    ASSERT_EQ(modelled.records().size(), 1u);
    expect_same_counts(counted.last(), modelled.last());
    EXPECT_GT(counted.last().operations.flops(), 0u);
    EXPECT_EQ(counted.last().name, std::string(std::holds_alternative<cone_scan>(p.scan) ? "cone_" : "parallel_") +
                                       (p.prox_input ? "prox_map" : "mbir_recon"));
  }
}

TEST(ReconCounting, ChangesNoBit) {
  for (auto const& [name, p] : problems()) {
    SCOPED_TRACE(name);
    instrument::ledger l;
    auto const counted = solve_on(context{exec::host{}, instrument::counting<>{l}}, p),
               plain = solve_on(context{exec::host{2}, instrument::none{}}, p);
    EXPECT_TRUE(same_bits(counted.image.data, plain.image.data));
    expect_same_record(counted.record, plain.record);
  }
}

/// Stage counts sum to those of the run, no access lies outside of its array, and the whole sinogram is read and
/// none of it written.
TEST(ReconCounting, ArraysAreNeverLeftAndStagesAddUp) {
  for (auto const& [name, p] : problems()) {
    SCOPED_TRACE(name);
    instrument::ledger l;
    solve_on(context{exec::host{}, instrument::counting<>{l}}, p);
    instrument::op_counts sum;
    std::uint64_t bytes = 0;
    for (auto const& s : l.last().stages) sum += s.operations, bytes += instrument::bytes_accessed(s.arrays);
    EXPECT_EQ(sum, l.last().operations);
    EXPECT_EQ(bytes, instrument::bytes_accessed(l.last().arrays));
    auto const V = static_cast<std::uint64_t>(sinogram_shape(p.scan)[0]),
               R = static_cast<std::uint64_t>(sinogram_shape(p.scan)[1]),
               C = static_cast<std::uint64_t>(sinogram_shape(p.scan)[2]);
    bool seen = false;
    for (auto const& a : l.last().arrays) {
      EXPECT_EQ(a.outside, 0u) << a.name;
      if (a.name != "sinogram" || a.role != array_role::argument) continue;
      seen = true;
      EXPECT_EQ(a.counts.unique_read, 4 * V * R * C) << "all of the sinogram is read";
      EXPECT_EQ(a.counts.bytes_stored, 0u);
    }
    EXPECT_TRUE(seen);
  }
}

using instrument::event_kind;

bool within(instrument::trace_event const& inner, instrument::trace_event const& outer) {
  return outer.begin <= inner.begin && inner.end <= outer.end;
}

/// operation > iteration > subset > back, direction, line search, error, update.
TEST(ReconTracing, ShowsIterationsSubsetsAndTheirSteps) {
  for (auto const& [name, p] : problems()) {
    SCOPED_TRACE(name);
    instrument::trace_buffer buffer(200'000);
    auto const record = solve_on(context{exec::host{}, instrument::tracing{buffer}}, p).record;
    ASSERT_EQ(buffer.dropped(), 0u);
    EXPECT_EQ(buffer.live_bytes.load(), 0);
    std::vector<instrument::trace_event> iterations, subsets;
    instrument::trace_event operation{};
    for (auto const& e : buffer.events()) {
      std::string const what = e.name;
      if (e.kind == event_kind::operation && (what.ends_with("mbir_recon") || what.ends_with("prox_map")))
        operation = e;
      if (e.kind == event_kind::stage && what == "iteration") iterations.push_back(e);
      if (e.kind == event_kind::stage && what == "subset") subsets.push_back(e);
    }
    ASSERT_NE(operation.name, nullptr);
    EXPECT_EQ(operation.value,
              sinogram_shape(p.scan)[0] * static_cast<index_t>(masked_in(p.scan).size()) * slices_of(p.scan));
    ASSERT_EQ(iterations.size(), 2u);
    for (auto const& e : iterations) EXPECT_TRUE(within(e, operation));
    std::size_t next = 0;
    std::vector<index_t> sizes;  // sizes of the subsets
    for (std::size_t k = 0; k < 2; ++k) {
      index_t const pixels = static_cast<index_t>(masked_in(p.scan).size());
      auto const asked = p.options.granularity[static_cast<std::size_t>(record.partition_sequence[k])];
      for (index_t s = 0; s < std::min(asked, pixels); ++s, ++next) {
        ASSERT_LT(next, subsets.size());
        EXPECT_TRUE(within(subsets[next], iterations[k]));
        sizes.push_back(ceil_div(pixels, std::min(asked, pixels)));
      }
    }
    EXPECT_EQ(next, subsets.size());
    for (std::size_t n = 0; n < subsets.size(); ++n) {
      // A constrained direction is projected once more if the projection is stored, and otherwise after the step. A
      // subset with few pixels relative to the channels leaves the error update to the next back projection, which runs
      // view by view (each view is a task in this small problem).
      index_t const channels = sinogram_shape(p.scan)[2];
      bool const cone = std::holds_alternative<cone_scan>(p.scan), kept = cone || sizes[n] > 4 * channels,
                 fuses_update = !cone && 2 * sizes[n] <= channels + 6;
      std::map<std::string, int> const expected{
          {"back", 1},          {"direction", 1}, {"line search", p.options.positivity_flag && kept ? 2 : 1},
          {"error", !fuses_update}, {"update", 1},    {"positivity", p.options.positivity_flag}};
      auto const& subset = subsets[n];
      std::map<std::string, int> found{{"positivity", 0}, {"error", 0}};
      std::int64_t last = subset.begin;
      for (auto const& e : buffer.events()) {
        if (e.kind != event_kind::stage || !expected.contains(e.name) || !within(e, subset)) continue;
        ++found[e.name];
        EXPECT_LE(last, e.begin) << "steps follow each other";
        last = e.end;
      }
      EXPECT_EQ(found, expected);
    }
  }
}

}  // namespace
