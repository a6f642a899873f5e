#include "mbirk/io/npy.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "core/messages.hpp"
#include "io/scratch_folder.hpp"

namespace mbirk {
namespace {

using test::file_text;
using test::write_text;

/// Bytes of an npy file with any header.
std::string npy_bytes(std::string const& dictionary, std::string const& data, int major = 1) {
  std::string text = dictionary + '\n', start = "\x93NUMPY";
  start += {static_cast<char>(major), 0};
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) start += static_cast<char>(text.size() >> 8 * i & 255);
  return start + text + data;
}
std::string dictionary(std::string const& dtype, std::string const& shape, bool fortran = false) {
  return "{'descr': '" + dtype + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }";
}
template <class T> std::string bytes_of(std::vector<T> const& values) {
  return {reinterpret_cast<char const*>(values.data()), values.size() * sizeof(T)};
}

struct Npy : testing::Test {
  test::scratch_folder folder;
  std::filesystem::path const file = folder / "x.npy";

  template <class T> npy_array<T> read(std::string const& bytes) const {
    write_text(file, bytes);
    return read_npy<T>(file);
  }
  /// Reading these bytes must fail with one line that names the file and holds `part`.
  template <class T> void expect_error(std::string const& bytes, std::string const& part) const {
    auto const text = test::message_of<io_error>([&] { read<T>(bytes); });
    EXPECT_NE(text.find(part), text.npos) << text;
    EXPECT_EQ(text.find(file.string()), 0u) << text;
    EXPECT_EQ(text.find('\n'), text.npos) << text;
  }
};

using shape_t = std::vector<index_t>;

TEST_F(Npy, WhatIsWrittenIsRead) {
  std::vector<float> const data{1.5f, -2.0f, 3.25f, 0.0f, 5.0f, 6.0f};
  for (auto const& shape : {shape_t{6}, shape_t{2, 3}, shape_t{1, 3, 2}, shape_t{6, 1, 1, 1}}) {
    write_npy(file, data.data(), shape);
    auto const array = read_npy<float>(file);
    EXPECT_EQ(array.shape, shape);
    EXPECT_EQ(array.data, data);
    EXPECT_EQ(read_npy_header(file).offset % 64, 0);
  }
  std::vector<std::int32_t> const whole{-1, 2147483647, -2147483647 - 1};
  write_npy(file, npy_array<std::int32_t>{{3}, whole});
  EXPECT_EQ(read_npy<std::int32_t>(file).data, whole);
}

TEST_F(Npy, EmptyArraysAndScalars) {
  write_npy<float>(file, nullptr, {0, 4});
  EXPECT_EQ(read_npy<float>(file).shape, (shape_t{0, 4}));
  EXPECT_TRUE(read_npy<float>(file).data.empty());
  float const x = 7;
  write_npy(file, &x, {});
  EXPECT_EQ(read_npy<float>(file).shape, shape_t{});
  EXPECT_EQ(read_npy<float>(file).data, std::vector<float>{7});
  EXPECT_TRUE(read<float>(npy_bytes(dictionary("<f4", "(500000000, 200000000, 0)"), "")).data.empty());
  expect_error<float>(npy_bytes(dictionary("<f4", "(500000000000000000, 500000000000000000, 0)"), ""),
                      "needs more than 2^59 bytes");  // NumPy refuses it too
}

