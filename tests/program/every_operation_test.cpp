// Tests of every operation in the program's table, including future ones: counting changes no bit and equals the cost
// model, results do not depend on the number of threads, and devices agree with the host.
#include <algorithm>
#include <map>
#include <random>

#include "instrument/same_counts.hpp"
#include "program.hpp"

#if defined(MBIRK_PROGRAM)
#include "operations/profile_problem.hpp"
#include "output/output_hash.hpp"

namespace mbirk::test {
namespace {

using namespace mbirk::program;

any_array result_of(profile_entry const& entry, profile_problem const& problem, any_context const& ctx) {
  auto x = problem.make_operands(*entry.op, entry.arguments);
  entry.op->run(ctx, problem.scan(), x);
  return x.output;
}

TEST(EveryOperation, CountsEqualTheModelAndChangeNoBit) {
  problem_shape const shape{5, 7, 9};
  for (auto const& entry : profile_entries()) {
    SCOPED_TRACE(entry.name);
    profile_problem const problem(entry.geometry, shape, 1, true);
    instrument::ledger counted;
    auto const plain = result_of(entry, problem, context{exec::host{1}, instrument::any()});
    auto const same = result_of(entry, problem, context{exec::host{1}, counting{counted}});
    std::visit([&](auto const& a) {
      EXPECT_FALSE(a.data.empty());
      EXPECT_EQ(a.data, std::get<std::remove_cvref_t<decltype(a)>>(same).data);
    }, plain);
    expect_same_counts(counted.last(), model_operation(entry, shape).record);
  }
}

TEST(EveryOperation, HasTheSameHashWithOneThreadAndWithTwo) {
  auto const& profile = host_profile();
  ASSERT_EQ(profile.ran.code, 0) << profile.ran;
  std::map<std::string, std::string> hashes;
  for (auto const& m : profile.report["measurements"])
    if (m["run"] == 1) hashes[m["operation"]] = m["output_hash"];
  EXPECT_EQ(hashes.size(), profile_entries().size());
  for (auto const& entry : profile_entries()) {
    SCOPED_TRACE(entry.name);
    profile_problem const problem(entry.geometry, 16, 1, true);
    for (int threads : {1, 2})
      EXPECT_EQ(output_hash(result_of(entry, problem, context{exec::host{threads}, instrument::any()})),
                hashes[entry.name])
          << threads;
  }
}

// The hash of no bytes is the offset basis of FNV-1a.
TEST(EveryOperation, HashesAreFnv1a) {
  EXPECT_EQ(output_hash(npy_array<float>{{0}, {}}), "cbf29ce484222325");
  // The bytes 0, 0, 128, 63 of 1.0f, by the definition.
  std::uint64_t expected = 0xcbf29ce484222325;
  for (std::uint64_t byte : {0, 0, 128, 63}) expected = (expected ^ byte) * 0x100000001b3;
  EXPECT_EQ(std::stoull(output_hash(npy_array<float>{{1}, {1.0f}}), nullptr, 16), expected);
}

/// The case's scan with all operations that run on devices, on values between 0.1 and 1 and every seventh pixel.
struct OnDevices : Case, testing::WithParamInterface<std::string> {
  int operations = 0;

  void SetUp() override {
    copy(GetParam());
    change([&](json& j) {
      index_t const pixels = (j["recon_shape"][0].get<index_t>() * j["recon_shape"][1].get<index_t>() + 6) / 7;
      std::map<std::string, std::vector<index_t>> const shapes{{"(views, rows, channels)", j["sinogram_shape"]},
                                                               {"(rows, cols, slices)", j["recon_shape"]},
                                                               {"(pixels, slices)", {pixels, j["recon_shape"][2]}},
                                                               {"(pixels)", {pixels}}};
      j["ops"] = json::array();
      for (auto const& op : json::parse(mbirk_program({"ops", "--json"}).out)) {
        auto const has = [](json const& list, std::string const& name) {
          return std::count(list.begin(), list.end(), name) > 0;
        };
        if (!has(op["policies"], "emulated") || !has(op["needs"]["geometry"], j["geometry"])) continue;
        std::string const name = op["name"];
        json entry{{"op", name}, {"inputs", json::object()}, {"rtol", 1e-4}, {"output", "expected_" + name + ".npy"}};
        for (auto const& input : op["needs"]["inputs"]) {
          std::string const file = "in_" + name + '_' + input["name"].get<std::string>() + ".npy";
          write_input(folder / file, input["type"], shapes.at(input["shape"]));
          entry["inputs"][input["name"].get<std::string>()] = file;
        }
        for (auto const& argument : op["needs"]["args"])
          if (argument["name"] == "max_iterations") entry["args"]["max_iterations"] = 1;
        j["ops"].push_back(entry);
        ++operations;
      }
    });
    ASSERT_GE(operations, 12);
    auto const done = run({"--policy", "host"});
    ASSERT_EQ(done.code, 0) << done;
    json const made = read();
    for (auto const& entry : made["ops"])
      fs::copy(out / entry["output"].get<std::string>(), folder / entry["output"].get<std::string>());
  }

 private:
  std::mt19937 random_{1};

  void write_input(fs::path const& file, std::string const& type, std::vector<index_t> const& shape) {
    index_t elements = 1;
    for (auto const n : shape) elements *= n;
    std::uniform_real_distribution<float> uniform(0.1f, 1.0f);
    npy_array<float> values{shape, {}};
    npy_array<std::int32_t> pixels{shape, {}};
    for (index_t k = 0; k < elements; ++k) {
      values.data.push_back(uniform(random_));
      pixels.data.push_back(static_cast<std::int32_t>(7 * k));
    }
    if (type == "int32") write_npy(file, pixels);
    else write_npy(file, values);
  }
};
INSTANTIATE_TEST_SUITE_P(Scans, OnDevices, testing::Values("parallel_odd", "cone_odd", "multiaxis_odd"),
                         [](auto const& info) { return info.param; });

TEST_P(OnDevices, EmulatedAgreesWithTheHost) {
  auto const done = run({"--policy", "emulated", "--check"});
  EXPECT_EQ(done.code, 0) << done;
  auto const all = std::to_string(operations);
  EXPECT_NE(done.out.find(all + " of " + all + " within tolerance"), std::string::npos) << done;
}

TEST_P(OnDevices, CudaAgreesWithTheHost) {
  auto const done = run({"--policy", "cuda", "--check"});
  if (done.code == 3) GTEST_SKIP() << done.err;
  EXPECT_EQ(done.code, 0) << done;
}

}  // namespace
}  // namespace mbirk::test
#endif
