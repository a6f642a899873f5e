#include "mbirk/io/scan_matlab.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include "io/scratch_folder.hpp"

namespace mbirk {
namespace {

struct ScanMatlab : testing::Test {
  test::scratch_folder folder;
  std::string name(char const* file) const { return (folder / file).string(); }
  static void add(mat_t* file, char const* variable, std::vector<std::size_t> sizes,
                  matio_compression compression = MAT_COMPRESSION_ZLIB) {
    std::size_t n = 1;
    for (auto const s : sizes) n *= s;
    std::vector<double> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<double>(i);  // the first axis runs fastest
    detail::matlab_variable const v(Mat_VarCreate(variable, MAT_C_DOUBLE, MAT_T_DOUBLE, static_cast<int>(sizes.size()),
                                                  sizes.data(), values.data(), 0));
    Mat_VarWrite(file, v.get(), compression);
  }
  /// Returns the message with which a file of these bytes is refused.
  std::string error_of(std::string const& bytes) const {
    test::write_text(folder / "wrong.mat", bytes);
    try {
      open_matlab(name("wrong.mat"));
    } catch (io_error const& e) {
      return e.what();
    }
    return "nothing was thrown";
  }
  /// A file of version 5 with an array (4, 3, 5) of double, and its bytes with a number at a place replaced.
  std::string file_of_60(matio_compression compression) const {
    {
      detail::matlab_file const file(Mat_CreateVer(name("sound.mat").c_str(), nullptr, MAT_FT_MAT5));
      add(file.get(), "sinogram", {4, 3, 5}, compression);
    }
    return test::file_text(name("sound.mat"));
  }
  static std::string with(std::string bytes, std::size_t at, std::uint32_t value) {
    for (std::size_t k = 0; k < 4; ++k) bytes[at + k] = static_cast<char>(value >> 8 * k & 0xff);
    return bytes;
  }
};

void expect_in(std::string const& text, std::string const& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nhas no: " << part;
}

TEST_F(ScanMatlab, ArraysByNameAndAxes) {
  {
    detail::matlab_file const file(Mat_CreateVer(name("a.mat").c_str(), nullptr, MAT_FT_MAT5));
    add(file.get(), "sino", {4, 2, 3});
    add(file.get(), "scalar", {1, 1});
  }
  auto const stack = open_matlab(name("a.mat"));  // a scalar is no candidate
  EXPECT_EQ(stack.shape, (std::array<index_t, 3>{4, 2, 3}));
  std::vector<float> y(24);
  stack.read(0, 4, y.data());
  for (std::size_t v = 0; v < 4; ++v)
    for (std::size_t r = 0; r < 2; ++r)
      for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(y[(v * 2 + r) * 3 + c], static_cast<float>(v + 4 * r + 8 * c));
  auto const other = open_matlab(name("a.mat"), "sino", "channels,rows,views");
  EXPECT_EQ(other.shape, (std::array<index_t, 3>{3, 2, 4}));
  std::vector<float> row(4);
  other.read({2, 1, 1, 1}, row.data());
  for (std::size_t c = 0; c < 4; ++c) EXPECT_EQ(row[c], static_cast<float>(c + 4 * 1 + 8 * 2));
}

TEST_F(ScanMatlab, WhatIsWrong) {
  {
    detail::matlab_file const file(Mat_CreateVer(name("b.mat").c_str(), nullptr, MAT_FT_MAT5));
    add(file.get(), "one", {4, 2});
    add(file.get(), "two", {4, 2});
  }
  auto const error_of = [&](auto const& call) -> std::string {
    try {
      call();
    } catch (io_error const& e) {
      return e.what();
    }
    return "nothing was thrown";
  };
  EXPECT_NE(error_of([&] { open_matlab(name("b.mat")); }).find("expected --data with one of one, two"),
            std::string::npos);
  EXPECT_NE(error_of([&] { open_matlab(name("b.mat"), "three"); }).find("has no three"), std::string::npos);
  EXPECT_EQ(open_matlab(name("b.mat"), "two").shape, (std::array<index_t, 3>{4, 1, 2}));
  auto const text = test::file_text(name("b.mat"));
  for (std::size_t n : {0u, 60u, 140u}) {
    test::write_text(folder / "cut.mat", text.substr(0, n));
    EXPECT_NE(error_of([&] { open_matlab(name("cut.mat")); }), "nothing was thrown") << n;
  }
}

// Offsets: 128 tag of the array, 136 flags, 152 sizes, 176 name, 192 values: 8 bytes of tag, and the contents.
TEST_F(ScanMatlab, SizesThatTheFileDoesNotKeep) {
  auto const sound = file_of_60(MAT_COMPRESSION_NONE);
  ASSERT_EQ(sound.size(), 200u + 480u);
  expect_in(error_of(sound), "nothing was thrown");
  std::string const where = "wrong.mat: is damaged or truncated: the element at byte 128 ";
  for (std::size_t n = 137; n < sound.size(); n += 9)
    expect_in(error_of(sound.substr(0, n)), where + "has 544 bytes, expected at most " + std::to_string(n - 136));
  expect_in(error_of(sound.substr(0, 132)), where + "has 4 bytes of tag, expected 8");
  expect_in(error_of(sound + "abc"), "the element at byte 680 has 3 bytes of tag, expected 8");
  expect_in(error_of(with(sound, 132, 8)), where + "has 8 bytes of flags, expected at most 0");
  expect_in(error_of(with(sound, 132, 536)), where + "has 480 bytes of values, expected at most 472");
  expect_in(error_of(with(sound, 140, 16)), where + "has 16 bytes of flags, expected 8");
  expect_in(error_of(with(sound, 156, 0xffffff00u)), where + "has 4294967040 bytes of sizes, expected at most 520");
  expect_in(error_of(with(sound, 156, 10)), where + "has 10 bytes of sizes, expected a multiple of 4");
  expect_in(error_of(with(sound, 180, 1000)), where + "has 1000 bytes of name, expected at most 496");
  expect_in(error_of(with(sound, 180, 496)), where + "ends before its values");
  expect_in(error_of(with(sound, 196, 472)), where + "has 472 bytes of values, expected at least 480");
  expect_in(error_of(with(sound, 160, 5)), where + "has 480 bytes of values, expected at least 600");
  expect_in(error_of(with(with(sound, 160, 0x80000000u), 164, 0x80000000u)), where + "has 480 bytes of values");
  expect_in(error_of(with(sound, 192, 8)), where + "has values of type 8, expected 1 to 7, 9, 12 or 13");
  expect_in(error_of(with(sound, 192, 0x00080009)), where + "has 8 bytes of values, expected at most 4");
  // The values of a type of half the width need half the bytes.
  expect_in(error_of(with(with(sound, 192, 7), 196, 240)), "nothing was thrown");
  // An array that is not numeric is left to matio, and one without elements needs no values.
  expect_in(error_of(with(sound, 144, 4)), "has no numeric array");
  expect_in(error_of(with(with(sound, 160, 0), 196, 0)), "has no numeric array");
}

TEST_F(ScanMatlab, CompressedValuesThatAreNotWhole) {
  auto const sound = file_of_60(MAT_COMPRESSION_ZLIB);
  expect_in(error_of(sound), "nothing was thrown");
  auto const bytes = static_cast<std::uint32_t>(sound.size() - 136);
  std::string const where = "wrong.mat: is damaged or truncated: the element at byte 128 ";
  expect_in(error_of(sound.substr(0, sound.size() - 1)), where + "has " + std::to_string(bytes) + " bytes, expected");
  // The element is said to end where the file does.
  auto const cut = [&](std::uint32_t count) { return with(sound, 132, count).substr(0, 136 + count); };
  expect_in(error_of(cut(0)), where + "has no whole header in its first 0 bytes");
  for (std::uint32_t n = bytes / 2; n < bytes; n += 3) expect_in(error_of(cut(n)), where);
  expect_in(error_of(cut(bytes - 1)), where + "does not inflate to 552 bytes with the checksum expected");
  auto damaged = sound;
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  expect_in(error_of(damaged), where + "does not inflate to 552 bytes with the checksum expected");
  // A sound stream whose array says that it has more bytes than are inflated, or less, or more values.
  auto const plain = file_of_60(MAT_COMPRESSION_NONE).substr(128);
  auto const compressed = [&](std::string const& array) {
    std::vector<unsigned char> to(compressBound(array.size()));
    auto count = static_cast<uLongf>(to.size());
    EXPECT_EQ(compress(to.data(), &count, reinterpret_cast<unsigned char const*>(array.data()), array.size()), Z_OK);
    auto file = with(sound.substr(0, 128) + std::string(8, '\0'), 128, 15);
    return with(file, 132, static_cast<std::uint32_t>(count)).append(to.begin(), to.begin() + static_cast<long>(count));
  };
  expect_in(error_of(compressed(plain)), "nothing was thrown");
  expect_in(error_of(compressed(plain.substr(0, 540))), where + "does not inflate to 552 bytes");
  expect_in(error_of(compressed(plain + "12345678")), where + "does not inflate to 552 bytes");
  expect_in(error_of(compressed(with(plain, 32, 5))), where + "has 480 bytes of values, expected at least 600");
  expect_in(error_of(compressed(with(plain, 4, 536))), where + "has 480 bytes of values, expected at most 472");
}

TEST_F(ScanMatlab, FilesOfVersion4) {
  {
    detail::matlab_file const file(Mat_CreateVer(name("four.mat").c_str(), nullptr, MAT_FT_MAT4));
    add(file.get(), "a", {4, 15}, MAT_COMPRESSION_NONE);
  }
  auto const sound = test::file_text(name("four.mat"));
  ASSERT_EQ(sound.size(), 20u + 2u + 480u);
  expect_in(error_of(sound), "nothing was thrown");
  expect_in(error_of(sound.substr(0, sound.size() - 1)),
            "the element at byte 0 has 4 x 15 x 8 bytes of values, expected at most 479");
  expect_in(error_of(with(sound, 4, 5)), "has 5 x 15 x 8 bytes of values, expected at most 480");
  expect_in(error_of(with(with(sound, 4, 0xffffffffu), 8, 0xffffffffu)), "has 4294967295 x 4294967295 x 8 bytes");
  expect_in(error_of(with(sound, 16, 483)), "has 483 bytes of name, expected at most 482");
  expect_in(error_of("a text that is no MATLAB file"), "cannot be read as a MATLAB file");
}

// matio reads the first array of a name, also where another one of that name was opened.
TEST_F(ScanMatlab, TwoArraysOfOneName) {
  {
    detail::matlab_file const file(Mat_CreateVer(name("four_axes.mat").c_str(), nullptr, MAT_FT_MAT5));
    add(file.get(), "sinogram", {1, 2, 2, 2});
  }
  auto const three_axes = file_of_60(MAT_COMPRESSION_ZLIB);
  test::write_text(folder / "two.mat", test::file_text(name("four_axes.mat")) + three_axes.substr(128));
  auto const stack = open_matlab(name("two.mat"));
  std::vector<float> y(60);
  EXPECT_THROW(stack.read(0, 4, y.data()), io_error);
}

}  // namespace
}  // namespace mbirk
