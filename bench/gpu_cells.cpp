// mbirk_gpu_cells: times of the projections and of the ramp filter on a CUDA device at full sizes ("cells"), as one
// JSON. It needs only the library and the CUDA runtime. The file is rewritten after every operation, so that measured
// times survive a later failure.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "gpu_cells_data.hpp"
#include "gpu_cells_report.hpp"
#include "mbirk/exec/cuda.hpp"
#include "mbirk/filter/direct_filter.hpp"
#include "mbirk/instrument/none.hpp"
#include "mbirk/projector/all.hpp"
#include "mbirk/util/partition.hpp"
#include "mbirk/version.hpp"

namespace mbirk::cells {
namespace {

using steady = std::chrono::steady_clock;

// Data on the device.

template <int Rank> class device_array {
 public:
  explicit device_array(std::array<index_t, Rank> const& shape) : shape_(shape) {
    if (bytes() == 0) return;
    cudaError_t const status = cudaMalloc(&data_, bytes());
    if (status == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();
      throw allocation_error(
          "out of memory: " + std::to_string(bytes()) + " bytes for an array " + mbirk::detail::shape_text(shape_),
          source_location::current());
    }
    exec::check_cuda(status, "cudaMalloc");
  }
  ~device_array() { (void)cudaFree(data_); }
  device_array(device_array const&) = delete;
  device_array& operator=(device_array const&) = delete;

  std::size_t bytes() const {
    std::size_t n = sizeof(float);
    for (auto const extent : shape_) n *= static_cast<std::size_t>(extent);
    return n;
  }
  void fill(std::uint32_t seed, cudaStream_t stream) {
    if (bytes() == 0) return;
    fill_random(data_, bytes() / sizeof(float), seed, stream);
  }
  view<float, Rank> all() const { return {data_, shape_}; }

 private:
  std::array<index_t, Rank> shape_;
  float* data_ = nullptr;
};

std::size_t used_memory() {
  std::size_t free = 0, total = 0;
  exec::check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return total - free;
}

// Measuring.

double since(steady::time_point start) { return std::chrono::duration<double>(steady::now() - start).count(); }

struct timing {
  std::vector<double> seconds;
  int warm = 0;
  double queued = 0;  ///< time of one call, when calls are queued without waiting between them
};

/// Each call alone, from an idle device to the end of its last kernel; preparation on the host is included.
timing measure(exec::cuda const& device, options const& o, std::function<void()> const& call) {
  auto const once = [&] {
    auto const from = device.timestamp();
    call();
    return device.seconds(from, device.timestamp());
  };
  auto const start = steady::now();
  timing t;
  double last = 0;
  while (t.warm < o.warm && (t.warm == 0 || since(start) + last * (o.warm - t.warm + o.repeats) <= o.op_budget)) {
    last = once();
    ++t.warm;
  }
  double sum = 0;
  for (;;) {
    last = t.seconds.emplace_back(once());
    sum += last;
    auto const n = static_cast<int>(t.seconds.size());
    bool const enough = n >= (last < 5e-3 ? std::max(9, o.repeats) : o.repeats) && (sum >= 0.05 || n >= 50);
    if (enough || since(start) + last > o.op_budget) break;
  }
  auto const n = static_cast<int>(t.seconds.size());
  if (since(start) + n * last <= o.op_budget) {
    auto const from = device.timestamp();
    for (int k = 0; k < n; ++k) call();
    t.queued = device.seconds(from, device.timestamp()) / n;
  }
  return t;
}

/// One cell in one geometry.
template <class Scan> class problem {
 public:
  problem(options const& o, shape_3 const& cell, std::size_t idle_memory)
      : o_(o), cell_(cell), idle_memory_(idle_memory), scan_(Scan::geometry_type::typical_scan(cell)) {
    numpy_random_state random(0);
    auto const partition = gen_pixel_partition(scan_.full_indices(), subsets, random);
    subset_.assign(partition.subset(0).begin(), partition.subset(0).end());
  }

  /// Shapes, sizes and, with a device, times.
  object run(std::string const& op, bool with_device) {
    auto const recon = scan_.recon_shape();
    bool const sparse = op.starts_with("sparse"), filter = op == "direct_filter";
    auto const all = static_cast<std::size_t>(recon[0] * recon[1]);
    auto const pixels = sparse ? subset_.size() : op == "hessian_diagonal" ? all : scan_.full_indices().size();
    index_t const items = filter ? cell_[0] * cell_[1] * cell_[2] : cell_[0] * static_cast<index_t>(pixels) * recon[2];
    object result;
    result.add("recon_shape", shape_json(recon))
        .add("pixels", static_cast<index_t>(pixels))
        .add(filter ? "samples" : "pairs", items);
    if (with_device) time(op, static_cast<double>(items), result);
    return result;
  }

 private:
  using image = device_array<3>;

  void time(std::string const& op, double items, object& result) {
    context const ctx{exec::cuda(), instrument::none{}};
    auto const recon = scan_.recon_shape();
    view<std::int32_t const, 1> const pixels(subset_.data(), {static_cast<index_t>(subset_.size())});
    std::array<index_t, 2> const voxel_columns{pixels.extent(0), recon[2]};
    auto const finish = [&](auto& in, auto& out, auto const& call) {
      in.fill(1, ctx.exec.stream());
      out.fill(2, ctx.exec.stream());
      add_times(ctx.exec, items, in.bytes() + out.bytes(), call, result);
    };
    if (op == "forward_project") {
      image x(recon), y(cell_);
      finish(x, y, [&] { forward_project(ctx, scan_, x.all(), y.all()); });
    } else if (op == "back_project") {
      image y(cell_), x(recon);
      finish(y, x, [&] { back_project(ctx, scan_, y.all(), x.all()); });
    } else if (op == "sparse_forward_project") {
      device_array<2> x(voxel_columns);
      image y(cell_);
      finish(x, y, [&] { sparse_forward_project(ctx, scan_, x.all(), pixels, y.all()); });
    } else if (op == "sparse_back_project") {
      image y(cell_);
      device_array<2> x(voxel_columns);
      finish(y, x, [&] { sparse_back_project(ctx, scan_, y.all(), pixels, x.all()); });
    } else if (op == "hessian_diagonal") {
      image none({0, 0, 0}), h(recon);
      finish(none, h, [&] { hessian_diagonal(ctx, scan_, std::optional<view<float const, 3>>(), h.all()); });
    } else if constexpr (has_direct_recon<typename Scan::geometry_type>) {
      image y(cell_), q(cell_);
      finish(y, q, [&] { direct_filter(ctx, scan_, y.all(), q.all()); });
    } else {
      throw error(std::string(Scan::geometry_type::name) + " has no " + op, source_location::current());
    }
  }

  void add_times(exec::cuda const& device, double items, std::size_t bytes, std::function<void()> const& call,
                 object& result) {
    device.wait();
    auto t = measure(device, o_, call);
    std::string all = "[";
    for (auto const s : t.seconds) all += (all.size() > 1 ? ", " : "") + number_json(1e3 * s);
    std::sort(t.seconds.begin(), t.seconds.end());
    auto const n = t.seconds.size();
    double const median = (t.seconds[(n - 1) / 2] + t.seconds[n / 2]) / 2;
    result.add("warm", index_t{t.warm})
        .add("calls", static_cast<index_t>(n))
        .add("ms_median", 1e3 * median)
        .add("ms_min", 1e3 * t.seconds.front());
    result.add("ms_max", 1e3 * t.seconds.back())
        .add("ms_queued", t.queued > 0 ? number_json(1e3 * t.queued) : "null")
        .add("ms", all + "]");
    result.add("giga_per_second", 1e-9 * items / median).add("bytes_arrays", static_cast<index_t>(bytes));
    auto const used = used_memory();  // the pool keeps the memory of earlier operations
    result.add("bytes_device", static_cast<index_t>(used > idle_memory_ ? used - idle_memory_ : 0));
  }

  options const& o_;
  shape_3 cell_;
  std::size_t idle_memory_;
  Scan scan_;
  std::vector<std::int32_t> subset_;
};

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string environment() {
  int device = 0, driver = 0, runtime = 0;
  cudaDeviceProp p{};
  exec::check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  exec::check_cuda(cudaGetDeviceProperties(&p, device), "cudaGetDeviceProperties");
  exec::check_cuda(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  exec::check_cuda(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  object e;
  e.add("device", quoted(p.name))
      .add("compute_capability", quoted(std::to_string(p.major) + "." + std::to_string(p.minor)));
  e.add("cuda_driver", quoted(version_text(driver))).add("cuda_runtime", quoted(version_text(runtime)));
  e.add("multiprocessors", index_t{p.multiProcessorCount})
      .add("memory_bytes", static_cast<index_t>(p.totalGlobalMem))
      .add("mbirk", quoted(std::string(version_string)));
  return e.json();
}

class measurement {
 public:
  explicit measurement(options const& o) : o_(o) {
    report_.file = o.out;
    std::string ops;
    for (auto const& op : o.ops) ops += (ops.empty() ? "" : ", ") + quoted(op);
    report_.ops = "[" + ops + "]";
    if (!o.plan) {
      report_.environment = environment();
      // creates the CUDA context, whose memory belongs to no operation
      exec::check_cuda(cudaFree(nullptr), "cudaFree");
      idle_memory_ = used_memory();
    }
    report_.write();
  }

  int run() {
    for (auto const& cell : o_.cells)
      for (auto const& geometry : o_.geometries) {
        if (lost_) break;
        geometries::with_name(geometry, [&]<class Geometry>(std::type_identity<Geometry>) {
          run_cell<scan<Geometry>>(cell, geometry);
        });
      }
    report_.running = "null";
    report_.write();
    return report_.errors.empty() ? 0 : 1;
  }

 private:
  object entry(shape_3 const& cell, std::string const& geometry, std::string const& op) const {
    object e;
    auto const name = std::to_string(cell[0]) + "x" + std::to_string(cell[1]) + "x" + std::to_string(cell[2]);
    e.add("cell", quoted(name)).add("geometry", quoted(geometry)).add("operation", quoted(op));
    return e;
  }

  template <class Scan> void run_cell(shape_3 const& cell, std::string const& geometry) {
    std::unique_ptr<problem<Scan>> here;
    for (auto const& op : o_.ops) {
      auto const e = entry(cell, geometry, op);
      if (lost_) return;  // the file shows that the rest of `ops` was not run
      if (since(start_) > o_.budget) {
        report_.skipped.push_back(
            object(e).add("reason", quoted("the budget of " + number_json(o_.budget) + " s was used up")).json());
        std::printf("%s: skipped: the budget was used up\n", e.json().c_str());
        continue;
      }
      report_.running = e.json();
      report_.write();
      try {
        if (!here) here = std::make_unique<problem<Scan>>(o_, cell, idle_memory_);
        auto const found = here->run(op, !o_.plan).json();
        report_.results.push_back("{" + e.json().substr(1, e.json().size() - 2) + ", " + found.substr(1));
        std::printf("%s\n", report_.results.back().c_str());
      } catch (std::exception const& failure) {
        report_.errors.push_back(object(e).add("error", quoted(failure.what())).json());
        std::printf("%s\n", report_.errors.back().c_str());
        // A kernel error persists in the process; running out of memory does not.
        lost_ = !o_.plan && cudaDeviceSynchronize() != cudaSuccess;
      }
      std::fflush(stdout);
      report_.running = "null";
      report_.write();
    }
  }

  options const& o_;
  report report_;
  std::size_t idle_memory_ = 0;
  bool lost_ = false;
  steady::time_point start_ = steady::now();
};

}  // namespace
}  // namespace mbirk::cells

int main(int argc, char** argv) {
  using namespace mbirk;
  auto const o = cells::read_options(argc, argv);
  if (std::string const missing = exec::cuda::missing(); !o.plan && !missing.empty()) {
    std::fprintf(stderr, "mbirk_gpu_cells: %s\n", missing.c_str());
    return 3;
  }
  try {
    return cells::measurement(o).run();
  } catch (std::exception const& e) {
    std::fprintf(stderr, "mbirk_gpu_cells: %s\n", e.what());
    return 1;
  }
}
