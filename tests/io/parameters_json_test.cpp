// Parameters as JSON: every value is restored to the bit; errors name the position, the expected value and the value
// found.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/messages.hpp"
#include "io/scratch_folder.hpp"
#include "mbirk/io/parameters_json.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

cone_parameter_set cone() {
  return cone_parameter_set(
      {.sinogram_shape = {3, 4, 6}, .angles = {0, 1, 2}, .source_detector_dist = 40, .source_iso_dist = 20});
}
/// Numbers that are hard to write in decimal.
cone_parameter_set rich() {
  auto c = cone();
  mask_array mask{{3, 2}, {0, 1, 1, 0, 1, 1}};
  c.set({{"angles", std::vector<float>{0.1f, 1.0f / 3, -2e-30f}},
         {"source_detector_dist", std::numeric_limits<double>::infinity()},
         {"helical_z_shifts", std::vector<float>{-0.1f, 0, 0.7f}},
         {"use_curved_detector", true},
         {"delta_det_row", std::nextafter(1.0, 2.0)},
         {"det_channel_offset", 1.0 / 3},
         {"det_row_offset", -0.0},
         {"delta_voxel", 1e-300},
         {"recon_shape", {3, 2, 5}},
         {"voxel_slice_aspect", 0.1},
         {"recon_slice_offset", -1e300},
         {"axial_pad_fraction", {0.25, 0.5}},
         {"use_ror_mask", mask},
         {"snr_db", 35},
         {"p", 1.9},
         {"q", 1.1},
         {"T", 0.3},
         {"qggmrf_nbr_wts", {1, 2.5, 0.1}},
         {"positivity_flag", true},
         {"granularity", {3, 1}},
         {"partition_sequence", {1, 0, 1}},
         {"max_alpha", 1.1},
         {"slice_damping", false},
         {"verbose", 0},
         {"alu_unit", "\"mm\" \\ \xc2\xb5 inf"},
         {"alu_value", 0.7}});
  c.set({{"sigma_y", 0.1}, {"sigma_x", 5e-324}, {"sigma_prox", 0.3}});
  return c;
}
template <class Geometry> void expect_same(parameter_set<Geometry> const& a, parameter_set<Geometry> const& b) {
  for (auto const& info : list_parameters<Geometry>()) {
    auto const x = a.get(info.name), y = b.get(info.name);
    EXPECT_EQ(x, y) << info.name << ": " << x.text() << " and " << y.text();
    auto const n = x.template as<double>().value_or(0), m = y.template as<double>().value_or(0);  // -0 differs from 0
    EXPECT_EQ(std::bit_cast<std::uint64_t>(n), std::bit_cast<std::uint64_t>(m)) << info.name;
  }
}

template <class F> std::string refusal(F const& f) { return test::message_of<io_error>(f); }
/// A document with this text as its parameters.
std::string document(std::string const& parameters, std::string const& geometry = "parallel") {
  return "{\"format\": \"mbirk parameters\", \"version\": 1, \"geometry\": \"" + geometry + "\", \"parameters\": {" +
         parameters + "}}";
}
std::string const least = "\"sinogram_shape\": [3, 4, 5], \"angles\": [0, 1, 2]";
std::string refused(std::string const& text) {
  return refusal([&] { parameters_from_json<parallel_geometry>(text, "p.json"); });
}
std::string refused_parameter(std::string const& more) { return refused(document(least + ", " + more)); }

TEST(ParametersJson, EveryValueComesBack) {
  auto const c = rich();
  auto const back = parameters_from_json<cone_geometry>(parameters_to_json(c));
  expect_same(back, c);
  EXPECT_EQ(back.get("auto_regularize_flag"), false);
  EXPECT_TRUE(back.warnings().empty());
  EXPECT_EQ(parameters_to_json(back), parameters_to_json(c));

  parallel_parameter_set const p(
      {.sinogram_shape = {2, 3, 4}, .angles = {0, 1}, .use_ror_mask = mask_array{{0, 7}, {}}});
  expect_same(parameters_from_json<parallel_geometry>(parameters_to_json(p)), p);
  image_parameter_set const image(image_parameters{{5, 6, 7}});
  expect_same(parameters_from_json<image_geometry>(parameters_to_json(image)), image);
}

