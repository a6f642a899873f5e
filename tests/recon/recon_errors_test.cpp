// recon and prox_map: errors and their messages, and cases with only a warning. Also compiles both operations for the
// other files of this folder.
#include <gtest/gtest.h>

#include "core/messages.hpp"
#include "mbirk/mbirk.hpp"
#include "mbirk/recon/recon.hpp"
#include "recon/recon_support.hpp"

namespace mbirk::test {

double error_of_roots() { return 0; }
recon_log run_recon(any_scan const& s, view<float const, 3> sinogram, std::optional<view<float const, 3>> weights,
                    view<float, 3> recon, recon_options const& o, int threads) {
  return std::visit([&](auto const& scan) { return mbirk::recon(on_host(threads), scan, sinogram, weights, recon, o); },
                    s);
}
recon_log run_prox_map(any_scan const& s, view<float const, 3> prox_input, view<float const, 3> sinogram,
                       std::optional<view<float const, 3>> weights, view<float, 3> recon, recon_options const& o,
                       int threads) {
  return std::visit(
      [&](auto const& scan) { return prox_map(on_host(threads), scan, prox_input, sinogram, weights, recon, o); }, s);
}

}  // namespace mbirk::test

namespace {

using namespace mbirk;
using namespace mbirk::test;
using const_view = view<float const, 3>;

/// A valid call, to be spoiled; either recon or prox_map.
struct call {
  any_scan scan;
  bool prox;
  array<3> y, w, v, x, start;
  std::optional<const_view> sinogram = {}, weights = {}, prox_input = {};
  std::optional<view<float, 3>> recon = {};
  recon_options options = {};

