// What a profile with the default sizes leaves out, from made-up seconds.
#include "commands/left_out.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "input/measured_times.hpp"
#include "mbirk/core/error.hpp"

namespace {

using namespace mbirk;
using nlohmann::json;
using program::affordable_work;
using program::work_forecast;

TEST(WorkForecast, GrowthOfTheTwoLargestSmallerSizes) {
  work_forecast f(150);
  EXPECT_FALSE(f.predicted("x", 64)) << "nothing is known";
  f.add("x", 32, 1);
  EXPECT_FALSE(f.predicted("x", 32)) << "only sizes below count";
  EXPECT_DOUBLE_EQ(*f.predicted("x", 64), 16) << "of one size: as projections";
  EXPECT_DOUBLE_EQ(*f.at_or_predicted("x", 32), 1);
  f.add("x", 64, 10);
  EXPECT_NEAR(*f.predicted("x", 128), 100, 1e-9) << "the measured growth";
  EXPECT_NEAR(*f.predicted("x", 256), 1000, 1e-9);
  f.add("x", 128, 20);
  EXPECT_DOUBLE_EQ(*f.predicted("x", 256), 160) << "not below N^3";
  f.add("x", 128, 1000);
  EXPECT_DOUBLE_EQ(*f.predicted("x", 256), 16000) << "not above N^4";
  f.add("none", 32, 0);
  EXPECT_EQ(*f.predicted("none", 64), 0);
}

TEST(WorkForecast, PartsThatTakeTheirLimitDoNotExceedTheWhole) {
  work_forecast const f(150);
  double elapsed = 0;
  for (int k = 0; k < 1000; ++k) elapsed += f.limit(elapsed);
  EXPECT_LT(elapsed, 150.001);
  EXPECT_EQ(f.limit(200), 0);
  EXPECT_FALSE(work_forecast().limited());
}

TEST(AffordableWork, ListsWhatItRefuses) {
  affordable_work w(false);
  EXPECT_TRUE(w.times("slow", 128)) << "without a smaller size nothing is predicted";
  w.called("slow", 32, 0.01);
  w.counted("slow", 32, true, 0.3);
  w.made("cone", 32, 1);
  EXPECT_TRUE(w.times("slow", 128)) << "2.6 s a call, three times";
  EXPECT_FALSE(w.times("slow", 256)) << "41 s a call, three times";
  EXPECT_TRUE(w.reuse("slow", 64) && w.counts("slow", 64) && w.iterations("slow", 64, 1000)) << "sizes up to 64";
  EXPECT_FALSE(w.reuse("slow", 128)) << "77 s";
  EXPECT_FALSE(w.counts("slow", 128)) << "9.6 s without reuse distances, of 8";
  w.counted("slow", 64, false, 0.25);
  EXPECT_TRUE(w.counts("slow", 128)) << "4 s, from what counting itself took";
  EXPECT_TRUE(w.iterations("slow", 128, 5)) << "20 s of 32";
  EXPECT_FALSE(w.iterations("slow", 128, 15)) << "60 s";
  EXPECT_FALSE(w.problem("cone", 256)) << "4096 s";
  json const report{{"left_out", w.left_out()}};
  EXPECT_EQ(report["left_out"][0]["operation"], "slow");
  EXPECT_EQ(report["left_out"][0]["volume_size"], 256);
  EXPECT_EQ(report["left_out"][0]["part"], "times");
  EXPECT_NEAR(report["left_out"][0]["predicted seconds"].get<double>(), 40.96, 1e-9);
  EXPECT_NEAR(report["left_out"][0]["limit seconds"].get<double>(), 16 / 3.0, 0.1);
  auto const texts = program::left_out_texts(program::json_field(report, "run.json"));
  EXPECT_EQ(texts, (std::vector<std::string>{
                       "no counts at 128: slow (9.6 s)", "no reuse distances at 128: slow (77 s)",
                       "no whole reconstruction at 128: slow (60 s)", "no operations at 256: cone_* (4096 s)",
                       "no times at 256: slow (41 s a call)"}));
}

TEST(AffordableWork, LeavesOutNothingOfSizesThatWereGiven) {
  affordable_work w(true);
  w.called("slow", 32, 1000);
  w.counted("slow", 32, true, 1000);
  EXPECT_TRUE(w.times("slow", 256) && w.reuse("slow", 256) && w.counts("slow", 256) && w.iterations("slow", 256, 15));
  EXPECT_TRUE(w.left_out().empty());
}

TEST(LeftOut, MalformedPartsAreErrors) {
  EXPECT_TRUE(program::left_out_texts(program::json_field(json::object(), "old.json")).empty());
  json const wrong{{"left_out", {{{"operation", "x"}, {"volume_size", 8}, {"part", "times"}}}}};
  EXPECT_THROW(program::left_out_texts(program::json_field(wrong, "run.json")), io_error);
}

TEST(SizeToCompare, IsTheLargestWithHalfOfTheOperations) {
  EXPECT_EQ(program::size_to_compare(std::map<index_t, std::size_t>{}), 0);
  EXPECT_EQ(program::size_to_compare(std::map<index_t, std::size_t>{{32, 62}, {128, 31}, {256, 30}}), 128);
  EXPECT_EQ(program::size_to_compare(std::map<index_t, std::size_t>{{32, 1}, {256, 1}}), 256);
}

}  // namespace
