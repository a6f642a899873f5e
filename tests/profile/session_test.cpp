// Sessions: their files, their reports, and their errors.
#include "mbirk/profile/session.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/messages.hpp"
#include "io/scratch_folder.hpp"

namespace {

using namespace mbirk;
using test::expect_error;
using test::file_count;
using test::file_text;
using test::scratch_folder;
using test::write_text;

void record(profile::sink into) {
  profile::scope const outer(into, "outer");
  profile::scope const inner(into, "inner");
  profile::note_allocation(into, "weights", 4096);
}

TEST(Session, WritesWhatItRecorded) {
  scratch_folder const folder;
  profile::session session(folder / "new" / "deeper", "run", {.events = 10});
  EXPECT_EQ(file_count(folder.path()), 0) << "the probe is gone";
  record(session);
  auto const& report = session.close();
  EXPECT_EQ(report.name, "run");
  EXPECT_EQ(report.events, 3u);
  EXPECT_EQ(report.dropped, 0u);
  EXPECT_TRUE(report.warnings.empty());
  EXPECT_EQ(static_cast<int>(report.files.size()), file_count(folder.path()));
  auto const table = file_text(session.directory() / "run.components.txt");
  EXPECT_NE(table.find("3 events, 0 dropped"), std::string::npos) << table;
  EXPECT_NE(table.find("\n  inner"), std::string::npos) << table;
  EXPECT_NE(file_text(session.directory() / "run.trace.json").find("\"inner\""), std::string::npos);
  EXPECT_EQ(report.files.size(), 5u) << "these, two heaps, and what XProf opens:";
  EXPECT_EQ(report.files.back().filename(), "localhost.xplane.pb");
  auto const heap = file_text(session.directory() / "run.heap_end.pb");
  for (char const* text : {"weights", "outer", "inner"}) EXPECT_NE(heap.find(text), std::string::npos) << text;
  session.close();
  EXPECT_EQ(session.close().files.size(), report.files.size()) << "once is enough";
}

TEST(Session, SamplesReachTheViewersAsTheyAre) {
  scratch_folder const folder;
  profile::session session(folder.path(), "run");
  profile::sample(session, "loss", 0.6931), profile::sample(session, "count", 3),
      profile::sample(session, "ratio", std::nan(""));
  session.close();
  auto const json = file_text(folder / "run.trace.json");
  EXPECT_NE(json.find("\"name\":\"loss\",\"args\":{\"value\":0.6931}"), std::string::npos) << json;
  EXPECT_NE(json.find("\"name\":\"count\",\"args\":{\"value\":3}"), std::string::npos);
  EXPECT_EQ(json.find("ratio"), std::string::npos) << "a value that is not a number was written";
}

TEST(Session, NothingRecordedIsAWarning) {
  scratch_folder const folder;
  profile::session session(folder.path(), "empty");
  ASSERT_EQ(session.warnings().size(), 1u);
  EXPECT_EQ(session.warnings()[0], "session 'empty': nothing was recorded");
  EXPECT_EQ(session.close().warnings, session.warnings());
  EXPECT_FALSE(std::filesystem::exists(folder / "empty.heap_end.pb")) << "no memory, no file";
}

TEST(Session, WhatWasDroppedIsSaid) {
  scratch_folder const folder;
  profile::session session(folder.path(), "small", {.events = 2});
  record(session);
  auto const& report = session.close();
  EXPECT_EQ(report.events, 2u);
  EXPECT_EQ(report.dropped, 1u);
  ASSERT_EQ(report.warnings.size(), 1u);
  EXPECT_EQ(report.warnings[0], "session 'small': 1 events were dropped, 2 kept; there is room for 2");
  EXPECT_NE(file_text(folder / "small.components.txt").find("2 events, 1 dropped"), std::string::npos);
}

TEST(Session, AFolderThatCannotBeIsAnError) {
  scratch_folder const folder;
  write_text(folder / "file", "mine");
  expect_error<io_error>([&] { profile::session(folder / "file", "run"); },
                         {"session 'run': the folder '" + (folder / "file").string() + "' cannot be"});
  expect_error<io_error>([&] { profile::session(folder / "file" / "below", "run"); },
                         {"'run'", "below' cannot be created: Not a directory"});
  EXPECT_EQ(file_text(folder / "file"), "mine");
  if (std::filesystem::exists("/proc/self"))
    expect_error<io_error>([] { profile::session("/proc/self", "run"); }, {"'/proc/self' cannot be written"});
}

TEST(Session, BadArguments) {
  scratch_folder const folder;
  for (char const* name : {"", "a/b", ".", ".."})
    expect_error<parameter_error>([&] { profile::session(folder.path(), name); },
                                  {"session: '" + std::string(name) + "' is not a file name"});
  expect_error<parameter_error>([&] { profile::session(folder.path(), "run", {.events = 0}); }, {"events is 0"});
}

TEST(Session, TheDestructorWritesAndReports) {
  scratch_folder const folder;
  std::optional<profile::session_report> heard;
  try {
    profile::session session(folder.path(), "run", {.on_close = [&](profile::session_report const& r) { heard = r; }});
    record(session);
    throw std::runtime_error("of the program");
  } catch (std::runtime_error const& e) {
    EXPECT_STREQ(e.what(), "of the program");
  }
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->events, 3u);
  EXPECT_EQ(static_cast<int>(heard->files.size()), file_count(folder.path()));
}

TEST(Session, ExportersOfOnesOwn) {
  scratch_folder const folder;
  auto const mine = [](instrument::trace_buffer const& trace, std::string const& name) {
    return std::vector<profile::exported_file>{{"sub/folder/" + name + ".txt", std::to_string(trace.events().size())}};
  };
  profile::session session(folder.path(), "run", {.exporters = {mine}});
  record(session);
  EXPECT_EQ(session.close().files, (std::vector{folder / "sub/folder/run.txt"}));
  EXPECT_EQ(file_text(folder / "sub/folder/run.txt"), "3");
}

TEST(Session, FailuresOfFiles) {
  scratch_folder const folder;
  auto const outside = [](auto const&, auto const&) {
    return std::vector<profile::exported_file>{{"../elsewhere.txt", ""}};
  };
  profile::session escaping(folder / "in", "run", {.exporters = {outside}});
  expect_error<parameter_error>([&] { escaping.close(); }, {"../elsewhere.txt"});
  EXPECT_EQ(file_count(folder.path()), 0);

  auto const onto_folder = [](auto const&, auto const&) { return std::vector<profile::exported_file>{{"taken", "x"}}; };
  std::filesystem::create_directories(folder / "in" / "taken" / "more");
  profile::session blocked(folder / "in", "run", {.exporters = {onto_folder}});
  expect_error<io_error>([&] { blocked.close(); }, {(folder / "in" / "taken").string() + ": cannot be written"});

  std::vector<std::string> warnings;
  { profile::session forgotten(folder / "in", "run", {.exporters = {onto_folder, profile::export_components},
                                                      .on_close = [&](auto const& r) { warnings = r.warnings; }}); }
  ASSERT_EQ(warnings.size(), 2u) << "nothing recorded, and the file";
  EXPECT_NE(warnings[1].find("taken: cannot be written"), std::string::npos);
  EXPECT_EQ(file_count(folder.path()), 1) << "the other exporter had its turn, and nothing half-written stays";
}

}  // namespace
