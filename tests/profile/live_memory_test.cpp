// Live memory between processes: one publishes, another reads, under concurrent changes, after a kill, from bad files.
#include "mbirk/profile/live_memory.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <cstring>
#include <fstream>

#include "io/scratch_folder.hpp"

namespace {

using namespace mbirk;
using profile::live_processes;
using profile::live_publication;
using profile::read_live;
namespace fs = std::filesystem;

struct LiveMemory : testing::Test {
  test::scratch_folder scratch;
  std::vector<fs::path> const folders{scratch.path()};
  fs::path path_of(std::int64_t process) const { return scratch / ("mbirk-live-" + std::to_string(process)); }
  void expect_bad(fs::path const& path, std::string const& part) const {
    try {
      read_live(path);
      ADD_FAILURE() << "expected: " << part;
    } catch (io_error const& e) {
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
  }
};

/// A process that publishes, runs work(sites), reports completion, and waits for its end.
class other_process {
 public:
  template <class Work> other_process(std::vector<fs::path> const& folders, Work const& work) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
    pid_ = ::fork();
    if (pid_ == 0) {
      {
        live_publication page("test", folders);
        work(page.sites());
        char const ready = 'r';
        if (::write(ends[1], &ready, 1) != 1) ::_exit(1);
        for (;;) ::pause();
      }
    }
    ::close(ends[1]);
    char ready = 0;
    if (::read(ends[0], &ready, 1) != 1) ready = 0;
    ::close(ends[0]);
    EXPECT_EQ(ready, 'r');
  }
  ~other_process() { kill(); }
  pid_t pid() const { return pid_; }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_;
};

TEST_F(LiveMemory, OfThisProcess) {
  auto const before = instrument::live_sites::now();
  fs::path path;
  {
    live_publication page("recon", folders);
    path = page.path();
    EXPECT_EQ(path, path_of(::getpid()));
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    page.sites().step("iteration 3");
    page.sites().allocated("rows", 12);
    auto const report = read_live(path);
    EXPECT_EQ(report.process, ::getpid());
    EXPECT_EQ(report.command, "recon");
    EXPECT_EQ(report.program_version, version_string);
    EXPECT_GE(report.started, before);
    EXPECT_LE(report.started, report.state.changed);
    EXPECT_TRUE(report.consistent);
    EXPECT_EQ(report.state.live_bytes, 12);
    EXPECT_STREQ(report.state.step, "iteration 3");
    EXPECT_STREQ(report.state.site[0].array, "rows");
    EXPECT_THROW(live_publication("again", folders), io_error) << "one a process";
    EXPECT_EQ(read_live(path).command, "recon");
  }
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(test::file_count(scratch.path()), 0);
}

TEST_F(LiveMemory, OfAnotherProcess) {
  other_process other(folders, [](instrument::live_sites& sites) {
    sites.enter("recon"), sites.enter("back");
    sites.allocated("rows", 1 << 20);
  });
  auto const all = live_processes(folders);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].process, other.pid());
  EXPECT_EQ(all[0].state.live_bytes, 1 << 20);
  EXPECT_STREQ(all[0].state.current, "recon / back");
  EXPECT_STREQ(all[0].state.site[0].where, "recon / back");
  EXPECT_EQ(profile::live_process(other.pid(), folders).command, "test");
  EXPECT_THROW(profile::live_process(::getpid(), folders), io_error);
}

/// A killed process cannot clean up; the next reader does.
TEST_F(LiveMemory, WhatAKilledProcessLeftIsRemoved) {
  other_process first(folders, [](auto&sites) { sites.allocated("rows", 1); }),
      second(folders, [](auto&sites) { sites.allocated("rows", 2); });
  auto const gone = path_of(first.pid());
  first.kill();
  EXPECT_TRUE(fs::exists(gone));
  expect_bad(gone, "its process is gone");
  auto const all = live_processes(folders);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].process, second.pid());
  EXPECT_FALSE(fs::exists(gone));
}

TEST_F(LiveMemory, ANewProcessTakesThePlaceOfAKilledOne) {
  test::write_text(path_of(::getpid()), "left by one that had the same number");
  live_publication page("recon", folders);
  EXPECT_EQ(read_live(page.path()).command, "recon");
}

