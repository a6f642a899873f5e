#include "mbirk/io/scan_matlab.hpp"

#include <gtest/gtest.h>

#include "io/scratch_folder.hpp"

namespace mbirk {
namespace {

struct ScanMatlab : testing::Test {
  test::scratch_folder folder;
  std::string name(char const* file) const { return (folder / file).string(); }
  static void add(mat_t* file, char const* variable, std::vector<std::size_t> sizes) {
    std::size_t n = 1;
    for (auto const s : sizes) n *= s;
    std::vector<double> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<double>(i);  // the first axis runs fastest
    detail::matlab_variable const v(Mat_VarCreate(variable, MAT_C_DOUBLE, MAT_T_DOUBLE, static_cast<int>(sizes.size()),
                                                  sizes.data(), values.data(), 0));
    Mat_VarWrite(file, v.get(), MAT_COMPRESSION_ZLIB);
  }
};

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

}  // namespace
}  // namespace mbirk