TEST_F(Npy, EveryNumberType) {
  std::vector<float> const expected{3, 0, 200};
  EXPECT_EQ(read<float>(npy_bytes(dictionary("<f4", "(3,)"), bytes_of<float>({3, 0, 200}))).data, expected);
  EXPECT_EQ(read<float>(npy_bytes(dictionary("<f8", "(3,)"), bytes_of<double>({3, 0, 200}))).data, expected);
  EXPECT_EQ(read<float>(npy_bytes(dictionary("<i4", "(3,)"), bytes_of<std::int32_t>({3, 0, 200}))).data, expected);
  EXPECT_EQ(read<float>(npy_bytes(dictionary("<i8", "(3,)"), bytes_of<std::int64_t>({3, 0, 200}))).data, expected);
  EXPECT_EQ(read<float>(npy_bytes(dictionary("|u1", "(3,)"), bytes_of<std::uint8_t>({3, 0, 200}))).data, expected);
  std::vector<std::int32_t> const whole{3, 0, 1};
  EXPECT_EQ(read<std::int32_t>(npy_bytes(dictionary("<f4", "(3,)"), bytes_of<float>({3, 0, 1}))).data, whole);
  EXPECT_EQ(read<std::int32_t>(npy_bytes(dictionary("<f8", "(3,)"), bytes_of<double>({3, 0, 1}))).data, whole);
  EXPECT_EQ(read<std::int32_t>(npy_bytes(dictionary("<i8", "(3,)"), bytes_of<std::int64_t>({3, 0, 1}))).data, whole);
  EXPECT_EQ(read<std::int32_t>(npy_bytes(dictionary("|b1", "(3,)"), bytes_of<std::uint8_t>({0, 1, 1}))).data,
            (std::vector<std::int32_t>{0, 1, 1}));
}

TEST_F(Npy, MoreElementsThanOneConversionBlock) {
  std::vector<double> wide(70'001);
  for (std::size_t i = 0; i < wide.size(); ++i) wide[i] = 0.25 * static_cast<double>(i);
  auto const array = read<float>(npy_bytes(dictionary("<f8", "(70001,)"), bytes_of(wide)));
  for (std::size_t i = 0; i < wide.size(); ++i) ASSERT_EQ(array.data[i], static_cast<float>(wide[i]));
}

TEST_F(Npy, WholeNumbersOfEverySize) {
  EXPECT_EQ(read<float>(npy_bytes(dictionary("<i2", "(3,)"), bytes_of<std::int16_t>({-32768, -1, 32767}))).data,
            (std::vector<float>{-32768, -1, 32767}));
  EXPECT_EQ(read<float>(npy_bytes(dictionary("<u2", "(2,)"), bytes_of<std::uint16_t>({1, 65535}))).data,
            (std::vector<float>{1, 65535}));
  EXPECT_EQ(read<std::int32_t>(npy_bytes(dictionary("<u2", "(2,)"), bytes_of<std::uint16_t>({1, 65535}))).data,
            (std::vector<std::int32_t>{1, 65535}));
  EXPECT_EQ(read<float>(npy_bytes(dictionary("<u4", "(2,)"), bytes_of<std::uint32_t>({1, 1u << 31}))).data,
            (std::vector<float>{1, 2147483648.0f}));
  expect_error<std::int32_t>(npy_bytes(dictionary("<u4", "(2,)"), bytes_of<std::uint32_t>({1, 1u << 31})),
                             "value (1) is 2147483648");
}

TEST_F(Npy, FortranOrderBecomesCOrder) {
  // a[i][j][k] = 100 i + 10 j + k, first index fastest in the file
  std::vector<double> stored;
  for (int k = 0; k < 4; ++k)
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 2; ++i) stored.push_back(100 * i + 10 * j + k);
  auto const array = read<float>(npy_bytes(dictionary("<f8", "(2, 3, 4)", true), bytes_of(stored)));
  std::size_t at = 0;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k) EXPECT_EQ(array.data[at++], static_cast<float>(100 * i + 10 * j + k));
}

TEST_F(Npy, IntoMemoryThatIsThere) {
  std::vector<double> stored(5 * 3 * 4);
  for (std::size_t i = 0; i < stored.size(); ++i) stored[i] = static_cast<double>(i);
  for (auto const& bytes :
       {npy_bytes(dictionary("<f8", "(5, 3, 4)"), bytes_of(stored)),
        npy_bytes(dictionary("<f4", "(5, 3, 4)"), bytes_of(std::vector<float>(stored.begin(), stored.end())))}) {
    write_text(file, bytes);
    std::vector<float> to(5 * 3 * 4 + 2, -1.0f);
    read_npy(file, view<float, 3>(to.data() + 1, {5, 3, 4}));
    for (std::size_t i = 0; i < stored.size(); ++i) ASSERT_EQ(to[i + 1], static_cast<float>(i));
    EXPECT_EQ(to.front(), -1);
    EXPECT_EQ(to.back(), -1) << "no byte beyond the view";

    std::vector<float> block(2 * 3 * 4 + 1, -1.0f);
    read_npy(file, 3, view<float, 3>(block.data(), {2, 3, 4}));
    for (std::size_t i = 0; i < 24; ++i) ASSERT_EQ(block[i], static_cast<float>(36 + i));
    EXPECT_EQ(block.back(), -1);
    read_npy(file, 5, view<float, 3>(nullptr, {0, 3, 4}));
  }
}