  call(any_scan const& s, bool as_prox)
      : scan(s),
        prox(as_prox),
        y(random_array<3>(sinogram_shape(s), 1)),
        w(sinogram_shape(s), 1.0f),
        v(recon_shape(s), 0.5f),
        x(recon_shape(s), -7.0f),
        start(recon_shape(s)) {
    options.max_iterations = 1, options.granularity = {1, 2}, options.partition_sequence = {1};
  }
  char const* name() const { return prox ? "prox_map" : "recon"; }
  recon_log operator()() {
    auto const in = sinogram.value_or(y.all());
    auto const out = recon.value_or(x.all());
    return prox ? run_prox_map(scan, prox_input.value_or(v.all()), in, weights, out, options)
                : run_recon(scan, in, weights, out, options);
  }
};

/// Both operations in both geometries; recon (7, 7, 2), sinogram (6, 2, 7).
template <class F> void each_call(F const& f) {
  for (any_scan const& s : {any_scan(known_parallel()), any_scan(known_cone())})
    for (bool const prox : {false, true}) {
      SCOPED_TRACE(std::string(std::holds_alternative<cone_scan>(s) ? "cone " : "parallel ") +
                   (prox ? "prox_map" : "recon"));
      call c(s, prox);
      f(c);
    }
}
/// Refused before any work: the result array is unchanged.
template <class E> void expect_refused(call& c, std::vector<std::string> parts) {
  parts.insert(parts.begin(), c.name() + std::string(": "));
  expect_error<E>(c, parts);
  EXPECT_EQ(c.x.data, std::vector<float>(c.x.data.size(), -7.0f));
}

TEST(ReconErrors, TheCallIsRightWhenNothingIsSpoiled) {
  each_call([](call& c) {
    EXPECT_EQ(c().num_iterations, 1);
    c.weights = c.w.all(), c.options.init_recon = const_view(c.start.all());
    EXPECT_EQ(c().num_iterations, 1);
  });
}

TEST(ReconErrors, WrongShapes) {
  std::vector<float> data(1000);
  const_view const wrong(data.data(), {6, 3, 7}), wrong_image(data.data(), {7, 2, 7});
  each_call([&](call c) {
    c.sinogram = wrong;
    expect_refused<shape_error>(c, {"sinogram has shape (6, 3, 7)", "(views, rows, channels) = (6, 2, 7)"});
  });
  each_call([&](call c) {
    c.weights = wrong;
    expect_refused<shape_error>(c, {"weights has shape (6, 3, 7)", "(views, rows, channels) = (6, 2, 7)"});
  });
  each_call([&](call c) {
    c.recon = view<float, 3>(data.data(), {7, 2, 7});
    expect_refused<shape_error>(c, {"recon has shape (7, 2, 7)", "(rows, cols, slices) = (7, 7, 2)"});
  });
  each_call([&](call c) {
    c.options.init_recon = wrong_image;
    expect_refused<shape_error>(c, {"init_recon has shape (7, 2, 7)", "(rows, cols, slices) = (7, 7, 2)"});
  });
  each_call([&](call c) {
    if (!c.prox) return;
    c.prox_input = wrong_image;
    expect_refused<shape_error>(c, {"prox_input has shape (7, 2, 7)", "(rows, cols, slices) = (7, 7, 2)"});
    c.prox_input = const_view(c.x.all());
    expect_refused<parameter_error>(c, {"prox_input and recon are the same array"});
  });
  for (auto const x : data) EXPECT_EQ(x, 0.0f);
}

TEST(ReconErrors, ArraysWithoutDataOrWithoutOrder) {
  std::vector<float> data(1000);
  each_call([&](call c) {
    c.sinogram = const_view(nullptr, {6, 2, 7});
    expect_refused<shape_error>(c, {"sinogram has no data"});
    c.sinogram = const_view(data.data(), {6, 2, 7}, {14, 1, 2});
    expect_refused<shape_error>(c, {"sinogram has stride 2 along its last axis"});
  });
  // Gaps, and axes in another order: neither is the dense array (rows, cols, slices) that images must be.
  for (auto const& strides : {shape_3{20, 2, 1}, shape_3{14, 3, 1}, shape_3{2, 14, 1}}) {
    each_call([&](call c) {
      c.recon = view<float, 3>(data.data(), {7, 7, 2}, strides);
      expect_refused<shape_error>(c, {"recon has", "expected a dense array"});
    });
    each_call([&](call c) {
      c.options.init_recon = const_view(data.data(), {7, 7, 2}, strides);
      expect_refused<shape_error>(c, {"init_recon has", "expected a dense array"});
    });
    each_call([&](call c) {
      if (!c.prox) return;
      c.prox_input = const_view(data.data(), {7, 7, 2}, strides);
      expect_refused<shape_error>(c, {"prox_input has", "expected a dense array"});
    });
  }
  for (auto const x : data) EXPECT_EQ(x, 0.0f);
}

/// Automatic regularisation checks the data and reports errors in its name; without it the operation itself does.
TEST(ReconErrors, DataThatAreNotFinite) {
  for (bool const automatic : {true, false}) {
    auto const expect_bad = [&](call& c, std::vector<std::string> parts) {
      if (!automatic)
        c.options.sigma_y = 1, c.options.sigma_x = 1, c.options.sigma_prox = 1,
        parts.push_back(c.name() + std::string(": "));
      expect_error<parameter_error>(c, parts);
      EXPECT_EQ(c.x.data, std::vector<float>(c.x.data.size(), -7.0f));
    };
    each_call([&](call c) {
      for (float const bad : {NAN, -INFINITY}) {
        c.y.all()(4, 1, 3) = bad;
        expect_bad(c, {"sinogram(4, 1, 3) is " + detail::number_text(static_cast<double>(bad)), "expected finite"});
      }
    });
    each_call([&](call c) {
      c.weights = c.w.all();
      for (float const bad : {NAN, INFINITY, -0.5f}) {
        c.w.all()(2, 0, 6) = bad;
        expect_bad(c, {"weights(2, 0, 6) is " + detail::number_text(static_cast<double>(bad)), ">= 0"});
      }
      std::fill(c.w.data.begin(), c.w.data.end(), 0.0f);
      expect_bad(c, {"weights is 0", "at least one"});
      c.w.all()(5, 1, 6) = 1, c.y.all()(5, 1, 6) = 2;  // some zeros are allowed, even all but one
      EXPECT_EQ(c().num_iterations, 1);
    });
  }
}

/// Problems that are not checked before the first step surface there: as an error, never silently in the image.
TEST(ReconErrors, ImagesThatAreNotFinite) {
  each_call([](call c) {
    c.start.all()(3, 3, 1) = NAN;
    c.options.init_recon = const_view(c.start.all());
    expect_error<error>(c, {std::string(c.name()) + ":", "finite"});
  });
  each_call([](call c) {
    if (!c.prox) return;
    c.v.all()(3, 3, 0) = INFINITY;
    expect_error<error>(c, {"prox_map:", "finite"});
  });
}

TEST(ReconErrors, AZeroSinogramHasNoAutomaticNoise) {
  each_call([](call c) {
    c.y = array<3>(c.y.shape);
    expect_error<parameter_error>(c, {"sigma_y is 0", "sinogram is zero"});
    EXPECT_EQ(c.x.data, std::vector<float>(c.x.data.size(), -7.0f));
  });
  call c(known_parallel(), false);  // with given sigmas it is a valid sinogram, and its image is 0
  c.y = array<3>(c.y.shape);
  c.options.sigma_y = 1, c.options.sigma_x = 1;
  EXPECT_EQ(c().num_iterations, 1);
  EXPECT_EQ(c.x.data, std::vector<float>(c.x.data.size(), 0.0f));
}

TEST(ReconErrors, Options) {
  struct bad_option {
    std::function<void(recon_options&)> set;
    std::vector<std::string> parts;
  };
  std::vector<bad_option> const all{
      {[](auto& o) { o.max_iterations = -1; }, {"max_iterations is -1", ">= 0"}},
      {[](auto& o) { o.first_iteration = -2; }, {"first_iteration is -2", ">= 0"}},
      {[](auto& o) { o.stop_threshold_change_pct = -0.1; }, {"stop_threshold_change_pct is -0.1", ">= 0"}},
      {[](auto& o) { o.stop_threshold_change_pct = NAN; }, {"stop_threshold_change_pct is nan", ">= 0"}},
      {[](auto& o) { o.max_alpha = 0; }, {"max_alpha is 0", "positive"}},
      {[](auto& o) { o.max_alpha = INFINITY; }, {"max_alpha is inf", "positive"}},
      {[](auto& o) { o.checkpoint_every = 0; }, {"checkpoint_every is 0", "at least 1"}},
      {[](auto& o) { o.sigma_y = 0; }, {"sigma_y is 0", "positive"}},
      {[](auto& o) { o.sigma_x = -1; }, {"sigma_x is -1", "positive"}},
      {[](auto& o) { o.sigma_prox = NAN; }, {"sigma_prox is nan", "positive"}},
      {[](auto& o) { o.init_recon = std::numeric_limits<double>::infinity(); }, {"init_recon is inf", "finite"}},
  };
  for (auto const& bad : all)
    each_call([&](call c) {
      bad.set(c.options);
      expect_refused<parameter_error>(c, bad.parts);
    });
  std::vector<bad_option> const of_prior{
      {[](auto& o) { o.p = 2.5; }, {"p is 2.5", "1 <= q <= p <= 2"}},
      {[](auto& o) { o.q = 0.5; }, {"q is 0.5", "1 <= q <= p <= 2"}},
      {[](auto& o) { o.T = 0; }, {"T is 0", "positive"}},
      {[](auto& o) { o.qggmrf_nbr_wts = {0, 0, 0}; }, {"nbr_wts is (0, 0, 0)", "not all zero"}},
      {[](auto& o) { o.qggmrf_nbr_wts = {1, -1, 1}; }, {"nbr_wts is (1, -1, 1)", ">= 0"}},
  };
  for (auto const& bad : of_prior)
    each_call([&](call c) {
      if (c.prox) return;  // prox_map has another prior
      bad.set(c.options);
      expect_refused<parameter_error>(c, bad.parts);
    });
  each_call([](call c) {  // any constant is an initial image
    for (double const constant : {0.0, -0.25, 3.0}) {
      c.options.init_recon = constant;
      EXPECT_EQ(c().num_iterations, 1);
    }
  });
}

TEST(ReconErrors, SliceDampingIsForConeBeam) {
  each_call([](call& c) {
    c.options.slice_damping = false;
    EXPECT_EQ(c().num_iterations, 1);
    c.options.slice_damping = true;
    if (std::holds_alternative<cone_scan>(c.scan)) EXPECT_EQ(c().num_iterations, 1);
    else expect_error<parameter_error>(c, {c.name() + std::string(": slice_damping is true"), "cone beam"});
  });
}

TEST(ReconErrors, Partitions) {
  each_call([](call c) {
    c.options.partition_sequence = {0, 2};
    expect_refused<index_error>(c, {"partition_sequence has the entry 2", "0 to 1", "2 entries"});
    c.options.partition_sequence = {-1};
    expect_refused<index_error>(c, {"partition_sequence has the entry -1", "0 to 1"});
    c.options.partition_sequence = {};
    expect_error<parameter_error>(c, {"sequence is empty"});
    c.options.partition_sequence = {0}, c.options.granularity = {0};
    expect_error<parameter_error>(c, {"num_subsets is 0", "1 to"});
    EXPECT_EQ(c.x.data, std::vector<float>(c.x.data.size(), -7.0f));
  });
  each_call([](call c) {
    c.options.granularity = {}, c.options.partition_sequence = {0};
    try {
      c();
      ADD_FAILURE() << "no partition, but no error";
    } catch (error const& e) {
      EXPECT_EQ(std::string(e.what()).find("18446744073709551615"), std::string::npos) << e.what();
    }
  });
}

TEST(ReconErrors, AMaskWithoutPixels) {
  parallel_parameters p{.sinogram_shape = {6, 2, 7},
                        .angles = equal_angles(6, 3),
                        .use_ror_mask = mask_array{{7, 7}, std::vector<std::uint8_t>(49)}};
  call c(parallel_scan(p), false);
  expect_error<parameter_error>(c, {"no pixel is inside the mask"});
}

bool warned(recon_log const& r, std::string const& of) {
  return std::any_of(r.warnings.begin(), r.warnings.end(),
                     [&](auto const& w) { return w.find(of) != std::string::npos; });
}

TEST(ReconWarnings, MoreSubsetsThanPixels) {
  each_call([](call c) {
    auto const pixels = std::to_string(masked_in(c.scan).size());
    c.options.granularity = {1, 1000};
    auto const r = c();
    EXPECT_TRUE(warned(r, "1000 subsets of " + pixels + " pixels")) << ::testing::PrintToString(r.warnings);
    EXPECT_EQ(r.granularity, c.options.granularity);
    EXPECT_EQ(r.num_iterations, 1);
  });
}

TEST(ReconWarnings, OfTheSinogram) {
  each_call([](call c) {
    auto const whole = known_sinogram();
    for (std::size_t n = 0; n < c.y.data.size(); ++n) c.y.data[n] = -whole.data[n];
    EXPECT_TRUE(warned(c(), "no positive value"));
    // Rows of background, and an object that covers the detector in the other rows: it is truncated.
    for (index_t v = 0; v < 6; ++v)
      for (index_t n = 0; n < 7; ++n) c.y.all()(v, 0, n) = 0, c.y.all()(v, 1, n) = 5 + static_cast<float>(n % 3);
    EXPECT_TRUE(warned(c(), "edge of the detector"));
    // nothing is automatic, so there is no warning
    c.options.sigma_y = 1, c.options.sigma_x = 1, c.options.sigma_prox = 1;
    EXPECT_TRUE(c().warnings.empty());
  });
}

TEST(ReconResume, RefusesStatesThatDoNotFit) {
  each_call([](call c) {
    recon_state good;
    c.options.max_iterations = 3, c.options.seed = 4;
    c.options.checkpoint = [&](recon_state const& s) {
      if (s.record.num_iterations == 1) good = s;
    };
    c();
    c.options.checkpoint = {};
    std::fill(c.x.data.begin(), c.x.data.end(), -7.0f);
    auto state = good;
    c.options.resume = &state;
    c.options.seed = 5;
    expect_refused<parameter_error>(c, {"seed 4", "(5)"});
    c.options.seed = 4, c.options.granularity = {1, 3};
    expect_refused<parameter_error>(c, {"granularity"});
    c.options.granularity = {1, 2};
    state.sinogram_shape = {6, 2, 8};
    expect_refused<shape_error>(c, {"(6, 2, 8)", "expected (6, 2, 7)"});
    state = good, state.recon_shape = {7, 8, 2};
    expect_refused<shape_error>(c, {"(7, 8, 2)", "(7, 7, 2)"});
    for (auto const array : {&recon_state::recon, &recon_state::weighted_error, &recon_state::hessian}) {
      state = good, (state.*array).pop_back();
      expect_refused<shape_error>(c, {"do not fit"});
    }
    state = good, state.record.stop_threshold_change_pct.clear();
    expect_refused<parameter_error>(c, {"unequal lengths"});
    for (auto const sigma : {&recon_log::sigma_y, c.prox ? &recon_log::sigma_prox : &recon_log::sigma_x}) {
      state = good, state.record.*sigma = 0;
      expect_refused<parameter_error>(c, {"of another operation"});
    }
    state = good;
    EXPECT_EQ(c().num_iterations, 3);
  });
}

/// The state's iterations drew their orders from other partitions than those of this sequence, so this would be a
/// different run.
TEST(ReconResume, RefusesAnotherPartitionSequence) {
  each_call([](call c) {
    recon_state state;
    c.options.granularity = {1, 2, 4}, c.options.partition_sequence = {2, 1}, c.options.max_iterations = 1;
    c.options.checkpoint = [&](recon_state const& s) { state = s; };
    c();
    c.options.checkpoint = {}, c.options.resume = &state, c.options.max_iterations = 3,
    c.options.partition_sequence = {1, 1};
    std::fill(c.x.data.begin(), c.x.data.end(), -7.0f);
    expect_refused<parameter_error>(c, {"partition_sequence"});
  });
}

}  // namespace
