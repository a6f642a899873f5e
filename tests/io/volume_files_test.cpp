// Volumes in the formats of other programs: read back, slab by slab as whole, and refused where nothing can be written.
#include "mbirk/io/volume_files.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "io/scratch_folder.hpp"
#include "mbirk/io/recon_hdf5.hpp"
#include "mbirk/io/scan_mrc.hpp"
#include "mbirk/io/volume_tiff.hpp"

namespace mbirk {
namespace {

struct VolumeFiles : testing::Test {
  static constexpr index_t rows = 3, cols = 5, slices = 7;
  test::scratch_folder folder;
  std::vector<float> values;
  voxel_grid const grid = centred_grid({rows, cols, slices}, 0.5, 0.25, 2, 10);

  VolumeFiles() {
    for (index_t k = 0; k < rows * cols * slices; ++k)
      values.push_back(0.125f * static_cast<float>((k * 37) % 101) - 4);
  }
  view<float const, 3> volume() const { return {values.data(), {rows, cols, slices}}; }
  float at(index_t i, index_t j, index_t k) const { return volume()(i, j, k); }
  std::string name(std::string const& file) const { return (folder / file).string(); }
  std::string text(std::string const& file) const { return test::file_text(folder / file); }

  /// Slices of (rows, cols), the order of the files.
  void expect_slices(float const* found, char const* what) const {
    for (index_t k = 0; k < slices; ++k)
      for (index_t i = 0; i < rows; ++i)
        for (index_t j = 0; j < cols; ++j) ASSERT_EQ(*found++, at(i, j, k)) << what << ' ' << i << ' ' << j << ' ' << k;
  }
  /// The file of a writer that gets slabs of two slices.
  template <class File> void write_slabs(File&& file) const {
    for (index_t k = 0; k < slices; k += 2)
      file.add(view<float const, 3>(values.data() + k, {rows, cols, std::min<index_t>(2, slices - k)},
                                    {cols * slices, slices, 1}));
    file.commit();
  }
};

TEST_F(VolumeFiles, TheMiddleOfTheGridIsTheAxis) {
  EXPECT_EQ(grid.origin, (std::array<double, 3>{-1, -0.25, 4}));
  EXPECT_EQ(grid.dx, 0.5);
  EXPECT_EQ(grid.dy, 0.25);
}

TEST_F(VolumeFiles, Nrrd) {
  write_nrrd(folder / "x.nrrd", volume(), grid);
  auto const file = text("x.nrrd");
  auto const end = file.find("\n\n");
  ASSERT_NE(end, std::string::npos);
  auto const header = file.substr(0, end);
  for (char const* const field :
       {"NRRD0004\n", "\ntype: float", "\ndimension: 3", "\nsizes: 5 3 7", "\nencoding: raw", "\nendian: little",
        "\nspace directions: (0.5,0,0) (0,0.25,0) (0,0,2)", "\nspace origin: (-1,-0.25,4)"})
    EXPECT_NE(header.find(field), std::string::npos) << field << '\n' << header;
  ASSERT_EQ(file.size(), end + 2 + 4 * values.size());
  std::vector<float> found(values.size());
  std::memcpy(found.data(), file.data() + end + 2, 4 * found.size());
  expect_slices(found.data(), "nrrd");
  write_slabs(nrrd_output(folder / "y.nrrd", volume().extents(), grid));
  EXPECT_EQ(text("y.nrrd"), file);
}

TEST_F(VolumeFiles, Mrc) {
  write_mrc(folder / "x.mrc", volume(), grid);
  auto const read = open_mrc(folder / "x.mrc");
  ASSERT_EQ(read.data.shape, (std::array<index_t, 3>{slices, rows, cols}));
  std::vector<float> found(values.size());
  read.data.read(0, slices, found.data());
  expect_slices(found.data(), "mrc");
  auto const file = text("x.mrc");
  auto const word = [&](int at) {
    float value = 0;
    std::memcpy(&value, file.data() + 4 * (at - 1), 4);
    return value;
  };
  EXPECT_EQ(word(11), 10 * 0.5f * cols);  // cell in Angstrom
  EXPECT_EQ(word(12), 10 * 0.25f * rows);
  EXPECT_EQ(word(13), 10 * 2.0f * slices);
  EXPECT_EQ(word(50), -10);  // origin
  EXPECT_EQ(word(52), 40);
  double sum = 0, squares = 0;
  for (float const x : values) sum += static_cast<double>(x);
  double const mean = sum / static_cast<double>(values.size());
  for (float const x : values) squares += std::pow(static_cast<double>(x) - mean, 2);
  EXPECT_EQ(word(20), *std::min_element(values.begin(), values.end()));
  EXPECT_EQ(word(21), *std::max_element(values.begin(), values.end()));
  EXPECT_FLOAT_EQ(word(22), static_cast<float>(mean));
  EXPECT_FLOAT_EQ(word(55), static_cast<float>(std::sqrt(squares / static_cast<double>(values.size()))));
  write_slabs(mrc_output(folder / "y.mrc", volume().extents(), grid));
  EXPECT_EQ(text("y.mrc"), file);
}

TEST_F(VolumeFiles, Tiff) {
  write_tiff(folder / "x.tif", volume(), grid);
  auto const read = open_tiff(folder / "x.tif");
  ASSERT_EQ(read.shape, (std::array<index_t, 3>{slices, rows, cols}));
  EXPECT_EQ(read.type, "float32");
  std::vector<float> found(values.size());
  read.read(0, slices, found.data());
  expect_slices(found.data(), "tiff");
  EXPECT_NE(text("x.tif").find("ImageJ=1.53\nimages=7\nslices=7\nspacing=2\n"), std::string::npos);
  write_slabs(tiff_output(folder / "y.tif", volume().extents(), grid));
  EXPECT_EQ(text("y.tif"), text("x.tif"));
}

TEST_F(VolumeFiles, TiffOfAWindow) {
  write_tiff(folder / "x.tif", volume(), grid, {{-2, 6}});
  auto const read = open_tiff(folder / "x.tif");
  EXPECT_EQ(read.type, "uint16");
  std::vector<float> found(values.size());
  read.read(0, slices, found.data());
  auto next = found.begin();
  for (index_t k = 0; k < slices; ++k)
    for (index_t i = 0; i < rows; ++i)
      for (index_t j = 0; j < cols; ++j) {
        double const x = std::clamp((static_cast<double>(at(i, j, k)) + 2) / 8, 0.0, 1.0) * 65535;
        EXPECT_NEAR(*next++, x, 0.5) << i << ' ' << j << ' ' << k;
      }
  EXPECT_THROW(write_tiff(folder / "z.tif", volume(), grid, {{1, 1}}), parameter_error);
  EXPECT_FALSE(std::filesystem::exists(folder / "z.tif"));
}

TEST_F(VolumeFiles, CompressedHdf5) {
  std::vector<float> flat(64 * 64 * 64, 1.5f);
  view<float const, 3> const x(flat.data(), {64, 64, 64});
  save_recon_hdf5(folder / "plain.h5", x, {{"notes", "flat"}});
  save_recon_hdf5(folder / "small.h5", x, {{"notes", "flat"}}, 4);
  auto const small = load_recon_hdf5(folder / "small.h5");
  EXPECT_EQ(small.recon.data, flat);
  EXPECT_EQ(small.record, (text_record{{"notes", "flat"}}));
  EXPECT_LT(20 * std::filesystem::file_size(folder / "small.h5"), std::filesystem::file_size(folder / "plain.h5"));
  save_recon_hdf5(folder / "x.h5", volume(), {}, 9);
  EXPECT_EQ(load_recon_hdf5(folder / "x.h5").recon.data, values);
}

TEST_F(VolumeFiles, Hdf5InSlabs) {
  for (int const deflate : {0, 3}) {
    hdf5_output file(folder / "x.h5");
    file.create<float>("recon", {rows, cols, slices}, deflate, {2, 3, 4});
    for (index_t first = 0; first < slices; first += 4) {
      index_t const count = std::min<index_t>(4, slices - first);
      std::vector<float> slab;
      for (index_t i = 0; i < rows; ++i)
        for (index_t j = 0; j < cols; ++j)
          for (index_t k = 0; k < count; ++k) slab.push_back(at(i, j, first + k));
      file.write_slices("recon", first, count, slab.data());
    }
    EXPECT_THROW(file.write_slices("recon", 5, 3, values.data()), io_error);
    file.commit();
    EXPECT_EQ(load_recon_hdf5(folder / "x.h5").recon.data, values) << deflate;
  }
}

TEST_F(VolumeFiles, NothingIsLeftOfWhatFails) {
  EXPECT_THROW(write_nrrd(folder / "no/x.nrrd", volume(), grid), io_error);
  EXPECT_THROW(write_mrc(folder / "no/x.mrc", volume(), grid), io_error);
  EXPECT_THROW(write_tiff(folder / "no/x.tif", volume(), grid), io_error);
  { nrrd_output unfinished(folder / "x.nrrd", volume().extents(), grid); }
  { mrc_output unfinished(folder / "x.mrc", volume().extents(), grid); }
  { tiff_output unfinished(folder / "x.tif", volume().extents(), grid); }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace mbirk
