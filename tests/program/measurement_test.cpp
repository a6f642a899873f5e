// Measurements: both formats, blocks, fields, angles, and errors.
#include "input/measurement.hpp"

#include <cmath>
#include <numbers>
#include <random>

#include "program.hpp"
#if defined(MBIRK_WITH_HDF5)
#include "mbirk/io/hdf5.hpp"
#endif

namespace mbirk::test {
namespace {

using program::measurement_files;
using program::measurement_source;

context const ctx{exec::host{}, instrument::none{}};

struct Measurement : testing::Test {
  static constexpr index_t views = 7, rows = 3, channels = 5;
  scratch_folder folder;

  std::string name(std::string const& file) const { return (folder / file).string(); }
  static std::vector<float> random_values(std::size_t n, float low, float high) {
    std::mt19937 random(3);
    std::uniform_real_distribution<float> uniform(low, high);
    std::vector<float> a(n);
    for (auto& x : a) x = std::floor(16 * uniform(random)) / 16;  // exact in every type with a fraction
    return a;
  }
  std::vector<float> const lines = random_values(views * rows * channels, -1, 5);
  std::string line_file() const {
    write_npy(folder / "lines.npy", lines.data(), {views, rows, channels});
    return name("lines.npy");
  }
  static std::vector<float> all(measurement_source const& source) {
    auto const s = source.shape();
    std::vector<float> y(static_cast<std::size_t>(s[0] * s[1] * s[2]));
    source.read_all(ctx, y.data());
    return y;
  }
  static void expect_error(measurement_files const& files, std::string const& part) {
    try {
      all(measurement_source(files));
      ADD_FAILURE() << "nothing was thrown, expected: " << part;
    } catch (io_error const& e) {
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << "expected: " << part << "\nfound: " << e.what();
    }
  }
};

TEST_F(Measurement, LineIntegralsFromNpyOfAnyTypeAndOrder) {
  auto const expect_lines = [&](std::string const& file, std::string const& type) {
    measurement_source const source({.input = file});
    EXPECT_EQ(source.shape(), (std::array<index_t, 3>{views, rows, channels}));
    EXPECT_FALSE(source.counts());
    EXPECT_TRUE(source.theta().empty());
    EXPECT_EQ(source.description(), "line integrals (" + type + ')');
    EXPECT_EQ(all(source), lines);
    for (index_t first = 0; first < views; ++first)
      for (index_t count = 1; first + count <= views; ++count) {
        std::vector<float> block(static_cast<std::size_t>(count * rows * channels));
        source.read(ctx, first, count, block.data());
        for (std::size_t i = 0; i < block.size(); ++i)
          ASSERT_EQ(block[i], lines[static_cast<std::size_t>(first * rows * channels) + i]);
      }
  };
  expect_lines(line_file(), "<f4");
  write_npy(folder / "wide.npy", std::vector<double>(lines.begin(), lines.end()).data(), {views, rows, channels});
  expect_lines(name("wide.npy"), "<f8");

  std::vector<float> stored(lines.size());
  for (index_t v = 0; v < views; ++v)
    for (index_t m = 0; m < rows; ++m)
      for (index_t n = 0; n < channels; ++n)
        stored[static_cast<std::size_t>((n * rows + m) * views + v)] =
            lines[static_cast<std::size_t>((v * rows + m) * channels + n)];
  write_npy(folder / "fortran.npy", stored.data(), {views, rows, channels});
  auto text = file_text(folder / "fortran.npy");
  text.replace(text.find("False"), 5, "True ");
  write_text(folder / "fortran.npy", text);
  expect_lines(name("fortran.npy"), "<f4");
}

TEST_F(Measurement, MoreThanOneBlock) {
  index_t const wide = 9'000'000;  // 2^24 values are a block: one view
  std::vector<std::uint8_t> large(static_cast<std::size_t>(3 * wide));
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<std::uint8_t>(i % 251);
  write_npy(folder / "large.npy", large.data(), {3, 1, wide});
  measurement_source const source({.input = name("large.npy")});
  EXPECT_EQ(source.block(), 1);
  std::vector<float> y(large.size());
  std::vector<index_t> done;
  source.read_all(ctx, y.data(), [&](index_t n) { done.push_back(n); });
  EXPECT_EQ(done, (std::vector<index_t>{1, 2, 3}));
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < y.size(); ++i) wrong += y[i] != static_cast<float>(large[i]);
  EXPECT_EQ(wrong, 0u);
}

TEST_F(Measurement, CountsWithFieldsFromNpy) {
  auto const counts = random_values(views * rows * channels, 200, 900),
             white = random_values(2 * rows * channels, 1000, 2000), dark = random_values(rows * channels, 10, 100);
  write_npy(folder / "counts.npy", counts.data(), {views, rows, channels});
  write_npy(folder / "white.npy", white.data(), {2, rows, channels});
  write_npy(folder / "dark.npy", dark.data(), {rows, channels});
  measurement_source const source(
      {.input = name("counts.npy"), .white = name("white.npy"), .dark = name("dark.npy"), .counts = true});
  EXPECT_TRUE(source.counts());
  EXPECT_EQ(source.description(), "counts (<f4), 2 white and 1 dark frames");
  auto const y = all(source);
  for (std::size_t i = 0; i < y.size(); ++i) {
    std::size_t const p = i % (rows * channels);
    double const w = (static_cast<double>(white[p]) + static_cast<double>(white[p + rows * channels])) / 2,
                 d = static_cast<double>(dark[p]);
    double const expected = -std::log((static_cast<double>(counts[i]) - d) / (w - d));
    EXPECT_NEAR(static_cast<double>(y[i]), expected,
                std::numeric_limits<float>::epsilon() * std::abs(expected));  // one rounding
  }
  measurement_source const bright({.input = name("counts.npy"), .white = name("white.npy")});
  EXPECT_EQ(bright.description(), "counts (<f4), 2 white and 0 dark frames");
  EXPECT_FLOAT_EQ(all(bright)[0], -std::log(2 * counts[0] / (white[0] + white[rows * channels])));
}

/// Types that detectors write.
TEST_F(Measurement, CountsOf16Bits) {
  auto const counts = random_values(views * rows * channels, 200, 900),
             white = random_values(rows * channels, 1000, 2000);
  std::vector<float> whole(counts.size());
  std::string bytes;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    auto const n = static_cast<std::uint16_t>(counts[i]);
    whole[i] = n;
    bytes += {static_cast<char>(n & 255), static_cast<char>(n >> 8)};
  }
  write_npy(folder / "f4.npy", whole.data(), {views, rows, channels});
  write_npy(folder / "white.npy", white.data(), {rows, channels});
  auto text = file_text(folder / "f4.npy");
  text.replace(text.find("<f4"), 3, "<u2");
  write_text(folder / "u2.npy", text.substr(0, text.size() - 4 * counts.size()) + bytes);
  measurement_source const source({.input = name("u2.npy"), .white = name("white.npy")});
  EXPECT_EQ(source.description(), "counts (<u2), 1 white and 0 dark frames");
  EXPECT_EQ(all(source), all(measurement_source({.input = name("f4.npy"), .white = name("white.npy")})));
}