TEST_F(Npy, IntoAViewOfAnotherShapeNothingIsRead) {
  std::vector<float> to(60, -1.0f);
  write_npy(file, std::vector<float>(60, 1.0f).data(), {5, 3, 4});
  auto const message = [&](auto const& read) { return test::message_of<io_error>(read); };
  EXPECT_NE(message([&] {
              read_npy(file, view<float, 3>(to.data(), {4, 3, 4}));
            }).find("x.npy: has shape (5, 3, 4), expected (4, 3, 4)"),
            std::string::npos);
  EXPECT_NE(message([&] { read_npy(file, view<float, 1>(to.data(), {60})); }).find("expected (60)"), std::string::npos);
  for (index_t const first : {-1, 4})
    EXPECT_NE(message([&] {
                read_npy(file, first, view<float, 3>(to.data(), {2, 3, 4}));
              }).find("(5, 3, 4), which has no block of shape (2, 3, 4) at " + std::to_string(first)),
              std::string::npos);
  EXPECT_NE(message([&] {
              read_npy(file, 0, view<float, 3>(to.data(), {2, 4, 3}));
            }).find("no block of shape (2, 4, 3)"),
            std::string::npos);
  test::message_of<shape_error>([&] { read_npy(file, view<float, 3>(to.data(), {5, 3, 4}, {20, 5, 1})); });
  write_text(file, npy_bytes(dictionary("<f4", "(5, 3)", true), bytes_of(std::vector<float>(15))));
  EXPECT_NE(message([&] {
              read_npy(file, 0, view<float, 2>(to.data(), {2, 3}));
            }).find("in Fortran order"),
            std::string::npos);
  EXPECT_EQ(to, std::vector<float>(60, -1.0f));
}

TEST_F(Npy, VersionsAndSpellings) {
  auto const data = bytes_of<float>({1, 2});
  for (int const version : {1, 2, 3})
    EXPECT_EQ(read<float>(npy_bytes(dictionary("<f4", "(2,)"), data, version)).data.size(), 2u) << version;
  EXPECT_EQ(read<float>(npy_bytes("{\"shape\":(2L,1L),\"descr\":\"<f4\",\"fortran_order\":False}", data)).shape,
            (shape_t{2, 1}));
  expect_error<float>(npy_bytes(dictionary("<f4", "(2,)"), data, 4), "has npy version 4.0, expected 1.0, 2.0 or 3.0");
}

TEST_F(Npy, LongerThanItsDataIsAccepted) {
  EXPECT_EQ(read<float>(npy_bytes(dictionary("<f4", "(2,)"), bytes_of<float>({1, 2, 3}))).data,
            (std::vector<float>{1, 2}));
}

TEST_F(Npy, TruncatedSaysHowManyBytes) {
  expect_error<float>(npy_bytes(dictionary("<f4", "(2, 3)"), bytes_of<float>({1, 2, 3})),
                      "truncated: shape (2, 3) of <f4 needs 24 bytes, the file has 12");
  expect_error<float>(npy_bytes(dictionary("<f8", "(5000000000, 5000000000)"), "12345678"),
                      "needs more than 2^59 bytes, the file has 8");
  expect_error<float>(npy_bytes(dictionary("<f4", "(0, 5000000000, 5000000000)"), ""),
                      "needs more than 2^59 bytes, the file has 0");
  expect_error<float>(npy_bytes(dictionary("<f4", "(3, 6148914691236517206)"), "12345678"),
                      "needs more than 2^59 bytes");
  expect_error<float>(npy_bytes(dictionary("<f4", "(2,)"), "").substr(0, 30), "truncated: the header needs");
  expect_error<float>(npy_bytes(dictionary("<f4", "(2,)"), "").substr(0, 8), "is not an npy file");
}

