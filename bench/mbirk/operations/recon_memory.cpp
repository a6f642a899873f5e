// Memory required by a reconstruction, and memory of the machine.
#include "operations/recon_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <utility>

#include "mbirk/exec/host.hpp"
#include "mbirk/instrument/none.hpp"
#include "mbirk/projector/cone.hpp"
#include "mbirk/projector/parallel.hpp"

namespace mbirk::program {
namespace {

namespace fs = std::filesystem;

double product(std::array<index_t, 3> const& shape) {
  return static_cast<double>(shape[0]) * static_cast<double>(shape[1]) * static_cast<double>(shape[2]);
}

/// Bytes of a sinogram in the operations' internal layout: guards beside the channels, rows padded to whole vectors in
/// equal chunks.
template <class Geometry> double inside_bytes(Geometry g) {
  auto const views = static_cast<double>(std::exchange(g.views, 1));
  return 4 * views *
         static_cast<double>(
             mbirk::detail::projector<Geometry>::template channel_major_shape<context<exec::host, instrument::none>>(g)
                 .size());
}

/// The number after `key` in a file with lines "key value ...".
std::optional<double> number_in(fs::path const& path, std::string const& key = {}) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    std::istringstream words(line.substr(key.size()));
    if (double x = 0; words >> x) return x;
    return std::nullopt;  // "max"
  }
  return std::nullopt;
}

/// Memory left in a control group: its limit minus the usage, where file pages that can be dropped do not count as
/// used.
std::optional<double> left_in_group(fs::path const& folder, char const* limit, char const* usage,
                                    char const* droppable) {
  auto const most = number_in(folder / limit), used = number_in(folder / usage);
  if (!most || !used) return std::nullopt;
  return std::max(0.0, *most - *used + number_in(folder / "memory.stat", droppable).value_or(0));
}

/// The minimum over the process's group and all groups above it.
std::optional<double> left_in_groups(fs::path const& root) {
  std::optional<double> least;
  auto const take = [&](std::optional<double> left) {
    if (left && (!least || *left < *least)) least = left;
  };
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "number:controllers:/path"
    auto const first = line.find(':'), second = line.find(':', first + 1);
    if (second == line.npos) continue;
    auto const controllers = line.substr(first + 1, second - first - 1);
    bool const unified = controllers.empty(), old = (',' + controllers + ',').find(",memory,") != std::string::npos;
    if (!unified && !old) continue;
    auto const top = root / (unified ? "sys/fs/cgroup" : "sys/fs/cgroup/memory");
    for (fs::path group = fs::path(line.substr(second + 1)).relative_path();; group = group.parent_path()) {
      take(unified
               ? left_in_group(top / group, "memory.max", "memory.current", "inactive_file ")
               : left_in_group(top / group, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "));
      if (group.empty()) break;
    }
  }
  return least;
}

/// Number of subsets in the coarsest partition that will be used.
index_t fewest_subsets(recon_options const& o) {
  index_t fewest = std::numeric_limits<index_t>::max();
  for (int k = o.first_iteration; k < o.max_iterations && !o.partition_sequence.empty(); ++k) {
    auto const entry = o.partition_sequence[std::min(static_cast<std::size_t>(k), o.partition_sequence.size() - 1)];
    if (entry >= 0 && entry < std::ssize(o.granularity))
      fewest = std::min(fewest, o.granularity[static_cast<std::size_t>(entry)]);
  }
  return std::max<index_t>(fewest, 1);
}

}  // namespace

std::vector<memory_item> recon_memory(std::variant<parallel_scan, cone_scan> const& any, recon_options const& o,
                                      memory_question const& q) {
  return std::visit([&]<class Scan>(Scan const& scan) {
    bool const cone = std::is_same_v<Scan, cone_scan>;
    double const samples = 4 * product(scan.sinogram_shape()),
                 views = static_cast<double>(std::max<index_t>(scan.sinogram_shape()[0], 1));
    double const one_view = cone ? samples / views : 0;
    double const inside = inside_bytes(scan.geometry()), voxels = 4 * product(scan.recon_shape());
    std::vector<memory_item> items{{"sinogram", samples}, {"reconstruction", voxels}};
    if (q.weighted) items.push_back({"weights", samples});
    if (q.vcd) {
      items.push_back({"error sinogram", inside});
      if (cone) items.push_back({"projection of the direction", inside});
      if (q.weighted) items.push_back({"weights, reordered", inside});
      items.push_back({"Hessian diagonal", voxels});
      double const pixels = static_cast<double>(scan.full_indices().size());
      items.push_back({"pixel partitions", 4 * pixels * static_cast<double>(o.granularity.size() + 2)});
      if (o.resume) items.push_back({"state to resume", 2 * voxels + samples});
      // The first image needs a sinogram and, in cone beam, one view of filter weights, which are released before the
      // iterations begin.
      double const subset = 4 * std::ceil(pixels / static_cast<double>(fewest_subsets(o))) *
                            static_cast<double>(round_up(scan.recon_shape()[2], 16));
      // One sum per slice in double for every 64 pixels; twice as many with damping, which also needs a curvature.
      double const direction = subset * (o.slice_damping.value_or(cone) ? 2 + 1 / 16.0 : 1 + 1 / 32.0),
                   copy = 2 * voxels + samples;
      if (!o.resume && inside + one_view > direction + copy) {
        items.push_back({"sinogram for the first image", inside + one_view});
      } else {
        items.push_back({"direction of the largest subset", direction});
        items.push_back({"copy for a checkpoint", copy});
      }
    } else {
      items.push_back({"filtered sinogram", inside + one_view});
    }
    // Tiles of 64 pixels or channels, and some tables; half of this was measured.
    items.push_back(
        {"work space of " + std::to_string(q.threads) + (q.threads == 1 ? " thread" : " threads"),
         q.threads * (1e6 + 512.0 * static_cast<double>(scan.sinogram_shape()[2] + scan.recon_shape()[2]))});
    std::sort(items.begin(), items.end(),
              [](auto const& a, auto const& b) { return a.bytes != b.bytes ? a.bytes > b.bytes : a.name < b.name; });
    return items;
  }, any);
}

double total_bytes(std::vector<memory_item> const& items) {
  double sum = 0;
  for (auto const& i : items) sum += i.bytes;
  return sum;
}

std::optional<available_memory> memory_available(fs::path const& root) {
  std::optional<available_memory> available;
  if (auto const kib = number_in(root / "proc/meminfo", "MemAvailable:"))
    available = {*kib * 1024, "MemAvailable of /proc/meminfo"};
  if (auto const left = left_in_groups(root); left && (!available || *left < available->bytes))
    available = {*left, "the memory limit of the control group"};
  return available;
}

std::string bytes_text(double bytes) {
  char const* const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : bytes < 10 ? 2 : bytes < 100 ? 1 : 0, units[unit]);
}

}  // namespace mbirk::program
