// HDF5: blocks, conversions, attributes, complete files only, messages, and no change to the library's own error
// handling.
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <cmath>
#include <csignal>

#include "core/messages.hpp"
#include "io/scratch_folder.hpp"
#include "mbirk/io/recon_hdf5.hpp"

namespace mbirk {
namespace {

using test::file_count;
using test::file_text;
using test::write_text;
using shape_t = std::vector<index_t>;

std::vector<float> ramp(std::size_t n) {
  std::vector<float> a(n);
  for (std::size_t i = 0; i < n; ++i) a[i] = 0.25f * static_cast<float>(i) - 3;
  return a;
}

struct Hdf5 : testing::Test {
  test::scratch_folder folder;
  std::filesystem::path const file = folder / "a.h5";

  void expect_error(auto const& f, std::string const& part) const {
    std::string text;
    EXPECT_THROW(
        {
          try {
            f();
          } catch (io_error const& e) {
            text = e.what();
            throw;
          }
        },
        io_error);
    EXPECT_NE(text.find(part), std::string::npos) << "expected: " << part << "\nfound: " << text;
  }
  /// A data set of any type, by the C interface, so that the reader is not tested with our own writer alone.
  template <class T> void raw(char const* name, hid_t file_type, hid_t memory_type, std::vector<hsize_t> const& shape,
                              T const* data, bool packed = false) const {
    hid_t const f = std::filesystem::exists(file) ? H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT)
                                                  : H5Fcreate(file.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT);
    hid_t const space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr),
                layout = H5Pcreate(H5P_DATASET_CREATE);
    if (packed) {
      std::vector<hsize_t> const chunk(shape.size(), 2);
      ASSERT_GE(H5Pset_chunk(layout, static_cast<int>(chunk.size()), chunk.data()), 0);
      ASSERT_GE(H5Pset_deflate(layout, 6), 0);
    }
    hid_t const set = H5Dcreate2(f, name, file_type, space, H5P_DEFAULT, layout, H5P_DEFAULT);
    ASSERT_GE(H5Dwrite(set, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), 0);
    H5Dclose(set), H5Pclose(layout), H5Sclose(space), H5Fclose(f);
  }
};

TEST_F(Hdf5, BlocksAreSlicesOfTheWhole) {
  shape_t const shape{5, 3, 7};
  auto const a = ramp(5 * 3 * 7);
  hdf5_output out(file);
  out.create<float>("/group/inner/a", shape);
  out.write("/group/inner/a", 2, 3, a.data() + 2 * 21);  // in any order
  out.write("/group/inner/a", 0, 2, a.data());
  out.commit();

  hdf5_file const in(file);
  EXPECT_EQ(in.shape("/group/inner/a"), shape);
  EXPECT_EQ(in.type("group/inner/a"), "float32");
  EXPECT_EQ(in.read<float>("/group/inner/a").data, a);
  for (index_t first = 0; first <= 5; ++first)
    for (index_t count = 0; first + count <= 5; ++count) {
      std::vector<float> block(static_cast<std::size_t>(count * 21 + 1), -99);
      in.read("/group/inner/a", first, count, block.data());
      for (index_t i = 0; i < count * 21; ++i)
        ASSERT_EQ(block[static_cast<std::size_t>(i)], a[static_cast<std::size_t>(first * 21 + i)]);
      ASSERT_EQ(block.back(), -99);
    }
  EXPECT_TRUE(in.has("/group"));
  EXPECT_TRUE(in.has("/group/inner/a"));
  EXPECT_FALSE(in.has("/group/other/a"));
  EXPECT_FALSE(in.has("/group/inner/a/b"));
}

TEST_F(Hdf5, IntoMemoryThatIsThere) {
  auto const a = ramp(5 * 3 * 7);
  hdf5_output out(file);
  out.write("a", {5, 3, 7}, a.data());
  out.commit();
  hdf5_file const in(file);
  std::vector<float> to(2 * 21 + 1, -99);
  in.read("a", 1, view<float, 3>(to.data(), {2, 3, 7}));
  EXPECT_TRUE(std::equal(to.begin(), to.end() - 1, a.begin() + 21));
  EXPECT_EQ(to.back(), -99);
  expect_error(
      [&] {
        in.read("a", 0, view<float, 3>(to.data(), {2, 7, 3}));
      },
      "data set a has shape (5, 3, 7), which has no block of shape (2, 7, 3)");
  expect_error([&] { in.read("a", 0, view<float, 1>(to.data(), {5})); }, "no block of shape (5)");
  expect_error([&] { in.read("a", 4, view<float, 3>(to.data(), {2, 3, 7})); }, "no block of 2 from 4");
  EXPECT_THROW(in.read("a", 0, view<float, 3>(to.data(), {1, 3, 7}, {40, 10, 1})), shape_error);
}

