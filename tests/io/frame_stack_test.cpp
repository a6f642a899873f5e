// Readers that need no library: raw, MRC, npy, and the texts of scanners; and what all readers share.
#include "mbirk/io/frame_stack.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "io/scratch_folder.hpp"
#include "mbirk/io/scan_mrc.hpp"
#include "mbirk/io/scan_npy.hpp"
#include "mbirk/io/scan_raw.hpp"
#include "mbirk/io/scan_text.hpp"

namespace mbirk {
namespace {

using test::write_text;

template <class T> std::string bytes_of(std::vector<T> const& values) {
  return {reinterpret_cast<char const*>(values.data()), values.size() * sizeof(T)};
}
std::vector<float> all(frame_stack const& stack) {
  std::vector<float> y(static_cast<std::size_t>(stack.shape[0] * stack.shape[1] * stack.shape[2]));
  stack.read(0, stack.shape[0], y.data());
  return y;
}
template <class Call> std::string error_of(Call const& call) {
  try {
    call();
  } catch (error const& e) {
    return e.what();
  }
  return "nothing was thrown";
}
#define EXPECT_ERROR(call, part) \
  EXPECT_NE(error_of([&] { call; }).find(part), std::string::npos) << error_of([&] { call; })

struct FrameStack : testing::Test {
  test::scratch_folder folder;
  std::vector<std::uint16_t> counts = std::vector<std::uint16_t>(5 * 4 * 3);
  std::vector<float> expected;
  FrameStack() {
    std::iota(counts.begin(), counts.end(), std::uint16_t{250});  // both bytes are used
    expected.assign(counts.begin(), counts.end());
  }
  std::string name(char const* file) const { return (folder / file).string(); }
};

TEST_F(FrameStack, RawInBothByteOrdersAndWindows) {
  write_text(folder / "le.raw", "head" + bytes_of(counts));
  auto const stack = open_raw(name("le.raw"), parse_raw_layout("u16le,5,4,3,4"));
  EXPECT_EQ(all(stack), expected);
  std::vector<float> part(2 * 2 * 3);
  stack.read({3, 2, 1, 2}, part.data());
  for (std::size_t f = 0; f < 2; ++f)
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(part[f * 6 + i], expected[(3 + f) * 12 + 3 + i]);
  auto swapped = counts;
  for (auto& c : swapped) c = static_cast<std::uint16_t>(c << 8 | c >> 8);
  write_text(folder / "be.raw", bytes_of(swapped));
  EXPECT_EQ(all(open_raw(name("be.raw"), parse_raw_layout("u16be,5,4,3"))), expected);
  EXPECT_EQ(open_raw_frames(name("be.raw"), parse_raw_layout("u16be,99,4,3")).shape[0], 5);
  EXPECT_ERROR(stack.read({4, 2, 0, 4}, part.data()), "which has no 2 frames from 4");
}

TEST_F(FrameStack, RawThatIsWrong) {
  write_text(folder / "x.raw", bytes_of(counts));
  EXPECT_ERROR(open_raw(name("x.raw"), parse_raw_layout("u16le,6,4,3")), "is truncated: (6, 4, 3) of uint16");
  EXPECT_ERROR(open_raw_frames(name("x.raw"), parse_raw_layout("u16le,1,4,7")), "expected a multiple of 56");
  EXPECT_ERROR(parse_raw_layout("u16le,1073741824,1073741824,1073741824"), "expected at most 2^60 bytes");
  EXPECT_ERROR(parse_raw_layout("u16le,1,2", "--raw"), "--raw: 'u16le,1,2' has 3 parts");
  EXPECT_ERROR(parse_raw_layout("u16,1,2,3"), "type u16 is not known");
  EXPECT_ERROR(parse_raw_layout("u8,-1,2,3"), "'-1' is not a whole number");
  EXPECT_ERROR(parse_raw_layout("u8,0,2,3"), "at least one of each");
  EXPECT_ERROR(open_raw(name("none.raw"), parse_raw_layout("u8,1,2,3")), "no such file");
}

TEST_F(FrameStack, MrcWithTilts) {
  std::string header(1024, '\0');
  auto const word = [&](int at, std::int32_t value) { std::memcpy(header.data() + 4 * (at - 1), &value, 4); };
  word(1, 3);
  word(2, 4);
  word(3, 5);
  word(4, 6);
  word(8, 3);
  float const cell = 60;
  std::memcpy(header.data() + 40, &cell, 4);
  word(24, 8);
  header.replace(208, 4, "MAP ");
  header[212] = header[213] = 0x44;
  auto const text = header + "extended" + bytes_of(counts);
  write_text(folder / "t.mrc", text);
  write_text(folder / "t.rawtlt", "-60\n-30\n0\n+30\n 60.0\n");
  auto const scan = open_mrc(name("t.mrc"));
  EXPECT_EQ(all(scan.data), expected);
  ASSERT_EQ(scan.angles.size(), 5u);
  EXPECT_DOUBLE_EQ(scan.angles[4], std::numbers::pi / 3);
  EXPECT_DOUBLE_EQ(*scan.delta_det_channel, 2);  // 20 Angstrom
  write_text(folder / "t.rawtlt", "-60 x\n");
  EXPECT_ERROR(open_mrc(name("t.mrc")), "t.rawtlt: line 1: 'x' is not a number");
  write_text(folder / "t.rawtlt", "1 2 3");
  EXPECT_ERROR(open_mrc(name("t.mrc")), "has 3 tilts, expected one per section = 5");
  write_text(folder / "t.rawtlt", "");
  // Every truncation is an error, and none crashes.
  for (std::size_t n : {0u, 100u, 1023u, 1030u, 1100u}) {
    write_text(folder / "cut.mrc", text.substr(0, n));
    EXPECT_NE(error_of([&] { open_mrc(name("cut.mrc")); }), "nothing was thrown") << n;
  }
  word(1, 1 << 30);
  word(2, 1 << 30);
  word(3, 1 << 30);
  write_text(folder / "huge.mrc", header);
  EXPECT_ERROR(open_mrc(name("huge.mrc")), "expected at most 2^60 bytes");
  word(3, -1);
  write_text(folder / "huge.mrc", header);
  EXPECT_ERROR(open_mrc(name("huge.mrc")), "at least one of each");
}

TEST_F(FrameStack, NpyWithAxesInAnyOrder) {
  write_npy(folder / "a.npy", expected.data(), {5, 4, 3});
  EXPECT_EQ(all(open_npy_stack(name("a.npy"))), expected);
  // Stored as (rows, channels, views).
  std::vector<float> turned(expected.size());
  for (std::size_t v = 0; v < 5; ++v)
    for (std::size_t i = 0; i < 12; ++i) turned[i * 5 + v] = expected[v * 12 + i];
  write_npy(folder / "b.npy", turned.data(), {4, 3, 5});
  auto const stack = open_npy_stack(name("b.npy"), "rows,channels,views");
  EXPECT_EQ(stack.shape, (std::array<index_t, 3>{5, 4, 3}));
  EXPECT_EQ(all(stack), expected);
  std::vector<float> row(3);
  stack.read({2, 1, 3, 1}, row.data());
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(row[i], expected[2 * 12 + 9 + i]);
  EXPECT_ERROR(open_npy_stack(name("b.npy"), "rows,channels"), "has 3 axes, but --axes names 2");
  EXPECT_ERROR(open_npy_stack(name("b.npy"), "rows,rows,views"), "expected an order of views,rows,channels");
}

TEST(NaturalOrder, NumbersCountAsNumbers) {
  EXPECT_TRUE(detail::natural_less("view_9.tif", "view_10.tif"));
  EXPECT_FALSE(detail::natural_less("view_10.tif", "view_9.tif"));
  EXPECT_TRUE(detail::natural_less("a2b3", "a2b20"));
  EXPECT_TRUE(detail::natural_less("a", "b"));
  EXPECT_FALSE(detail::natural_less("a01", "a01"));
  EXPECT_TRUE(detail::natural_less("a1", "a01") != detail::natural_less("a01", "a1"));  // an order, whichever
}

TEST(TextOfScanners, Nikon) {
  std::string const text =
      "[XTekCT]\r\nName=part\r\nSrcToObject=100\r\nSrcToDetector=400\r\nDetectorPixelsX=30\r\nDetectorPixelsY=20\r\n"
      "DetectorPixelSizeX=0.2\r\nDetectorPixelSizeY=0.1\r\nDetectorOffsetX=0.5\r\nCentreOfRotationTop=1\r\n"
      "CentreOfRotationBottom=1\r\nWhiteLevel=60000\r\nProjections=4\r\nInitialAngle=10\r\nAngularStep=90\r\n";
  scan_description scan;
  auto const frames = parse_xtekct(text, "x.xtekct", scan);
  EXPECT_EQ(frames.shape, (std::array<index_t, 3>{4, 20, 30}));
  EXPECT_EQ(frames.prefix, "part");
  EXPECT_EQ(*scan.source_detector_dist, 400);
  EXPECT_EQ(*scan.source_iso_dist, 100);
  EXPECT_EQ(*scan.delta_det_row, 0.1);
  EXPECT_EQ(*scan.det_channel_offset, 1 * 4 - 0.5);
  EXPECT_DOUBLE_EQ(scan.angles[1], 100 * std::numbers::pi / 180);
  auto const with = [&](std::string const& from, std::string const& to) {
    auto changed = text;
    changed.replace(changed.find(from), from.size(), to);
    scan_description other;
    return error_of([&] { parse_xtekct(changed, "x.xtekct", other); });
  };
  EXPECT_NE(with("SrcToObject=100", "SrcToObject=-1").find("x.xtekct: SrcToObject is -1, expected a positive"),
            std::string::npos);
  EXPECT_NE(with("SrcToObject=100", "SrcToObject=near").find("SrcToObject is 'near', expected a number"),
            std::string::npos);
  EXPECT_NE(with("Projections=4", "Projections=4e12").find("Projections is 4e+12, expected a whole"),
            std::string::npos);
  EXPECT_NE(with("SrcToDetector", "Other").find("has no SrcToDetector"), std::string::npos);
}

TEST(TextOfScanners, SkyScan) {
  scan_description scan;
  auto const frames = parse_skyscan(
      "[System]\nCamera Pixel Size (um)=75\n[Acquisition]\nFilename Prefix=s_\nNumber Of Files=  601\nNumber Of Rows= "
      "100\n"
      "Number Of Columns= 200\nOptical Axis (line)=  59\nObject to Source (mm)=25\nCamera to Source (mm)=250\n"
      "Image Pixel Size (um)=7.5\nRotation Step (deg)=0.6\nRotation Direction=CC\nReference Intensity=58000\n",
      "s.log", scan);
  EXPECT_EQ(frames.shape, (std::array<index_t, 3>{601, 100, 200}));
  EXPECT_DOUBLE_EQ(*scan.delta_det_channel, 0.075);
  EXPECT_DOUBLE_EQ(*scan.det_row_offset, (40 - 49.5) * 0.075);
  EXPECT_DOUBLE_EQ(scan.angles[100], std::numbers::pi / 3);
  EXPECT_EQ(*scan.white_level, 58000);
}

TEST(TextOfScanners, NorthStar) {
  std::string const text =
      "<Project>\n<Object Radiograph>\n<number>8\n<pitch>0.1 0.2\n<angleStep>45\n</Object Radiograph>\n<Detector>\n"
      "<width pixels>11\n<height pixels>5\n</Detector>\n<Correction>\n<rotate>0\n<flipH>False\n<flipV>True\n"
      "</Correction>\n<Processed>\n<clockwise>True\n</Processed>\n<Result>\n<source>0 0 -100\n<reference>-0.4 0.4 300\n"
      "<axis>0 -1 0\n<normal>0 0 1\n<horizontal>1 0 0\n</Result>\n</Project>\n";
  scan_description scan;
  auto const frames = parse_nsipro(text, "n.nsipro", scan);
  EXPECT_EQ(frames.shape, (std::array<index_t, 3>{8, 5, 11}));
  EXPECT_TRUE(frames.flip_rows);
  EXPECT_FALSE(frames.flip_channels);
  EXPECT_DOUBLE_EQ(*scan.source_detector_dist, 400);
  EXPECT_DOUBLE_EQ(*scan.source_iso_dist, 100);
  // The detector's middle is at x = -0.4 + 0.5 and y = 0.4 - 0.4; the ray through the axis meets (0, 0).
  EXPECT_NEAR(*scan.det_channel_offset, -0.1, 1e-12);
  EXPECT_NEAR(*scan.det_row_offset, 0, 1e-12);
  EXPECT_DOUBLE_EQ(scan.angles[2], std::numbers::pi / 2);
}

}  // namespace
}  // namespace mbirk