TEST_F(Npy, HeadersAreBounded) {
  std::string ones = "(";
  for (int k = 0; k < 65; ++k) ones += "1, ";
  expect_error<float>(npy_bytes(dictionary("<f4", ones + ")"), bytes_of<float>({1})),
                      "malformed npy header: expected at most 64 sizes");
  expect_error<float>(npy_bytes(dictionary("<f4", "(1,)") + std::string(1 << 20, ' '), bytes_of<float>({1}), 2),
                      "has a header of ");
  EXPECT_THROW(write_npy(folder / "f.npy", static_cast<float const*>(nullptr), {0, -1}), shape_error);
}

TEST_F(Npy, NotAnNpyFile) {
  expect_error<float>("", "is not an npy file");
  expect_error<float>("{\"json\": true, \"longer than the magic number\": 1}", "is not an npy file");
  EXPECT_NE(
      test::message_of<io_error>([&] { read_npy<float>(folder / "missing.npy"); }).find("missing.npy: no such file"),
      std::string::npos);
  EXPECT_NE(test::message_of<io_error>([&] { read_npy<float>(folder.path()); }).find("is not a file"),
            std::string::npos);
}

TEST_F(Npy, MalformedHeaders) {
  auto const data = bytes_of<float>({1, 2});
  for (std::string const bad :
       {"", "{", "{'descr': '<f4'", "{'descr': '<f4}", "[]", "{'descr': '<f4', 'fortran_order': 1, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 2}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}"})
    expect_error<float>(npy_bytes(bad, data), "malformed npy header: expected ");
  expect_error<float>(npy_bytes("{'descr': '<f4', 'shape': (2,)}", data), "lacks descr, fortran_order or shape");
  expect_error<float>(npy_bytes("{'descr': [('x', '<f4'), ('y', '<f4')], 'fortran_order': False, 'shape': (2,)}", data),
                      "is an array of records");
}

TEST_F(Npy, TypesThatAreNotRead) {
  for (std::string const dtype : {">f4", ">i8", "<f2", "<c8", "<u8", "|i1", "|O", "<U5", "<M8[ns]"})
    expect_error<float>(npy_bytes(dictionary(dtype, "(1,)"), std::string(64, 'x')),
                        "has dtype '" + dtype + "', expected little-endian f4, f8, i2, i4, i8, u1, u2 or u4");
}

TEST_F(Npy, ValuesThatDoNotFit) {
  auto const whole = [&](std::string const& bytes, std::string const& part) {
    expect_error<std::int32_t>(bytes, part);
  };
  whole(npy_bytes(dictionary("<i8", "(2, 2)"), bytes_of<std::int64_t>({0, 1, 2, 2147483648})),
        "value (1, 1) is 2147483648, expected a whole number");
  whole(npy_bytes(dictionary("<i8", "(1,)"), bytes_of<std::int64_t>({-2147483649})), "is -2147483649");
  whole(npy_bytes(dictionary("<f4", "(2,)"), bytes_of<float>({1, 0.5f})), "value (1) is 0.5, expected a whole number");
  whole(npy_bytes(dictionary("<f8", "(1,)"), bytes_of<double>({std::nan("")})), "is nan");
  whole(npy_bytes(dictionary("<f8", "(1,)"), bytes_of<double>({1e300})), "is 1e+300");
  whole(npy_bytes(dictionary("<f8", "(1,)"), bytes_of<double>({2147483648.0})),
        "expected a whole number that fits into int32");
  // In Fortran order the index still refers to the array: element 1 of the file is (1, 0).
  whole(npy_bytes(dictionary("<i8", "(2, 2)", true), bytes_of<std::int64_t>({0, 1LL << 40, 2, 3})), "value (1, 0) is");
  expect_error<float>(npy_bytes(dictionary("<f8", "(1,)"), bytes_of<double>({-1e39})),
                      "value (0) is -1e+39, expected a number that fits into float32");
  EXPECT_EQ(read<std::int32_t>(npy_bytes(dictionary("<f8", "(1,)"), bytes_of<double>({-2147483648.0}))).data[0],
            std::numeric_limits<std::int32_t>::min());
}