TEST_F(Hdf5, EveryNumberTypeIsConverted) {
  std::vector<double> const values{0, 1, 127, 2.5};
  std::vector<hsize_t> const shape{4};
  for (auto const type : {H5T_IEEE_F32LE, H5T_IEEE_F64LE, H5T_IEEE_F32BE, H5T_IEEE_F64BE}) {
    auto const name = "real" + std::to_string(static_cast<long long>(type));
    raw(name.c_str(), type, H5T_NATIVE_DOUBLE, shape, values.data());
    EXPECT_EQ(hdf5_file(file).read<float>(name).data, (std::vector<float>{0, 1, 127, 2.5f}));
    EXPECT_EQ(hdf5_file(file).read<double>(name).data, values);
  }
  for (auto const type : {H5T_STD_I8LE, H5T_STD_U8LE, H5T_STD_I16LE, H5T_STD_U16LE, H5T_STD_U16BE, H5T_STD_I32LE,
                          H5T_STD_U32LE, H5T_STD_I64LE, H5T_STD_U64BE}) {
    auto const name = "whole" + std::to_string(static_cast<long long>(type));
    raw(name.c_str(), type, H5T_NATIVE_DOUBLE, shape, std::vector<double>{0, 1, 127, 2}.data());
    EXPECT_EQ(hdf5_file(file).read<float>(name).data, (std::vector<float>{0, 1, 127, 2})) << hdf5_file(file).type(name);
  }
  std::uint16_t const large[] = {65535, 40000};
  hdf5_output out(folder / "b.h5");
  out.write("counts", {2}, large);
  out.commit();
  EXPECT_EQ(hdf5_file(folder / "b.h5").type("counts"), "uint16");
  EXPECT_EQ(hdf5_file(folder / "b.h5").read<float>("counts").data, (std::vector<float>{65535, 40000}));
}

TEST_F(Hdf5, TooLargeForFloatBecomesInfinite) {
  std::vector<double> const values{1e300, -1e39, 3};
  raw("x", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, {3}, values.data());
  EXPECT_EQ(hdf5_file(file).read<float>("x").data, (std::vector<float>{HUGE_VALF, -HUGE_VALF, 3}));
}

TEST_F(Hdf5, CompressedChunks) {
  auto const a = ramp(5 * 7);
  raw("x", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {5, 7}, a.data(), true);
  std::vector<float> block(14);
  hdf5_file(file).read("x", 3, 2, block.data());
  EXPECT_EQ(block, std::vector<float>(a.begin() + 21, a.end()));
}

TEST_F(Hdf5, EmptyDataSets) {
  hdf5_output out(file);
  float const* const nothing = nullptr;
  out.write("x", {0, 3}, nothing);
  out.write("y", {3, 0}, nothing);
  out.commit();
  EXPECT_EQ(hdf5_file(file).read<float>("x").shape, (shape_t{0, 3}));
  EXPECT_TRUE(hdf5_file(file).read<float>("y").data.empty());
}