TEST_F(Measurement, DeadPixelsAreRepairedAndCounted) {
  auto counts = random_values(views * rows * channels, 200, 900);
  counts[2 * rows * channels + channels + 2] = std::nanf("");
  write_npy(folder / "counts.npy", counts.data(), {views, rows, channels});
  std::vector<float> const white(rows * channels, 1000);
  write_npy(folder / "white.npy", white.data(), {rows, channels});
  measurement_source const source({.input = name("counts.npy"), .white = name("white.npy")});
  std::vector<float> y(counts.size());
  auto const repaired = source.read_all(ctx, y.data());
  EXPECT_EQ(repaired.repaired, 1);
  EXPECT_EQ(repaired.lost, 0);
  double mean = 0;
  for (std::size_t m = 0; m < 3; ++m)
    for (std::size_t n = 1; n < 4; ++n)
      if (m != 1 || n != 2) mean += static_cast<double>(y[2 * rows * channels + m * channels + n]) / 8;
  EXPECT_FLOAT_EQ(y[2 * rows * channels + channels + 2], static_cast<float>(mean));
}

TEST_F(Measurement, TwoAxesAreViewsOfOneRow) {
  write_npy(folder / "flat.npy", lines.data(), {views, rows * channels});
  measurement_source const source({.input = name("flat.npy")});
  EXPECT_EQ(source.shape(), (std::array<index_t, 3>{views, 1, rows * channels}));
  EXPECT_EQ(all(source), lines);
}

TEST_F(Measurement, SelectedAndBinned) {
  program::selection_options part;
  part.views = {1, 6, 2};
  part.channels = {1, std::nullopt, 1};
  part.bin = 2;
  measurement_source const source({.input = line_file()}, part);
  ASSERT_EQ(source.shape(), (std::array<index_t, 3>{3, 1, 2}));
  auto const y = all(source);
  for (index_t v = 0; v < 3; ++v)
    for (index_t n = 0; n < 2; ++n) {
      double mean = 0;
      for (index_t r = 0; r < 2; ++r)
        for (index_t c = 0; c < 2; ++c)
          mean += static_cast<double>(
                      lines[static_cast<std::size_t>(((1 + 2 * v) * rows + r) * channels + 1 + 2 * n + c)]) / 4;
      EXPECT_EQ(y[static_cast<std::size_t>(v * 2 + n)], static_cast<float>(mean)) << v << n;
    }
  part.rows = {3, 4, 1};
  EXPECT_THROW(measurement_source({.input = line_file()}, part), io_error);
}