TEST_F(Npy, InfinityAndNanAreReadAndFoundByRequireFinite) {
  float const inf = std::numeric_limits<float>::infinity();
  auto const array = read<float>(npy_bytes(dictionary("<f8", "(2, 2)"), bytes_of<double>({0, 1, -HUGE_VAL, 3})));
  EXPECT_EQ(array.data[2], -inf);
  auto const text = test::message_of<io_error>([&] { require_finite(array, "folder/name.npy"); });
  EXPECT_EQ(text, "folder/name.npy: value (1, 0) is -inf, expected finite numbers");
  EXPECT_NE(test::message_of<io_error>([&] {
              require_finite(npy_array<float>{{3}, {0, 1, std::nanf("")}}, "x");
            }).find("value (2) is nan"),
            std::string::npos);
  EXPECT_NO_THROW(
      require_finite(npy_array<float>{{3}, {0, std::numeric_limits<float>::max(), 1e-45f}}, "x"));
}

TEST_F(Npy, UnwritableOutputLeavesNothing) {
  float const x = 1;
  EXPECT_NE(test::message_of<io_error>([&] {
              write_npy(folder / "no" / "such" / "x.npy", &x, {1});
            }).find("x.npy: cannot be written: "),
            std::string::npos);
  write_text(folder / "plain", "text");
  EXPECT_NE(
      test::message_of<io_error>([&] { write_npy(folder / "plain" / "x.npy", &x, {1}); }).find("cannot be written: "),
      std::string::npos);
  std::filesystem::create_directories(folder / "taken.npy" / "inside");
  EXPECT_NE(test::message_of<io_error>([&] { write_npy(folder / "taken.npy", &x, {1}); }).find("cannot be written: "),
            std::string::npos);
  EXPECT_EQ(test::file_count(folder.path()), 1);
  EXPECT_EQ(file_text(folder / "plain"), "text");
}

TEST_F(Npy, AFileKeepsItsOldContentUntilTheNewIsComplete) {
  write_text(file, "old");
  {
    output_file unfinished(file);
    unfinished.write("new");
    EXPECT_EQ(file_text(file), "old");
  }
  EXPECT_EQ(file_text(file), "old");
  EXPECT_EQ(test::file_count(folder.path()), 1);
  output_file finished(file);
  finished.write("new");
  finished.commit();
  EXPECT_EQ(file_text(file), "new");
  EXPECT_EQ(test::file_count(folder.path()), 1);
}

TEST_F(Npy, NumpyReadsWhatIsWrittenAndIsRead) {
  std::string const python = MBIRK_PYTHON;
  if (python.empty()) GTEST_SKIP() << "no Python with numpy";
  std::vector<float> const data{1, 2, 3, 4, 5, 6};
  write_npy(file, data.data(), {2, 3});
  auto const script = "import numpy as np; a = np.load('" + file.string() +
                      "'); assert a.dtype == np.float32 and a.tolist() == [[1, 2, 3], [4, 5, 6]]; np.save('" +
                      (folder / "f.npy").string() + "', np.asfortranarray(a.astype(np.float64)))";
  ASSERT_EQ(std::system((python + " -c \"" + script + '"').c_str()), 0);
  EXPECT_EQ(read_npy<float>(folder / "f.npy").data, data);
  EXPECT_TRUE(read_npy_header(folder / "f.npy").fortran_order);
}

TEST(NpyGolden, ReadsTheReferenceCases) {
  std::filesystem::path const folder = MBIRK_GOLDEN_DIR "/cone_32";
  EXPECT_EQ(read_npy<float>(folder / "recon.npy").shape, (shape_t{32, 32, 32}));
  EXPECT_EQ(read_npy<std::int32_t>(folder / "pixel_indices.npy").shape.size(), 1u);
}

}  // namespace
}  // namespace mbirk
