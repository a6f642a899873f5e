// Loading against computing, by spans with a known overlap.
#include "mbirk/profile/pipeline.hpp"

#include <gtest/gtest.h>

#include "core/messages.hpp"

namespace {

using namespace mbirk;
using instrument::event_kind;

TEST(Pipeline, OverlapsByHand) {
  instrument::trace_buffer trace(20);
  auto const span = [&](char const* name, std::int64_t begin, std::int64_t end,
                        event_kind kind = event_kind::operation) {
    trace.add({name, kind, begin, end});
  };
  // load    10..40      60..70 65..80
  // compute       30..50   65..........110    130..150
  span("load", 10, 40), span("compute", 30, 50, event_kind::stage), span("load", 60, 70), span("load", 65, 80),
      span("compute", 65, 110);
  span("compute", 130, 150), span("save", 0, 500), span("compute", 0, 900, event_kind::kernel);
  auto const t = profile::times_of_pipeline(trace, "load", "compute");
  EXPECT_NEAR(t.whole, 140e-9, 1e-20);
  EXPECT_NEAR(t.loading, 50e-9, 1e-20) << "10..40 and 60..80: once, though two threads load at 65..70";
  EXPECT_NEAR(t.computing, 85e-9, 1e-20);
  EXPECT_NEAR(t.overlap, 25e-9, 1e-20) << "30..40 and 65..80";
  EXPECT_NEAR(t.waiting, 25e-9, 1e-20) << "10..30 and 60..65";
  EXPECT_NEAR(t.idle, 30e-9, 1e-20) << "50..60 and 110..130";
  EXPECT_NEAR(t.waiting_share(), 25.0 / 140, 1e-12);
  EXPECT_NEAR(t.hidden_share(), 0.5, 1e-12);
  EXPECT_EQ(
      t.text(),
      "140 ns: computing 85 ns, loading 50 ns of which 50 % is hidden; waits for data 18 % of the time, neither 21 %");
}

TEST(Pipeline, MissingSpansAreAnError) {
  instrument::trace_buffer trace(20);
  trace.add({"load", event_kind::operation, 0, 10});
  test::expect_error<parameter_error>([&] { profile::times_of_pipeline(trace, "load", "compute"); },
                                      {"no span 'compute'"});
  test::expect_error<parameter_error>([&] { profile::times_of_pipeline(trace, "fetch", "load"); }, {"no span 'fetch'"});
}

}  // namespace