TEST_F(Hdf5, Attributes) {
  float const x = 1;
  std::string const long_text(200'000, 'm');  // attributes of fixed length end at 64 KiB
  {
    hdf5_output out(file);
    out.write("set", {1}, &x);
    out.attribute("set", "text", "Grüße\nzwei Zeilen");
    out.attribute("set", "long", long_text);
    out.attribute("set", "empty", "");
    out.commit();
  }
  hid_t const f = H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), set = H5Dopen2(f, "set", H5P_DEFAULT),
              scalar = H5Screate(H5S_SCALAR);
  hid_t const fixed = H5Tcopy(H5T_C_S1);
  H5Tset_size(fixed, 7);
  H5Tset_strpad(fixed, H5T_STR_NULLPAD);
  hid_t const a = H5Acreate2(set, "fixed", fixed, scalar, H5P_DEFAULT, H5P_DEFAULT);
  H5Awrite(a, fixed, "degrees");  // fills all of it, no zero at the end
  hsize_t const two = 2;
  hid_t const pair = H5Screate_simple(1, &two, nullptr),
              b = H5Acreate2(set, "array", H5T_NATIVE_INT, pair, H5P_DEFAULT, H5P_DEFAULT);
  int const numbers[2] = {1, 2};
  H5Awrite(b, H5T_NATIVE_INT, numbers);
  hid_t const c = H5Acreate2(set, "whole", H5T_NATIVE_INT, scalar, H5P_DEFAULT, H5P_DEFAULT);
  H5Awrite(c, H5T_NATIVE_INT, numbers + 1);
  hid_t const d = H5Acreate2(f, "number", H5T_NATIVE_DOUBLE, scalar, H5P_DEFAULT, H5P_DEFAULT);
  double const number = 0.1;
  H5Awrite(d, H5T_NATIVE_DOUBLE, &number);
  H5Aclose(a), H5Aclose(b), H5Aclose(c), H5Aclose(d), H5Sclose(pair), H5Sclose(scalar), H5Tclose(fixed), H5Dclose(set),
      H5Fclose(f);

  EXPECT_EQ(hdf5_file(file).attributes("set"), (text_record{{"array", ""},
                                                            {"empty", ""},
                                                            {"fixed", "degrees"},
                                                            {"long", long_text},
                                                            {"text", "Grüße\nzwei Zeilen"},
                                                            {"whole", "2"}}));
  auto const root = hdf5_file(file).attributes("/");
  ASSERT_EQ(root.size(), 1u);
  EXPECT_EQ(std::stod(root[0].second), 0.1);
  expect_error([&] { hdf5_file(file).attributes("nothing"); }, "a.h5: has no object nothing");
}

TEST_F(Hdf5, MessagesNameFileDataSetAndReason) {
  expect_error([&] { hdf5_file(folder / "missing.h5"); }, "missing.h5: no such file");
  expect_error([&] { hdf5_file(folder.path()); }, "is not a file");
  write_text(folder / "text.h5", "some text that is longer than a signature");
  expect_error([&] { hdf5_file(folder / "text.h5"); }, "text.h5: cannot be read as HDF5: file signature not found");

  float const x[4] = {1, 2, 3, 4};
  {
    hdf5_output out(file);
    out.write("/group/set", {4}, x);
    expect_error([&] { out.write("/group/set", {4}, x); }, "a.h5: data set /group/set cannot be created: ");
    expect_error([&] { out.write("/other", 0, 1, x); }, "data set /other cannot be written: it was not made before");
    expect_error([&] { out.write("/group/set", 2, 3, x); },
                 "data set /group/set has shape (4), which has no block of 3 from 2");
    expect_error([&] { out.attribute("/nothing", "key", "text"); }, "has no object /nothing");
    out.commit();
  }
  hid_t const text = H5Tcopy(H5T_C_S1);
  raw("words", text, text, {3}, "abc");
  H5Tclose(text);
  hdf5_file const in(file);
  float y[4];
  expect_error([&] { in.shape("words"); }, "data set words does not hold numbers, expected integers or reals");
  expect_error([&] { in.shape("/group/none"); }, "a.h5: has no data set /group/none");
  expect_error([&] { in.shape("/group"); }, "a.h5: /group is not a data set: ");
  expect_error([&] { in.read("/group/set", 3, 2, y); },
               "data set /group/set has shape (4), which has no block of 2 from 3");
  expect_error([&] { in.read("/group/set", -1, 2, y); }, "which has no block of 2 from -1");

  auto const bytes = file_text(file);
  write_text(folder / "short.h5", bytes.substr(0, bytes.size() / 2));
  expect_error([&] { hdf5_file(folder / "short.h5"); }, "short.h5: cannot be read as HDF5: truncated file");
}

