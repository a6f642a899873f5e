#include "commands/recon_bands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <limits>
#include <utility>

#include "commands/interrupt.hpp"
#include "commands/progress.hpp"
#include "input/direct_scan.hpp"
#include "machine/process_status.hpp"
#include "mbirk/core/element_count.hpp"
#include "mbirk/instrument/sizing.hpp"
#include "mbirk/projector/cone.hpp"
#include "mbirk/recon/fdk_band.hpp"
#include "output/volume_stream.hpp"

namespace mbirk::program {
namespace {

static_assert(fdk_band_unit % band_unit == 0);

cone_scan const& scan_of(geometry_file const& g) { return std::get<cone_scan>(g.scan); }

/// A block of views takes one part in so many of the memory. There are three at a time: one that is read, one that is
/// reconstructed, and its filtered copy.
constexpr double block_share = 16;

/// Even, as fdk_band wants it.
index_t views_of_block(cone_scan const& s, double limit) {
  auto const [views, rows, channels] = s.sinogram_shape();
  double const view_bytes = 4 * static_cast<double>(rows) * static_cast<double>(channels);
  double const most = limit / block_share / std::max(1.0, view_bytes);
  auto const fitting = static_cast<index_t>(std::clamp(most, 2.0, static_cast<double>(std::max<index_t>(2, views))));
  return fitting - fitting % 2;
}

band_plan plan_of(exec::host const& host, geometry_file const& g, std::vector<memory_item> const& other, bool on_device,
                  index_t rows, index_t block) {
  auto const& s = scan_of(g);
  auto const [views, det_rows, channels] = s.sinogram_shape();
  auto const [all_rows, cols, slices] = s.recon_shape();
  band_plan plan{std::min(rows, all_rows), std::min(block, views), {}, 0};
  instrument::size_record size;
  context const ctx{host, instrument::sizing{size}};
  fdk_band band(ctx, s, 0, view<float, 3>(nullptr, {plan.rows, cols, slices}));
  band.add(view<float const, 3>(nullptr, {plan.views, det_rows, channels}));
  auto working = memory_items(size.at_peak);
  auto const bytes = [](double a, index_t b, index_t c) {
    return 4 * a * static_cast<double>(b) * static_cast<double>(c);
  };
  double const block_bytes = bytes(static_cast<double>(plan.views), det_rows, channels),
               band_bytes = bytes(static_cast<double>(plan.rows), cols, slices),
               pixels_of_band = static_cast<double>(plan.rows) * static_cast<double>(cols),
               list_bytes = 24 * pixels_of_band + bytes(4, all_rows, cols);
  if (on_device) {
    // A block is projected back into an array of its own.
    double const arrays = padded_on_device(total_bytes(working), det_rows) + block_bytes + 2 * band_bytes + list_bytes;
    plan.device = with_lists * arrays + filter_scratch({plan.views, det_rows, channels});
    plan.memory.push_back({"pinned for uploads", pinned_bytes(block_bytes)});
  } else {
    plan.memory = std::move(working);
  }
  plan.memory.push_back({"blocks of views", 2 * block_bytes});
  plan.memory.push_back({"reconstruction of a band", band_bytes});
  plan.memory.push_back({"lists of pixels", list_bytes});
  plan.memory.insert(plan.memory.end(), other.begin(), other.end());
  plan.memory.push_back({"program itself", required_resident_bytes()});
  put_largest_first(plan.memory);
  return plan;
}

/// Reads and corrects blocks of views into two buffers, one of which is read by a thread of its own.
class block_reader {
 public:
  block_reader(recon_command const& o, measurement_source const& source, direct_weights const& weights, index_t most)
      : o_(o), source_(source), weights_(weights), most_(most) {
    auto const [views, rows, channels] = source.shape();
    for (auto& block : blocks_) block.resize(element_count({std::min(most, views), rows, channels}));
  }

  std::size_t bytes() const noexcept { return 2 * blocks_[0].size() * sizeof(float); }
  void start(index_t first) {
    count_ = std::min(most_, source_.shape()[0] - first);
    reading_ = std::async(std::launch::async, [this, first] {
      stop_if_asked();
      exec::host const reader(1);  // the others reconstruct
      return source_.read({reader, {}}, first, count_, blocks_[0].data());
    });
    first_ = first;
  }
  /// Waits until the block is read.
  void wait() const { reading_.wait(); }
  repair_count finish() { return reading_.get(); }
  /// The block that was read last. The next one may be started before it is used.
  view<float const, 3> take(correction_context const& ctx, std::vector<std::string>& corrected) {
    std::swap(blocks_[0], blocks_[1]);
    auto const [views, rows, channels] = source_.shape();
    view<float, 3> const y(blocks_[1].data(), {count_, rows, channels});
    corrected = correct(ctx, o_.scan.corrections, y, {});
    weights_.apply(first_, y);
    return y;
  }

