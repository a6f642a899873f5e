// The prediction of times on GPUs: the model on launches whose bound is known by hand, the tables, and operations.
#include "gpu/prediction.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <vector>

#include "gpu/launches.hpp"
#include "mbirk/kernel/device/parallel_gather.hpp"

namespace mbirk::program::gpu {
namespace {

device const& h100() { return *find_device("h100"); }

double resource(launch_time const& t, std::string const& name) {
  for (auto const& [resource, seconds] : t.resources)
    if (resource == name) return seconds;
  return -1;
}

TEST(gpu_devices, each_has_every_number_with_its_source) {
  std::set<std::string> names;
  for (auto const& d : every_device()) {
    names.insert(d.name);
    for (auto const& number : device_numbers()) {
      EXPECT_GT(d[number], 0) << d.name << ": " << number;
      EXPECT_FALSE(d.numbers.find(number)->second.source.empty()) << d.name << ": " << number;
    }
  }
  EXPECT_EQ(names, (std::set<std::string>{"A100", "L40S", "RTX 4090", "H100", "H200", "B200", "RTX 5090"}));
  EXPECT_EQ(find_device("rtx 4090")->capability, 89);
  EXPECT_EQ(find_device("V100"), nullptr);
}

TEST(gpu_devices, a_damaged_device_is_named_with_its_number) {
  std::string const file = "mine.json";
  nlohmann::json numbers = nlohmann::json::object();
  for (auto const& name : device_numbers()) numbers[name] = {{"value", 2.0}, {"mark", "A"}, {"source", "a test"}};
  nlohmann::json const whole{{"name", "mine"}, {"capability", 90}, {"numbers", numbers}};
  EXPECT_EQ(device_from({whole, file})["clock"], 2);

  auto const message = [&](auto const& damage) {
    auto damaged = whole;
    damage(damaged);
    try {
      device_from({damaged, file});
    } catch (io_error const& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_NE(message([](auto& d) { d["numbers"].erase("clock"); }).find("mine.json: numbers.clock is missing"),
            std::string::npos);
  EXPECT_NE(message([](auto& d) { d["numbers"]["clock"]["value"] = -1; }).find("expected a number > 0"),
            std::string::npos);
  EXPECT_NE(message([](auto& d) { d["numbers"]["clock"]["mark"] = "guess"; }).find("one of n, R, A, m"),
            std::string::npos);
  EXPECT_NE(message([](auto& d) { d["numbers"]["clocks"] = 1; }).find("numbers.clocks"), std::string::npos);
}

TEST(gpu_devices, published_times_name_their_source) {
  ASSERT_FALSE(published_times().empty());
  for (auto const& row : published_times()) {
    EXPECT_NE(find_device(row.device), nullptr);
    EXPECT_NE(find_operation(row.operation), nullptr) << row.operation;
    EXPECT_GT(row.seconds, 0);
    EXPECT_FALSE(row.software.empty() || row.source.empty());
  }
}

TEST(gpu_kernels, every_device_has_code) {
  for (auto const& d : every_device())
    for (auto const* name :
         {"parallel_gather", "parallel_list_gather<gather_store>", "parallel_list_gather<gather_norm<false,false>>",
          "parallel_list_gather<gather_subtract<false>>", "parallel_list_back<2>", "parallel_list_back<4>",
          "block_sort<parallel_channel_order,1>", "block_sort<parallel_channel_order,4>", "parallel_block_back",
          "parallel_tile_back", "parallel_view_back", "cone_gather", "cone_list_gather<gather_store>",
          "cone_list_gather<gather_norm<false,true>>", "block_sort<cone_channel_order,1>",
          "block_sort<cone_channel_order,4>", "cone_block_back<1,false>", "sum_runs",
          "block_counts<count_bins>", "block_counts<count_digits>",
          "fold_slice_sums", "vcd_direction<qggmrf_cylinder>", "to_channel_major", "median_lanes",
          "ramp_block_fourier<sinogram_rows<float const*>,sinogram_rows<float*>>"}) {
      auto const* const code = find_kernel(name, d.capability);
      ASSERT_NE(code, nullptr) << name << " on " << d.name;
      EXPECT_GT(code->registers, 0);
    }
  // Six pixels for two or four channels of two views and four packs, of which one access loads all.
  for (auto const& d : every_device())
    for (auto const& [name, channels] :
         {std::pair{"batch of first", 2}, {"batch of both", 4}, {"batch of second", 2}}) {
      auto const& batch = find_kernel("parallel_gather", d.capability)->units.find("4")->second.find(name)->second;
      EXPECT_EQ(batch.loads, 6) << d.name;
      EXPECT_GT(batch.issue, 6 * (2 * channels * 4 + 1)) << d.name;
      EXPECT_LT(batch.issue, 6 * (2 * channels * 4 + 8)) << d.name;
    }
}

// A kernel that moves bytes and computes nothing takes the time of its bytes.
TEST(gpu_model, a_launch_is_bound_by_its_largest_resource) {
  auto work = streaming_launch("fill_values", 1e6, 1, 3.35e12);
  auto const t = predict_launch(work, h100());
  EXPECT_EQ(t.bound, "DRAM");
  EXPECT_DOUBLE_EQ(t.lower_bound, 1);
  EXPECT_GE(t.expected, t.lower_bound / reached * 0.99);

  work.memory_bytes = 0;
  work.l2_bytes = 2 * 5.5e12;
  EXPECT_EQ(predict_launch(work, h100()).bound, "L2");
  EXPECT_DOUBLE_EQ(predict_launch(work, h100()).lower_bound, 2);

  work.l2_bytes = 0;
  EXPECT_EQ(predict_launch(work, h100()).bound, "launch");
  EXPECT_DOUBLE_EQ(predict_launch(work, h100()).lower_bound, h100()["launch seconds"]);
}

TEST(gpu_model, times_follow_from_instructions_and_rates) {
  auto const& code = *find_kernel("parallel_gather", 90);
  auto const& batch = code.units.find("4")->second.find("batch of both")->second;
  launch_work const work{.kernel = "parallel_gather", .variant = "4", .tasks = 1e7, .units = {{"batch of both", 1e9}}};
  auto const t = predict_launch(work, h100());
  double const rate = 132 * 1.755e9;
  EXPECT_DOUBLE_EQ(resource(t, "issue"), 1e9 * batch.issue / (4 * rate));
  EXPECT_DOUBLE_EQ(resource(t, "LSU"), 1e9 * batch.wavefronts / rate);
  EXPECT_DOUBLE_EQ(resource(t, "FP64"), 1e9 * batch.fp64 / (2 * rate));
}

// A share of the tasks has a shorter piece.
TEST(gpu_model, last_pieces_count_by_their_share) {
  auto const& code = *find_kernel("cone_gather", 90);
  launch_work work{.kernel = "cone_gather", .variant = "8", .tasks = 1e7, .units = {{"inside", 1e9}}};
  work.last_variant = "3";
  work.last_share = 0.25;
  auto const inside = [&](char const* packs) { return code.units.find(packs)->second.find("inside")->second.issue; };
  EXPECT_LT(inside("3"), 0.6 * inside("8"));
  EXPECT_DOUBLE_EQ(resource(predict_launch(work, h100()), "issue"),
                   1e9 * (0.75 * inside("8") + 0.25 * inside("3")) / (4 * 132 * 1.755e9));
}

// Work for few warps takes as long as one of them, however many multiprocessors there are.
TEST(gpu_model, few_warps_wait) {
  launch_work work{.kernel = "parallel_gather", .variant = "4", .tasks = 95, .units = {{"batch of both", 95e4}}};
  auto const few = predict_launch(work, h100());
  EXPECT_EQ(few.bound, "latency");
  work.tasks = 1;
  work.units = {{"batch of both", 1e4}};
  EXPECT_NEAR(predict_launch(work, h100()).lower_bound, few.lower_bound, 1e-9);
}

TEST(gpu_model, what_fits_l2_is_read_once) {
  launch_work work{.kernel = "parallel_gather", .variant = "4", .tasks = 1e6, .units = {{"batch of both", 1}},
                   .again_bytes = 4e7, .tasks_between = 1};
  EXPECT_DOUBLE_EQ(resource(predict_launch(work, h100()), "DRAM"), 4e7 / 3.35e12);
  work.again_bytes = 6e7;
  EXPECT_GT(resource(predict_launch(work, h100()), "DRAM"), 10 * 6e7 / 3.35e12);
}

TEST(gpu_model, an_unknown_kernel_is_an_error) {
  EXPECT_THROW(predict_launch(streaming_launch("no_such_kernel", 1, 1, 1), h100()), error);
  launch_work const work{.kernel = "parallel_gather", .variant = "9", .tasks = 1, .units = {{"batch of both", 1}}};
  EXPECT_THROW(predict_launch(work, h100()), error);
}

double units_of(launch_work const& work, std::string const& name) {
  for (auto const& [unit, count] : work.units)
    if (unit == name) return count;
  return 0;
}

/// Pixels that the warps of a gathering projection in parallel beam find in their views.
double found_pixels(launch_work const& work) {
  using simd_backend = simd::native_backend;
  if (work.kernel != "parallel_gather")
    return kernel::parallel_gather_sums<simd_backend, 1>::batch * units_of(work, "batch");
  double batches = 0;
  for (auto const* unit : {"batch of first", "batch of both", "batch of second"}) batches += units_of(work, unit);
  return kernel::parallel_gather_sums<simd_backend, 2>::batch * batches;
}

// Every pixel of a view is found by the warp that owns its channels, and by the neighbour where the footprint crosses
// the border.
TEST(gpu_launches, hits_are_conserved) {
  any_scan const scan = mbirk::scan<parallel_geometry>(parallel_geometry::typical_scan({16, 32, 48}));
  auto const all = forward_launches(scan, {});
  ASSERT_EQ(all.front().kernel, "parallel_gather");
  double const pixels = static_cast<double>(std::get<parallel_scan>(scan).full_indices().size());
  // A pixel is found at least once for each pair of views, and by at most two warps in each of them.
  double const found = found_pixels(all.front());
  EXPECT_GE(found, 0.95 * 8 * pixels);
  EXPECT_LE(found, 1.75 * 16 * pixels);
  auto const grid = back_launches(scan, {}, 1)[1];
  ASSERT_EQ(grid.kernel, "parallel_tile_back");
  EXPECT_GT(units_of(grid, "view"), 0);
  EXPECT_DOUBLE_EQ(units_of(grid, "view"), units_of(grid, "second line") + units_of(grid, "edge"));
  // The warps of a block share views or, of more than 2048 pixels, pixels, for one pack of slices or for two.
  auto const check_list = [](any_scan const& of, char const* kernel) {
    auto const& listed = std::get<parallel_scan>(of).full_indices();
    auto const list = back_launches(of, {listed.begin(), listed.end()}, 1)[1];
    ASSERT_EQ(list.kernel, kernel);
    EXPECT_GT(units_of(list, "view"), 0);
    EXPECT_DOUBLE_EQ(units_of(list, "view"), units_of(list, "two taps") + units_of(list, "three taps"));
  };
  check_list(scan, "parallel_view_back");
  check_list(mbirk::scan<parallel_geometry>(parallel_geometry::typical_scan({16, 32, 64})), "parallel_block_back");
  check_list(mbirk::scan<parallel_geometry>(parallel_geometry::typical_scan({16, 64, 64})), "parallel_list_back<2>");
}

// A list of few pixels is sorted first, and then found by the same warps as if they were all looked for.
TEST(gpu_launches, few_listed_pixels_are_sorted) {
  any_scan const scan = mbirk::scan<parallel_geometry>(parallel_geometry::typical_scan({16, 32, 48}));
  auto const& pixels = std::get<parallel_scan>(scan).full_indices();
  std::vector<std::int32_t> const few(pixels.begin(), pixels.begin() + 32 * 48 / 8),
      more(pixels.begin(), pixels.begin() + 32 * 48 / 8 + 1);
  auto const sorted = forward_launches(scan, few), searched = forward_launches(scan, more);
  ASSERT_EQ(sorted.front().kernel, "block_sort<parallel_channel_order,4>");
  ASSERT_EQ(sorted[1].kernel, "parallel_list_gather<gather_store>");
  ASSERT_EQ(searched.front().kernel, "parallel_gather");
  // A sorted pixel is found view by view, one that is searched for by pairs of views.
  EXPECT_GT(found_pixels(sorted[1]), found_pixels(searched.front()) - 16 * 3);
  EXPECT_LT(found_pixels(sorted[1]), 2 * found_pixels(searched.front()));

  any_scan const cone = mbirk::scan<cone_geometry>(cone_geometry::typical_scan({16, 32, 48}));
  auto const by_channel = forward_launches(cone, few);
  ASSERT_EQ(by_channel.front().kernel, "block_sort<cone_channel_order,4>");
  ASSERT_EQ(by_channel[1].kernel, "cone_list_gather<gather_store>");
  EXPECT_GE(units_of(by_channel[1], "hit"), 16 * 32 * 48 / 8);
}

// A second projection of a subset is in the order of the first. Its warps take a turn for each four channels of a view
// and chunk, and find the pixels of the line search, those that fill no batch one by one.
TEST(gpu_launches, a_subset_is_sorted_once_and_its_error_updated_in_turns) {
  any_scan const scan = mbirk::scan<parallel_geometry>(parallel_geometry::typical_scan({16, 32, 48}));
  auto const& pixels = std::get<parallel_scan>(scan).full_indices();
  auto const subset = projections_of_subset(scan, {pixels.begin(), pixels.begin() + 100});
  ASSERT_EQ(subset.forward.size(), 2u);
  EXPECT_EQ(subset.forward[0].kernel, "block_sort<parallel_channel_order,4>");
  ASSERT_EQ(subset.update.size(), 1u);
  auto const &norm = subset.forward[1], &update = subset.update[0];
  EXPECT_EQ(norm.kernel, "parallel_list_gather<gather_norm<false,false>>");
  EXPECT_EQ(update.kernel, "parallel_list_gather<gather_subtract<false>>");
  EXPECT_EQ(units_of(norm, "turn"), 0);
  EXPECT_EQ(units_of(update, "turn"), 16 * 12);
  EXPECT_GT(units_of(update, "single pixel"), 0);
  EXPECT_DOUBLE_EQ(found_pixels(update) + units_of(update, "single pixel"), found_pixels(norm));
}

/// How often a set of groups has a pixel whose footprint reaches four channels in one of two neighbouring views, or
/// lies in the box around such pixels.
double sets_within_reach(parallel_scan const& s) {
  auto const& g = s.geometry();
  auto const plan = kernel::plan_grid(g.recon_rows, g.recon_cols, s.mask().data(), g.recon_cols * g.slices, g.slices);
  auto const passes = kernel::make_view_taps(s);
  std::vector<kernel::view_taps> views;
  std::ranges::copy_if(passes, std::back_inserter(views), [](auto const& p) { return p.first_tap == 0; });
  double reached = 0;
  for (std::size_t first = 0; first < plan.groups.size(); first += 32) {
    std::size_t const last = std::min(plan.groups.size(), first + 32) - 1;
    auto const from = static_cast<std::ptrdiff_t>(plan.groups[first].first),
               to = static_cast<std::ptrdiff_t>(plan.groups[last].first + plan.groups[last].count);
    auto const [row, last_row] = std::minmax_element(plan.rows.begin() + from, plan.rows.begin() + to);
    auto const [col, last_col] = std::minmax_element(plan.cols.begin() + from, plan.cols.begin() + to);
    for (std::size_t v = 0; v < views.size(); v += 2)
      for (index_t channel = 0; channel < g.channels; channel += 4) {
        bool any = false;
        for (auto const& p : {views[v], views[v + 1]}) {
          double low = 1e9, high = -1e9;
          for (auto const i : {*row, *last_row})
            for (auto const j : {*col, *last_col}) {
              double const left = p.edge - 0.5 + p.row_step * i + p.col_step * j;  // channel 0 is [-1/2, 1/2]
              low = std::min(low, left);
              high = std::max(high, left + p.width);
            }
          any = any || (low < static_cast<double>(channel) + 3.5 && high > static_cast<double>(channel) - 0.5);
        }
        reached += any;
      }
  }
  return reached;
}

/// Requests to global memory of the units of a launch.
double requests_of(launch_work const& work, std::vector<std::string> const& units) {
  auto const& costs = find_kernel(work.kernel, 90)->units.find(work.variant)->second;
  double all = 0;
  for (auto const& unit : units) all += units_of(work, unit) * costs.find(unit)->second.loads;
  return all;
}

// What counting::requests holds for the same scan on exec::emulated, for the voxel columns (or channels) that the units
// load: units and loads per unit, from the machine code, are two halves of the same number. The enumeration decides in
// another order of operations than the kernels, so footprints that touch a channel may fall on either side.
TEST(gpu_launches, requests_are_those_of_an_emulated_run) {
  any_scan const parallel = mbirk::scan<parallel_geometry>(parallel_geometry::typical_scan({16, 128, 48}));
  any_scan const cone = mbirk::scan<cone_geometry>(cone_geometry::typical_scan({16, 128, 48}));
  double const columns = 92080;
  auto const forward = forward_launches(parallel, {}).front();
  // Twelve groups of four channels, eight pairs of views, 35 groups of pixels in two sets, one of which has three.
  EXPECT_EQ(units_of(forward, "set round"), 96);
  EXPECT_EQ(units_of(forward, "group round"), sets_within_reach(std::get<parallel_scan>(parallel)));
  // Counting loads four packs one after another, machine code at once.
  EXPECT_NEAR(requests_of(forward, {"batch of first", "batch of both", "batch of second"}), columns / 4,
              0.005 * columns / 4);

  // A warp loads five channels of four packs, or six, of which machine code always has the requests.
  double const back_channels = 103048.0 / 4, back_requests = requests_of(back_launches(parallel, {}, 1)[1], {"view"});
  EXPECT_GE(back_requests, back_channels);
  EXPECT_LE(back_requests, 6.0 / 5 * back_channels);

  // Five packs of voxels for four of rows, and the heights of their slices as often. Counting leaves out packs that are
  // beside the volume.
  auto const cone_forward = forward_launches(cone, {}).front();
  double const cone_columns = 150849, cone_requests = requests_of(cone_forward, {"inside", "at the ends"});
  EXPECT_GE(cone_requests, 2 * cone_columns);
  EXPECT_LE(cone_requests, 2.5 * cone_columns);
}

TEST(gpu_prediction, holds_an_interval_and_calls_itself_predicted) {
  any_scan const scan = mbirk::scan<cone_geometry>(cone_geometry::typical_scan({16, 32, 48}));
  for (auto const& d : every_device())
    for (auto const* operation : {"forward_project", "back_project", "hessian_diagonal", "vcd_iteration"}) {
      auto const p = predict(operation, scan, d, {}, 1, 4);
      ASSERT_TRUE(p) << operation;
      EXPECT_GT(p->lower_bound, 0);
      EXPECT_GE(p->expected, p->lower_bound * 0.99) << operation << " on " << d.name;
      EXPECT_DOUBLE_EQ(p->low, 0.6 * p->expected);
      EXPECT_DOUBLE_EQ(p->high, 1.6 * p->expected);
      EXPECT_EQ(p->source, "predicted");
      EXPECT_DOUBLE_EQ(p->joules, d["watts"] * p->expected);
    }
  EXPECT_FALSE(predict("no_such_operation", scan, h100()));
}

// Transforms of up to 4096 numbers are made in shared memory, longer ones in scratch; the filter of a part of the rows
// takes its part of the instructions.
TEST(gpu_prediction, filters_are_those_of_devices) {
  auto const predicted = [](std::string const& body, problem_shape const& shape) {
    for (auto const& entry : profile_entries())
      if (entry.op->body == body) return predict(entry, shape, h100());
    return std::optional<prediction>();
  };
  // Both filters keep every multiprocessor busy.
  auto const filter = predicted("direct_filter", {64, 64, 992}), half = predicted("direct_filter", {64, 32, 992}),
             wide = predicted("direct_filter", {8, 8, 2049}), median = predicted("median_filter3d", {16, 32, 32});
  ASSERT_TRUE(filter && half && wide && median);
  EXPECT_EQ(filter->launches.back().kernel,
            "ramp_block_fourier<sinogram_rows<float const*>,sinogram_rows<float*>>");
  EXPECT_NEAR(resource(filter->launches.back(), "issue"), 2 * resource(half->launches.back(), "issue"),
              1e-9 * resource(filter->launches.back(), "issue"));
  EXPECT_TRUE(wide->launches.back().kernel.starts_with("ramp_fourier<")) << wide->launches.back().kernel;
  EXPECT_EQ(median->launches.back().kernel, "median_lanes");
  EXPECT_GT(resource(median->launches.back(), "integer"), 0) << "minimum and maximum";
}

}  // namespace
}  // namespace mbirk::program::gpu