TEST_F(Hdf5, SizesThatNoMemoryHolds) {
  // A data set that was announced and never written occupies no bytes.
  hid_t const f = H5Fcreate(file.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT),
              layout = H5Pcreate(H5P_DATASET_CREATE);
  std::vector<hsize_t> const shape(3, hsize_t{1} << 21), chunk(3, 1);
  H5Pset_chunk(layout, 3, chunk.data());
  hid_t const space = H5Screate_simple(3, shape.data(), nullptr),
              set = H5Dcreate2(f, "recon", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, layout, H5P_DEFAULT);
  ASSERT_GE(set, 0);
  H5Dclose(set), H5Sclose(space), H5Pclose(layout), H5Fclose(f);
  EXPECT_THROW(hdf5_file(file).read<float>("recon"), allocation_error);
  EXPECT_THROW(load_recon_hdf5(file), allocation_error);
  EXPECT_THROW(import_recon_hdf5(file), allocation_error);
}

int calls_of_the_handler = 0;
herr_t count_call(hid_t, void* to) {
  ++calls_of_the_handler;
  EXPECT_EQ(to, &calls_of_the_handler);
  return 0;
}

TEST_F(Hdf5, TheCallersErrorHandlerIsNotCalledAndStays) {
  H5E_auto2_t before = nullptr;
  void* data_before = nullptr;
  H5Eget_auto2(H5E_DEFAULT, &before, &data_before);
  H5Eset_auto2(H5E_DEFAULT, count_call, &calls_of_the_handler);
  write_text(folder / "text.h5", "not HDF5");
  testing::internal::CaptureStderr();
  EXPECT_THROW(hdf5_file(folder / "text.h5"), io_error);
  EXPECT_THROW(hdf5_output(folder / "no" / "such" / "folder.h5"), io_error);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(calls_of_the_handler, 0);
  EXPECT_LT(H5Fopen((folder / "text.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), 0);
  EXPECT_EQ(calls_of_the_handler, 1);
  H5Eset_auto2(H5E_DEFAULT, before, data_before);
}

TEST_F(Hdf5, AFileAppearsWhenItIsComplete) {
  write_text(file, "old");
  float const x = 1;
  {
    hdf5_output unfinished(file);
    unfinished.write("x", {1}, &x);
    EXPECT_EQ(file_text(file), "old");
  }
  EXPECT_EQ(file_count(folder.path()), 1);
  hdf5_output finished(file);
  finished.write("x", {1}, &x);
  finished.commit();
  EXPECT_EQ(hdf5_file(file).read<float>("x").data, std::vector<float>{1});
  EXPECT_EQ(file_count(folder.path()), 1);
}

TEST_F(Hdf5, UnwritableOutputLeavesNothing) {
  write_text(folder / "plain", "text");
  expect_error([&] { hdf5_output(folder / "plain" / "x.h5"); }, "x.h5: cannot be written: ");
  std::filesystem::create_directories(folder / "taken.h5" / "inside");
  expect_error([&] {
    hdf5_output out(folder / "taken.h5");
    out.commit();
  }, "taken.h5: cannot be written: ");
  EXPECT_EQ(file_count(folder.path()), 1);
}

TEST_F(Hdf5, ADiskThatIsFull) {
  // Files of this process are limited to 64 KiB for a while. The HDF5 library could neither close such a file nor end
  // the program.
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  auto const handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit const small{1 << 16, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  auto const a = ramp(1 << 16);
  auto const array = test::message_of<error>([&] {
    save_recon_hdf5(file, view<float const, 3>(a.data(), {64, 32, 32}));
  });
  auto const text = test::message_of<error>([&] {
    save_recon_hdf5(file, view<float const, 3>(a.data(), {8, 8, 8}), {{"long", std::string(1 << 17, 'x')}});
  });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(array.find("a.h5: cannot be written: File too large"), std::string::npos) << array;
  EXPECT_NE(text.find("a.h5: cannot be written: File too large"), std::string::npos) << text;
  EXPECT_EQ(file_count(folder.path()), 0);
  EXPECT_NO_THROW(save_recon_hdf5(file, view<float const, 3>(a.data(), {64, 32, 32})));
}

TEST_F(Hdf5, AnnouncedAndNotWrittenReadsAsZeros) {
  {
    hdf5_output out(file);
    out.create<float>("x", {300});
    out.create<float>("y", {300});
    out.commit();
  }
  EXPECT_EQ(hdf5_file(file).read<float>("x").data, std::vector<float>(300));
  EXPECT_EQ(hdf5_file(file).read<float>("y").data, std::vector<float>(300));
}

TEST_F(Hdf5, ReconstructionsInBothLayouts) {
  std::array<index_t, 3> const shape{3, 5, 2};
  auto const a = ramp(30);
  view<float const, 3> const recon(a.data(), shape);
  text_record const record{{"model_params", "{\"p\": 2}"}, {"notes", ""}, {"recon_log", "two\nlines"}};

  save_recon_hdf5(file, recon, record);
  auto const saved = load_recon_hdf5(file);
  EXPECT_EQ(saved.recon.shape, (shape_t{3, 5, 2}));
  EXPECT_EQ(saved.recon.data, a);
  EXPECT_EQ(saved.record, record);

  export_recon_hdf5(file, recon, record);
  auto const turned = hdf5_file(file).read<float>("recon");
  ASSERT_EQ(turned.shape, (shape_t{2, 5, 3}));
  for (index_t i = 0; i < 3; ++i)
    for (index_t j = 0; j < 5; ++j)
      for (index_t k = 0; k < 2; ++k)
        EXPECT_EQ(turned.data[static_cast<std::size_t>((k * 5 + j) * 3 + i)], recon(i, j, k));
  auto const imported = import_recon_hdf5(file);
  EXPECT_EQ(imported.recon.shape, (shape_t{3, 5, 2}));
  EXPECT_EQ(imported.recon.data, a);
  EXPECT_EQ(imported.record, record);
}

TEST_F(Hdf5, ReconstructionsOfMoreThanOneBlockAndWithGaps) {
  // 2^22 elements are a block: five rows (two slices) of 1.1e6 make three blocks (two).
  index_t const rows = 5, cols = 1100, slices = 1000, row_stride = cols * slices + 17;
  auto const a = ramp(static_cast<std::size_t>(rows * row_stride));
  view<float const, 3> const recon(a.data(), {rows, cols, slices}, {row_stride, slices, 1});
  auto const expect_equal = [&](npy_array<float> const& got, view<float const, 3> const& expected) {
    ASSERT_EQ(got.shape, (shape_t{expected.extent(0), expected.extent(1), expected.extent(2)}));
    view<float const, 3> const g(got.data.data(), expected.extents());
    index_t wrong = 0;
    for (index_t i = 0; i < expected.extent(0); ++i)
      for (index_t j = 0; j < expected.extent(1); ++j)
        for (index_t k = 0; k < expected.extent(2); ++k) wrong += g(i, j, k) != expected(i, j, k);
    EXPECT_EQ(wrong, 0);
  };
  save_recon_hdf5(file, recon);
  expect_equal(load_recon_hdf5(file).recon, recon);
  view<float const, 3> const flat(
      a.data(), {cols, slices, rows});  // few slices, so that the reversed layout has two blocks as well
  export_recon_hdf5(file, flat);
  expect_equal(import_recon_hdf5(file).recon, flat);
}

TEST_F(Hdf5, ReconstructionsThatAreNone) {
  float const x[6] = {};
  hdf5_output out(file);
  out.write("recon", {2, 3}, x);
  out.commit();
  expect_error([&] { load_recon_hdf5(file); }, "data set recon has shape (2, 3), expected (rows, cols, slices)");
  expect_error([&] { import_recon_hdf5(file); }, "data set recon has shape (2, 3), expected (slices, cols, rows)");
  EXPECT_THROW(save_recon_hdf5(file, view<float const, 3>(x, {1, 2, 3}, {6, 1, 2})), shape_error);
  EXPECT_THROW(export_recon_hdf5(file, view<float const, 3>(nullptr, {1, 2, 3})), shape_error);
  EXPECT_NO_THROW(save_recon_hdf5(file, view<float const, 3>(nullptr, {0, 2, 3})));
  EXPECT_EQ(load_recon_hdf5(file).recon.shape, (shape_t{0, 2, 3}));
  EXPECT_NO_THROW(export_recon_hdf5(file, view<float const, 3>(nullptr, {4, 2, 0})));
  EXPECT_EQ(import_recon_hdf5(file).recon.shape, (shape_t{4, 2, 0}));
}

}  // namespace
}  // namespace mbirk
