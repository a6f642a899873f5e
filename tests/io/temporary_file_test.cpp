#include "mbirk/io/temporary_file.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include "core/messages.hpp"
#include "io/scratch_folder.hpp"
#include "mbirk/io/output_file.hpp"

namespace mbirk {
namespace {

namespace fs = std::filesystem;
using test::file_text;
using test::write_text;

struct TemporaryFile : testing::Test {
  test::scratch_folder folder;
  fs::path const file = folder / "out";

  static void write(fs::path const& to, char const* text) {
    output_file out(to);
    out.write(text);
    out.commit();
  }
};

TEST_F(TemporaryFile, OnlyRegularFilesAreReplaced) {
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  fs::create_symlink(folder / "pipe", folder / "to a pipe");
  for (fs::path const& name : {folder / "pipe", folder / "to a pipe", fs::path("/dev/null")}) {
    EXPECT_NE(test::message_of<io_error>([&] { output_file const out(name); })
                  .find(name.string() + ": cannot be written: it is not a regular file"),
              std::string::npos);
    EXPECT_FALSE(fs::is_regular_file(name)) << name;
  }
  EXPECT_NE(test::message_of<io_error>([&] { output_file const out(folder.path()); }).find("Is a directory"),
            std::string::npos);

  output_file begun(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);  // since the work began
  EXPECT_THROW(begun.commit(), io_error);
  EXPECT_TRUE(fs::is_fifo(file));
  EXPECT_EQ(test::file_count(folder.path()), 0);
}

TEST_F(TemporaryFile, LinksAreFollowed) {
  fs::create_directory(folder / "disk");
  fs::create_symlink("disk/big", folder / "link");
  for (auto const* text : {"new", "again"}) {  // first there is no file where the link leads to
    write(folder / "link", text);
    EXPECT_TRUE(fs::is_symlink(folder / "link"));
    EXPECT_EQ(file_text(folder / "disk" / "big"), text);
  }
  fs::create_symlink("ring", folder / "ring");
  EXPECT_THROW(output_file const out(folder / "ring"), io_error);
}

TEST_F(TemporaryFile, ReadsBackWhatItHas) {
  output_file out(file);
  out.write_at(4, "efgh", 4);
  out.write_at(0, "abcd", 4);
  std::string back(6, ' ');
  out.read_at(1, back.data(), 6);
  EXPECT_EQ(back, "bcdefg");
  EXPECT_NE(test::message_of<io_error>([&] { out.read_at(4, back.data(), 6); }).find("cannot be read back"),
            std::string::npos);
}

TEST_F(TemporaryFile, AKilledProcessLeavesNothingForEver) {
  for (bool const replacing : {false, true}) {
    if (replacing) write_text(file, "old");
    pid_t const child = fork();
    if (child == 0) {
      output_file out(file);
      out.write("new");
      raise(SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status));
    remove_abandoned(folder.path());
    EXPECT_EQ(test::file_count(folder.path()), replacing ? 1 : 0);
    EXPECT_EQ(file_text(file), replacing ? "old" : "");
  }
}

TEST_F(TemporaryFile, OnlyWhatNobodyWritesIsAbandoned) {
  auto const kept = {".mbirk-0123456789abcdef.tm", ".mbirk-0123456789abcdeg.tmp", ".mbirk-0123456789abcde.tmp",
                     "x.mbirk-0123456789abcdef.tmp"};
  for (auto const* name : kept) write_text(folder / name, "kept");
  write_text(folder / ".mbirk-0123456789abcdef.tmp", "of a killed process");
  auto const held = folder / ".mbirk-fedcba9876543210.tmp";
  write_text(held, "of a process that writes it");
  fs::create_symlink(folder / "x", folder / ".mbirk-0000000000000000.tmp");
  int const descriptor = ::open(held.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(descriptor, LOCK_EX), 0);
  EXPECT_EQ(remove_abandoned(folder.path()), 1u);
  EXPECT_TRUE(fs::exists(held));
  ::close(descriptor);
  EXPECT_EQ(remove_abandoned(folder.path()), 1u);
  EXPECT_EQ(test::file_count(folder.path()), static_cast<int>(kept.size()));
  EXPECT_TRUE(fs::is_symlink(folder / ".mbirk-0000000000000000.tmp"));
  EXPECT_EQ(remove_abandoned(folder / "none"), 0u);
}

}  // namespace
}  // namespace mbirk
