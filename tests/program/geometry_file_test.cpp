// G.json: every form of every field, every error, and the round trip.
#include "input/geometry_file.hpp"

#include <cmath>
#include <tuple>

#include "program.hpp"

namespace mbirk::test {
namespace {

using program::geometry_file;

struct GeometryFile : testing::Test {
  scratch_folder folder;
  fs::path const file = folder / "g.json";
  std::array<index_t, 3> const shape{6, 5, 8};

  geometry_file read(json const& j, std::vector<float> const& theta = {}) const {
    write_text(file, j.dump());
    return program::read_geometry(file, shape, theta);
  }
  void expect_error(json const& j, std::string const& part, std::vector<float> const& theta = {}) const {
    try {
      read(j, theta);
      ADD_FAILURE() << "nothing was thrown, expected: " << part;
    } catch (error const& e) {
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << "expected: " << part << "\nfound: " << e.what();
      EXPECT_EQ(std::string(e.what()).find(file.string()), 0u) << e.what();
    }
  }
  static json parallel() { return {{"geometry", "parallel"}, {"angles", {0, 0.1, 0.2, 0.3, 0.4, 0.5}}}; }
  static json cone() {
    return {{"geometry", "cone"},
            {"angles", {0, 1, 2, 3, 4, 5}},
            {"params", {{"source_detector_dist", 40}, {"source_iso_dist", 20}}}};
  }
  static std::vector<float> angles(geometry_file const& g) {
    auto const found = std::visit([](auto const& s) { return angles_of(s); }, g.scan);
    return {found.begin(), found.end()};
  }
  static std::vector<float> floats(std::vector<double> const& a) { return {a.begin(), a.end()}; }
};

TEST_F(GeometryFile, AnglesInEveryForm) {
  auto j = parallel();
  EXPECT_EQ(angles(read(j)), floats({0, 0.1, 0.2, 0.3, 0.4, 0.5}));
  j["angles"] = {{"start", 1}, {"stop", 4}, {"num", 6}};
  EXPECT_EQ(angles(read(j)), floats({1, 1.5, 2, 2.5, 3, 3.5}));
  j["angles"]["endpoint"] = true;
  EXPECT_EQ(angles(read(j)), floats({1, 1.6, 2.2, 2.8, 3.4, 4}));
  write_npy(folder / "a.npy", std::vector<double>{6, 5, 4, 3, 2, 1}.data(), {6});
  j["angles"] = "a.npy";  // next to g.json
  EXPECT_EQ(angles(read(j)), floats({6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(angles(read(j, {9, 9, 9, 9, 9, 9})), floats({6, 5, 4, 3, 2, 1}));  // the file's value takes precedence
  j.erase("angles");
  EXPECT_EQ(angles(read(j, {1, 2, 3, 4, 5, 6})), floats({1, 2, 3, 4, 5, 6}));
  expect_error(j, "g.json: angles is missing, expected angles in radians, because the data have none");
  j["angles"] = 5;
  expect_error(j,
               "angles is 5, expected an array of numbers, the name of an npy file, or {start, stop, num, endpoint}");
  j["angles"] = {1, 2};
  expect_error(j, "angles has 2 values, expected one per view = 6");
  j["angles"] = {1, "two", 3, 4, 5, 6};
  expect_error(j, "angles[1] is \"two\", expected a number");
  j["angles"] = {{"start", 0}, {"stop", 1}, {"number", 6}};
  expect_error(j, "angles.number is not known, expected one of start, stop, num, endpoint");
  j["angles"] = {{"start", 0}, {"stop", 1}, {"num", -1}};
  expect_error(j, "angles.num is -1, expected a whole number from 0 to 2^30");
  j["angles"] = {{"start", 0}, {"stop", 1}, {"num", 5}};
  expect_error(j, "angles has 5 values, expected one per view = 6");
  j["angles"] = "none.npy";
  expect_error(j, "angles: " + (folder / "none.npy").string() + ": no such file");
}

TEST_F(GeometryFile, TheScan) {
  auto j = cone();
  j["helical_z_shifts"] = {{"start", -1}, {"stop", 1}, {"num", 6}, {"endpoint", true}};
  j["sinogram_shape"] = {6, 5, 8};
  j["recon_shape"] = {9, 10, 11};
  j["params"].update({{"delta_det_channel", 2},
                      {"det_row_offset", -0.5},
                      {"delta_voxel", 0.75},
                      {"voxel_slice_aspect", 1.5},
                      {"recon_slice_offset", 0.25},
                      {"use_curved_detector", true},
                      {"use_ror_mask", false}});
  auto const g = read(j);
  auto const& p = std::get<cone_parameters>(g.parameters);
  EXPECT_EQ(p.delta_det_channel, 2);
  EXPECT_EQ(p.det_row_offset, -0.5);
  EXPECT_EQ(p.delta_det_row, 1);
  auto const& scan = std::get<cone_scan>(g.scan);
  EXPECT_EQ(scan.recon_shape(), (std::array<index_t, 3>{9, 10, 11}));
  EXPECT_EQ(scan.geometry().delta_z, 0.75 * 1.5);
  EXPECT_EQ(scan.geometry().recon_slice_offset, 0.25);
  EXPECT_TRUE(scan.geometry().curved);
  EXPECT_EQ(scan.full_indices().size(), 90u);
  EXPECT_EQ(scan.z_shifts()[1], -0.6f);
  j["params"]["source_detector_dist"] = "inf";
  j["params"]["use_curved_detector"] = false;
  EXPECT_FALSE(read(j).model.slice_damping);
  j["params"]["slice_damping"] = false;
  EXPECT_EQ(read(j).model.slice_damping, false);
  EXPECT_EQ(geometry_json(read(j))["params"]["slice_damping"], false);
  EXPECT_EQ(std::get<cone_scan>(read(j).scan).geometry().inverse_detector_dist, 0);
}

TEST_F(GeometryFile, Translation) {
  json const vectors{{0, 0, 1}, {1, 0, 1}, {2, 0.5, 1}, {0, 0, -1}, {1, 0, -1}, {2, 0, -1}};
  json j{{"geometry", "translation"},
         {"translation_vectors", vectors},
         {"params", {{"source_detector_dist", 40}, {"source_iso_dist", 20}, {"voxel_row_aspect", 2.5}}}};
  auto const g = read(j);
  auto const& scan = std::get<translation_scan>(g.scan);
  EXPECT_EQ(scan.recon_shape(), (std::array<index_t, 3>{6, 4, 4}));
  EXPECT_EQ(scan.positions()[2].column_shift, 4);
  EXPECT_EQ(scan.positions()[2].row_shift, 0.5 / 1.25);
  EXPECT_EQ(scan.positions()[5].z_shift, -1);
  EXPECT_EQ(g.model.max_alpha, 1.3);
  EXPECT_EQ(g.model.qggmrf_nbr_wts, (std::array<double, 3>{0.1, 1, 1}));
  auto const again = geometry_json(g);
  EXPECT_EQ(again["translation_vectors"], vectors);
  EXPECT_EQ(again["params"]["voxel_row_aspect"], 2.5);
  EXPECT_EQ(geometry_json(read(again)), again);
  write_npy(folder / "t.npy", std::get<translation_parameters>(g.parameters).translation_vectors.data(), {6, 3});
  j["translation_vectors"] = "t.npy";
  EXPECT_EQ(geometry_json(read(j)), again);

  write_npy(folder / "t.npy", std::vector<float>(12).data(), {6, 2});
  expect_error(j, (folder / "t.npy").string() + " has shape (6, 2), expected (views, 3)");
  write_npy(folder / "t.npy", std::vector<float>(15).data(), {5, 3});
  expect_error(j, "translation_vectors has 5 values, expected one per view = 6");
  j["translation_vectors"] = {{0, 0, 1}, {1, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
  expect_error(j, "translation_vectors[1] is [1,0], expected an array of 3 numbers");
  j["translation_vectors"][1] = {1, 0, "two"};
  expect_error(j, "translation_vectors[1][2] is \"two\", expected a number");
  j["translation_vectors"] = {{"start", 0}};
  expect_error(j, "translation_vectors is an object, expected an array of arrays of 3 numbers");
  j.erase("translation_vectors");
  expect_error(j, "translation_vectors is missing");
  j["translation_vectors"] = vectors;
  j["angles"] = {0, 0, 0, 0, 0, 0};
  expect_error(j, "angles is given, expected only with geometry parallel or cone");
  j.erase("angles");
  j["params"]["source_detector_dist"] = "inf";
  expect_error(j, "params.source_detector_dist is \"inf\", expected a number");
  j["params"].erase("source_detector_dist");
  expect_error(j, "params.source_detector_dist is missing");
}

TEST_F(GeometryFile, GeneralViews) {
  auto const p = general_geometry::typical_scan(shape);
  json vectors = json::array();
  for (auto at = p.view_vectors.begin(); at != p.view_vectors.end(); at += 12)
    vectors.push_back(std::vector<double>(at, at + 12));
  json j{{"geometry", "general"}, {"view_vectors", vectors}, {"recon_shape", {8, 9, 4}},
         {"params", {{"delta_voxel", 0.4}, {"recon_slice_offset", 0.1}}}};
  auto const g = read(j);
  auto const& scan = std::get<general_scan>(g.scan);
  EXPECT_EQ(scan.views().view_vectors, p.view_vectors);  // in double precision
  EXPECT_EQ(scan.recon_shape(), (std::array<index_t, 3>{8, 9, 4}));
  EXPECT_EQ(scan.geometry().recon_slice_offset, 0.1);
  auto const again = geometry_json(g);
  EXPECT_EQ(again["view_vectors"], vectors);
  EXPECT_EQ(again["params"]["parallel_rays"], false);
  EXPECT_EQ(geometry_json(read(again)), again);
  write_npy(folder / "v.npy", p.view_vectors.data(), {6, 12});
  j["view_vectors"] = "v.npy";
  EXPECT_EQ(geometry_json(read(j)), again);

  write_npy(folder / "v.npy", std::vector<double>(60).data(), {5, 12});
  expect_error(j, "view_vectors has 5 values, expected one per view = 6");
  write_npy(folder / "v.npy", std::vector<double>(66).data(), {6, 11});
  expect_error(j, "has shape (6, 11), expected (views, 12)");
  j["view_vectors"] = vectors;
  j["view_vectors"][2] = {1, 2, 3};
  expect_error(j, "view_vectors[2] is [1,2,3], expected an array of 12 numbers");
  j["view_vectors"] = vectors;
  j["view_vectors"][1][6] = j["view_vectors"][1][7] = j["view_vectors"][1][8] = 0;
  expect_error(j, "view_vectors: the step between the channels of view 1 has length 0");
  j["view_vectors"] = vectors;
  j["params"]["parallel_rays"] = 1;
  expect_error(j, "params.parallel_rays is 1, expected true or false");
  j["params"]["parallel_rays"] = true;
  EXPECT_TRUE(std::get<general_scan>(read(j).scan).geometry().parallel_rays);
  j["params"].erase("delta_voxel");
  expect_error(j, "delta_voxel is not given, expected a length: general views have no automatic size");
  j["params"]["delta_voxel"] = 0.4;
  j.erase("recon_shape");
  expect_error(j, "recon_shape is not given, expected three sizes: general views have no automatic size");
  j.erase("view_vectors");
  expect_error(j, "view_vectors is missing");
}

/// Six general views whose list of vectors is to be read.
json general_of(json const& vectors) {
  return {{"geometry", "general"}, {"view_vectors", vectors}, {"recon_shape", {8, 9, 4}},
          {"params", {{"delta_voxel", 0.4}}}};
}
void expect_first_view(geometry_file const& g, std::vector<double> const& expected) {
  auto const& found = std::get<general_scan>(g.scan).views().view_vectors;
  ASSERT_EQ(found.size(), 72u);
  for (std::size_t k = 0; k < 12; ++k) EXPECT_NEAR(found[k], expected[k], 1e-12) << k;
}

TEST_F(GeometryFile, ViewsOfRtk) {
  auto const matrices = [](int count) {
    std::string text = "<RTKThreeDCircularGeometry version=\"3\">\n";
    for (int k = 0; k < count; ++k) text += "<Matrix>\n -60 0 0 0\n 0 -60 0 0\n 0 0 1 -40\n</Matrix>\n";
    return text + "</RTKThreeDCircularGeometry>\n";
  };
  write_text(folder / "r.xml", matrices(6));
  auto j = general_of({{"rtk", "r.xml"}, {"spacing", {1.5, 1.25}}});
  auto const g = read(j);
  // RTK's z, towards the source, is that of the rows, and its y that of the slices.
  expect_first_view(g, {0, 40, 0, 0, -20, 0, 1.5, 0, 0, 0, 0, 1.25});
  EXPECT_EQ(g.files, std::vector<fs::path>{folder / "r.xml"});
  EXPECT_EQ(geometry_json(read(geometry_json(g))), geometry_json(g));
  j["view_vectors"]["origin"] = {-3, 2};
  expect_first_view(read(j), {0, 40, 0, 2.25, -20, 4.5, 1.5, 0, 0, 0, 0, 1.25});

  j["params"]["parallel_rays"] = true;
  expect_error(j, "params.parallel_rays is true, expected false, as in view_vectors");
  j = general_of({{"rtk", "r.xml"}, {"spacing", {1.5, 0}}});
  expect_error(j, "view_vectors.spacing is [1.5,0], expected two numbers > 0");
  j["view_vectors"]["spacing"] = json::array({1});
  expect_error(j, "view_vectors.spacing is [1], expected two numbers: x and y");
  j["view_vectors"].erase("spacing");
  expect_error(j, "view_vectors.spacing is missing, expected the pitches of the projections, [x, y]");
  j["view_vectors"]["pitch"] = 1;
  expect_error(j, "view_vectors.pitch is not known, expected one of rtk, spacing, origin");
  write_text(folder / "r.xml", matrices(5));
  expect_error(general_of({{"rtk", "r.xml"}, {"spacing", {1, 1}}}),
               "view_vectors.rtk has 5 values, expected one per view = 6");
  write_text(folder / "r.xml", "<a/>");
  expect_error(general_of({{"rtk", "r.xml"}, {"spacing", {1, 1}}}),
               "view_vectors.rtk: the text is not a geometry file of RTK, expected RTKThreeDCircularGeometry");
  expect_error(general_of({{"rtk", "none.xml"}, {"spacing", {1, 1}}}),
               "view_vectors.rtk: " + (folder / "none.xml").string() + ": no such file");
  expect_error(general_of(json::parse(R"({"astra": 1})")),
               "view_vectors is an object, expected an object with rtk or tigre");
}

TEST_F(GeometryFile, ViewsOfTigre) {
  json const plain{{"DSD", 60}, {"DSO", 40}, {"dDetector", {1.25, 1.5}}, {"angles", {0, 1, 2, 3, 4, 5}}};
  json views = json::object();
  views["tigre"] = plain;
  auto j = general_of(views);
  // The source is on x, channels run along y.
  expect_first_view(read(j), {40, 0, 0, -20, 0, 0, 0, 1.5, 0, 0, 0, 1.25});
  auto& tigre = j["view_vectors"]["tigre"];
  tigre["offDetector"] = {0.5, -0.25};
  tigre["offOrigin"] = {{0, 0, 1}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
  tigre["COR"] = 0.75;
  expect_first_view(read(j), {39, 0.75, 0, -21, 0.5, 0.5, 0, 1.5, 0, 0, 0, 1.25});
  tigre = plain;
  tigre["rotDetector"] = {0, 0, std::acos(-1.0) / 2};
  expect_first_view(read(j), {40, 0, 0, -20, 0, 0, 0, 0, 1.5, 0, -1.25, 0});
  tigre = plain;
  tigre["mode"] = "parallel";
  auto const rays = read(j);
  EXPECT_TRUE(std::get<general_scan>(rays.scan).geometry().parallel_rays);
  expect_first_view(rays, {-40, 0, 0, -20, 0, 0, 0, 1.5, 0, 0, 0, 1.25});
  tigre = plain;
  write_npy(folder / "a.npy", std::vector<double>(18).data(), {6, 3});
  tigre["angles"] = "a.npy";
  auto const from_file = read(j);
  expect_first_view(from_file, {40, 0, 0, -20, 0, 0, 0, 1.5, 0, 0, 0, 1.25});
  EXPECT_EQ(from_file.files, std::vector<fs::path>{folder / "a.npy"});

  for (auto const& [name, value, part] : std::vector<std::tuple<std::string, json, std::string>>{
           {"DSO", 0, "view_vectors.tigre: DSO is 0, expected "},
           {"DSD", "far", "view_vectors.tigre.DSD is \"far\", expected a number"},
           {"dDetector", {1, -1}, "view_vectors.tigre.dDetector is [1,-1], expected two numbers > 0"},
           {"dDetector", 1, "view_vectors.tigre.dDetector is 1, expected [v, u]"},
           {"angles", {0, 1}, "view_vectors.tigre.angles has 2 values, expected one per view = 6"},
           {"angles", {{0, 1}, 0, 0, 0, 0, 0}, "view_vectors.tigre.angles[0] is [0,1], expected three angles"},
           {"angles", "none.npy", "view_vectors.tigre.angles: "},
           {"offDetector", {1, 2, 3}, "view_vectors.tigre.offDetector is [1,2,3], expected [v, u]"},
           {"offOrigin", json::array({json::array({1, 2, 3})}),
            "view_vectors.tigre.offOrigin has 1 values, expected one per view = 6"},
           {"COR", json::array({1}), "view_vectors.tigre.COR has 1 values, expected one per view = 6"},
           {"COR", "no", "view_vectors.tigre.COR is \"no\", expected a number, or one per view"},
           {"mode", "fan", "view_vectors.tigre.mode is \"fan\", expected cone or parallel"},
           {"nVoxel", 1, "view_vectors.tigre.nVoxel is not known, expected "}}) {
    tigre = plain;
    tigre[name] = value;
    expect_error(j, part);
  }
  tigre = plain;
  tigre.erase("dDetector");
  expect_error(j, "view_vectors.tigre.dDetector is missing, expected [v, u]");
  j["view_vectors"]["origin"] = 1;
  expect_error(j, "view_vectors.origin is not known, expected one of tigre");
}

TEST_F(GeometryFile, TwoAnglesPerView) {
  auto const multiaxis = [](geometry_file const& g) { return std::get<multiaxis_scan>(g.scan); };
  json j{{"geometry", "multiaxis"},
         {"angles", {{0, 0.25}, {1, 0.5}, {2, -0.25}, {3, 0}, {4, 0.125}, {5, 0.75}}},
         {"params", {{"recon_slice_offset", 0.5}}}};
  auto const g = read(j);
  EXPECT_EQ(multiaxis(g).views().angles, floats({0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(multiaxis(g).views().elevations, floats({0.25, 0.5, -0.25, 0, 0.125, 0.75}));
  EXPECT_EQ(multiaxis(g).geometry().recon_slice_offset, 0.5);
  auto const written = program::geometry_json(g);
  EXPECT_EQ(written["angles"], j["angles"]);
  EXPECT_EQ(multiaxis(read(written)).views().elevations, multiaxis(g).views().elevations);
  EXPECT_EQ(multiaxis(read(written)).recon_shape(), multiaxis(g).recon_shape());
  std::vector<float> const pairs{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  write_npy(folder / "a.npy", pairs.data(), {6, 2});
  j["angles"] = "a.npy";
  EXPECT_EQ(multiaxis(read(j)).views().elevations, floats({1, 3, 5, 7, 9, 11}));

  write_npy(folder / "a.npy", pairs.data(), {12});
  expect_error(j, "a.npy has shape (12), expected (views, 2)");
  write_npy(folder / "a.npy", pairs.data(), {4, 3});
  expect_error(j, "a.npy has shape (4, 3), expected (views, 2)");
  write_npy(folder / "a.npy", pairs.data(), {5, 2});
  expect_error(j, "angles has 5 values, expected one per view = 6");
  j["angles"] = {1, 2, 3, 4, 5, 6};
  expect_error(j, "angles[0] is 1, expected an array of 2 numbers");
  j["angles"] = {{0, 1}, {1, 2}, {2, 3, 4}, {3, 4}, {4, 5}, {5, 6}};
  expect_error(j, "angles[2] is [2,3,4], expected an array of 2 numbers");
  j["angles"] = {{0, 1}, {1, 2}};
  expect_error(j, "angles has 2 values, expected one per view = 6");
  j["angles"] = {{"start", 0}, {"stop", 1}, {"num", 6}};
  expect_error(j, "expected an array of arrays of 2 numbers, or the name of an npy file");
  j.erase("angles");
  // Those of the data have no elevations.
  expect_error(j, "angles has 6 values, expected (azimuth, elevation) per view = 2 * 6", {1, 2, 3, 4, 5, 6});
}

TEST_F(GeometryFile, TheParametersOfReconstruction) {
  auto j = parallel();
  auto const defaults = read(j).model;
  EXPECT_EQ(defaults.granularity, recon_options{}.granularity);
  EXPECT_FALSE(defaults.sigma_y);
  j["params"] = {{"p", 1.9},
                 {"q", 1.1},
                 {"T", 0.5},
                 {"sharpness", -1},
                 {"snr_db", 40},
                 {"sigma_y", 0.5},
                 {"max_alpha", 1.2},
                 {"positivity_flag", true},
                 {"granularity", {1, 4}},
                 {"partition_sequence", {0, 1, 1}},
                 {"qggmrf_nbr_wts", {1, 2, 0.5}},
                 {"verbose", 0},
                 {"alu_unit", "mm"},
                 {"alu_value", 0.3}};
  auto const o = read(j).model;
  EXPECT_EQ(o.p, 1.9);
  EXPECT_EQ(o.q, 1.1);
  EXPECT_EQ(o.T, 0.5);
  EXPECT_EQ(o.sharpness, -1);
  EXPECT_EQ(o.snr_db, 40);
  EXPECT_EQ(o.sigma_y, 0.5);
  EXPECT_FALSE(o.sigma_x);
  EXPECT_EQ(o.max_alpha, 1.2);
  EXPECT_TRUE(o.positivity_flag);
  EXPECT_EQ(o.granularity, (std::vector<index_t>{1, 4}));
  EXPECT_EQ(std::vector<index_t>(o.partition_sequence.begin(), o.partition_sequence.end()),
            (std::vector<index_t>{0, 1, 1}));
  EXPECT_EQ(o.qggmrf_nbr_wts, (std::array<double, 3>{1, 2, 0.5}));

  j["params"] = {{"auto_regularize_flag", false}, {"sigma_x", 0.1}};
  EXPECT_EQ(read(j).model.sigma_y, 1.0);  // MBIRJAX's stored value
  EXPECT_EQ(read(j).model.sigma_x, 0.1);
  j["params"] = {{"auto_regularize_flag", true}, {"sigma_x", 0.1}};
  EXPECT_FALSE(read(j).model.sigma_x);  // estimated for other data
  j["params"] = {{"granularity", {1, 0}}};
  expect_error(j, "params.granularity[1] is 0, expected a whole number of at least 1");
  j["params"] = {{"granularity", {1, 2.5}}};
  expect_error(j, "params.granularity[1] is 2.5, expected a whole number");
  j["params"] = {{"partition_sequence", {-1}}};
  expect_error(j, "params.partition_sequence[0] is -1, expected a whole number of at least 0");
  j["params"] = {{"qggmrf_nbr_wts", {1, 1}}};
  expect_error(j, "params.qggmrf_nbr_wts is [1,1], expected three numbers: row, column, slice");
  j["params"] = {{"positivity_flag", 1}};
  expect_error(j, "params.positivity_flag is 1, expected true or false");
}

TEST_F(GeometryFile, WhatIsNotKnownOrDoesNotFit) {
  auto j = parallel();
  j["angels"] = 1;
  expect_error(j,
               "g.json: angels is not known, expected one of geometry, angles, helical_z_shifts, translation_vectors, "
               "view_vectors, sinogram_shape, recon_shape, params");
  j = parallel();
  j["params"]["sharpnes"] = 1;
  expect_error(j, "params.sharpnes is not a parameter of geometry parallel, expected one of ");
  expect_error(j, " names; similar: sharpness");
  j["params"] = {{"sigma_noise", 1}};  // a parameter of the denoiser
  expect_error(j, "params.sigma_noise is not a parameter of geometry parallel");
  j["params"] = {{"source_iso_dist", 1}};
  expect_error(j, "params.source_iso_dist is not a parameter of geometry parallel");
  j = parallel();
  j["helical_z_shifts"] = json::array();
  expect_error(j, "helical_z_shifts is given, expected only with geometry cone");
  j = parallel();
  j["sinogram_shape"] = {6, 5, 9};
  expect_error(j, "sinogram_shape is [6,5,9], expected that of the data, (6, 5, 8)");
  j["geometry"] = "fan";
  expect_error(j, "geometry is \"fan\", expected " + geometries::names_text());
  j.erase("geometry");
  expect_error(j, "geometry is missing, expected " + geometries::names_text());
  j = cone();
  j["params"].erase("source_iso_dist");
  expect_error(j, "params.source_iso_dist is missing, expected a number");
  j = cone();
  j["params"]["delta_voxel"] = -1;
  expect_error(j, "g.json: delta_voxel is -1, expected a positive number");
  write_text(file, "{");
  EXPECT_THROW(program::read_geometry(file, shape), io_error);
  EXPECT_THROW(program::read_geometry(folder / "none.json", shape), io_error);
}

TEST_F(GeometryFile, WhatIsWrittenIsReadBack) {
  std::vector<std::uint8_t> const mask(9 * 10, 1);
  write_npy(folder / "mask.npy", mask.data(), {9, 10});
  auto j = cone();
  j["helical_z_shifts"] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6};
  j["recon_shape"] = {9, 10, 11};
  j["params"].update({{"use_ror_mask", "mask.npy"},
                      {"source_detector_dist", 40.7},
                      {"det_channel_offset", 0.1},
                      {"sigma_x", 0.3},
                      {"p", 1.7},
                      {"q", 1.3}});
  auto infinite = cone();
  infinite["params"] = {{"source_detector_dist", "inf"}, {"snr_db", 33}};
  auto automatic = parallel();
  automatic["params"] = {
      {"granularity", {2, 3}}, {"partition_sequence", {0}}, {"delta_det_channel", 0.3}, {"delta_det_row", 0.3}};
  for (auto const& original : {j, infinite, automatic}) {
    auto const g = read(original);
    auto const written = program::geometry_json(g);
    fs::create_directories(folder / "elsewhere");
    write_text(folder / "elsewhere" / "w.json", written.dump());
    auto const again = program::read_geometry(folder / "elsewhere" / "w.json", shape);
    EXPECT_EQ(program::geometry_json(again), written);
    EXPECT_EQ(angles(again), angles(g));
    EXPECT_EQ(again.model.sigma_x, g.model.sigma_x);
    EXPECT_EQ(again.model.p, g.model.p);
    EXPECT_EQ(again.model.granularity, g.model.granularity);
    std::visit([&]<class Scan>(Scan const& a) {
      auto const& b = std::get<Scan>(again.scan);
      EXPECT_EQ(a.recon_shape(), b.recon_shape());
      EXPECT_EQ(a.mask(), b.mask());
      EXPECT_EQ(a.geometry().delta_x, b.geometry().delta_x);
      EXPECT_EQ(a.geometry().delta_y, b.geometry().delta_y);
      if constexpr (requires { a.z_shifts(); }) {
        EXPECT_TRUE(std::equal(a.z_shifts().begin(), a.z_shifts().end(), b.z_shifts().begin(), b.z_shifts().end()));
      }
      if constexpr (std::is_same_v<Scan, cone_scan>) {
        EXPECT_EQ(a.geometry().inverse_detector_dist, b.geometry().inverse_detector_dist);
        EXPECT_EQ(a.geometry().recon_slice_offset, b.geometry().recon_slice_offset);
      }
    }, g.scan);
  }
}

}  // namespace
}  // namespace mbirk::test
