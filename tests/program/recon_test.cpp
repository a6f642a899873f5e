// mbirk recon end to end: a simulated measurement, reconstructed by every method, interrupted, resumed, refused.
#include <sys/stat.h>

#include <cmath>

#include "background.hpp"
#include "mbirk/io/checkpoint.hpp"
#include "mbirk/io/recon_hdf5.hpp"
#include "program.hpp"

namespace mbirk::test {
namespace {

struct Recon : testing::Test {
  scratch_folder folder;

  std::string name(std::string const& file) const { return (folder / file).string(); }
  void make(std::string const& geometry, int size) const {
    auto const made = run_words({MBIRK_MAKE_SCAN, geometry, std::to_string(size), folder.path().string()});
    ASSERT_EQ(made.code, 0) << made;
  }
  outcome recon(std::string const& out, std::vector<std::string> const& more = {}) const {
    std::vector<std::string> words{"recon", name("scan.h5"), "--geometry", name("scan.json"), "--out", name(out)};
    words.insert(words.end(), more.begin(), more.end());
    return mbirk_program(words);
  }
  std::vector<float> volume(std::string const& file) const { return load_recon_hdf5(folder / file).recon.data; }
  std::string record(std::string const& file, std::string const& key) const {
    for (auto const& [k, text] : load_recon_hdf5(folder / file).record)
      if (k == key) return text;
    return "no attribute " + key;
  }

