// mbirk run on the reference cases, and on unusual but valid inputs.
#include <cmath>
#include <limits>

#include "mbirk/geometry/mask.hpp"
#include "program.hpp"

namespace mbirk::test {
namespace {

class Golden : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Cases, Golden, testing::ValuesIn(all_cases()), [](auto const& info) { return info.param; });

/// Every entry of every case; a helical one and steep elevations are worth a note.
TEST_P(Golden, ResultsAgreeWithTheReferences) {
  scratch_folder out;
  auto const entries = json::parse(file_text(golden(GetParam()) / "case.json"))["ops"].size();
  auto const done = mbirk_program({"run", golden(GetParam()).string(), "--out", out.path().string(), "--check"});
  EXPECT_EQ(done.code, 0) << done;
  bool const noted = GetParam() == "cone_helical_curved" || GetParam() == "multiaxis_odd";
  EXPECT_EQ(done.err.empty(), !noted) << done;
  EXPECT_NE(done.out.find(std::to_string(entries) + " of " + std::to_string(entries) + " within tolerance"),
            std::string::npos)
      << done;
  EXPECT_EQ(done.out.find("OUT"), std::string::npos) << done;
  EXPECT_EQ(file_count(out.path()), static_cast<int>(entries));
}

TEST_P(Golden, ComparePyAgrees) {
  std::string const python = MBIRK_PYTHON;
  if (python.empty()) GTEST_SKIP() << "no Python with numpy";
  scratch_folder out;
  auto const done = mbirk_program({"run", golden(GetParam()).string(), "--out", out.path().string(), "--quiet"});
  EXPECT_EQ(done.code, 0) << done;
  EXPECT_EQ(done.out + done.err, "") << done;
  auto const compared =
      run_words({python, golden("compare.py").string(), golden(GetParam()).string(), out.path().string()});
  EXPECT_EQ(compared.code, 0) << compared;
}

/// The parameters of a case without geometry belong to the denoiser.
TEST(Denoise, TakesItsParametersFromTheCase) {
  scratch_folder folder, out;
  fs::copy(golden("utilities"), folder.path(), fs::copy_options::recursive);
  auto j = json::parse(file_text(folder / "case.json"));
  json entry;
  for (auto const& e : j["ops"])
    if (entry.is_null() && e["op"] == "qggmrf_denoise") entry = e;
  auto const denoised = [&](json const& params, json const& args) {
    j["params"] = params, j["ops"] = json::array({entry}), j["ops"][0]["args"].update(args);
    write_text(folder / "case.json", j.dump());
    auto const done = mbirk_program({"run", folder.path().string(), "--out", out.path().string()});
    EXPECT_EQ(done.code, 0) << done;
    return file_text(out / entry["output"].get<std::string>());
  };
  auto const none = json::object();
  auto const plain = denoised(none, none), given = denoised({{"sigma_noise", 0.05}}, none);
  EXPECT_NE(given, plain);
  EXPECT_EQ(given, denoised(none, {{"sigma_noise", 0.05}}));
  EXPECT_EQ(given, denoised({{"sigma_noise", 0.5}}, {{"sigma_noise", 0.05}})) << "the argument of the call comes first";
  EXPECT_NE(denoised({{"sharpness", 1}}, none), plain);
  EXPECT_NE(denoised({{"granularity", json::array({4})}}, none), plain);
  j["params"] = {{"delta_voxel", 1}};
  write_text(folder / "case.json", j.dump());
  expect_failure(mbirk_program({"run", folder.path().string(), "--out", out.path().string()}), 2,
                 "params.delta_voxel is not a parameter of geometry none");
}

struct Run : Case {
  void SetUp() override { copy("parallel_odd"); }
  std::string bytes(std::string const& name) const { return file_text(out / name); }
};

TEST_F(Run, SameBitsForAnyNumberOfThreadsAndAnyInstrument) {
  std::string const one = "out_forward_project.npy", two = "out_sparse_back_project.npy";
  ASSERT_EQ(run({"--ops", "*project*", "--threads", "1"}).code, 0);
  auto const first = bytes(one), second = bytes(two);
  for (std::vector<std::string> const& more :
       {std::vector<std::string>{"--threads", "3"}, {"--instrument", "counting"}, {"--instrument", "tracing"}}) {
    std::vector<std::string> words{"--ops", "*project*"};
    words.insert(words.end(), more.begin(), more.end());
    auto const done = run(words);
    EXPECT_EQ(done.code, 0) << done;
    EXPECT_EQ(bytes(one), first);
    EXPECT_EQ(bytes(two), second);
  }
}

TEST_F(Run, CountingWritesOneRecordPerEntry) {
  ASSERT_EQ(run({"--ops", "*project*", "--instrument", "counting"}).code, 0);
  auto const counts = json::parse(bytes("counts.json"));
  ASSERT_EQ(counts["operations"].size(), 5u);
  auto const& first = counts["operations"][0];
  EXPECT_EQ(first["operation"], "parallel_forward_project");
  EXPECT_EQ(first["output"], "out_forward_project.npy");
  EXPECT_EQ(first["source"], "counted");
  EXPECT_GT(first["flops"].get<std::uint64_t>(), 0u);
  // The result is written once, and no input is larger than the part of it that the operation touches.
  auto const elements = read_npy_header(out / "out_forward_project.npy").elements;
  EXPECT_GE(first["bytes accessed output"].get<index_t>(), 4 * elements);
}

TEST_F(Run, TracingWritesNestedSpans) {
  ASSERT_EQ(run({"--ops", "*project*", "--instrument", "tracing"}).code, 0);
  auto const trace = json::parse(bytes("trace.json"));
  int operations = 0, stages = 0;
  for (auto const& e : trace["traceEvents"]) {
    if (e["ph"] != "X") continue;
    EXPECT_GE(e["dur"].get<double>(), 0);
    (e["cat"] == "operation" ? operations : stages) += 1;
  }
  EXPECT_EQ(operations, 5);
  EXPECT_GE(stages, operations);
}

TEST_F(Run, FortranOrderAndFloat64GiveTheSameBits) {
  keep("forward_project");
  ASSERT_EQ(run().code, 0);
  auto const expected = bytes("out_forward_project.npy");

  auto const recon = read_npy<float>(folder / "recon.npy");
  auto const& n = recon.shape;
  std::vector<double> stored(recon.data.size());
  for (index_t i = 0; i < n[0]; ++i)
    for (index_t j = 0; j < n[1]; ++j)
      for (index_t k = 0; k < n[2]; ++k)
        stored[static_cast<std::size_t>((k * n[1] + j) * n[0] + i)] =
            static_cast<double>(recon.data[static_cast<std::size_t>((i * n[1] + j) * n[2] + k)]);
  write_npy(folder / "recon.npy", stored.data(), n);
  auto text = file_text(folder / "recon.npy");
  auto const at = text.find("False");
  text.replace(at, 5, "True ");  // the header's fortran_order
  write_text(folder / "recon.npy", text);
  ASSERT_TRUE(read_npy_header(folder / "recon.npy").fortran_order);

  auto angles = read_npy<float>(folder / "angles.npy");
  write_npy(folder / "angles.npy", std::vector<double>(angles.data.begin(), angles.data.end()).data(), angles.shape);
  auto const done = run({"--check"});
  EXPECT_EQ(done.code, 0) << done;
  EXPECT_EQ(bytes("out_forward_project.npy"), expected);
}

TEST_F(Run, WhatLiesOutsideTheMaskNeedNotBeFinite) {
  keep("forward_project");
  auto recon = read_npy<float>(folder / "recon.npy");
  auto const mask = ror_mask(recon.shape[0], recon.shape[1]);
  auto const slices = static_cast<std::size_t>(recon.shape[2]);
  for (std::size_t p = 0; p < mask.size(); ++p)
    for (std::size_t k = 0; k < slices; ++k)
      if (!mask[p]) recon.data[p * slices + k] = k % 2 ? std::nanf("") : std::numeric_limits<float>::infinity();
  write_npy(folder / "recon.npy", recon);
  auto const done = run({"--check"});
  EXPECT_EQ(done.code, 0) << done;
}

TEST_F(Run, AMaskFromAFileIsUsed) {
  keep("back_project");
  auto const n = read()["recon_shape"];
  auto const mask = ror_mask(n[0], n[1]);
  write_npy(folder / "mask.npy", mask.data(), {n[0], n[1]});
  change([](json& j) { j["params"]["use_ror_mask"] = "mask.npy"; });
  EXPECT_EQ(run({"--check"}).code, 0);
  change([](json& j) { j["params"]["use_ror_mask"] = false; });
  EXPECT_EQ(run({"--check"}).code, 1);
}

TEST_F(Run, ASourceAtInfinityIsAParallelBeam) {
  copy("parallel_32");
  change([](json& j) {
    j["geometry"] = "cone";
    j["params"]["source_detector_dist"] = "inf";
  });
  for (std::string const glob : {"*project*", "hessian*"}) EXPECT_EQ(run({"--ops", glob, "--check"}).code, 0);
  auto text = file_text(folder / "case.json");  // Python's output format
  text.replace(text.find("\"inf\""), 5, "Infinity");
  write_text(folder / "case.json", text);
  auto const done = run({"--ops", "forward_project", "--check"});
  EXPECT_EQ(done.code, 0) << done;
}

TEST_F(Run, UnknownFieldsAreNotedAndParametersOfReconstructionAccepted) {
  keep("hessian_diagonal");
  change([](json& j) {
    j["comment"] = "made by hand";
    j["params"].update({{"sigma_x", 0.1},
                        {"granularity", {1, 2, 4}},
                        {"auto_regularize_flag", true},
                        {"verbose", 0},
                        {"alu_unit", nullptr}});
  });
  auto const done = run({"--check"});
  EXPECT_EQ(done.code, 0) << done;
  EXPECT_NE(done.err.find("comment is not known"), std::string::npos) << done;
  EXPECT_EQ(run({"--check", "--quiet"}).err, "");
}

struct Check : Run {
  void SetUp() override {
    copy("cone_odd");
    keep("forward_project");
  }
  void change_reference(std::function<void(npy_array<float>&)> const& f) const {
    auto a = read_npy<float>(folder / "out_forward_project.npy");
    f(a);
    write_npy(folder / "out_forward_project.npy", a);
  }
  void expect_out(std::string const& part) const {
    auto const done = run({"--check"});
    EXPECT_EQ(done.code, 1) << done;
    EXPECT_NE(done.out.find("OUT"), std::string::npos) << done;
    EXPECT_NE(done.out.find(part), std::string::npos) << done;
    EXPECT_NE(done.out.find("0 of 1 within tolerance"), std::string::npos) << done;
    EXPECT_TRUE(fs::exists(out / "out_forward_project.npy"));
    std::string const python = MBIRK_PYTHON;
    if (python.empty()) return;
    EXPECT_EQ(run_words({python, golden("compare.py").string(), folder.string(), out.string()}).code, 1);
  }
};

TEST_F(Check, AWrongValueIsOut) {
  change_reference([](auto& a) { a.data[100] += 1; });
  expect_out("e-0");
}
TEST_F(Check, NanIsOut) {
  change_reference([](auto& a) { a.data[100] = std::nanf(""); });
  expect_out("OUT");
}
TEST_F(Check, AnotherShapeIsOut) {
  change_reference([](auto& a) { std::swap(a.shape[0], a.shape[1]); });
  expect_out("the result has shape (15, 17, 23), the reference (17, 15, 23)");
}
TEST_F(Check, RtolZeroMeansEqual) {
  change([](json& j) { j["ops"][0]["rtol"] = 0; });
  change_reference([](auto& a) { a.data[100] = std::nextafter(a.data[100], 1e9f); });
  expect_out("OUT");
  fs::copy_file(out / "out_forward_project.npy", folder / "out_forward_project.npy",
                fs::copy_options::overwrite_existing);
  EXPECT_EQ(run({"--check"}).code, 0);
}
TEST_F(Check, OutliersAreAllowedUpToTheirShare) {
  change_reference([](auto& a) {
    for (int k = 0; k < 10; ++k) a.data[static_cast<std::size_t>(100 * k)] = 1e3f;
  });
  change_reference([](auto& a) { a.data[7] = 1e3f; });  // 11 of 15 * 17 * 23 = 5865 elements
  change([](json& j) { j["ops"][0]["outliers"] = 11.0 / 5865; });
  EXPECT_EQ(run({"--check"}).code, 0);
  change([](json& j) { j["ops"][0]["outliers"] = 10.5 / 5865; });
  expect_out("OUT");
}
TEST_F(Check, WithoutCheckNoReferenceIsNeeded) {
  fs::remove(folder / "out_forward_project.npy");
  change([](json& j) { j["ops"][0].erase("rtol"); });
  EXPECT_EQ(run().code, 0);
}

}  // namespace
}  // namespace mbirk::test
