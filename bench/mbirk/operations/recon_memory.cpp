#include "operations/recon_memory.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <variant>

#include "mbirk/kernel/device/ramp_block_fourier.hpp"
#include "mbirk/projector/cone.hpp"
#include "mbirk/projector/parallel.hpp"
#include "mbirk/recon/direct_recon.hpp"
#include "mbirk/recon/recon.hpp"

namespace mbirk::program {
namespace {

double product(std::array<index_t, 3> const& shape) {
  return static_cast<double>(shape[0]) * static_cast<double>(shape[1]) * static_cast<double>(shape[2]);
}

/// Elements of a pack of a device.
constexpr index_t device_pack = 32;

/// The options of a run that is only sized: it uses each partition that the iterations would use and makes a
/// checkpoint if it `saves`, but repeats the last partition once only.
recon_options sized_options(recon_options o, bool saves) {
  o.progress = {};
  if (saves) o.checkpoint = [](recon_state const&) {};
  else o.checkpoint = {};
  o.checkpoint_every = 1;
  auto const done = o.first_iteration + (o.resume ? std::ssize(o.resume->record.partition_sequence) : 0);
  o.max_iterations = static_cast<int>(
      std::min<std::ptrdiff_t>(o.max_iterations, std::max(std::ssize(o.partition_sequence), done + 1)));
  return o;
}

}  // namespace

void put_largest_first(std::vector<memory_item>& items) {
  // Not std::stable_sort, which clang finds deprecated in libstdc++ 12. There are some dozen items.
  auto const larger = [](memory_item const& a, memory_item const& b) { return a.bytes > b.bytes; };
  for (auto item = items.begin(); item != items.end(); ++item)
    std::rotate(std::upper_bound(items.begin(), item, *item, larger), item, item + 1);
}

std::vector<memory_item> memory_items(std::vector<instrument::sized_array> const& arrays) {
  std::vector<memory_item> items;
  for (auto const& a : arrays) {
    auto const found = std::find_if(items.begin(), items.end(), [&](auto const& item) { return item.name == a.name; });
    if (found == items.end()) items.push_back({a.name, static_cast<double>(a.bytes)});
    else found->bytes += static_cast<double>(a.bytes);
  }
  put_largest_first(items);
  return items;
}

double total_bytes(std::vector<memory_item> const& items) {
  double sum = 0;
  for (auto const& i : items) sum += i.bytes;
  return sum;
}

std::vector<memory_item> program_memory(exec::host const& host, std::array<index_t, 3> const& sinogram,
                                        std::array<index_t, 3> const& recon, double reading) {
  // Bytes of its stacks that a thread touches, in the program and in the kernel (measured: 22 KiB).
  constexpr double stack_bytes = 32 * 1024;
  auto const tasks = static_cast<double>(std::max(sinogram[0] * sinogram[1], recon[0] * recon[1]));
  return {{"angles and fields", reading + parameter_bytes * static_cast<double>(sinogram[0])},
          {"stacks of threads", stack_bytes * std::min(static_cast<double>(host.threads()), tasks)}};
}

std::vector<memory_item> recon_memory(exec::host const& host, recon_scan const& any, recon_options const& options,
                                      memory_question const& question, double limit) {
  return std::visit([&]<class Geometry>(mbirk::scan<Geometry> const& scan) {
    double const samples = 4 * product(scan.sinogram_shape()), voxels = 4 * product(scan.recon_shape()),
                 pixels = static_cast<double>(scan.full_indices().size());
    std::vector<memory_item> needed{{"sinogram", samples}, {"reconstruction", voxels}};
    if (question.weighted) needed.push_back({"weights", samples});
    if (options.resume) needed.push_back({"state to resume", 2 * voxels + samples});
    // A list takes 4 bytes and a plan 16 bytes per pixel.
    auto const partitions = question.vcd ? static_cast<double>(options.granularity.size()) : 0;
    needed.push_back({"lists of pixels", pixels * (16 + 20 * partitions)});

    if (question.on_device) {
      needed.push_back({"pinned for uploads", pinned_bytes(samples)});
      // A checkpoint or an interruption copies the state.
      if (question.vcd && question.saves) needed.push_back({"copy for a checkpoint", 2 * voxels + samples});
    } else if (total_bytes(needed) <= limit) {
      instrument::size_record size;
      context const ctx{host, instrument::sizing{size}};
      view<float const, 3> const sinogram(nullptr, scan.sinogram_shape());
      view<float, 3> const volume(nullptr, scan.recon_shape());
      auto const weights = question.weighted ? std::optional(sinogram) : std::nullopt;
      if (question.vcd) recon(ctx, scan, sinogram, weights, volume, sized_options(options, question.saves));
      else if constexpr (has_direct_recon<Geometry>) direct_recon(ctx, scan, sinogram, volume);
      for (auto& item : memory_items(size.at_peak)) {
        if (item.name == "weights") item.name = "weights, reordered";
        needed.push_back(std::move(item));
      }
    }
    put_largest_first(needed);
    return needed;
  }, any);
}

double pinned_bytes(double bytes) {
  constexpr double most = 64 << 20;
  return std::min(most, bytes);
}

double padded_on_device(double bytes, index_t detector_rows) {
  return bytes * static_cast<double>(round_up(detector_rows, device_pack)) /
         static_cast<double>(std::max<index_t>(1, detector_rows));
}

double filter_scratch(std::array<index_t, 3> const& sinogram) {
  index_t const length = kernel::fourier::length_of(sinogram[2]);
  if (length <= kernel::block_plan::most_numbers) return 0;
  constexpr double warps = 132 * 32;  // that a large device runs at the same time
  double const tasks =
      static_cast<double>(sinogram[0]) * static_cast<double>(ceil_div(sinogram[1], device_pack)) / 2 + 1;
  return std::min(tasks, warps) * 2 * static_cast<double>(length) * device_pack * sizeof(float);
}

double device_memory(exec::host const& host, recon_scan const& scan, recon_options const& options,
                     memory_question question) {
  question.on_device = false;
  auto of_device = options;
  of_device.resume = nullptr;  // on the host
  auto items = recon_memory(host, scan, of_device, question);
  std::erase_if(items, [](memory_item const& item) { return item.name == "copy for a checkpoint"; });
  auto const sinogram = std::visit([](auto const& s) { return s.sinogram_shape(); }, scan);
  return with_lists * padded_on_device(total_bytes(items), sinogram[1]) + filter_scratch(sinogram);
}

double device_memory_of_slabs(exec::host const& host, parallel_scan const& slab, index_t slices,
                              recon_options const& options, bool weighted) {
  double const bytes = device_memory(host, slab, options, {.weighted = weighted, .saves = false});
  auto const [rows, cols, depth] = slab.recon_shape();
  if (depth >= slices) return bytes;
  // A pack below, and a slice above; the values of a slice on their way.
  index_t const column = round_up(device_pack + depth + 1, device_pack);
  return bytes + 4 * product({rows, cols, column + 1});
}

std::vector<memory_item> memory_of_slabs(exec::host const& host, parallel_scan const& slab, index_t slices,
                                         recon_options const& options, memory_question question, double limit) {
  question.saves = false;
  bool const weighted = question.weighted;
  auto items = recon_memory(host, slab, options, question, limit);
  double const iterating = total_bytes(items);
  for (auto& item : items)
    if (item.name == "sinogram" || item.name == "weights" || item.name == "reconstruction") item.name += " of a slab";
  auto const [rows, cols, depth] = slab.recon_shape();
  if (depth >= slices || iterating > limit) return items;

  double const pixels = 4 * static_cast<double>(rows) * static_cast<double>(cols);
  items.push_back({"boundary slices of all slabs", 2 * static_cast<double>(ceil_div(slices, depth)) * pixels});
  index_t const views = slab.sinogram_shape()[0], channels = slab.sinogram_shape()[2];
  double const arrays = weighted ? 2 : 1;
  double const sampled = arrays * 4 * product({ceil_div(views, mbirk::detail::sampling_step(views)), slices, channels});
  if (question.on_device) {
    items.push_back({"views that sigmas are found from", sampled});
    put_largest_first(items);
    return items;
  }
  // Between a pack below and a slice above.
  double const between = pixels * static_cast<double>(depth + exec::host::backend::lanes + 1);
  items.push_back({"slab between its neighbours", between});

  // While the data are read for the first time, there are also the views that sigmas are found from.
  instrument::size_record size;
  context const ctx{host, instrument::sizing{size}};
  view<float const, 3> const sinogram(nullptr, slab.sinogram_shape());
  mbirk::detail::whole_volume const whole;
  auto const weights = weighted ? std::optional(sinogram) : std::nullopt;
  mbirk::detail::vcd_solver(ctx, whole, slab, sinogram, weights, view<float, 3>(nullptr, slab.recon_shape()), options,
                            "recon")
      .survey_data();
  double const surveying = total_bytes(memory_items(size.at_peak)) + sampled +
                           4 * (arrays * product(slab.sinogram_shape()) + product(slab.recon_shape()));
  if (double const more = surveying - iterating - between; more > 0)
    items.push_back({"more while sigmas are found", more});
  put_largest_first(items);
  return items;
}

}  // namespace mbirk::program