/// Every state reported as consistent adds up, while the other process changes it as fast as it can.
TEST_F(LiveMemory, WhileItChanges) {
  pid_t const child = ::fork();
  if (child == 0) {
    live_publication page("busy", folders);
    for (;;) {
      page.sites().enter("work");
      for (int k = 1; k < 9; ++k) page.sites().allocated("rows", k);
      for (int k = 1; k < 9; ++k) page.sites().released("rows", k);
      page.sites().leave(std::this_thread::get_id());
    }
  }
  while (!fs::exists(path_of(child))) std::this_thread::yield();
  int consistent = 0;
  for (int k = 0; k < 500; ++k) {
    auto const report = read_live(path_of(child));
    if (!report.consistent) continue;
    ++consistent;
    auto const& s = report.state;
    EXPECT_EQ(s.live_bytes, s.site[0].live_bytes);
    EXPECT_LE(s.live_bytes, 36);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_GT(consistent, 0);
}

/// A child has a copy of the mapping; its exit must not end the publication.
TEST_F(LiveMemory, AForkedChildRemovesNothing) {
  auto page = std::make_unique<live_publication>("recon", folders);
  pid_t const child = ::fork();
  if (child == 0) {
    page.reset();
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(fs::exists(page->path()));
}

TEST_F(LiveMemory, TheFirstFolderThatLetsIt) {
  live_publication page("recon", {scratch / "none", scratch.path()});
  EXPECT_EQ(page.path().parent_path(), scratch.path());
}

TEST_F(LiveMemory, NoFolder) {
  try {
    live_publication page("recon", {scratch / "none"});
    ADD_FAILURE();
  } catch (io_error const& e) {
    EXPECT_NE(std::string(e.what()).find((scratch / "none").string() + ": No such file"), std::string::npos)
        << e.what();
  }
  EXPECT_THROW(live_publication("recon", std::vector<fs::path>{}), io_error);
  EXPECT_TRUE(live_processes({scratch / "none"}).empty());
}

/// A modified copy of a live page, locked like that of a running process.
TEST_F(LiveMemory, BadFiles) {
  expect_bad(scratch / "none", "No such file");
  expect_bad(scratch.path(), "not the live memory of a process");
  test::write_text(scratch / "short", "mbirklv");
  expect_bad(scratch / "short", "not the live memory of a process");
  test::write_text(scratch / "other", std::string(sizeof(profile::live_page), 'x'));
  expect_bad(scratch / "other", "not the live memory of a process");

  std::string text;
  {
    live_publication page("recon", folders);
    text = test::file_text(page.path());
  }
  ASSERT_EQ(text.size(), sizeof(profile::live_page));
  test::write_text(scratch / "cut", text.substr(0, text.size() - 1));
  expect_bad(scratch / "cut", "of another version of mbirk");
  auto newer = text;
  newer[offsetof(profile::live_header, version)] = 9;
  test::write_text(scratch / "newer", newer);
  expect_bad(scratch / "newer", "layout 9, expected 1");
  fs::create_symlink("/dev/null", scratch / "link");
  expect_bad(scratch / "link", "cannot be read");

  // Unterminated texts and a count beyond the table, which no writer makes.
  auto wild = text;
  auto const state = sizeof(profile::live_header) + sizeof(std::uint64_t);
  std::fill(wild.begin() + static_cast<std::ptrdiff_t>(state), wild.end(), '\x7f');
  test::write_text(scratch / "wild", wild);
  int const held = ::open((scratch / "wild").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(held, LOCK_EX), 0);
  auto const report = read_live(scratch / "wild");
  EXPECT_EQ(report.state.sites, instrument::live_state::capacity);
  EXPECT_EQ(std::strlen(report.state.step), sizeof report.state.step - 1);

  // A process killed in the middle of a change, whose sequence number stays odd.
  auto torn = text;
  torn[sizeof(profile::live_header)] = 3;
  test::write_text(scratch / "torn", torn);
  int const torn_held = ::open((scratch / "torn").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(torn_held, LOCK_EX), 0);
  EXPECT_FALSE(read_live(scratch / "torn").consistent);
  ::close(held), ::close(torn_held);
}

}  // namespace
