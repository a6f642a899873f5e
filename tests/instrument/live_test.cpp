// The live policy: sites, scopes of several threads, the published table, and a real operation whose peak another
// policy measures too.
#include "mbirk/instrument/live.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <thread>

#include "instrument/operations.hpp"
#include "mbirk/instrument/both.hpp"
#include "mbirk/instrument/tracing.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::testing;
using instrument::live_site;
using instrument::live_state;

live_site const* find(live_state const& state, std::string const& where, std::string const& array) {
  for (std::int64_t k = 0; k < state.sites; ++k)
    if (state.site[k].where == where && state.site[k].array == array) return &state.site[k];
  return nullptr;
}
/// The table's words as a state.
live_state read(instrument::live_table const& table) {
  live_state state;
  for (std::size_t k = 0; k < instrument::live_table::words; ++k) {
    std::uint64_t const word = table.word[k];
    std::memcpy(reinterpret_cast<char*>(&state) + k * sizeof word, &word, sizeof word);
  }
  return state;
}
bool same(live_state const& a, live_state const& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

TEST(Live, ArraysBySite) {
  instrument::live_sites sites;
  instrument::live const policy(sites);
  sites.allocated("sinogram", 1000);
  {
    auto const operation = policy.scope({"project"});
    policy.allocated("rows", 300);
    {
      auto const stage = policy.stage("sum");
      policy.allocated("rows", 200);
      EXPECT_STREQ(sites.state().current, "project / sum");
    }
    EXPECT_STREQ(sites.state().current, "project");
    policy.released("rows", 300);
  }
  auto const s = sites.state();
  EXPECT_STREQ(s.current, "");
  EXPECT_EQ(s.sites, 3);
  EXPECT_EQ(s.live_bytes, 1200);
  EXPECT_EQ(sites.live_bytes(), 1200);
  EXPECT_EQ(s.peak_bytes, 1500);
  auto const *outer = find(s, "project", "rows"), *inner = find(s, "project / sum", "rows"),
             *plain = find(s, "", "sinogram");
  ASSERT_TRUE(outer && inner && plain);
  EXPECT_EQ(outer->live_bytes, 0);
  EXPECT_EQ(outer->peak_bytes, 300);
  EXPECT_EQ(outer->all_arrays, 1);
  EXPECT_EQ(inner->live_bytes, 200);
  EXPECT_EQ(inner->live_arrays, 1);
  EXPECT_EQ(plain->live_bytes, 1000);
  EXPECT_LE(s.peak_time, s.changed);
}

TEST(Live, TheSamePlaceIsTheSameSite) {
  instrument::live_sites sites;
  instrument::live const policy(sites);
  for (int k = 0; k < 1000; ++k) {
    auto const operation = policy.scope({"project"});
    std::string const name = "rows";  // the address may differ each time
    policy.allocated(name.c_str(), k), policy.released(name.c_str(), k);
  }
  auto const s = sites.state();
  EXPECT_EQ(s.sites, 1);
  EXPECT_EQ(s.site[0].all_arrays, 1000);
  EXPECT_EQ(s.site[0].all_bytes, 999 * 500);
  EXPECT_EQ(s.site[0].peak_bytes, 999);
  EXPECT_EQ(s.live_bytes, 0);
}

TEST(Live, UnknownReleasesAreIgnored) {
  instrument::live_sites sites;
  sites.released("never made", 10);
  sites.allocated("made", 10), sites.released("made", 11), sites.released("other", 10);
  EXPECT_EQ(sites.live_bytes(), 10);
}

TEST(Live, WithoutSitesNothingHappens) {
  instrument::live const policy;
  auto const operation = policy.scope({"project"});
  policy.allocated("rows", 300), policy.released("rows", 300);
}

TEST(Live, MoreSitesThanThereIsRoomFor) {
  instrument::live_sites sites;
  for (int k = 0; k < 300; ++k) sites.allocated("array " + std::to_string(k), 10);
  auto s = sites.state();
  EXPECT_EQ(s.sites, live_state::capacity);
  EXPECT_EQ(s.live_bytes, 3000);
  EXPECT_EQ(s.crowded, 300 - 255);
  auto const& rest = s.site[live_state::capacity - 1];
  EXPECT_STREQ(rest.where, "(other sites)");
  EXPECT_EQ(rest.live_bytes, 10 * (300 - 255));
  for (int k = 0; k < 300; ++k) sites.released("array " + std::to_string(k), 10);
  s = sites.state();
  for (auto const& site : s.site) EXPECT_EQ(site.live_bytes, 0) << site.array;
}

TEST(Live, MoreScopesThanThereIsRoomFor) {
  instrument::live_sites sites;
  instrument::live const policy(sites);
  for (int k = 0; k < 3000; ++k) {
    auto const name = "operation " + std::to_string(k);
    auto const outer = policy.scope({name.c_str()});
    auto const inner = policy.stage("stage");
    if (k % 100 == 0) policy.allocated("rows", 1);
  }
  EXPECT_STREQ(sites.state().current, "");
  EXPECT_EQ(sites.live_bytes(), 30);
  auto const s = sites.state();
  auto const* nameless = find(s, "", "rows");
  ASSERT_TRUE(nameless);
  EXPECT_GT(nameless->live_arrays, 0);
}

TEST(Live, LongTexts) {
  instrument::live_sites sites;
  instrument::live const policy(sites);
  std::string const name(100, 'a');
  auto const one = policy.scope({name.c_str()});
  auto const two = policy.stage("the end of it");
  auto const three = policy.stage(name.c_str());
  sites.allocated(std::string(200, 'x'), 1), sites.allocated(std::string(200, 'x'), 1);
  sites.step(std::string(200, 'y') + "z");
  auto const s = sites.state();
  EXPECT_EQ(std::strlen(s.current), sizeof s.current - 1);
  EXPECT_EQ(std::string(s.current).find("..."), 0u);
  EXPECT_NE(std::string(s.current).find("the end of it / " + name), std::string::npos);
  EXPECT_EQ(s.sites, 1) << "the same, cut";
  EXPECT_EQ(std::string(s.step).back(), 'z');
}

TEST(Live, ScopesBelongToTheirThread) {
  instrument::live_sites sites;
  instrument::live const policy(sites);
  auto const outer = policy.scope({"outer"});
  std::thread([&] {
    auto const other = policy.scope({"other"});
    policy.allocated("rows", 1);
  }).join();
  policy.allocated("rows", 2);
  EXPECT_TRUE(find(sites.state(), "other", "rows"));
  EXPECT_TRUE(find(sites.state(), "outer", "rows"));
  EXPECT_EQ(sites.state().sites, 2);
}

TEST(Live, TheTableIsWhatWasNoted) {
  auto const table = std::make_unique<instrument::live_table>();
  instrument::live_sites sites(table.get());
  instrument::live const policy(sites);
  EXPECT_TRUE(same(read(*table), sites.state()));
  auto check = [&, last = std::uint64_t{0}](char const* what) mutable {
    EXPECT_TRUE(same(read(*table), sites.state())) << what;
    EXPECT_EQ(table->sequence % 2, 0u) << what;
    EXPECT_GT(table->sequence, last) << what;
    last = table->sequence;
  };
  {
    auto const scope = policy.scope({"project"});
    check("scope");
    policy.allocated("rows", 5);
    check("allocated");
    sites.step("the first");
    check("step");
    for (int k = 0; k < 300; ++k) sites.allocated(std::to_string(k), k);
    check("crowded");
    policy.released("rows", 5);
    check("released");
  }
  check("left");
}

/// The sum over sites equals the total in every state that is read between equal even sequence numbers.
TEST(Live, AReaderSeesWhatBelongsTogether) {
  auto const table = std::make_unique<instrument::live_table>();
  instrument::live_sites sites(table.get());
  std::atomic<bool> go_on{true};
  std::vector<std::jthread> writers;
  for (int w = 0; w < 2; ++w)
    writers.emplace_back([&, w] {
      instrument::live const policy(sites);
      std::string const name = "writer " + std::to_string(w);
      while (go_on) {
        auto const scope = policy.scope({name.c_str()});
        for (int k = 0; k < 8; ++k) policy.allocated("rows", 100 + k);
        for (int k = 0; k < 8; ++k) policy.released("rows", 100 + k);
      }
    });
  int whole = 0, busy = 0;
  for (int k = 0; whole < 200 && k < 2'000'000; ++k) {
    auto const before = table->sequence.load(std::memory_order_acquire);
    if (before % 2 != 0) {  // a writer preempted in the middle of its entry may need this core
      std::this_thread::yield();
      continue;
    }
    auto const state = read(*table);  // atomic words, each an acquire
    if (table->sequence.load(std::memory_order_relaxed) != before) continue;
    index_t sum = 0;
    for (auto const& site : state.site) sum += site.live_bytes;
    EXPECT_EQ(sum, state.live_bytes);
    ++whole, busy += sum > 0;
    if (whole % 20 == 0) std::this_thread::yield();
  }
  go_on = false;
  writers.clear();
  EXPECT_GT(whole, 0);
  EXPECT_EQ(sites.live_bytes(), 0);
}

TEST(Live, AnOperation) {
  instrument::trace_buffer trace(1000);
  auto const expected = run<op::back>(context{exec::host{2}, instrument::tracing{trace}}, square_cone(16));
  index_t most = 0;
  for (auto const& e : trace.events()) most = std::max(most, e.kind == instrument::event_kind::memory ? e.value : 0);
  ASSERT_GT(most, 0);

  instrument::live_sites sites;
  trace.clear();
  instrument::both const policies{instrument::tracing{trace}, instrument::live{sites}};
  EXPECT_EQ(run<op::back>(context{exec::host{2}, policies}, square_cone(16)), expected) << "the same bits";
  auto const s = sites.state();
  EXPECT_EQ(s.live_bytes, 0);
  EXPECT_EQ(s.peak_bytes, most);
  for (std::int64_t k = 0; k < s.sites; ++k) EXPECT_EQ(std::string(s.site[k].where).find("cone_back_project"), 0u);
  EXPECT_STREQ(s.current, "");
}

TEST(Live, AResourceAnnouncesWhatIsTakenFromIt) {
  instrument::live_sites sites;
  instrument::live_resource memory(sites, std::pmr::new_delete_resource());
  instrument::live const policy(sites);
  {
    auto const scope = policy.scope({"cone_back_project at 16"});
    run<op::back>(context{exec::host{1, &memory}, instrument::none{}}, square_cone(16));
  }
  auto const s = sites.state();
  EXPECT_EQ(s.live_bytes, 0);
  ASSERT_EQ(s.sites, 1);
  EXPECT_STREQ(s.site[0].where, "cone_back_project at 16");
  EXPECT_STREQ(s.site[0].array, "temporaries");

  instrument::live_sites by_policy;
  run<op::back>(context{exec::host{1}, instrument::live{by_policy}}, square_cone(16));
  EXPECT_EQ(s.peak_bytes, by_policy.state().peak_bytes) << "both know every temporary";
}

}  // namespace