TEST(ParametersJson, FoundSigmasComeBackWithTheFlagSet) {
  auto c = cone();
  c.set_found_regularization(0.1, 0.2, 0.3);
  auto const back = parameters_from_json<cone_geometry>(parameters_to_json(c));
  EXPECT_EQ(back.get("sigma_x"), 0.2);
  EXPECT_EQ(back.get("auto_regularize_flag"), true);
}

TEST(ParametersJson, IsOneLineAParameter) {
  auto const text = parameters_to_json(cone());
  EXPECT_TRUE(text.starts_with(
      "{\n  \"format\": \"mbirk parameters\",\n  \"version\": 1,\n  \"geometry\": \"cone\",\n  \"parameters\": {\n    "
      "\"sinogram_shape\": [3,4,6],\n"))
      << text;
  EXPECT_NE(text.find("\n    \"delta_voxel\": 0.5,\n"), std::string::npos) << text;
  EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')),
            5 + list_parameters<cone_geometry>().size() + 2);
}

TEST(ParametersJson, WhatIsLeftOutHasItsDefault) {
  auto const p = parameters_from_json<parallel_geometry>(document(least));
  expect_same(p, parallel_parameter_set({.sinogram_shape = {3, 4, 5}, .angles = {0, 1, 2}}));
  EXPECT_EQ(parameters_from_json<parallel_geometry>(document(least + ", \"sigma_x\": 2")).get("auto_regularize_flag"),
            false);
  EXPECT_EQ(
      parameters_from_json<parallel_geometry>(document(least + ", \"sigma_x\": 2, \"auto_regularize_flag\": true"))
          .get("auto_regularize_flag"),
      true);
}

TEST(ParametersJson, FilesAndGeometries) {
  scratch_folder const folder;
  auto const path = folder / "model.json";
  save_parameters(path, rich());
  EXPECT_EQ(file_count(folder.path()), 1);
  expect_same(load_parameters<cone_geometry>(path), rich());
  expect_same(std::get<cone_parameter_set>(load_any_parameters(path)), rich());
  EXPECT_EQ(refusal([&] { load_parameters<parallel_geometry>(path); }),
            path.string() + ": geometry is \"cone\", expected \"parallel\"");
  EXPECT_EQ(refusal([&] { load_parameters<cone_geometry>(folder / "none"); }),
            (folder / "none").string() + ": no such file");
  EXPECT_EQ(refusal([&] { load_any_parameters(folder.path()); }), folder.path().string() + ": is not a file");
  EXPECT_TRUE(std::holds_alternative<parallel_parameter_set>(any_parameters_from_json(document(least))));
  EXPECT_TRUE(std::holds_alternative<image_parameter_set>(
      any_parameters_from_json(document("\"recon_shape\": [1, 2, 3]", "image"))));
  EXPECT_EQ(refusal([&] { any_parameters_from_json(document(least, "fan")); }),
            "parameters: geometry is \"fan\", expected " + geometries::names_text({"image"}, "\""));
  EXPECT_THROW(save_parameters(folder / "no/such", rich()), io_error);
  auto latin = cone();
  latin.set("alu_unit", "\xb5m");
  EXPECT_TRUE(refusal([&] { save_parameters(path, latin); }).ends_with("expected UTF-8"));
  expect_same(load_parameters<cone_geometry>(path), rich());  // the old file is still there
}

TEST(ParametersJson, ParametersWithoutASizeAreRefused) {
  // Otherwise they would be saved with a size that cannot be read again.
  auto const of_distances = [](std::string const& detector, std::string const& iso) {
    auto const text = document("\"sinogram_shape\": [1, 2, 3], \"angles\": [0], \"source_detector_dist\": " + detector +
                                   ", \"source_iso_dist\": " + iso,
                               "cone");
    return refusal([&] { parameters_from_json<cone_geometry>(text, "p.json"); });
  };
  EXPECT_EQ(of_distances("4", "-2"), "p.json: parameters: source_iso_dist is -2, expected a positive number");
  EXPECT_EQ(of_distances("1e-300", "1e300"), "p.json: parameters: delta_voxel is inf, expected a positive number");
}