TEST_F(Measurement, FilesThatAreNone) {
  expect_error({.input = name("missing.npy")}, "missing.npy: no such file");
  expect_error({.input = folder.path().string()}, "a folder");
  write_text(folder / "text", std::string(5000, 'x'));
  expect_error({.input = name("text")}, "text: is neither an npy file nor an HDF5 file");
  write_text(folder / "short", "abc");
  expect_error({.input = name("short")}, "short: is neither an npy file nor an HDF5 file");
  write_npy(folder / "flat.npy", lines.data(), {views * rows * channels});
  expect_error({.input = name("flat.npy")},
               "flat.npy: has 1 axes, expected (views, rows, channels) or (views, channels)");
  write_npy(folder / "empty.npy", lines.data(), {views, 0, channels});
  expect_error({.input = name("empty.npy")},
               "has shape (7, 0, 5), expected (views, rows, channels), at least one of each");
}

TEST_F(Measurement, BadValuesAndFields) {
  auto bad = lines;
  bad[(3 * rows + 1) * channels + 4] = std::nanf("");
  write_npy(folder / "nan.npy", bad.data(), {views, rows, channels});
  expect_error({.input = name("nan.npy")},
               "nan.npy: value (3, 1, 4) is nan, expected finite line integrals (counts need a white field)");
  std::vector<double> large(lines.begin(), lines.end());
  large[(5 * rows + 1) * channels + 4] = 1e300;
  write_npy(folder / "large.npy", large.data(), {views, rows, channels});
  std::vector<float> block(2 * rows * channels);
  try {
    measurement_source({.input = name("large.npy")}).read(ctx, 4, 2, block.data());
    ADD_FAILURE();
  } catch (io_error const& e) {
    EXPECT_NE(std::string(e.what()).find("value (5, 1, 4) is 1e+300, expected a number that fits into float32"),
              std::string::npos)
        << e.what();
  }

  auto const input = line_file();
  expect_error({.input = input, .counts = true},
               "lines.npy: is said to hold counts, but there is no white field: expected --white FILE");
  expect_error({.input = input, .dark = input},
               "lines.npy: is a dark field, but there is no white field: expected --white FILE");
  write_npy(folder / "small.npy", lines.data(), {2, rows, channels - 1});
  expect_error({.input = input, .white = name("small.npy")},
               "small.npy: has shape (2, 3, 4), expected (frames, rows, channels) or (rows, channels) with 3 rows and "
               "5 channels");
  write_npy(folder / "none.npy", lines.data(), {0, rows, channels});
  expect_error({.input = input, .white = name("none.npy")},
               "none.npy: has shape (0, 3, 5), expected (views, rows, channels), at least one of each");
  expect_error({.input = input, .white = name("missing.npy")}, "missing.npy: no such file");
}

// Clusters of dead pixels that reach over the edges of bands, one so large that its middle is lost.
TEST_F(Measurement, BandsOfRowsHaveTheBitsOfWholeFrames) {
  index_t const n = 3, high = 24, wide = 20;
  auto counts = random_values(static_cast<std::size_t>(n * high * wide), 200, 900);
  for (index_t v = 0; v < n; ++v)
    for (index_t m = 0; m < high; ++m)
      for (index_t c = 0; c < wide; ++c)
        if ((m >= 3 && m < 12 && c >= 2 && c < 11) || (m * 7 + c * 3 + v) % 11 == 0)
          counts[static_cast<std::size_t>((v * high + m) * wide + c)] = 0;
  write_npy(folder / "counts.npy", counts.data(), {n, high, wide});
  measurement_source const source({.input = name("counts.npy"), .scan = {.white_level = 1000}});
  std::vector<float> whole(counts.size());
  auto const all_repaired = source.read_all(ctx, whole.data());
  EXPECT_GT(all_repaired.lost, 0);
  for (index_t const step : {1, 2, 5, 8, 23}) {
    repair_count repaired;
    for (index_t first = 0; first < high; first += step) {
      index_t const rows_read = std::min(step, high - first);
      std::vector<float> band(static_cast<std::size_t>(n * rows_read * wide));
      repaired += source.read_rows(ctx, 0, n, first, rows_read, band.data());
      index_t differ = 0;
      for (index_t v = 0; v < n; ++v)
        for (index_t k = 0; k < rows_read * wide; ++k)
          differ += band[static_cast<std::size_t>(v * rows_read * wide + k)] !=
                    whole[static_cast<std::size_t>((v * high + first) * wide + k)];
      EXPECT_EQ(differ, 0) << "rows " << first << " to " << first + rows_read;
    }
    EXPECT_EQ(repaired.repaired, all_repaired.repaired) << step;
    EXPECT_EQ(repaired.lost, all_repaired.lost) << step;
  }
}

