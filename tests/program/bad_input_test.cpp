// Every bad input of mbirk run: exit code 2, one line with the problem and its place, and no file.
#include <cmath>

#include "program.hpp"

namespace mbirk::test {
namespace {

struct BadInput : Case {
  void SetUp() override { copy("cone_odd"); }
  void expect_bad(std::string const& part, std::vector<std::string> more = {"--ops", "*project*"}) const {
    expect_failure(run(more), 2, part);
    EXPECT_EQ(file_count(out), 0);
  }
  /// The case with one change must fail with this text; the change is then undone.
  void expect_bad_json(std::function<void(json&)> const& f, std::string const& part) const {
    auto const before = read();
    change(f);
    expect_bad(part);
    write(before);
  }
};

TEST_F(BadInput, FieldsOfTheWrongType) {
  expect_bad_json([](json& j) { j["params"]["delta_voxel"] = "abc"; },
                  "case/case.json: params.delta_voxel is \"abc\", expected a number");
  expect_bad_json([](json& j) { j["params"]["use_curved_detector"] = 1; },
                  "params.use_curved_detector is 1, expected true or false");
  expect_bad_json([](json& j) { j["params"]["use_ror_mask"] = 3; },
                  "params.use_ror_mask is 3, expected true, false or the name of an npy file");
  expect_bad_json([](json& j) { j["params"]["source_detector_dist"] = "far"; },
                  "params.source_detector_dist is \"far\", expected a number or \"inf\"");
  expect_bad_json([](json& j) { j["params"]["positivity_flag"] = "no"; },
                  "params.positivity_flag is \"no\", expected true or false");
  expect_bad_json([](json& j) { j["params"]["granularity"] = 4; },
                  "params.granularity is 4, expected an array of numbers");
  expect_bad_json([](json& j) { j["params"] = 4; }, "params is 4, expected an object");
  expect_bad_json(
      [](json& j) {
        j["angles"] = json::array({1, 2});
      },
      "angles is [1,2], expected the name of an npy file");
  expect_bad_json([](json& j) { j["geometry"] = json(); }, "geometry is null, expected " + geometries::names_text({"none"}));
  expect_bad_json([](json& j) { j["ops"] = json::object(); }, "ops is an object, expected an array");
  expect_bad_json([](json& j) { j["ops"][1] = 5; }, "ops[1] is 5, expected an object");
  expect_bad_json([](json& j) { j["ops"][1]["inputs"]["sinogram"] = 5; },
                  "ops[1].inputs.sinogram is 5, expected the name of an npy file");
  expect_bad_json([](json& j) { j["ops"][1]["rtol"] = "small"; }, "ops[1].rtol is \"small\", expected a number >= 0");
  expect_bad_json([](json& j) { j["ops"][1]["outliers"] = 2; }, "ops[1].outliers is 2, expected a number from 0 to 1");
  expect_bad_json([](json& j) { j["ops"][4]["args"]["coeff_power"] = 1.5; },
                  "ops[4].args.coeff_power is 1.5, expected a whole number");
  expect_bad_json([](json& j) { j = json::array(); }, "case.json holds [], expected an object");
}

TEST_F(BadInput, FieldsThatAreMissing) {
  for (std::string const name : {"geometry", "sinogram_shape", "angles", "ops"})
    expect_bad_json([&](json& j) { j.erase(name); }, "case.json: " + name + " is missing, expected ");
  for (std::string const name : {"source_detector_dist", "source_iso_dist"})
    expect_bad_json([&](json& j) { j["params"].erase(name); },
                    "case.json: params." + name + " is missing, expected a number");
  expect_bad_json([](json& j) { j["ops"][0].erase("output"); }, "ops[0].output is missing");
  expect_bad_json([](json& j) { j["ops"][0].erase("op"); }, "ops[0].op is missing");
  expect_bad_json([](json& j) { j["ops"][3]["inputs"].erase("pixel_indices"); },
                  "ops[3].inputs.pixel_indices is missing");
  change([](json& j) { j["ops"][0].erase("rtol"); });
  expect_bad("ops[0].rtol is missing", {"--ops", "forward_project", "--check"});
}

TEST_F(BadInput, NamesThatAreNotKnown) {
  expect_bad_json([](json& j) { j["geometry"] = "fan"; },
                  "geometry is \"fan\", expected " + geometries::names_text({"none"}));
  expect_bad_json([](json& j) { j["params"]["delta_voxels"] = 1; },
                  "params.delta_voxels is not a parameter of geometry cone, expected one of ");
  expect_bad_json([](json& j) { j["params"]["delta_voxels"] = 1; }, " names; similar: delta_voxel");
  expect_bad_json([](json& j) { j["ops"][0]["inputs"]["volume"] = "recon.npy"; },
                  "ops[0].inputs.volume is not an input of forward_project, expected one of recon");
  expect_bad_json([](json& j) { j["ops"][0]["args"]["power"] = 2; },
                  "ops[0].args.power is not an argument of forward_project, expected one of none");
  expect_bad_json([](json& j) { j["ops"][0]["op"] = "sideways_project"; },
                  "ops[0].op is \"sideways_project\", expected one of forward_project, back_project");
  expect_bad("--ops 'nothing*' matches no operation", {"--ops", "nothing*"});
}

TEST_F(BadInput, ParametersWithoutMeaning) {
  expect_bad_json([](json& j) { j["params"]["delta_voxel"] = -1; },
                  "case.json: delta_voxel is -1, expected a positive number");
  expect_bad_json([](json& j) { j["params"]["source_iso_dist"] = 2; },
                  "case.json: source_iso_dist is 2, expected more than half");
  expect_bad_json(
      [](json& j) {
        j["sinogram_shape"] = {15, 17};
      },
      "sinogram_shape is [15,17], expected three whole numbers >= 0");
  expect_bad_json(
      [](json& j) {
        j["sinogram_shape"] = {15, 17, -23};
      },
      "sinogram_shape is [15,17,-23], expected three whole numbers >= 0");
  expect_bad_json(
      [](json& j) {
        j["recon_shape"] = {19.5, 21, 13};
      },
      "recon_shape[0] is 19.5, expected a whole number");
  expect_bad_json([](json& j) { j["ops"][4]["args"]["coeff_power"] = 99999999999; },
                  "ops[4].args.coeff_power is 99999999999, expected a whole number of 32 bits");
  change([](json& j) { j["ops"] = json::array({j["ops"][4]}), j["ops"][0]["args"]["coeff_power"] = 3; });
  expect_bad("case.json: ops[0]: sparse_back_project: coeff_power is 3, expected 1 or 2");
}

TEST_F(BadInput, ConeOnlyFieldsInParallelBeam) {
  copy("parallel_odd");
  expect_bad_json([](json& j) { j["params"]["recon_slice_offset"] = 0; },
                  "params.recon_slice_offset is not a parameter of geometry parallel");
  expect_bad_json([](json& j) { j["helical_z_shifts"] = "angles.npy"; },
                  "helical_z_shifts is given, expected only with geometry cone");
  expect_bad_json([](json& j) { j["recon_shape"][2] = 5; }, "expected the number of detector rows = 9");
}

TEST_F(BadInput, OperationsThatNeedAGeometry) {
  expect_bad_json([](json& j) { j["geometry"] = "none", j["params"] = json::object(); },
                  "ops[0].op is forward_project, which needs geometry " + geometries::names_text() +
                      ", found geometry none");
}

TEST_F(BadInput, JsonThatIsNone) {
  write_text(folder / "case.json", "{\"geometry\": \"cone\",\n oops}");
  expect_bad("case/case.json: is not valid JSON: parse error at line 2");
  write_text(folder / "case.json", "{\"ops\": " + std::string(300'000, '[') + std::string(300'000, ']') + "}");
  expect_bad("case/case.json: has more than 64 arrays and objects inside each other");
  write_text(folder / "case.json", "{\"geometry\": \"cone\", \"params\": {\"p\": 1, \"p\": 2}}");
  expect_bad("case/case.json: params.p is there twice, expected once");
  write_text(folder / "case.json", "");
  expect_bad("case/case.json: is not valid JSON");
  fs::remove(folder / "case.json");
  expect_bad("case/case.json: no such file");
  fs::remove_all(folder);
  expect_bad("case: no such folder");
}

TEST_F(BadInput, FilesThatAreMissingOrTruncated) {
  auto const text = file_text(folder / "recon.npy");
  write_text(folder / "recon.npy", text.substr(0, 2000));
  expect_bad("ops[0].inputs.recon: " + (folder / "recon.npy").string() +
             ": truncated: shape (19, 21, 13) of <f4 needs 20748 bytes, the file has 1872");
  write_text(folder / "recon.npy", "not an array at all");
  expect_bad("recon.npy: is not an npy file");
  fs::remove(folder / "recon.npy");
  expect_bad("ops[0].inputs.recon: " + (folder / "recon.npy").string() + ": no such file");
  fs::remove(folder / "angles.npy");
  expect_bad("case.json: angles: " + (folder / "angles.npy").string() + ": no such file");
}

TEST_F(BadInput, AMissingReferenceIsNoticedBeforeTheRun) {
  fs::remove(folder / "out_sparse_back_project.npy");
  expect_bad("out_sparse_back_project.npy: no such file", {"--ops", "*project*", "--check"});
}

TEST_F(BadInput, ArraysOfTheWrongShape) {
  auto recon = read_npy<float>(folder / "recon.npy");
  std::swap(recon.shape[0], recon.shape[1]);
  write_npy(folder / "recon.npy", recon);
  expect_bad("ops[0].inputs.recon: " + (folder / "recon.npy").string() +
             " has shape (21, 19, 13), expected (rows, cols, slices) = (19, 21, 13)");
  copy("cone_odd");
  auto values = read_npy<float>(folder / "voxel_values.npy");
  values.data.resize(values.data.size() - 13), values.shape[0] -= 1;
  write_npy(folder / "voxel_values.npy", values);
  expect_bad("voxel_values.npy has shape (");
  copy("cone_odd");
  float const two[2] = {0, 1};
  write_npy(folder / "angles.npy", two, {2});
  expect_bad("case.json: angles has 2 values, expected one per view = 15");
  write_npy(folder / "angles.npy", two, {1, 2});
  expect_bad("angles.npy has shape (1, 2), expected (views)");
  std::uint8_t const mask[2] = {0, 1};
  copy("cone_odd");
  write_npy(folder / "mask.npy", mask, {1, 2});
  expect_bad_json([](json& j) { j["params"]["use_ror_mask"] = "mask.npy"; },
                  "use_ror_mask has shape (1, 2), expected (rows, cols) = (19, 21)");
  write_npy(folder / "mask.npy", std::vector<std::uint8_t>(19 * 21, 2).data(), {19, 21});
  expect_bad_json([](json& j) { j["params"]["use_ror_mask"] = "mask.npy"; },
                  "mask.npy has the value 2, expected 0 and 1 only");
}

TEST_F(BadInput, NumbersThatAreNotFinite) {
  auto const spoil = [&](std::string const& name, std::size_t at, float value) {
    auto a = read_npy<float>(folder / name);
    a.data[at] = value;
    write_npy(folder / name, a);
  };
  spoil("recon.npy", static_cast<std::size_t>((9 * 21 + 10) * 13 + 4), std::nanf(""));
  expect_bad("ops[0].inputs.recon: " + (folder / "recon.npy").string() +
             ": value (9, 10, 4) is nan, expected finite numbers");
  copy("cone_odd");
  spoil("sinogram.npy", 17 * 23 + 1, -HUGE_VALF);
  expect_bad("ops[1].inputs.sinogram: " + (folder / "sinogram.npy").string() + ": value (1, 0, 1) is -inf",
             {"--ops", "back_project"});
  copy("cone_odd");
  spoil("weights.npy", 0, std::nanf(""));
  keep("hessian_diagonal");
  change([](json& j) { j["ops"][0]["inputs"]["weights"] = "weights.npy"; });
  expect_bad("weights.npy: value (0, 0, 0) is nan", {});
  copy("cone_odd");
  spoil("angles.npy", 3, HUGE_VALF);
  expect_bad("angles.npy: value (3) is inf");
}

TEST_F(BadInput, PixelsThatAreNotThere) {
  keep("sparse_forward_project");
  auto pixels = read_npy<std::int32_t>(folder / "pixel_indices.npy");
  pixels.data[2] = 19 * 21;
  write_npy(folder / "pixel_indices.npy", pixels);
  expect_bad("case.json: ops[0]: sparse_forward_project: pixel_indices[2] is 399, expected 0 to 398");
  std::vector<double> const halves(pixels.data.size(), 0.5);
  write_npy(folder / "pixel_indices.npy", halves.data(), pixels.shape);
  expect_bad("pixel_indices.npy: value (0) is 0.5, expected a whole number");
}

TEST_F(BadInput, OutputNames) {
  auto const outside = "expected the name of a file inside the output folder";
  for (std::string const name : {"../escaped.npy", "/tmp/escaped.npy", "a/../../escaped.npy", "", "folder/"})
    expect_bad_json([&](json& j) { j["ops"][0]["output"] = name; }, outside);
  expect_bad_json([](json& j) { j["ops"][1]["output"] = j["ops"][0]["output"]; },
                  "ops[1].output is \"out_forward_project.npy\", expected a name that ops[0] does not use");
}

TEST_F(BadInput, OutputThatCannotBeWritten) {
  write_text(scratch / "plain", "a file");
  auto const below =
      mbirk_program({"run", folder.string(), "--out", (scratch / "plain" / "out").string(), "--ops", "*project*"});
  expect_failure(below, 2, "plain/out: cannot be created: ");
  EXPECT_EQ(file_text(scratch / "plain"), "a file");

  fs::create_directories(out / "out_forward_project.npy" / "in the way");
  expect_bad("out_forward_project.npy: cannot be written: ");
  fs::remove_all(out);

  auto const own = mbirk_program({"run", folder.string(), "--out", folder.string(), "--ops", "*project*"});
  expect_failure(own, 2, "is the folder of the case");

  // The same by way of a link to one of its files.
  auto const input = folder / "out_forward_project.npy";
  auto const before = file_text(input);
  fs::create_directories(out);
  fs::create_symlink(fs::absolute(input), out / "out_forward_project.npy");
  expect_failure(run({"--ops", "*project*"}), 2, "out_forward_project.npy: would be written over what is read");
  EXPECT_EQ(file_text(input), before);
}

}  // namespace
}  // namespace mbirk::test