TEST(ParametersJson, ReadingIsStrict) {
  EXPECT_TRUE(refused("{\"format\": ").starts_with("p.json: is not valid JSON: "));
  EXPECT_TRUE(refused("").starts_with("p.json: is not valid JSON: "));
  EXPECT_EQ(refused("[1]"), "p.json: holds [1], expected an object");
  EXPECT_EQ(refused("{}"), "p.json: format is missing, expected format, version, geometry and parameters");
  EXPECT_EQ(refused("{\"format\": \"x\"}"), "p.json: format is \"x\", expected \"mbirk parameters\"");
  EXPECT_EQ(refused("{\"format\": \"mbirk parameters\", \"version\": 2}"), "p.json: version is 2, expected 1");
  EXPECT_EQ(refused("{\"format\": \"mbirk parameters\", \"version\": 1, \"parameters\": 3}"),
            "p.json: parameters is 3, expected an object");
  EXPECT_EQ(refused("{\"formt\": \"x\"}"),
            "p.json: 'formt' is not known, expected format, version, geometry and parameters");
  EXPECT_EQ(refused(document("\"angles\": [0]")),
            "p.json: parameters.sinogram_shape is missing, expected three whole numbers >= 0");
  EXPECT_EQ(refused_parameter("\"angles\": [3]"), "p.json: parameters.angles is there twice, expected once");
  EXPECT_EQ(refused_parameter("\"sharpnes\": 1"),
            "p.json: parameters: 'sharpnes' is not a parameter of a model with geometry parallel; similar: sharpness");
  EXPECT_EQ(refused_parameter("\"source_iso_dist\": 1"),
            "p.json: parameters: 'source_iso_dist' is not a parameter of parallel beam, only of cone beam and "
            "translation");
  EXPECT_EQ(refused_parameter("\"sharpness\": \"high\""),
            "p.json: parameters.sharpness is \"high\", expected a number");
  EXPECT_EQ(refused_parameter("\"sharpness\": null"), "p.json: parameters.sharpness is null, expected a number");
  EXPECT_EQ(refused_parameter("\"sharpness\": \"inf\""), "p.json: parameters.sharpness is \"inf\", expected a number");
  EXPECT_EQ(refused_parameter("\"delta_voxel\": 0"), "p.json: parameters.delta_voxel is 0, expected a positive number");
  EXPECT_EQ(refused_parameter("\"positivity_flag\": 1"),
            "p.json: parameters.positivity_flag is 1, expected true or false");
  EXPECT_EQ(refused_parameter("\"granularity\": [1, 2.5]"),
            "p.json: parameters.granularity is [1,2.5], expected one or more whole numbers >= 1");
  EXPECT_EQ(refused_parameter("\"granularity\": [1, 18446744073709551615]"),
            "p.json: parameters.granularity is [1,18446744073709551615], expected one or more whole numbers >= 1");
  EXPECT_EQ(refused_parameter("\"qggmrf_nbr_wts\": [[1], 2, 3]"),
            "p.json: parameters.qggmrf_nbr_wts is [[1],2,3], expected three numbers >= 0, not all 0");
  for (std::string const mask :
       {"[[0, 1]]", "{}", "{\"shape\": [1, 2]}", "{\"shape\": [1, 2], \"rows\": [\"01\", \"01\"]}",
        "{\"shape\": [1, 2], \"rows\": [\"012\"]}", "{\"shape\": [1, 2], \"rows\": [\"02\"]}",
        "{\"shape\": [1], \"rows\": [\"01\"]}", "{\"shape\": [1, 2], \"rows\": [3]}",
        "{\"shape\": [1, 2], \"rows\": [\"01\"], \"x\": 1}"})
    EXPECT_TRUE(refused_parameter("\"use_ror_mask\": " + mask).ends_with("expected true, false or an array of 0 and 1"))
        << mask;
  EXPECT_LT(refused_parameter("\"alu_value\": \"" + std::string(1000, 'x') + "\"").size(), 200u);
}

}  // namespace
