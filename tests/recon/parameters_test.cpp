// Parameters by name: the table, its defaults and rules, errors and their messages, and the resulting structs.
#include "mbirk/recon/parameters.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <limits>
#include <set>

#include "core/messages.hpp"

namespace {

using namespace mbirk;
using shape = std::array<index_t, 3>;

parallel_parameter_set parallel() { return parallel_parameter_set({.sinogram_shape = {3, 4, 5}, .angles = {0, 1, 2}}); }
cone_parameter_set cone() {
  return cone_parameter_set(
      {.sinogram_shape = {3, 4, 6}, .angles = {0, 1, 2}, .source_detector_dist = 40, .source_iso_dist = 20});
}

template <class F> std::string parameter_refusal(F const& f) { return test::message_of<parameter_error>(f); }
bool has(std::string const& text, std::string const& part) { return text.find(part) != text.npos; }

TEST(Parameters, TableNamesEveryMemberOnce) {
  auto const check = [](auto const& list, std::size_t count) {
    std::set<std::string> names;
    for (auto const& info : list) {
      EXPECT_TRUE(names.insert(info.name).second) << info.name;
      EXPECT_GT(std::string(info.doc).size(), 0u) << info.name;
    }
    EXPECT_EQ(names.size(), count);
  };
  check(list_parameters<parallel_geometry>(), 28);
  check(list_parameters<cone_geometry>(), 35);
  check(list_parameters<translation_geometry>(), 30);
  check(list_parameters<multiaxis_geometry>(), 29);
  check(list_parameters<general_geometry>(), 30);
  check(list_parameters<image_geometry>(), 15);
}

/// Defaults of MBIRJAX 0.7.3, from its documentation.
TEST(Parameters, Defaults) {
  auto const p = parallel();
  EXPECT_EQ(p.get("delta_det_channel"), 1.0);
  EXPECT_EQ(p.get("det_row_offset"), 0.0);
  EXPECT_EQ(p.get("voxel_slice_aspect"), 1.0);
  EXPECT_EQ(p.get("use_ror_mask"), true);
  EXPECT_EQ(p.get("auto_regularize_flag"), true);
  EXPECT_EQ(p.get("snr_db"), 30.0);
  EXPECT_EQ(p.get("sharpness"), 1.0);
  for (auto const* name : {"sigma_y", "sigma_x", "sigma_prox", "T", "alu_value"}) EXPECT_EQ(p.get(name), 1.0) << name;
  EXPECT_EQ(p.get("p"), 2.0);
  EXPECT_EQ(p.get("q"), 1.2);
  EXPECT_EQ(p.get("qggmrf_nbr_wts"), (std::vector{1.0, 1.0, 1.0}));
  EXPECT_EQ(p.get("positivity_flag"), false);
  EXPECT_EQ(p.get("max_alpha"), 1.5);
  EXPECT_EQ(p.get("granularity"), (std::vector{1, 2, 4, 8, 16, 32, 64, 128, 128, 128, 128}));
  auto const sequence = p.get<std::vector<index_t>>("partition_sequence");
  ASSERT_EQ(sequence.size(), 103u);
  EXPECT_EQ(std::vector(sequence.begin(), sequence.begin() + 8), (std::vector<index_t>{2, 4, 6, 7, 8, 9, 10, 7}));
  EXPECT_EQ(sequence.back(), 10);
  EXPECT_EQ(p.get("verbose"), 1);

  image_parameter_set const image(image_parameters{{3, 4, 5}});  // the denoiser has its own defaults
  EXPECT_EQ(image.get("sharpness"), 0.0);
  EXPECT_EQ(image.get("granularity"), std::vector{16});
  EXPECT_EQ(image.get("partition_sequence"), std::vector{0});
  EXPECT_EQ(image.get("use_ror_mask"), false);
}

TEST(Parameters, DefaultTexts) {
  for (auto const& info : list_parameters<cone_geometry>()) {
    std::string const name = info.name;
    bool const sized = name == "delta_voxel" || name == "recon_shape" || name == "recon_slice_offset";
    auto const expected = info.required ? "none" : sized ? "automatic" : cone().get(name).text();
    EXPECT_EQ(info.default_text, expected) << name;
  }
}

TEST(Parameters, SizesAreAutomaticOnce) {
  auto c = cone();
  EXPECT_EQ(c.get("delta_voxel"), 0.5);
  EXPECT_EQ(c.get<shape>("recon_shape"), (shape{6, 6, 4}));
  EXPECT_EQ(c.get("recon_slice_offset"), 0.0);

  EXPECT_TRUE(c.set("delta_det_channel", 2));
  EXPECT_EQ(c.get("delta_voxel"), 0.5);  // MBIRJAX's value
  ASSERT_EQ(c.warnings().size(), 1u);
  EXPECT_TRUE(has(c.warnings()[0], "recon_shape = (6, 6, 4) stay; automatic sizing would give 1 and (6, 6, 2)"))
      << c.warnings()[0];
  c.auto_set_recon_geometry();
  EXPECT_EQ(c.get("delta_voxel"), 1.0);
  EXPECT_EQ(c.get<shape>("recon_shape"), (shape{6, 6, 2}));

  c.clear_warnings();
  // an explicit size in this call needs no warning
  EXPECT_TRUE(c.set({{"delta_det_channel", 1}, {"recon_shape", {7, 6, 5}}}));
  EXPECT_TRUE(c.set("det_row_offset", 0.5));                                   // does not enter sizes
  EXPECT_TRUE(c.warnings().empty());

  cone_parameter_set const given({.sinogram_shape = {3, 4, 6},
                                  .angles = {0, 1, 2},
                                  .source_detector_dist = 40,
                                  .source_iso_dist = 20,
                                  .delta_voxel = 0.7,
                                  .recon_shape = shape{5, 6, 7},
                                  .recon_slice_offset = -1});
  EXPECT_EQ(given.get("delta_voxel"), 0.7);
  EXPECT_EQ(given.get<shape>("recon_shape"), (shape{5, 6, 7}));
  EXPECT_EQ(given.get("recon_slice_offset"), -1.0);
}

TEST(Parameters, SettingReachesTheStructs) {
  auto c = cone();
  EXPECT_FALSE(c.set({{"p", 1.9},
                      {"q", 1.1},
                      {"T", 2},
                      {"qggmrf_nbr_wts", {1, 2, 3}},
                      {"max_alpha", 1},
                      {"positivity_flag", true},
                      {"granularity", {1, 4}},
                      {"partition_sequence", {1, 0}},
                      {"slice_damping", false},
                      {"sharpness", -1},
                      {"snr_db", 25}}));
  EXPECT_TRUE(c.set({{"source_detector_dist", std::numeric_limits<double>::infinity()},
                     {"helical_z_shifts", {0.5, 1.5, 2.5}},
                     {"axial_pad_fraction", 0.25},
                     {"angles", std::vector<float>{0.5f, 1.5f, 2.5f}},
                     {"use_ror_mask", false}}));
  auto const o = c.options();
  EXPECT_EQ(o.p, 1.9);
  EXPECT_EQ(o.T, 2);
  EXPECT_EQ(o.qggmrf_nbr_wts, (std::array{1.0, 2.0, 3.0}));
  EXPECT_EQ(o.max_alpha, 1);
  EXPECT_TRUE(o.positivity_flag);
  EXPECT_EQ(o.granularity, (std::vector<index_t>{1, 4}));
  EXPECT_EQ(o.partition_sequence, (std::vector<index_t>{1, 0}));
  EXPECT_EQ(o.slice_damping, false);
  EXPECT_EQ(o.sharpness, -1);
  EXPECT_EQ(o.snr_db, 25);
  EXPECT_EQ(o.q, 1.1);
  EXPECT_EQ(c.scan().helical_z_shifts, (std::vector<float>{0.5f, 1.5f, 2.5f}));
  EXPECT_EQ(c.scan().axial_pad_fraction, std::vector{0.25});
  EXPECT_EQ(c.scan().angles, (std::vector<float>{0.5f, 1.5f, 2.5f}));
  EXPECT_EQ(c.get("use_ror_mask"), false);
  EXPECT_EQ(parallel().options().slice_damping, std::nullopt);
}

/// Equals the table of docs/model.md.
TEST(Parameters, AreDocumented) {
  std::ifstream file(std::string(MBIRK_GOLDEN_DIR) + "/../../docs/model.md");
  std::string const page{std::istreambuf_iterator<char>(file), {}};
  ASSERT_FALSE(page.empty());
  std::set<std::string> parallel_names, image_names;
  for (auto const& info : list_parameters<parallel_geometry>()) parallel_names.insert(info.name);
  for (auto const& info : list_parameters<image_geometry>()) image_names.insert(info.name);
  for (auto const& info : list_parameters<cone_geometry>()) {
    auto const row = std::string("\n| `") + info.name + "` | " + info.default_text + " | " +
                     (parallel_names.contains(info.name) ? "P C" : "C") +
                     (image_names.contains(info.name) ? " D | " : " | ") + info.doc + " |\n";
    EXPECT_TRUE(has(page, row)) << "expected in docs/model.md:" << row;
  }
}

/// set accepts every result of get: for every parameter of every geometry.
TEST(Parameters, GetAndSetAreInverse) {
  auto const round = [](auto from, auto to, auto const& list) {
    for (auto const& info : list) {
      auto const value = from.get(info.name);
      to.set(info.name, value);
      if (std::string(info.name) == "auto_regularize_flag") continue;  // the sigmas clear it
      EXPECT_EQ(to.get(info.name), value) << info.name;
    }
  };
  auto c = cone();
  mask_array const mask{{6, 6}, std::vector<std::uint8_t>(36, 1)};
  c.set({{"use_ror_mask", mask},
         {"sharpness", 0.1},
         {"alu_unit", "mm"},
         {"granularity", {3, 5}},
         {"delta_voxel", 0.3},
         {"verbose", 0}});
  round(c, cone(), list_parameters<cone_geometry>());
  round(parallel(), parallel(), list_parameters<parallel_geometry>());
}

TEST(Parameters, RulesOfRegularization) {
  for (std::string const name : {"sigma_y", "sigma_x", "sigma_prox"}) {
    auto p = parallel();
    EXPECT_EQ(p.options().sigma_y, std::nullopt);
    EXPECT_FALSE(p.set(name, 0.5));
    EXPECT_EQ(p.get("auto_regularize_flag"), false);
    ASSERT_EQ(p.warnings().size(), 1u);
    EXPECT_TRUE(has(p.warnings()[0], "set by hand"));
    EXPECT_EQ(p.options().sigma_y, name == "sigma_y" ? 0.5 : 1.0);
    EXPECT_EQ(p.options().sigma_x, name == "sigma_x" ? 0.5 : 1.0);
    EXPECT_EQ(p.options().sigma_prox, name == "sigma_prox" ? 0.5 : 1.0);
    for (std::string const meta : {"sharpness", "snr_db"}) {
      auto again = p;
      again.set(meta, 3);
      EXPECT_EQ(again.get("auto_regularize_flag"), true);
      ASSERT_EQ(again.warnings().size(), 2u);
      EXPECT_TRUE(has(again.warnings()[1], "on again"));
      EXPECT_EQ(again.options().sigma_x, std::nullopt);
    }
  }
  auto p = parallel();
  p.set("sharpness", 2);  // nothing to switch on
  EXPECT_TRUE(p.warnings().empty());
  p.set({{"sharpness", 2}, {"sigma_x", 1}});  // in one call the meta parameter wins, as in MBIRJAX
  EXPECT_EQ(p.get("auto_regularize_flag"), true);
  p.set("auto_regularize_flag", false);  // by its own name: no rule
  EXPECT_EQ(p.options().sigma_x, 1.0);

  auto found = parallel();
  found.set_found_regularization(0.25, 0.5, 0.75);
  EXPECT_EQ(found.get("sigma_y"), 0.25);
  EXPECT_EQ(found.get("sigma_prox"), 0.75);
  EXPECT_EQ(found.get("auto_regularize_flag"), true);
  EXPECT_TRUE(found.warnings().empty());
}

TEST(Parameters, WrongValuesAreRefusedInWords) {
  auto c = cone();
  auto const before = c.text();
  auto const refused = [&](char const* name, parameter_value const& value) {
    return parameter_refusal([&] { c.set(name, value); });
  };
  EXPECT_EQ(refused("sharpness", "high"), "sharpness is \"high\", expected a number");
  EXPECT_EQ(refused("sharpness", true), "sharpness is true, expected a number");
  EXPECT_EQ(refused("sharpness", std::numeric_limits<double>::quiet_NaN()), "sharpness is nan, expected a number");
  EXPECT_EQ(refused("delta_voxel", 0), "delta_voxel is 0, expected a positive number");
  EXPECT_EQ(refused("source_iso_dist", 0), "source_iso_dist is 0, expected a positive number");
  EXPECT_EQ(refused("sigma_x", -0.5), "sigma_x is -0.5, expected a positive number");
  EXPECT_EQ(refused("p", 2.5), "p is 2.5, expected a number from 1 to 2");
  EXPECT_EQ(refused("positivity_flag", 1), "positivity_flag is 1, expected true or false");
  EXPECT_EQ(refused("recon_shape", {8, 8}), "recon_shape is (8, 8), expected three whole numbers >= 0");
  EXPECT_EQ(refused("recon_shape", {8.5, 8.0, 8.0}), "recon_shape is (8.5, 8, 8), expected three whole numbers >= 0");
  EXPECT_EQ(refused("recon_shape", {8, -8, 8}), "recon_shape is (8, -8, 8), expected three whole numbers >= 0");
  EXPECT_EQ(refused("granularity", std::vector<int>{}), "granularity is (), expected one or more whole numbers >= 1");
  EXPECT_EQ(refused("granularity", {4, 0}), "granularity is (4, 0), expected one or more whole numbers >= 1");
  EXPECT_EQ(refused("partition_sequence", {0, -1}),
            "partition_sequence is (0, -1), expected one or more whole numbers >= 0");
  EXPECT_EQ(refused("qggmrf_nbr_wts", {0, 0, 0}),
            "qggmrf_nbr_wts is (0, 0, 0), expected three numbers >= 0, not all 0");
  EXPECT_EQ(refused("axial_pad_fraction", {1.0, 2.0, 3.0}),
            "axial_pad_fraction is (1, 2, 3), expected one or two numbers >= 0");
  EXPECT_EQ(refused("use_ror_mask", 1), "use_ror_mask is 1, expected true, false or an array of 0 and 1");
  EXPECT_EQ(refused("use_ror_mask", mask_array{{1, 2}, {0, 2}}),
            "use_ror_mask is a mask of shape (1, 2), expected true, false or an array of 0 and 1");
  EXPECT_EQ(refused("alu_unit", 1), "alu_unit is 1, expected text");
  EXPECT_EQ(refused("verbose", 0.5), "verbose is 0.5, expected a whole number >= 0");
  EXPECT_EQ(refused("angles", std::vector<double>(9, std::numeric_limits<double>::infinity())),
            "angles is (inf, inf, inf, inf, inf, inf, inf, inf, ... 9 values), expected a list of numbers");
  EXPECT_EQ(c.text(), before);
  EXPECT_TRUE(c.warnings().empty());

  EXPECT_EQ(parameter_refusal([&] {
              c.set({{"sharpness", 2}, {"sigma_x", 1}, {"q", 3}});
            }),
            "q is 3, expected a number from 1 to 2");
  EXPECT_EQ(c.text(), before) << "all or none";
  EXPECT_TRUE(c.warnings().empty());

  EXPECT_EQ(parameter_refusal([] {
              cone_parameter_set({.sinogram_shape = {3, 4, 6}, .angles = {0, 1, 2}, .source_iso_dist = 20});
            }),
            "source_detector_dist is 0, expected a positive number or infinity");
  EXPECT_EQ(parameter_refusal([&] { c.get<bool>("sharpness"); }),
            "sharpness is 1, which the type that was asked for cannot hold");
  EXPECT_EQ(c.get<double>("verbose"), 1.0);
}

TEST(Parameters, UnknownNamesAreRefusedWithSimilarOnes) {
  auto c = cone();
  for (std::string const name : {"sharpnes", "Sharpness", "sharpnesss"}) {
    auto const said = parameter_refusal([&] { c.get(name); });
    EXPECT_EQ(said, "'" + name + "' is not a parameter of a model with geometry cone; similar: sharpness");
    EXPECT_EQ(parameter_refusal([&] { c.set(name, 1); }), said);
  }
  EXPECT_TRUE(has(parameter_refusal([&] { c.get("sigma_p"); }), "sigma_x, sigma_y, sigma_prox"));
  EXPECT_TRUE(has(parameter_refusal([&] { c.get("max_overrelaxation"); }), "max_alpha"));
  EXPECT_TRUE(has(parameter_refusal([&] { c.get("xyzzy"); }), "no name is similar"));
  EXPECT_TRUE(has(parameter_refusal([&] { c.get(""); }), "no name is similar"));
  EXPECT_TRUE(has(parameter_refusal([&] { c.set("max_iterations", 3); }), "argument of a call"));
  EXPECT_EQ(parameter_refusal([] { parallel().get("source_iso_dist"); }),
            "'source_iso_dist' is not a parameter of parallel beam, only of cone beam and translation");
  EXPECT_EQ(parameter_refusal([] { parallel().set("slice_damping", true); }),
            "'slice_damping' is not a parameter of parallel beam, only of cone beam");
}

TEST(Parameters, ValuesConvertWithoutLoss) {
  EXPECT_EQ(parameter_value(7).as<double>(), 7.0);
  EXPECT_EQ(parameter_value(7.0).as<index_t>(), std::nullopt);
  EXPECT_EQ(parameter_value(index_t{1} << 40).as<int>(), std::nullopt);
  EXPECT_EQ(parameter_value(7).as<bool>(), std::nullopt);
  EXPECT_EQ(parameter_value(true).as<double>(), std::nullopt);
  EXPECT_EQ(parameter_value({1, 2}).as<std::vector<double>>(), (std::vector{1.0, 2.0}));
  EXPECT_EQ(parameter_value({1.0, 2.0}).as<std::vector<index_t>>(), std::nullopt);
  EXPECT_EQ(parameter_value({1, 2.5}), parameter_value({1.0, 2.5}));
  EXPECT_EQ(parameter_value(std::vector<double>{}).as<std::vector<index_t>>(), std::vector<index_t>{});
  EXPECT_EQ(parameter_value(0.5).as<std::vector<double>>(), std::vector{0.5});
  EXPECT_EQ(parameter_value(16).as<std::vector<index_t>>(), std::vector<index_t>{16});
  EXPECT_EQ(parameter_value(std::string("x")).as<std::string>(), "x");
  EXPECT_EQ(parameter_value(0.1).text(), "0.1");
  EXPECT_NE(parameter_value(1), parameter_value(1.0));
  EXPECT_NE(parameter_value(mask_array{{1, 1}, {1}}), parameter_value(mask_array{{1, 1}, {0}}));
}

}  // namespace
