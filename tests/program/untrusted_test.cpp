// Scans from strangers: read in another process, without following links, within the memory that is allowed, and
// without harm to what an output must not replace.
#include <hdf5.h>
#include <unistd.h>

#include <cmath>

#include "mbirk/io/hdf5.hpp"
#include "program.hpp"

namespace mbirk::test {
namespace {

struct Untrusted : testing::Test {
  static constexpr index_t views = 6, rows = 3, channels = 8;
  scratch_folder folder;

  std::string name(std::string const& file) const { return (folder / file).string(); }
  static std::vector<float> values(index_t n) {
    std::vector<float> all;
    for (index_t i = 0; i < n; ++i) all.push_back(1 + static_cast<float>(i % 7));
    return all;
  }
  void write_scan(char const* file, std::vector<double> theta = {0, 30, 60, 90, 120, 150}) const {
    hdf5_output out(folder / file);
    out.write("/exchange/data", {views, rows, channels}, values(views * rows * channels).data());
    out.write("/exchange/data_white", {2, rows, channels}, std::vector<float>(2 * rows * channels, 9).data());
    out.write("/exchange/theta", {std::ssize(theta)}, theta.data());
    out.attribute("/exchange/theta", "units", "deg");
    out.commit();
  }
  outcome run(char const* command, std::string const& input, std::vector<std::string> const& more = {}) const {
    std::vector<std::string> words{command, name(input), "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return mbirk_program(words);
  }
  outcome recon(std::string const& input, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"--out", name("x.npy"), "--no-png", "--max-iterations", "2", "--threads", "1"});
    return run("recon", input, more);
  }