 private:
  recon_command const& o_;
  measurement_source const& source_;
  direct_weights const& weights_;
  index_t most_, first_ = 0, count_ = 0;
  std::vector<float> blocks_[2];
  std::future<repair_count> reading_;  // last: its destructor waits for the thread, which uses the others
};

}  // namespace

bool works_in_bands(recon_command const& o) {
  auto const& c = o.scan.corrections;
  return o.method == "fdk" && !c.needs_rows() && !c.needs_views() && takes_rows(o.out);
}

bool works_in_bands(recon_command const& o, geometry_file const& g) {
  auto const* p = std::get_if<cone_parameters>(&g.parameters);
  return works_in_bands(o) && p && !g.fan && coverage_of(*p) != scan_coverage::one_sided;
}

band_plan plan_bands(exec::host const& host, geometry_file const& g, std::vector<memory_item> const& other,
                     memory_limits const& limits) {
  double const of_device = limits.device.value_or(std::numeric_limits<double>::infinity());
  index_t const block = views_of_block(scan_of(g), std::min(limits.host, of_device));
  auto const plan = plan_of(host, g, other, limits.on_device, fdk_band_unit, block);
  double const least = total_bytes(plan.memory);
  if (!(least < limits.host && plan.device < of_device)) return plan;
  auto const [rows, cols, slices] = scan_of(g).recon_shape();
  double const each = std::max(4.0 * fdk_band_unit * static_cast<double>(cols) * static_cast<double>(slices), 1.0),
               more = std::min(limits.host - least, (of_device - plan.device) / 2);
  auto const whole = static_cast<double>(ceil_div(rows, fdk_band_unit));
  auto const units = static_cast<index_t>(std::min(whole, 1 + more / each));
  // Not only the volume grows with the rows: the lists of their pixels do, too.
  for (index_t n = units; n > 1; --n) {
    auto larger = plan_of(host, g, other, limits.on_device, n * fdk_band_unit, block);
    if (total_bytes(larger.memory) <= limits.host && larger.device <= of_device) return larger;
  }
  return plan;
}

partial_result recon_in_bands(recon_context const& ctx, reconstructor const& on, recon_command const& o,
                              measurement_source const& source, geometry_file const& g, band_plan const& plan,
                              run_watch& watch) {
  auto const& s = scan_of(g);
  auto const [rows, cols, slices] = s.recon_shape();
  index_t const views = source.shape()[0];
  auto const weights = direct_weights_of(std::get<cone_parameters>(g.parameters));
  std::vector<float> volume(element_count({plan.rows, cols, slices}));
  block_reader reader(o, source, weights, plan.views);
  held_arrays held(watch.memory());
  held.add("blocks of views", reader.bytes());
  held.add("reconstruction of a band", volume.size() * sizeof(float));
  auto const file = open_result(o, g, 0);

  partial_result result;
  result.notes = weights.notes;
  progress bar(static_cast<std::size_t>(ceil_div(rows, plan.rows) * views), o.quiet);
  std::size_t done = 0;
  reader.start(0);
  for (index_t first = 0; first < rows; first += plan.rows) {
    watch.step(fmt::format("rows from {} of {}", first, rows));
    view<float, 3> const x(volume.data(), {std::min(plan.rows, rows - first), cols, slices});
    auto const band = on.fdk_in_bands(s, first, x);
    bool more = true;
    while (band->views() < views) {
      auto const repaired = reader.finish();
      if (first == 0) result.repaired += repaired;
      auto const y = reader.take({ctx.exec, {}}, result.corrected);
      bar.at(done, "views");
      done += static_cast<std::size_t>(y.extent(0));
      index_t const next = band->views() + y.extent(0);
      more = next < views || first + plan.rows < rows;
      if (more) reader.start(next % views);
      band->add(y);
      stop_if_asked();
    }
    auto const warnings = band->finish();
    if (first == 0) result.notes.insert(result.notes.end(), warnings.begin(), warnings.end());
    // HDF5 must be used by one thread at a time, so nothing is written while views are read.
    if (more) reader.wait();
    file->add_rows(x);
  }
  bar.clear();
  watch.step("writing");
  file->finish(text_of(o, g, recon_log{}, source.description()));
  return result;
}

}  // namespace mbirk::program