#if defined(MBIRK_WITH_HDF5)

struct Exchange : Measurement {
  std::vector<std::uint16_t> counts, white, dark;
  Exchange() {
    for (auto const x : random_values(views * rows * channels, 200, 900))
      counts.push_back(static_cast<std::uint16_t>(x));
    for (auto const x : random_values(3 * rows * channels, 1000, 2000)) white.push_back(static_cast<std::uint16_t>(x));
    for (auto const x : random_values(2 * rows * channels, 10, 100)) dark.push_back(static_cast<std::uint16_t>(x));
  }
  std::string write(std::string const& units, bool fields = true, index_t angles = views) const {
    hdf5_output file(folder / "scan.h5");
    file.write("/exchange/data", {views, rows, channels}, counts.data());
    if (fields) file.write("/exchange/data_white", {3, rows, channels}, white.data());
    if (fields) file.write("/exchange/data_dark", {2, rows, channels}, dark.data());
    std::vector<double> theta;
    for (index_t v = 0; v < angles; ++v) theta.push_back(0.1 * static_cast<double>(v));
    if (angles > 0) file.write("/exchange/theta", {angles}, theta.data());
    if (!units.empty()) file.attribute("/exchange/theta", "units", units);
    file.commit();
    return name("scan.h5");
  }
};

TEST_F(Exchange, TheSameAsFromNpyFiles) {
  measurement_source const source({.input = write("deg")});
  EXPECT_EQ(source.description(), "counts (uint16), 3 white and 2 dark frames");
  write_npy(folder / "counts.npy", std::vector<float>(counts.begin(), counts.end()).data(), {views, rows, channels});
  write_npy(folder / "white.npy", std::vector<float>(white.begin(), white.end()).data(), {3, rows, channels});
  write_npy(folder / "dark.npy", std::vector<float>(dark.begin(), dark.end()).data(), {2, rows, channels});
  auto const y = all(source);
  EXPECT_EQ(
      y, all(measurement_source({.input = name("counts.npy"), .white = name("white.npy"), .dark = name("dark.npy")})));
  EXPECT_EQ(y, all(measurement_source({.input = name("counts.npy"),
                                       .white = name("scan.h5"),
                                       .dark = name("scan.h5")})));  // fields of another file
  std::vector<float> block(2 * rows * channels);
  source.read(ctx, 3, 2, block.data());
  for (std::size_t i = 0; i < block.size(); ++i) EXPECT_EQ(block[i], y[3 * rows * channels + i]);
}

TEST_F(Exchange, WithoutFieldsTheDataAreLineIntegrals) {
  measurement_source const source({.input = write("", false, 0)});
  EXPECT_FALSE(source.counts());
  EXPECT_TRUE(source.theta().empty());
  EXPECT_EQ(all(source), std::vector<float>(counts.begin(), counts.end()));
}

TEST_F(Exchange, AnglesInDegreesOrRadians) {
  for (std::string const units : {"", "degrees", "deg"}) {
    measurement_source const source({.input = write(units)});
    ASSERT_EQ(source.theta().size(), static_cast<std::size_t>(views));
    EXPECT_EQ(source.theta()[3], static_cast<float>(0.1 * 3 * std::numbers::pi / 180)) << units;
  }
  EXPECT_EQ(measurement_source({.input = write("radians")}).theta()[3], static_cast<float>(0.1 * 3));
}

TEST_F(Exchange, WhatIsNotDataExchange) {
  expect_error({.input = write("", true, views - 1)},
               "scan.h5: /exchange/theta: has shape (6), expected one angle per view = (7)");
  {
    hdf5_output file(folder / "other.h5");
    file.write("/data", {views, rows, channels}, counts.data());
    file.commit();
  }
  expect_error({.input = name("other.h5")},
               "other.h5: has no data set /exchange/data, expected the Data Exchange layout");
  expect_error({.input = line_file(), .white = name("other.h5")}, "other.h5: has no data set /exchange/data_white");
  {
    hdf5_output file(folder / "flat.h5");
    file.write("/exchange/data", {views * rows * channels}, counts.data());
    file.commit();
  }
  expect_error({.input = name("flat.h5")}, "flat.h5: /exchange/data: has 1 axes, expected (views, rows, channels)");
  auto const text = file_text(write("deg"));
  write_text(folder / "half.h5", text.substr(0, text.size() / 2));
  expect_error({.input = name("half.h5")}, "half.h5: cannot be read as HDF5: truncated file");
}

#endif

}  // namespace
}  // namespace mbirk::test