  /// A file of this size that takes no room.
  void write_sparse(char const* file, std::string const& shape, off_t elements, char const* order = "False") const {
    std::string header = "{'descr': '<f4', 'fortran_order': " + std::string(order) + ", 'shape': " + shape + ", }";
    header.resize(117, ' ');
    header += '\n';
    write_text(folder / file, std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header);
    ASSERT_EQ(::truncate(name(file).c_str(), 128 + 4 * elements), 0);
  }
  /// The program refuses to exceed 200 MiB, and says so with 200 MiB of addresses: it takes less before.
  static void expect_refused_early(std::vector<std::string> words, std::string const& part) {
    words.insert(words.begin(), {"sh", "-c", "ulimit -v 204800; exec \"$@\"", "sh", MBIRK_PROGRAM});
    words.insert(words.end(), {"--memory-limit", "200MiB", "--quiet"});
    expect_failure(run_words(words), 2, part);
  }
};

TEST_F(Untrusted, AnotherProcessReadsTheSame) {
  write_scan("scan.h5");
  for (std::vector<std::string> const& options : {std::vector<std::string>{}, {"--bin", "2"}}) {
    auto guarded = options;
    guarded.emplace_back("--untrusted");
    ASSERT_EQ(recon("scan.h5", options).code, 0);
    auto const volume = file_text(folder / "x.npy");
    ASSERT_EQ(recon("scan.h5", guarded).code, 0);
    EXPECT_EQ(file_text(folder / "x.npy"), volume);
  }
  auto const direct = run("info", "scan.h5", {"--json"}), guarded = run("info", "scan.h5", {"--json", "--untrusted"});
  EXPECT_EQ(direct.code, 0) << direct;
  EXPECT_EQ(guarded.out, direct.out);
  ASSERT_EQ(run("prepare", "scan.h5", {"--out", name("a.h5")}).code, 0);
  ASSERT_EQ(run("prepare", "scan.h5", {"--out", name("b.h5"), "--untrusted"}).code, 0);
  EXPECT_EQ(hdf5_file(folder / "a.h5").read<float>("/exchange/data").data,
            hdf5_file(folder / "b.h5").read<float>("/exchange/data").data);
}

TEST_F(Untrusted, ErrorsAreTheSame) {
  write_scan("nan.h5", {0, 30, 60, std::nan(""), 120, 150});
  write_text(folder / "text.h5", "no HDF5");
  for (std::vector<std::string> const& more : {std::vector<std::string>{}, {"--untrusted"}}) {
    expect_failure(recon("nan.h5", more), 2, "nan.h5: /exchange/theta: value (3) is nan, expected finite angles");
    expect_failure(recon("text.h5", more), 2, "text.h5: is neither an npy file nor an HDF5 file");
    expect_failure(recon("none.h5", more), 2, "none.h5: no such file");
  }
  EXPECT_FALSE(fs::exists(folder / "x.npy"));
}

/// Whatever libhdf5 makes of a damaged file, its end is one line.
TEST_F(Untrusted, DamagedFiles) {
  write_scan("scan.h5");
  auto const sound = file_text(folder / "scan.h5");
  for (std::size_t k = 0; k < 12; ++k) {
    auto bytes = sound;
    for (std::size_t at = 64 + 31 * k; at < bytes.size(); at += 997) bytes[at] = static_cast<char>(0xff - k);
    write_text(folder / "damaged.h5", bytes);
    auto const ran = run("info", "damaged.h5", {"--untrusted"});
    if (ran.code != 0) expect_failure(ran, 2, "damaged.h5");
  }
}

TEST_F(Untrusted, LinksAreFollowedIfAskedFor) {
  write_scan("other.h5");
  write_scan("scan.h5");
  {
    hid_t const file = H5Fopen(name("scan.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    ASSERT_GE(H5Ldelete(file, "/exchange/data", H5P_DEFAULT), 0);
    ASSERT_GE(H5Lcreate_external("other.h5", "/exchange/data", file, "/exchange/data", H5P_DEFAULT, H5P_DEFAULT), 0);
    H5Fclose(file);
  }
  std::string const refused = "scan.h5: /exchange/data is an external link to /exchange/data of file other.h5, which is "
                              "followed only if that is asked for (--follow-links)";
  for (std::vector<std::string> const& more : {std::vector<std::string>{}, {"--untrusted"}}) {
    expect_failure(recon("scan.h5", more), 2, refused);
    expect_failure(run("info", "scan.h5", more), 2, refused);
    expect_failure(run("prepare", "scan.h5", {"--out", name("y.h5")}), 2, refused);
    auto following = more;
    following.emplace_back("--follow-links");
    EXPECT_EQ(recon("scan.h5", following).code, 0);
    // The file behind a link is an input too, so no output may replace it.
    following.insert(following.end(), {"--out", name("other.h5")});
    expect_failure(run("prepare", "scan.h5", following), 2, "other.h5: would be written over what is read");
  }
}

TEST_F(Untrusted, PrepareReplacesNoInput) {
  write_scan("scan.h5");
  auto const before = file_text(folder / "scan.h5");
  fs::create_symlink("scan.h5", folder / "link.h5");
  fs::create_hard_link(folder / "scan.h5", folder / "hard.h5");
  fs::create_directory(folder / "sub");
  for (std::string const out : {"scan.h5", "link.h5", "hard.h5", "sub/../scan.h5"})
    expect_failure(run("prepare", "scan.h5", {"--out", name(out)}), 2, "would be written over what is read");
  write_npy(folder / "data.npy", values(views * rows * channels).data(), {views, rows, channels});
  expect_failure(run("prepare", "data.npy", {"--white", name("scan.h5"), "--out", name("hard.h5")}), 2,
                 "hard.h5: would be written over what is read");
  write_npy(folder / "angles.npy", values(views).data(), {views});
  fs::create_symlink("angles.npy", folder / "angles.h5");
  expect_failure(run("prepare", "data.npy", {"--angles", name("angles.npy"), "--out", name("angles.h5")}), 2,
                 "angles.h5: would be written over what is read");
  EXPECT_EQ(file_text(folder / "scan.h5"), before);
}

TEST_F(Untrusted, MemoryIsComparedBeforeItIsTaken) {
  write_sparse("fortran.npy", "(1000, 1000, 400)", 400000000, "True");
  write_sparse("scan.npy", "(2, 5000, 5000)", 50000000);
  write_sparse("white.npy", "(2, 5000, 5000)", 50000000);
  write_sparse("many.npy", "(100000000, 1, 1)", 100000000);
  write_sparse("list.npy", "(100000000,)", 100000000);
  write_npy(folder / "data.npy", values(views * rows * channels).data(), {views, rows, channels});
  write_sparse("mask.npy", "(10000, 10000)", 100000000);
  write_text(folder / "mask.json", R"({"geometry": "parallel", "params": {"use_ror_mask": "mask.npy"}})");
  for (std::string const command : {"recon", "prepare"}) {
    auto const words = [&](char const* input, std::vector<std::string> const& more) {
      std::vector<std::string> all{command, name(input), "--out", name(command == "recon" ? "x.npy" : "x.h5")};
      all.insert(all.end(), more.begin(), more.end());
      return all;
    };
    expect_refused_early(words("fortran.npy", {"--angles", "0:180"}),
                         "fortran.npy: reading frames of shape (1000, 1000, 400) needs 2.98 GiB of memory");
    expect_refused_early(words("fortran.npy", {"--angles", "0:180", "--untrusted"}), "needs 2.98 GiB of memory");
    expect_refused_early(words("scan.npy", {"--angles", "0:180", "--white", name("white.npy")}),
                         "scan.npy: reading frames of shape (2, 5000, 5000) needs 954 MiB of memory");
    expect_refused_early(words("many.npy", {"--angles", name("list.npy")}),
                         "--angles: 100000000 angles needs 1.12 GiB of memory");
    expect_refused_early(words("data.npy", {"--angles", name("list.npy")}),
                         "has 100000000 values, expected one angle per view = (6)");
    expect_refused_early(words("data.npy", {"--angles", "0:180", "--geometry", name("mask.json")}),
                         "mask.npy: a mask of shape (10000, 10000) needs 858 MiB of memory");
  }
}

}  // namespace
}  // namespace mbirk::test
