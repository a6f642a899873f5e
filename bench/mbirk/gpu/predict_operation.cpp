// Predictions of whole operations: projections from the scan, everything else from the counts of the cost model.
#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <tuple>

#include "gpu/launches.hpp"
#include "mbirk/filter/direct_filter.hpp"
#include "mbirk/util/median.hpp"
#include "mbirk/instrument/sizing.hpp"

namespace mbirk::program::gpu {
namespace {

/// Largest size whose counts the cost model finds in a moment; larger ones are scaled by items.
constexpr index_t largest_counted = 32;

using block_filter_kernel =
    kernel::ramp_block_fourier<any_warp, kernel::sinogram_rows<float const*>, kernel::sinogram_rows<float*>>;

double bytes_of(any_array const& a) {
  double bytes = 4;
  for (auto const extent : program::shape_of(a)) bytes *= static_cast<double>(extent);
  return bytes;
}

/// Sizes of arguments and results, and the items of an operation, without running it.
instrument::size_record sizes_of(profile_entry const& entry, problem_shape const& shape) {
  instrument::size_record size;
  profile_problem const problem(entry.geometry, shape, 1, false);
  auto x = problem.make_operands(*entry.op, entry.arguments);
  entry.op->run(context{exec::host(1), instrument::sizing{size}}, problem.scan(), x);
  return size;
}

/// The kernel of a device for the name of a kernel in a record, which lacks the template arguments. Kernels of the host
/// have none.
std::string device_kernel(std::string const& name, int capability) {
  if (auto const in_blocks = "block_counts<" + name + ">"; find_kernel(in_blocks, capability)) return in_blocks;
  for (auto const* form :
       {"", "<qggmrf_cylinder>", "<false>", "<true>", "<false,true>", "<plain_sums<1>>", "<cone_geometry>",
        "<mbirk::cone_geometry>", "<sinogram_rows<float const*>,sinogram_rows<float*>>",
        "<sinogram_rows<float const*>,sinogram_channels<float*>>"})
    if (find_kernel(name + form, capability)) return name + form;
  return {};
}

/// Launches by the kernels that the cost model has seen, for `scale` times as much work.
std::vector<launch_work> counted_launches(instrument::operation_record const& record, double scale, int capability) {
  std::vector<launch_work> all;
  if (record.kernels.empty()) return all;
  double scratch = 0;
  for (auto const& a : record.arrays)
    if (a.role == array_role::scratch)
      scratch += static_cast<double>(a.counts.bytes_loaded) + static_cast<double>(a.counts.bytes_stored);
  double const most = static_cast<double>(std::ranges::max(record.kernels, {}, [](auto const& k) {
                                            return k.operations.vector_operations();
                                          }).operations.vector_operations());
  for (auto const& k : record.kernels) {
    auto const name = device_kernel(k.name, capability);
    if (name.empty()) continue;
    bool const heaviest = static_cast<double>(k.operations.vector_operations()) == most;
    double const launches = static_cast<double>(std::max<std::uint64_t>(1, k.launches));
    double const bytes = scale * (static_cast<double>(k.bytes_loaded) + static_cast<double>(k.bytes_stored)) / launches;
    double const kept = heaviest ? scale * std::exchange(scratch, 0) / launches : 0;
    auto work = streaming_launch(name, std::max(1.0, scale * static_cast<double>(k.tasks) / launches),
                                 (bytes + kept) / 128, bytes + kept);
    double operations = 0;
    for (auto const& row : k.operations.lanes)
      for (auto const lanes : row) operations += static_cast<double>(lanes);
    work.units.emplace_back("operation", scale * operations / 32 / launches);
    work.repeats = launches;
    all.push_back(std::move(work));
  }
  return all;
}

instrument::operation_record const& counts_of(profile_entry const& entry, problem_shape const& shape) {
  static std::mutex mutex;
  static std::map<std::tuple<std::string, index_t, index_t, index_t>, instrument::operation_record> known;
  std::lock_guard const lock(mutex);
  auto const key = std::tuple(entry.name, shape.views, shape.rows, shape.channels);
  auto found = known.find(key);
  if (found == known.end()) found = known.emplace(key, model_operation(entry, shape).record).first;
  return found->second;
}

double samples_of(problem_shape const& shape) {
  return static_cast<double>(shape.views) * static_cast<double>(shape.rows) * static_cast<double>(shape.channels);
}

/// The filter by transforms in shared memory, to rows or to the layout of a back projection.
launch_work block_filter(std::string const& kernel, problem_shape const& shape, bool weighted, bool to_rows) {
  auto const plan = kernel::make_block_plan(kernel::fourier::make_plan(shape.channels));
  auto const in_packs = [](double n) { return std::ceil(n / 32); };
  double const transforms = plan.transforms, channels = static_cast<double>(shape.channels),
               rows = static_cast<double>(shape.rows),
               blocks = static_cast<double>(shape.views) * std::ceil(rows / (2 * transforms)),
               numbers = blocks * transforms * plan.length / 32;
  launch_work work{.kernel = kernel,
                   .tasks = blocks,
                   .warps_per_block = block_filter_kernel::warps,
                   .shares_tasks = false,
                   .l2_bytes = 8 * samples_of(shape),
                   .memory_bytes = 8 * samples_of(shape)};
  auto const add = [&](std::string const& unit, double count) { work.units.emplace_back(unit, count); };
  add("read", blocks * transforms * in_packs(plan.length / 2.0));
  if (weighted) add("weights", blocks * transforms * in_packs(channels));
  add("stage", blocks * block_filter_kernel::warps * (plan.stages - 1));
  for (int s = 0; s < plan.stages; ++s) {
    auto const radix = std::to_string(plan.stage[s].radix) + (s == 0 ? ", first" : "");
    add("divide " + radix, numbers / plan.stage[s].radix);
    add("unite " + radix, numbers / plan.stage[s].radix);
  }
  add("multiply " + std::to_string(plan.inner), numbers / plan.inner);
  if (to_rows) add("write rows", blocks * transforms * in_packs(channels));
  else add("write channels", blocks * in_packs((channels + 2 * kernel::guard_channels) * 2 * transforms));
  return work;
}

/// The filter whose kernel depends on the length of a row: one view with as many channels as the real one.
std::vector<launch_work> filter_launches(std::string const& geometry, problem_shape const& shape, bool to_rows,
                                         int capability) {
  problem_shape const counted{1, std::min(shape.rows, largest_counted), shape.channels};
  std::vector<launch_work> all;
  for (auto const& entry : profile_entries())
    if (entry.geometry == geometry && entry.op->body == "direct_filter") {
      all = counted_launches(counts_of(entry, counted), samples_of(shape) / samples_of(counted), capability);
      break;
    }
  bool const weighted = std::ranges::any_of(all, [](auto const& w) { return w.kernel == "ramp_weights"; });
  if (kernel::make_block_plan(kernel::fourier::make_plan(shape.channels)).transforms == 0) return all;
  for (auto& w : all) {
    if (!w.kernel.starts_with("ramp_fourier<")) continue;
    auto const* const to = to_rows ? "sinogram_rows<float*>>" : "sinogram_channels<float*>>";
    w = block_filter(std::string("ramp_block_fourier<sinogram_rows<float const*>,") + to, shape, weighted, to_rows);
  }
  return all;
}

/// The median filter. @param memory_bytes  the image and all results
std::vector<launch_work> median_launches(std::array<index_t, 3> const& shape, double memory_bytes) {
  kernel::median_lanes<any_warp> kernel{};
  kernel.rows = shape[0];
  kernel.cols = shape[1];
  kernel.slices = shape[2];
  if (kernel.tasks() == 0) return {};
  double const tasks = static_cast<double>(kernel.tasks()),
               columns = static_cast<double>(shape[0] * shape[1] * kernel.chunks());
  constexpr double loads = 3;  // rows of a column
  return {{.kernel = "median_lanes",
           .tasks = tasks,
           .units = {{"task", tasks}, {"column", columns}},
           .l2_bytes = loads * 128 * columns,
           .memory_bytes = memory_bytes}};
}

/// The launches of an operation on a scan; empty if its kernels are not enumerated.
std::vector<launch_work> enumerated_launches(std::string const& operation, any_scan const& scan,
                                             std::vector<std::int32_t> const& listed, int iterations, index_t subsets) {
  std::vector<launch_work> all;
  auto const add = [&](std::vector<launch_work> more, double times = 1) {
    for (auto& w : more) {
      w.repeats *= times;
      all.push_back(std::move(w));
    }
  };
  if (operation == "forward_project" || operation == "sparse_forward_project") add(forward_launches(scan, listed));
  else if (operation == "back_project" || operation == "sparse_back_project") add(back_launches(scan, listed, 1));
  else if (operation == "hessian_diagonal") add(hessian_launches(scan));
  else if (operation == "vcd_iteration") add(iteration_launches(scan, subsets), iterations);
  else if (operation == "recon" || operation == "prox_map") {
    add(hessian_launches(scan));
    add(iteration_launches(scan, subsets), iterations);
  }
  return all;
}

}  // namespace

bool has_known_costs(operation const& op, any_scan const& scan) {
  return !op.needs_scan || op.body == "direct_filter" || describes_projections(scan);
}

std::optional<prediction> predict(std::string const& operation, any_scan const& scan, device const& on,
                                  std::vector<std::int32_t> const& listed, int iterations, index_t subsets) {
  auto const launches = enumerated_launches(operation, scan, listed, iterations, subsets);
  if (launches.empty()) return std::nullopt;
  auto const samples = bytes_of(npy_array<float>{shape_of(array_kind::sinogram, scan, 0), {}});
  auto const voxels = listed.empty()
                          ? bytes_of(npy_array<float>{shape_of(array_kind::recon, scan, 0), {}})
                          : bytes_of(npy_array<float>{
                                shape_of(array_kind::voxel_columns, scan, static_cast<index_t>(listed.size())), {}});
  bool const forward = operation.ends_with("forward_project");
  double const in = operation == "hessian_diagonal" || operation == "vcd_iteration" ? 0 : forward ? voxels : samples,
               out = operation == "vcd_iteration" ? 0 : forward ? samples : voxels;
  return predict_launches(launches, on, in, out);
}

std::optional<prediction> predict(profile_entry const& entry, problem_shape const& shape, device const& on) {
  if (entry.op->only_on_host) return std::nullopt;
  auto const size = sizes_of(entry, shape);
  double in = 0, out = 0;
  for (auto const& a : size.outer)
    (a.role == array_role::argument ? in : out) += static_cast<double>(a.bytes);
  profile_problem const problem(entry.geometry, shape, 1, false);
  if (!has_known_costs(*entry.op, problem.scan())) return std::nullopt;
  std::vector<std::int32_t> listed;
  auto const x = problem.make_operands(*entry.op, entry.arguments);
  for (auto const& input : entry.op->inputs)
    if (is_index_array(input.kind) && x.inputs.contains(input.name)) {
      auto const pixels = x.list(input.name);
      listed.assign(pixels.data(), pixels.data() + pixels.size());
    }
  auto const given = entry.arguments.find("max_iterations");
  int const iterations = given == entry.arguments.end() ? 1 : given->second.get<int>();
  auto work = enumerated_launches(entry.op->name, problem.scan(), listed, iterations, 128);
  if (entry.op->body == "median_filter3d") {
    auto const image = program::shape_of(x.inputs.at("image"));
    work = median_launches({image.at(0), image.at(1), image.at(2)}, in + out);
  }
  if (work.empty()) {
    auto const counted = problem_shape::cube(std::min(largest_counted, std::max<index_t>(2, shape.channels)));
    bool const filters = entry.op->body == "direct_filter" || entry.op->body == "direct_recon";
    if (filters) {
      work = filter_launches(entry.geometry, shape, entry.op->body == "direct_filter", on.capability);
    } else {
      auto const& record = counts_of(entry, counted);
      double scale = record.items > 0 ? static_cast<double>(size.items) / static_cast<double>(record.items) : 1;
      // Items of an operation with a projection in it grow faster than its passes over arrays.
      if (entry.op->body == "gen_weights_mar") scale = samples_of(shape) / samples_of(counted);
      work = counted_launches(record, scale, on.capability);
    }
    std::vector<launch_work> projection;
    if (entry.op->body == "direct_recon") projection = back_launches(problem.scan(), {}, 1);
    if (entry.op->body == "gen_weights_mar") projection = forward_launches(problem.scan(), {});
    for (auto& w : projection) work.push_back(std::move(w));
  }
  if (work.empty()) return std::nullopt;
  return predict_launches(work, on, in, out);
}

}  // namespace mbirk::program::gpu