  struct agreement { double mean, error; };
  /// Compares volume and phantom where the phantom is flat (equal, nonzero values up to two pixels around): the ratio
  /// of their means, and the root mean square of their difference, in units of the phantom's mean.
  agreement with_phantom(std::vector<float> const& x) const {
    auto const phantom = hdf5_file(folder / "scan.h5").read<float>("/phantom");
    view<float const, 3> const p(phantom.data.data(), {phantom.shape[0], phantom.shape[1], phantom.shape[2]}),
        v(x.data(), p.extents());
    double sum_p = 0, sum_v = 0, squares = 0, count = 0;
    for (index_t i = 2; i + 2 < p.extent(0); ++i)
      for (index_t j = 2; j + 2 < p.extent(1); ++j)
        for (index_t k = 1; k + 1 < p.extent(2); ++k) {
          bool flat = p(i, j, k) != 0;
          for (index_t a = -2; a <= 2; ++a)
            for (index_t b = -2; b <= 2; ++b)
              for (index_t c = -1; c <= 1; ++c) flat = flat && p(i + a, j + b, k + c) == p(i, j, k);
          if (!flat) continue;
          double const d = static_cast<double>(v(i, j, k)) - static_cast<double>(p(i, j, k));
          sum_p += static_cast<double>(p(i, j, k)), sum_v += static_cast<double>(v(i, j, k)), squares += d * d, ++count;
        }
    EXPECT_GT(count, 100);
    return {sum_v / sum_p, std::sqrt(squares / count) / (sum_p / count)};
  }
};

TEST_F(Recon, FindsThePhantom) {
  for (std::string const geometry : {"parallel", "cone"}) {
    make(geometry, 48);
    std::string const direct = geometry == "cone" ? "fdk" : "fbp";
    auto const first = recon("direct.h5", {"--method", direct}), second = recon("vcd.h5");
    ASSERT_EQ(first.code, 0) << first;
    ASSERT_EQ(second.code, 0) << second;
    auto const a = with_phantom(volume("direct.h5")), b = with_phantom(volume("vcd.h5"));
    // n photons behind a line y leave noise of sqrt(exp(y)/n): 1.9 % for the longest lines (y = 2 in parallel, 1 in
    // cone beam, where voxels are half as large, 1.2 %). Filtered back projection of V = 72 views turns noise s of
    // lines into s pi/sqrt(12 V) per voxel pitch: 6 % and 8 % of the flat parts, which are 0.2 of the phantom's largest
    // value. Twice that is allowed, and for the mean of hundreds of voxels a quarter.
    EXPECT_NEAR(a.mean, 1, 0.02) << geometry;
    EXPECT_NEAR(b.mean, 1, 0.02) << geometry;
    EXPECT_LT(a.error, 0.16) << geometry;
    EXPECT_LT(b.error, a.error) << geometry;
    EXPECT_NE(first.out.find("memory needed"), std::string::npos) << first;
    EXPECT_NE(second.out.find("15 iterations"), std::string::npos) << second;
    EXPECT_EQ(file_text(folder / "vcd.png").substr(1, 3), "PNG");
    EXPECT_EQ(recon("black.h5", {"--method", direct, "--png-window=8,9"}).code, 0);  // far above all values
    EXPECT_LT(4 * file_text(folder / "black.png").size(), file_text(folder / "direct.png").size());
    EXPECT_NE(record("vcd.h5", "notes").find("counts (uint16), 10 white and 5 dark frames"), std::string::npos);
    EXPECT_EQ(json::parse(record("vcd.h5", "recon_params"))["num_iterations"], 15);
  }
}

TEST_F(Recon, OptionsReachTheReconstruction) {
  make("parallel", 16);
  auto const params = [&](std::vector<std::string> const& more) {
    auto const done = recon("x.h5", more);
    EXPECT_EQ(done.code, 0) << done;
    return json::parse(record("x.h5", "recon_params"));
  };
  auto const plain = params({"--max-iterations", "3"});
  EXPECT_EQ(plain["num_iterations"], 3);
  auto const expected = volume("x.h5");
  params({"--max-iterations", "3", "--threads", "1", "--quiet", "--no-png"});
  EXPECT_EQ(volume("x.h5"), expected);  // equal bits
  params({"--max-iterations", "3", "--seed", "5"});
  EXPECT_NE(volume("x.h5"), expected);
  EXPECT_EQ(
      params({"--max-iterations", "3", "--sigma-y", "0.25", "--sigma-x", "0.125"})["regularization_params"]["sigma_y"],
      0.25);
  EXPECT_DOUBLE_EQ(
      params({"--max-iterations", "3", "--sharpness", "2"})["regularization_params"]["sigma_x"].get<double>() /
          plain["regularization_params"]["sigma_x"].get<double>(),
      2);
  EXPECT_NEAR(params({"--max-iterations", "3", "--snr-db", "50"})["regularization_params"]["sigma_y"].get<double>() /
                  plain["regularization_params"]["sigma_y"].get<double>(), 0.1, 1e-6);
  EXPECT_EQ(params({"--stop-threshold-change-pct", "90"})["num_iterations"], 1);
  EXPECT_EQ(params({"--max-iterations", "2", "--weights", "transmission_root"})["weights"], "transmission_root");
  EXPECT_NE(volume("x.h5"), expected);
  params({"--positivity"});
  for (auto const v : volume("x.h5")) ASSERT_GE(v, 0);
}

TEST_F(Recon, NpyInAndOut) {
  make("cone", 16);
  ASSERT_EQ(recon("x.h5", {"--method", "fdk"}).code, 0);
  auto const data = [&](std::string const& set) {
    return hdf5_file(folder / "scan.h5").read<float>("/exchange/" + set);
  };
  write_npy(folder / "counts.npy", data("data"));
  write_npy(folder / "white.npy", data("data_white"));
  write_npy(folder / "dark.npy", data("data_dark"));
  auto const theta = data("theta");
  auto geometry = json::parse(file_text(folder / "scan.json"));
  geometry["angles"] = {{"start", 0}, {"stop", 2 * 3.14159265358979}, {"num", theta.data.size()}};
  write_text(folder / "g.json", geometry.dump());
  auto const run = [&](std::vector<std::string> const& more) {
    std::vector<std::string> words{"recon",       name("counts.npy"), "--geometry", name("g.json"), "--out",
                                   name("n.npy"), "--method",         "fdk",        "--no-png"};
    words.insert(words.end(), more.begin(), more.end());
    return mbirk_program(words);
  };
  auto const done = run(
      {"--counts", "--white", name("white.npy"), "--dark", name("dark.npy"), "--save-parameters", name("saved.json")});
  ASSERT_EQ(done.code, 0) << done;
  auto const x = read_npy<float>(folder / "n.npy"), reference = load_recon_hdf5(folder / "x.h5").recon;
  EXPECT_EQ(x.shape, reference.shape);
  // Angles differ by the rounding of degrees to float32 and back.
  for (std::size_t i = 0; i < x.data.size(); ++i) ASSERT_NEAR(x.data[i], reference.data[i], 1e-4 * 0.5);
  EXPECT_FALSE(fs::exists(folder / "n.png"));
  EXPECT_EQ(json::parse(file_text(folder / "n.json"))["model_params"]["geometry"], "cone");

  auto const saved =
      mbirk_program({"recon", name("counts.npy"), "--geometry", name("saved.json"), "--out", name("y.npy"), "--method",
                     "fdk", "--white", name("white.npy"), "--dark", name("dark.npy"), "--quiet"});
  ASSERT_EQ(saved.code, 0) << saved;
  EXPECT_EQ(saved.out + saved.err, "");
  EXPECT_EQ(read_npy<float>(folder / "y.npy").data, x.data);
  expect_failure(run({"--counts"}), 2, "counts.npy: is said to hold counts, but there is no white field");
}

TEST_F(Recon, InterruptedAndResumedTheBitsAreTheSame) {
  for (std::string const geometry : {"parallel", "cone"}) {
    make(geometry, 16);
    std::vector<std::string> const weights{"--weights", "transmission", "--stop-threshold-change-pct", "0", "--no-png"};
    auto const with = [&](std::vector<std::string> more) {
      more.insert(more.end(), weights.begin(), weights.end());
      return more;
    };
    bool const named = geometry == "cone";
    std::string const state = name(named ? "state" : "x.h5.checkpoint");
    auto words = with({"recon", name("scan.h5"), "--geometry", name("scan.json"), "--out", name("x.h5"),
                       "--max-iterations", "100000"});
    if (named) words.insert(words.end(), {"--checkpoint", state});
    background run(words, folder / "log");
    auto const iterates = [&] {
      auto const seen = mbirk_program({"top", run.pid(), "--json", "--interval", "0.01"});
      return seen.code == 0 &&
             json::parse(seen.out)["processes"][0]["step"].get<std::string>().starts_with("iteration ");
    };
    ASSERT_TRUE(run.brings_about(iterates)) << file_text(folder / "log");
    int const status = run.end(SIGINT);
    auto const log = file_text(folder / "log");
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << status << log;
    EXPECT_FALSE(fs::exists(folder / "x.h5"));
    ASSERT_TRUE(fs::exists(state)) << log;
    std::string const interrupted = "interrupted after iteration ";
    ASSERT_NE(log.find(interrupted), std::string::npos) << log;
    int const done = std::stoi(log.substr(log.find(interrupted) + interrupted.size()));
    EXPECT_EQ(load_checkpoint(state).record.num_iterations, done);

    auto const total = std::to_string(done + 3);
    auto const resumed = recon("resumed.h5", with({"--max-iterations", total, "--resume", state}));
    ASSERT_EQ(resumed.code, 0) << resumed;
    ASSERT_EQ(recon("straight.h5", with({"--max-iterations", total})).code, 0);
    EXPECT_EQ(volume("resumed.h5"), volume("straight.h5"));
    EXPECT_EQ(record("resumed.h5", "recon_log"), record("straight.h5", "recon_log"));
    expect_failure(recon("y.h5", with({"--resume", state, "--sharpness", "3"})), 2,
                   "was made with other parameters: /geometry/params/sharpness is 1.0 there and 3.0 here");
    expect_failure(recon("y.h5", {"--resume", state}), 2, "/weights is \"transmission\" there and \"unweighted\" here");
    expect_failure(recon("y.h5", with({"--resume", state, "--seed", "1"})), 2, "seed");
  }
}

/// Killed without a warning: the last checkpoint is complete, and resuming from it ends at equal bits.
TEST_F(Recon, KilledAndResumedTheBitsAreTheSame) {
  make("parallel", 16);
  std::vector<std::string> const same{"--stop-threshold-change-pct", "0", "--no-png"};
  auto const with = [&](std::vector<std::string> more) {
    more.insert(more.end(), same.begin(), same.end());
    return more;
  };
  background run(with({"recon", name("scan.h5"), "--geometry", name("scan.json"), "--out", name("x.h5"),
                       "--max-iterations", "100000", "--checkpoint", name("state"), "--checkpoint-every", "3"}),
                 folder / "log");
  ASSERT_TRUE(run.brings_about([&] { return fs::exists(name("state")); })) << file_text(folder / "log");
  EXPECT_TRUE(WIFSIGNALED(run.end(SIGKILL)));
  int const done = load_checkpoint(name("state")).record.num_iterations;
  EXPECT_EQ(done % 3, 0);
  auto const total = std::to_string(done + 2);
  ASSERT_EQ(recon("resumed.h5", with({"--max-iterations", total, "--resume", name("state")})).code, 0);
  ASSERT_EQ(recon("straight.h5", with({"--max-iterations", total})).code, 0);
  EXPECT_EQ(volume("resumed.h5"), volume("straight.h5"));
}

TEST_F(Recon, ResumingWithOtherDataIsRefused) {
  make("parallel", 16);
  std::vector<std::string> const two{"--max-iterations", "2", "--no-png", "--stop-threshold-change-pct", "0"};
  auto const with = [&](std::vector<std::string> more) {
    more.insert(more.end(), two.begin(), two.end());
    return more;
  };
  auto const state = name("state");
  ASSERT_EQ(recon("x.h5", with({"--checkpoint", state})).code, 0);
  auto const same = recon("y.h5", with({"--resume", state}));
  EXPECT_EQ(same.code, 0) << same;
  EXPECT_EQ(same.err.find("checksums"), std::string::npos) << same;
  EXPECT_EQ(volume("y.h5"), volume("x.h5"));

  std::string note;  // an older mbirk wrote no checksums
  auto const old = load_checkpoint(state, &note);
  auto parameters = json::parse(note);
  EXPECT_EQ(parameters["data"].size(), 2u) << note;
  parameters.erase("data");
  save_checkpoint(folder / "old", old, parameters.dump());
  auto const resumed = recon("y.h5", with({"--resume", name("old")}));
  EXPECT_EQ(resumed.code, 0) << resumed;
  EXPECT_NE(resumed.err.find("old: has no checksums of the data, because an older mbirk wrote it"), std::string::npos)
      << resumed;

  auto const spoil = [&](char const* set) {
    hid_t const f = H5Fopen(name("scan.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT), d = H5Dopen2(f, set, H5P_DEFAULT),
                whole = H5Dget_space(d);
    hsize_t const at[3] = {0, 1, 2}, one[3] = {1, 1, 1};
    H5Sselect_hyperslab(whole, H5S_SELECT_SET, at, nullptr, one, nullptr);
    hid_t const memory = H5Screate_simple(3, one, nullptr);
    std::uint16_t const value = 321;
    EXPECT_GE(H5Dwrite(d, H5T_NATIVE_UINT16, memory, whole, H5P_DEFAULT, &value), 0);
    H5Sclose(memory), H5Sclose(whole), H5Dclose(d), H5Fclose(f);
  };
  spoil("/exchange/data_white");
  auto const other = "was made from other data: the line integrals had sum64 ";
  expect_failure(recon("z.h5", with({"--resume", state})), 2, other);
  spoil("/exchange/data");
  expect_failure(recon("z.h5", with({"--resume", state})), 2, other);
  EXPECT_FALSE(fs::exists(folder / "z.h5"));
}

TEST_F(Recon, WhatDoesNotFitIsRefused) {
  make("parallel", 16);
  auto const refused = recon("x.h5", {"--memory-limit", "50KiB", "--quiet"});
  expect_failure(refused, 2, "expected at most 50.0 KiB, --memory-limit");
  EXPECT_FALSE(fs::exists(folder / "x.h5"));
  auto geometry = json::parse(file_text(folder / "scan.json"));
  geometry["recon_shape"] = {3000, 3000, 8};  // 275 MiB for the volume alone
  geometry["params"]["use_ror_mask"] = false;
  write_text(folder / "scan.json", geometry.dump());
  geometry["recon_shape"] = {32768, 32768, 8};  // the mask and its list alone take 9 GiB
  write_text(folder / "mask.json", geometry.dump());
  auto const mask = mbirk_program({"recon", name("scan.h5"), "--geometry", name("mask.json"), "--out", name("x.h5"),
                                   "--quiet", "--memory-limit", "1GiB"});
  expect_failure(mask, 2, "the mask of a reconstruction of shape (32768, 32768, 8) needs 9.00 GiB of memory ");
  auto const huge = recon("x.h5", {"--memory-limit", "250MiB"});
  EXPECT_EQ(huge.code, 2) << huge;
  EXPECT_NE(huge.err.find("the reconstruction needs at least "), std::string::npos) << huge;
  EXPECT_NE(huge.out.find("(--memory-limit)"), std::string::npos) << huge;
}

/// What --save-parameters writes of a fan beam is the fan beam.
TEST_F(Recon, FanBeamParametersReadBack) {
  std::vector<float> lines;
  for (index_t k = 0; k < 48 * 40; ++k)
    lines.push_back(std::max(0.0f, 1 - std::abs(static_cast<float>(k % 40) - 20) / 9));
  write_npy(folder / "fan.npy", lines.data(), {48, 1, 40});
  write_text(folder / "fan.json", R"({"geometry": "fan", "angles": {"start": 0, "stop": 6.2831853, "num": 48,
      "endpoint": false}, "params": {"source_detector_dist": 160, "source_iso_dist": 80}})");
  auto const run = [&](std::string const& geometry, std::string const& out, std::string const& method,
                       std::vector<std::string> const& more) {
    std::vector<std::string> words{"recon",    name("fan.npy"), "--geometry",       name(geometry), "--out", name(out),
                                   "--method", method,          "--max-iterations", "2",            "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    auto const ran = mbirk_program(words);
    ASSERT_EQ(ran.code, 0) << ran;
  };
  for (std::string const method : {"fdk", "vcd"}) {
    run("fan.json", method + ".h5", method, {"--save-parameters", name("saved.json")});
    EXPECT_EQ(json::parse(file_text(folder / "saved.json"))["geometry"], "fan");
    run("saved.json", method + "2.h5", method, {});
    EXPECT_EQ(volume(method + ".h5"), volume(method + "2.h5")) << method;
  }
}

/// No output takes the place of an input: one that G.json names, one by another spelling, by a link.
TEST_F(Recon, NoOutputDestroysAnInput) {
  make("parallel", 16);
  auto const angles = hdf5_file(folder / "scan.h5").read<float>("/exchange/theta");
  write_npy(folder / "angles.npy", angles.data.data(), angles.shape);
  auto geometry = json::parse(file_text(folder / "scan.json"));
  geometry["angles"] = "angles.npy";
  write_text(folder / "scan.json", geometry.dump());
  fs::create_directories(folder / "sub");
  fs::create_symlink(folder.path(), folder / "other");
  fs::create_symlink("angles.npy", folder / "link.npy");
  fs::create_hard_link(folder / "angles.npy", folder / "hard.npy");
  auto const before = file_text(folder / "angles.npy");
  for (std::string const out : {"angles.npy", "sub/../angles.npy", "other/angles.npy", "link.npy", "hard.npy"}) {
    expect_failure(recon(out), 2, "would be written over what is read");
    EXPECT_EQ(file_text(folder / "angles.npy"), before) << out;
  }
  expect_failure(recon("x.npy", {"--checkpoint", name("other/x.json")}), 2, "would be written twice");
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  expect_failure(recon("x.npy", {"--monitor", name("pipe")}), 2, "pipe: cannot be written: it is not a regular file");
  EXPECT_TRUE(fs::is_fifo(folder / "pipe"));
  EXPECT_FALSE(fs::exists(folder / "x.npy"));
}

TEST_F(Recon, BadInput) {
  make("parallel", 16);
  auto const before = file_count(folder.path());
  expect_failure(recon("x.jpg"), 2, "x.jpg: expected a name that ends in .npy, .h5 or .hdf5");
  expect_failure(recon("no/such/x.h5"), 2, "x.h5: cannot be written: ");
  expect_failure(recon("scan.h5"), 2, "scan.h5: would be written over what is read, expected another file");
  expect_failure(recon("scan.npy"), 2, "scan.json: would be written over what is read");  // the input's own record file
  expect_failure(recon("x.h5", {"--save-parameters", name("scan.json")}), 2,
                 "scan.json: would be written over what is read");
  expect_failure(recon("x.h5", {"--checkpoint", name("scan.h5")}), 2, "scan.h5: would be written over what is read");
  expect_failure(recon("x.h5", {"--checkpoint", name("x.png")}), 2,
                 "x.png: would be written twice, expected different files");
  expect_failure(recon("x.h5", {"--method", "fdk"}), 2,
                 "--method fdk is for geometry cone or translation, expected fbp or vcd");
  expect_failure(recon("x.h5", {"--method", "fbp", "--resume", "y"}), 2,
                 "--checkpoint and --resume are for method vcd, found --method fbp");
  expect_failure(recon("x.h5", {"--method", "art"}), 2, "--method");
  expect_failure(recon("x.h5", {"--weights", "heavy"}), 2, "--weights");
  expect_failure(recon("x.h5", {"--png-window", "1"}), 2, "--png-window");
  expect_failure(recon("x.h5", {"--png-window", "2,1"}), 2, "--png-window: expected LOW < HIGH");
  expect_failure(recon("x.h5", {"--memory-limit", "much"}), 2, "--memory-limit");
  expect_failure(recon("x.h5", {"--memory-limit", "-1"}), 2, "--memory-limit: -1: expected a size without sign");
  expect_failure(recon("x.h5", {"--resume", ""}), 2, "--resume is empty, expected a value");
  expect_failure(recon("x.h5", {"--white", ""}), 2, "--white is empty, expected a value");
  expect_failure(recon("x.h5", {"--monitor", name("m.csv"), "--monitor-interval", "nan"}), 2,
                 "--monitor-interval: Value nan not in range [0.001 - 3600]");
  expect_failure(recon("x.h5", {"--sigma-y", "nan"}), 2, "--sigma-y");
  expect_failure(recon("x.h5", {"--sharpnes", "1"}), 2,
                 "--sharpnes is not an option of mbirk recon; similar: --sharpness");
  expect_failure(recon("x.h5", {"further"}), 2, "the argument 'further' was not expected");
  expect_failure(recon("x.h5", {"--resume", name("none")}), 2, "none: no such file");
  expect_failure(recon("x.h5", {"--resume", name("scan.h5")}), 2, "scan.h5: is not a checkpoint of mbirk");
  expect_failure(recon("x.h5", {"--policy", "cuda"}), 3, "policy cuda is not available here");
  expect_failure(mbirk_program({"recon", name("none.h5"), "--geometry", name("scan.json"), "--out", name("x.h5")}), 2,
                 "none.h5: no such file");
  expect_failure(mbirk_program({"recon", name("scan.h5"), "--geometry", name("none.json"), "--out", name("x.h5")}), 2,
                 "none.json: no such file");
  expect_failure(mbirk_program({"recon", name("scan.json"), "--out", name("x.h5")}), 2, "raw pixels need --raw");
  expect_failure(recon("x.h5", {"--method", "fbp", "--positivity"}), 2,
                 "--positivity is for method vcd, found --method fbp");
  expect_failure(recon("x.h5", {"--rows", "5:5"}), 2, "--rows: 5:5 is not a part of the scan");
  expect_failure(recon("x.h5", {"--centre", "1000", "--strict"}), 2, "outside the detector: is it a channel?");
  EXPECT_EQ(file_count(folder.path()), before);
}

}  // namespace
}  // namespace mbirk::test
