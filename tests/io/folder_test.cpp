#include "mbirk/io/folder.hpp"

#include <gtest/gtest.h>

#include "io/scratch_folder.hpp"

namespace mbirk {
namespace {

namespace fs = std::filesystem;
using paths = std::vector<fs::path>;

struct Folder : testing::Test {
  test::scratch_folder folder;
  std::error_code failed;

  Folder() {
    fs::create_directories(folder / "b/inner");
    test::write_text(folder / "c.txt", "c");
    test::write_text(folder / ".a", "a");
    test::write_text(folder / "b/inner/d", "d");
    fs::create_symlink(folder / "b/inner/d", folder / "to d");
    fs::create_symlink(folder.path(), folder / "b/back");
    fs::create_symlink(folder / "nowhere", folder / "broken");
  }
};

TEST_F(Folder, NamesAreSorted) {
  EXPECT_EQ(detail::names_in(folder.path(), failed), (std::vector<std::string>{".a", "b", "broken", "c.txt", "to d"}));
  EXPECT_FALSE(failed);
}

TEST_F(Folder, WhatCannotBeListedIsReported) {
  EXPECT_TRUE(detail::names_in(folder / "nowhere", failed).empty());
  EXPECT_EQ(failed, std::errc::no_such_file_or_directory);
  EXPECT_TRUE(detail::names_in(folder / "c.txt", failed).empty());
  EXPECT_EQ(failed, std::errc::not_a_directory);
  detail::names_in(folder.path(), failed);
  EXPECT_FALSE(failed) << "an earlier failure stays";
}

TEST_F(Folder, FilesBelowAreThoseBehindLinksToo) {
  auto found = detail::paths_below(folder.path(), fs::file_type::regular);
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, (paths{folder / ".a", folder / "b/inner/d", folder / "c.txt", folder / "to d"}));
}

TEST_F(Folder, FoldersBehindLinksAreNotEntered) {
  EXPECT_EQ(detail::paths_below(folder.path(), fs::file_type::directory),
            (paths{folder / "b", folder / "b/back", folder / "b/inner"}));
  EXPECT_TRUE(detail::paths_below(folder / "nowhere", fs::file_type::regular).empty());
}

}  // namespace
}  // namespace mbirk
