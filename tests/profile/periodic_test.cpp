// Periodic captures: the captured steps, the folders that remain, and files that are never deleted.
#include "mbirk/profile/periodic.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/messages.hpp"
#include "io/scratch_folder.hpp"

namespace {

using namespace mbirk;
using test::expect_error;
using test::file_count;
using test::scratch_folder;
using strings = std::vector<std::string>;

/// An exporter that stores the steps of each capture.
struct seen_steps {
  std::vector<std::vector<index_t>> captures;
  std::vector<profile::exporter> exporters() {
    return {[this](instrument::trace_buffer const& trace, std::string const& name) {
      auto& steps = captures.emplace_back();
      for (auto const& e : trace.events())
        if (e.name == std::string("step")) steps.push_back(e.value);
      return std::vector<profile::exported_file>{{name + ".txt", "x"}, {"a/b/" + name + ".txt", "x"}};
    }};
  }
};
strings names(std::filesystem::path const& folder) {
  strings list;
  for (auto const& entry : std::filesystem::directory_iterator(folder))
    list.push_back(entry.path().filename().string());
  std::sort(list.begin(), list.end());
  return list;
}

TEST(Periodic, EveryFiveStepsTwoAndTheLastThreeStay) {
  scratch_folder const folder;
  seen_steps seen;
  profile::periodic_capture capture(
      folder.path(), "loop", {.every = 5, .steps = 2, .keep_last = 3, .session = {.exporters = seen.exporters()}});
  std::map<std::int64_t, bool> on;
  for (int k = 0; k < 29; ++k) {
    capture.step();
    on[k] = capture.trace() != nullptr;
    profile::scope const timed(capture, "work");
    EXPECT_EQ(capture.steps(), k + 1);
  }
  for (auto const& [k, is] : on) EXPECT_EQ(is, k >= 5 && k % 5 < 2) << k;
  EXPECT_EQ(seen.captures, (std::vector<std::vector<index_t>>{{5, 6}, {10, 11}, {15, 16}, {20, 21}, {25, 26}}));
  EXPECT_EQ(names(folder.path()), (strings{"loop_00000015", "loop_00000020", "loop_00000025"}))
      << "with all that was in the older ones";
  ASSERT_EQ(capture.captures().size(), 3u);
  EXPECT_EQ(capture.captures()[0], folder / "loop_00000015");
  EXPECT_EQ(file_count(folder.path()), 6);
}

TEST(Periodic, WhatIsOfOthersStays) {
  scratch_folder const folder;
  seen_steps seen;
  profile::periodic_capture capture(
      folder.path(), "loop", {.every = 3, .steps = 1, .keep_last = 1, .session = {.exporters = seen.exporters()}});
  for (int k = 0; k < 12; ++k) {
    capture.step();
    if (k == 4) test::write_text(folder / "loop_00000003" / "a" / "notes.txt", "mine");
  }
  EXPECT_EQ(names(folder.path()), (strings{"loop_00000003", "loop_00000009"}));
  EXPECT_EQ(test::file_text(folder / "loop_00000003" / "a" / "notes.txt"), "mine");
  EXPECT_EQ(file_count(folder / "loop_00000003"), 1) << "and only that";
}

TEST(Periodic, TheDestructorEndsACapture) {
  scratch_folder const folder;
  seen_steps seen;
  {
    profile::periodic_capture capture(
        folder.path(), "loop", {.every = 4, .steps = 3, .keep_last = 1, .session = {.exporters = seen.exporters()}});
    for (int k = 0; k < 10; ++k) capture.step();  // the second one ends in its second step
  }
  EXPECT_EQ(seen.captures, (std::vector<std::vector<index_t>>{{4, 5, 6}, {8, 9}}));
  EXPECT_EQ(names(folder.path()), strings{"loop_00000008"});
}

TEST(Periodic, AShortLoopHasNone) {
  scratch_folder const folder;
  {
    profile::periodic_capture capture(folder.path(), "loop", {.every = 100, .steps = 1});
    for (int k = 0; k < 100; ++k) capture.step(), profile::sample(capture, "x", k);
    EXPECT_TRUE(capture.captures().empty());
  }
  EXPECT_TRUE(names(folder.path()).empty());
}

TEST(Periodic, BadArgumentsAndFolders) {
  scratch_folder const folder;
  for (auto const& bad : {profile::periodic_options{.every = 3, .steps = 3},
                          {.every = 3, .steps = 0},
                          {.every = 3, .steps = 1, .keep_last = 0}})
    expect_error<parameter_error>([&] { profile::periodic_capture(folder.path(), "loop", bad); },
                                  {"periodic_capture: every = 3", "0 < steps < every"});
  expect_error<parameter_error>([&] { profile::periodic_capture(folder.path(), "a/b"); },
                                {"periodic_capture: 'a/b' is not a file name"});
  test::write_text(folder / "file", "");
  expect_error<io_error>([&] { profile::periodic_capture(folder / "file", "loop"); },
                         {"periodic_capture 'loop'", "file' cannot be"});
}

TEST(Periodic, AFailureIsSaidOnceAndTheLoopCanGoOn) {
  scratch_folder const folder;
  test::write_text(folder / "loop_00000002", "in the way");
  profile::periodic_capture capture(folder.path(), "loop", {.every = 2, .steps = 1, .keep_last = 2});
  strings errors;
  for (int k = 0; k < 7; ++k) try {
      capture.step();
    } catch (io_error const& e) {
      errors.push_back(std::to_string(k) + ": " + e.what());
    }
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].find("2: session 'loop': the folder"), 0u) << errors[0];
  EXPECT_EQ(capture.captures(), (std::vector{folder / "loop_00000004"}));
}

}  // namespace
