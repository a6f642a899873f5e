// NXtomo and other layouts of HDF5, links between files, and files that are wrong.
#include "mbirk/io/scan_hdf5.hpp"

#include <gtest/gtest.h>

#include "io/scratch_folder.hpp"

namespace mbirk {
namespace {

struct ScanHdf5 : testing::Test {
  static constexpr index_t frames = 6, rows = 2, channels = 3;
  test::scratch_folder folder;
  std::vector<std::uint16_t> counts;
  ScanHdf5() {
    for (int i = 0; i < frames * rows * channels; ++i) counts.push_back(static_cast<std::uint16_t>(7 * i));
  }
  std::string name(char const* file) const { return (folder / file).string(); }

  /// Frames: dark, white, two views, white, view; angles in degrees for all frames.
  void write_nxtomo(char const* file, bool with_data = true) const {
    hdf5_output out(folder / file);
    std::int64_t const keys[] = {2, 1, 0, 0, 1, 0};
    double const angles[] = {0, 0, 0, 30, 60, 90};
    if (with_data) out.write("/entry/instrument/detector/data", {frames, rows, channels}, counts.data());
    out.write("/entry/instrument/detector/image_key", {frames}, keys);
    out.write("/entry/sample/rotation_angle", {frames}, angles);
    out.attribute("/entry/sample/rotation_angle", "units", "deg");
    out.commit();
  }
  void add_link(char const* file, char const* path, char const* target_file, char const* target) const {
    hid_t const id = H5Fopen(name(file).c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    ASSERT_GE(id, 0);
    if (target_file) H5Lcreate_external(target_file, target, id, path, H5P_DEFAULT, H5P_DEFAULT);
    else H5Lcreate_soft(target, id, path, H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(id);
  }
  static std::vector<float> all(frame_stack const& stack) {
    std::vector<float> y(static_cast<std::size_t>(stack.shape[0] * stack.shape[1] * stack.shape[2]));
    stack.read(0, stack.shape[0], y.data());
    return y;
  }
  std::vector<float> some(std::vector<int> const& which) const {
    std::vector<float> y;
    for (auto const f : which)
      for (int i = 0; i < rows * channels; ++i) y.push_back(counts[static_cast<std::size_t>(f * rows * channels + i)]);
    return y;
  }
  template <class Call> static void expect_error(Call const& call, std::string const& part) {
    try {
      call();
      ADD_FAILURE() << "nothing was thrown, expected: " << part;
    } catch (io_error const& e) {
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
  }
};

TEST_F(ScanHdf5, NxtomoIsSortedByItsKeys) {
  write_nxtomo("a.nxs");
  auto const scan = open_nxtomo(name("a.nxs"));
  EXPECT_EQ(all(scan.data), some({2, 3, 5}));
  ASSERT_TRUE(scan.white && scan.dark);
  EXPECT_EQ(all(*scan.white), some({1, 4}));
  EXPECT_EQ(all(*scan.dark), some({0}));
  EXPECT_EQ(scan.white_at, (std::vector<index_t>{0, 2}));
  EXPECT_EQ(scan.angles, (std::vector<double>{0, 30 * std::numbers::pi / 180, 90 * std::numbers::pi / 180}));
  EXPECT_TRUE(scan.warnings.empty());
}

TEST_F(ScanHdf5, LinksLeadToTheData) {
  {
    hdf5_output out(folder / "raw.h5");
    out.write("/entry/detector", {frames, rows, channels}, counts.data());
    out.commit();
  }
  write_nxtomo("b.nxs", false);
  add_link("b.nxs", "/entry/instrument/detector/data", "elsewhere/raw.h5", "/entry/detector");  // beside the file
  EXPECT_EQ(all(open_nxtomo(name("b.nxs")).data), some({2, 3, 5}));
  write_nxtomo("c.nxs", false);
  add_link("c.nxs", "/entry/instrument/detector/data", nullptr, "/entry/other");
  add_link("c.nxs", "/entry/other", "raw.h5", "/entry/detector");
  EXPECT_EQ(all(open_hdf5(name("c.nxs"), {"/entry/other"}).data), some({0, 1, 2, 3, 4, 5}));
  write_nxtomo("d.nxs", false);
  add_link("d.nxs", "/entry/instrument/detector/data", "gone.h5", "/x");
  expect_error([&] { open_nxtomo(name("d.nxs")); },
               "is an external link to gone.h5, which is neither there nor beside");
  write_nxtomo("e.nxs", false);
  add_link("e.nxs", "/entry/instrument/detector/data", "e.nxs", "/entry/instrument/detector/data");
  expect_error([&] { open_nxtomo(name("e.nxs")); }, "leads through more than 16 external links");
  write_nxtomo("f.nxs", false);
  add_link("f.nxs", "/entry/instrument/detector/data", nullptr, "/entry/instrument/detector/data");
  expect_error([&] { open_nxtomo(name("f.nxs")); }, "data");
}

TEST_F(ScanHdf5, AnyLayoutByPathsAndAxes) {
  {
    hdf5_output out(folder / "s.h5");
    // Sinogram order: (rows, views, channels).
    std::vector<std::uint16_t> turned(counts.size());
    for (std::size_t v = 0; v < frames; ++v)
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < channels; ++c)
          turned[(r * frames + v) * channels + c] = counts[(v * rows + r) * channels + c];
    double const angles[] = {0, 1, 2, 3, 4, 5};
    out.write("/sino", {rows, frames, channels}, turned.data());
    out.write("/angles", {frames}, angles);
    out.attribute("/angles", "units", "rad");
    out.write("/flat", {rows, channels}, counts.data());
    out.commit();
  }
  auto const scan = open_hdf5(name("s.h5"), {"/sino", "rows,views,channels", "/angles", "/flat"});
  EXPECT_EQ(scan.data.shape, (std::array<index_t, 3>{frames, rows, channels}));
  EXPECT_EQ(all(scan.data), some({0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(scan.angles[5], 5);
  EXPECT_EQ(all(*scan.white), some({0}));
  std::vector<float> row(2 * channels);
  scan.data.read({1, 2, 1, 1}, row.data());
  for (std::size_t c = 0; c < channels; ++c)
    EXPECT_EQ(row[channels + c], static_cast<float>(counts[(2 * rows + 1) * channels + c]));
  expect_error([&] { open_hdf5(name("s.h5"), {"/none"}); }, "s.h5: has no data set /none");
  expect_error([&] { open_hdf5(name("s.h5"), {"/angles"}); }, "has 1 axes, expected (views, rows, channels)");
  expect_error([&] { open_hdf5(name("s.h5"), {"/sino", "", "/angles"}); }, "expected one angle per view = (2)");
}

TEST_F(ScanHdf5, WhatCannotBeRead) {
  write_nxtomo("k.nxs");
  {
    hdf5_output out(folder / "keys.nxs");
    std::int64_t const keys[] = {0, 0, 9, 0, 0, 0};
    out.write("/entry/data", {frames, rows, channels}, counts.data());
    out.write("/entry/image_key", {frames}, keys);
    out.commit();
  }
  expect_error([&] { open_nxtomo(name("keys.nxs")); }, "frame 2 has key 9, expected 0 to 3");
  {
    hdf5_output out(folder / "short.nxs");
    std::int64_t const keys[] = {0, 0};
    out.write("/entry/data", {frames, rows, channels}, counts.data());
    out.write("/entry/image_key", {2}, keys);
    out.commit();
  }
  expect_error([&] { open_nxtomo(name("short.nxs")); }, "has shape (2), expected one key per frame of /entry/data = 6");
  auto const text = test::file_text(name("k.nxs"));
  for (std::size_t n : {0u, 8u, 100u, 1000u}) {
    test::write_text(folder / "cut.nxs", text.substr(0, n));
    EXPECT_THROW(open_nxtomo(name("cut.nxs")), io_error) << n;
  }
}

}  // namespace
}  // namespace mbirk
