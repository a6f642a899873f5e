// TIFF files of every kind that is read, folders of them, and the scans of scanners that describe them in a text.
#include "mbirk/io/scan_vendor.hpp"

#include <gtest/gtest.h>

#include <type_traits>

#include "io/scratch_folder.hpp"

namespace mbirk {
namespace {

struct ScanTiff : testing::Test {
  test::scratch_folder folder;
  std::string name(std::string const& file) const { return (folder / file).string(); }

  /// Writes pages of rows x channels whose values are 10 * page + pixel.
  template <class T>
  void write(std::string const& file, int pages, std::uint32_t rows, std::uint32_t channels, char const* mode = "w",
             std::uint16_t compression = COMPRESSION_NONE, std::uint32_t tile = 0, std::uint16_t samples = 1) const {
    TIFF* const t = TIFFOpen(name(file).c_str(), mode);
    ASSERT_NE(t, nullptr);
    for (int p = 0; p < pages; ++p) {
      TIFFSetField(t, TIFFTAG_IMAGEWIDTH, channels);
      TIFFSetField(t, TIFFTAG_IMAGELENGTH, rows);
      TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, static_cast<int>(8 * sizeof(T)));
      TIFFSetField(t, TIFFTAG_SAMPLESPERPIXEL, samples);
      TIFFSetField(t, TIFFTAG_SAMPLEFORMAT, std::is_floating_point_v<T> ? SAMPLEFORMAT_IEEEFP : SAMPLEFORMAT_UINT);
      TIFFSetField(t, TIFFTAG_COMPRESSION, compression);
      TIFFSetField(t, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
      TIFFSetField(t, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
      auto const value = [&](std::uint32_t r, std::uint32_t c) {
        return r < rows && c < channels ? static_cast<T>(10 * p + static_cast<int>(r * channels + c)) : T{};
      };
      if (tile > 0) {
        TIFFSetField(t, TIFFTAG_TILEWIDTH, tile);
        TIFFSetField(t, TIFFTAG_TILELENGTH, tile);
        std::vector<T> block(tile * tile);
        for (std::uint32_t y = 0; y < rows; y += tile)
          for (std::uint32_t x = 0; x < channels; x += tile) {
            for (std::uint32_t i = 0; i < tile * tile; ++i) block[i] = value(y + i / tile, x + i % tile);
            TIFFWriteTile(t, block.data(), x, y, 0, 0);
          }
      } else {
        TIFFSetField(t, TIFFTAG_ROWSPERSTRIP, 2);
        for (std::uint32_t r = 0; r < rows; ++r) {
          std::vector<T> line(channels * samples);
          for (std::uint32_t c = 0; c < channels; ++c) line[c] = value(r, c);
          TIFFWriteScanline(t, line.data(), r, 0);
        }
      }
      TIFFWriteDirectory(t);
    }
    TIFFClose(t);
  }
  static void expect_pages(frame_stack const& stack, index_t pages, index_t rows, index_t channels) {
    ASSERT_EQ(stack.shape, (std::array<index_t, 3>{pages, rows, channels})) << stack.name;
    std::vector<float> y(static_cast<std::size_t>(pages * rows * channels));
    stack.read(0, pages, y.data());
    for (index_t i = 0; i < static_cast<index_t>(y.size()); ++i)
      ASSERT_EQ(y[static_cast<std::size_t>(i)],
                static_cast<float>(10 * (i / (rows * channels)) + i % (rows * channels)))
          << stack.name << " at " << i;
    std::vector<float> line(static_cast<std::size_t>(channels));
    stack.read({pages - 1, 1, rows - 1, 1}, line.data());
    EXPECT_EQ(line[0], static_cast<float>(10 * (pages - 1) + (rows - 1) * channels));
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

TEST_F(ScanTiff, TypesCompressionsOrdersAndTiles) {
  write<std::uint8_t>("8.tif", 3, 5, 4);
  write<std::uint16_t>("16.tif", 3, 5, 4, "w", COMPRESSION_LZW);
  write<std::uint32_t>("32.tif", 3, 5, 4, "w8");  // BigTIFF
  write<float>("f.tif", 3, 5, 4, "wb", COMPRESSION_ADOBE_DEFLATE);
  write<double>("d.tif", 3, 5, 4, "wb");  // b: big-endian
  write<std::uint16_t>("t.tif", 2, 20, 35, "w", COMPRESSION_NONE, 16);
  for (auto const* file : {"8.tif", "16.tif", "32.tif", "f.tif", "d.tif"}) expect_pages(open_tiff(name(file)), 3, 5, 4);
  expect_pages(open_tiff(name("t.tif")), 2, 20, 35);
  EXPECT_EQ(open_tiff(name("d.tif")).type, "float64");
}

TEST_F(ScanTiff, WhatIsWrong) {
  write<std::uint8_t>("rgb.tif", 1, 5, 4, "w", COMPRESSION_NONE, 0, 3);
  expect_error([&] { open_tiff(name("rgb.tif")); }, "rgb.tif: page 1 has 3 values per pixel, expected one");
  write<std::uint16_t>("a.tif", 1, 50, 40);
  auto const text = test::file_text(name("a.tif"));
  for (std::size_t n : {0u, 4u, 100u, 2000u}) {
    test::write_text(folder / "cut.tif", text.substr(0, n));
    EXPECT_THROW(
        {
          auto const stack = open_tiff(name("cut.tif"));
          std::vector<float> y(2000);
          stack.read(0, 1, y.data());
        },
        io_error)
        << n;
  }
  // A width of 2^29 in a file of some bytes: the tag's value follows its number, type and count.
  auto huge = text;
  for (std::size_t at = 0; at + 12 <= huge.size(); ++at)
    if (huge.compare(at, 2, "\x00\x01", 2) == 0 && huge.compare(at + 4, 4, std::string("\x01\0\0\0", 4)) == 0) {
      huge[at + 2] = 4;  // of 32 bits
      huge[at + 11] = 0x20;
    }
  ASSERT_NE(huge, text);
  test::write_text(folder / "huge.tif", huge);
  expect_error([&] { open_tiff(name("huge.tif")); }, "which is more than a file of");
  write<std::uint16_t>("b.tif", 1, 5, 5);
  expect_error([&] { open_tiffs("both", {name("a.tif"), name("b.tif")}); }, "b.tif: has frames of 5 x 5 pixels");
}

TEST_F(ScanTiff, ADescribedScan) {
  std::filesystem::create_directory(folder / "n");
  for (int v = 0; v < 12; ++v) write<std::uint16_t>("n/part_" + std::to_string(v) + ".tif", 1, 5, 4);
  std::string const text =
      "[XTekCT]\nName=part\nSrcToObject=100\nSrcToDetector=400\nDetectorPixelsX=4\nDetectorPixelsY=5\n"
      "DetectorPixelSizeX=1\nDetectorPixelSizeY=1\nWhiteLevel=60000\nProjections=12\nAngularStep=30\n";
  test::write_text(folder / "n/part.xtekct", text);
  auto const scan = open_described(folder / "n/part.xtekct");
  EXPECT_EQ(scan.data.shape, (std::array<index_t, 3>{12, 5, 4}));
  EXPECT_EQ(*scan.white_level, 60000);
  EXPECT_EQ(tiff_files(folder / "n")[2].filename(), "part_2.tif");
  test::write_text(folder / "n/part.xtekct", text + "\n");
  std::filesystem::remove(folder / "n/part_7.tif");
  expect_error([&] { open_described(folder / "n/part.xtekct"); }, "12 projections, but at most 11 TIFF files");
  std::filesystem::create_directory(folder / "one");
  write<float>("one/x.tif", 1, 5, 4);
  test::write_text(folder / "one/x.xtekct", text);
  expect_error([&] { open_described(folder / "one/x.xtekct"); }, "expected one TIFF file per projection");
  auto const repeated = open_described(folder / "one/x.xtekct", true);
  EXPECT_EQ(repeated.data.shape[0], 12);
  EXPECT_EQ(*repeated.white_level, 1);  // floats are transmission
}

TEST_F(ScanTiff, FlippedAndTurnedFrames) {
  write<std::uint8_t>("f.tif", 1, 2, 3);  // 0 1 2 / 3 4 5
  auto const turned = [&](described_frames const& how) {
    auto const stack = detail::oriented_stack(open_tiff(name("f.tif")), how);
    std::vector<float> y(6);
    stack.read(0, 1, y.data());
    return y;
  };
  described_frames how;
  how.flip_channels = true;
  EXPECT_EQ(turned(how), (std::vector<float>{2, 1, 0, 5, 4, 3}));
  how = {};
  how.flip_rows = true;
  EXPECT_EQ(turned(how), (std::vector<float>{3, 4, 5, 0, 1, 2}));
  how = {};
  how.quarter_turns = 1;
  EXPECT_EQ(turned(how), (std::vector<float>{3, 0, 4, 1, 5, 2}));
  how.quarter_turns = 2;
  EXPECT_EQ(turned(how), (std::vector<float>{5, 4, 3, 2, 1, 0}));
  how.quarter_turns = 3;
  EXPECT_EQ(turned(how), (std::vector<float>{2, 5, 1, 4, 0, 3}));
}

}  // namespace
}  // namespace mbirk
