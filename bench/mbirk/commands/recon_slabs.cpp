#include "commands/recon_slabs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <future>

#include "commands/interrupt.hpp"
#include "commands/progress.hpp"
#include "input/direct_scan.hpp"
#include "machine/process_status.hpp"
#include "mbirk/core/element_count.hpp"

namespace mbirk::program {
namespace {

index_t slices_of(geometry_file const& g) {
  return std::visit([](auto const& s) { return s.recon_shape()[2]; }, g.scan);
}

/// Elements of the arrays of a slab.
struct slab_sizes {
  std::size_t sinogram, image;

  /// Whether a slab is written while the next one is reconstructed: where its image fits into the array of a sinogram,
  /// as the two exchange their arrays, and is large enough for the time of writing to matter.
  bool writes_meanwhile() const noexcept { return image <= sinogram && 2 * image >= sinogram; }
  std::size_t room_for_image() const noexcept { return writes_meanwhile() ? sinogram : image; }
};
slab_sizes sizes_of(recon_scan const& slab) {
  return std::visit([](auto const& s) {
    return slab_sizes{element_count(s.sinogram_shape()), element_count(s.recon_shape())};
  }, slab);
}

slab_plan plan_of(exec::host const& host, geometry_file const& g, memory_limits const& limits,
                  std::vector<memory_item> const& other, index_t slices) {
  auto const part = slab_of(g, slices);
  slab_plan plan{slices, recon_memory(host, part.scan, {}, {.vcd = false, .on_device = limits.on_device}, limits.host)};
  for (auto& item : plan.memory) {
    if (item.name == "sinogram")
      item = {"sinograms of two slabs", 2 * item.bytes};
    else if (item.name == "reconstruction")
      item = {"reconstruction of a slab", sizeof(float) * static_cast<double>(sizes_of(part.scan).room_for_image())};
  }
  add_program_memory(plan.memory, other);
  return plan;
}

}  // namespace

geometry_file slab_of(geometry_file const& g, index_t slices) {
  auto part = g;
  auto p = std::get<parallel_parameters>(g.parameters);
  p.recon_shape = std::visit([](auto const& s) { return s.recon_shape(); }, g.scan);
  p.sinogram_shape[1] = slices;
  (*p.recon_shape)[2] = slices;
  part.scan = parallel_scan(p);
  part.parameters = std::move(p);
  return part;
}

repair_count read_slab(measurement_source const& source, exec::host const& reader, index_t first, index_t count,
                       float* to, std::function<void(index_t)> const& done) {
  auto const [views, rows, channels] = source.shape();
  index_t const step = std::clamp<index_t>(block_samples / (count * channels), 1, views);
  repair_count repaired;
  for (index_t v = 0; v < views; v += step) {
    if (done) done(v);
    stop_if_asked();
    repaired += source.read_rows({reader, {}}, v, std::min(step, views - v), first, count, to + v * count * channels);
  }
  return repaired;
}

void add_program_memory(std::vector<memory_item>& items, std::vector<memory_item> const& other) {
  items.insert(items.end(), other.begin(), other.end());
  items.push_back({"program itself", required_resident_bytes()});
  // With the rows beside it from which dead pixels are repaired.
  items.push_back({"a block as it is read", 5.0 * static_cast<double>(block_samples)});
  put_largest_first(items);
}

bool works_in_slabs(recon_command const& o) {
  return o.method == "fbp" && !o.scan.corrections.needs_rows();
}

bool works_in_slabs(recon_command const& o, geometry_file const& g) {
  return works_in_slabs(o) && std::holds_alternative<parallel_parameters>(g.parameters);
}

slab_plan plan_slabs(exec::host const& host, geometry_file const& g, std::vector<memory_item> const& other,
                     memory_limits const& limits) {
  auto const plan = [&](index_t slices) { return plan_of(host, g, limits, other, slices); };
  return largest_slabs(slices_of(g), limits, plan, [&](index_t slices) {
    return device_memory(host, slab_of(g, slices).scan, {}, {.vcd = false});
  });
}

partial_result recon_in_slabs(recon_context const& ctx, reconstructor const& on, recon_command const& o,
                              measurement_source const& source, geometry_file const& g, index_t slices,
                              run_watch& watch) {
  auto const [views, rows, channels] = source.shape();
  auto part = slab_of(g, std::min(slices, rows));
  auto const shape = std::visit([](auto const& s) { return s.recon_shape(); }, part.scan);
  auto const sizes = sizes_of(part.scan);
  bool const meanwhile = sizes.writes_meanwhile();
  std::vector<float> measured(sizes.sinogram), volume(sizes.room_for_image()), in_transit(sizes.sinogram);
  held_arrays held(watch.memory());
  held.add("sinograms of two slabs", 2 * measured.size() * sizeof(float));
  held.add("reconstruction of a slab", volume.size() * sizeof(float));
  auto const file = open_result(o, g, slices);
  auto const count_at = [&](index_t first) { return std::min(shape[2], rows - first); };
  auto const read = [&](index_t first, std::vector<float>& to) {
    exec::host const reader(1);  // the others reconstruct
    return read_slab(source, reader, first, count_at(first), to.data());
  };
  auto const write = [&](index_t first, std::vector<float> const& from) {
    file->add(view<float const, 3>(from.data(), {shape[0], shape[1], count_at(first)}));
  };

  partial_result result;
  progress bar(static_cast<std::size_t>(rows), o.quiet);
  result.repaired = read(0, measured);
  for (index_t first = 0; first < rows; first += slices) {
    bar.at(static_cast<std::size_t>(first), "slices");
    watch.step(fmt::format("slices from {} of {}", first, rows));
    index_t const count = count_at(first);
    if (count < shape[2]) part = slab_of(g, count);
    // One thread does both, because HDF5 must be used by one at a time.
    auto moving = std::async(std::launch::async, [&, first] {
      if (meanwhile && first > 0) write(first - slices, in_transit);
      return first + slices < rows ? read(first + slices, in_transit) : repair_count{};
    });
    view<float, 3> const y(measured.data(), {views, count, channels}), x(volume.data(), {shape[0], shape[1], count});
    auto corrected = correct({ctx.exec, {}}, o.scan.corrections, y,
                             std::visit([](auto const& s) { return angles_of(s); }, part.scan));
    auto notes = direct_scan_recon(on, part, y, x);
    if (first == 0) {
      result.corrected = std::move(corrected);
      result.notes = std::move(notes);
    }
    result.repaired += moving.get();
    stop_if_asked();
    std::swap(measured, in_transit);
    // The next slab is reconstructed into the array that held the sinogram of this one.
    if (meanwhile) std::swap(volume, in_transit);
    else write(first, volume);
  }
  bar.clear();
  watch.step("writing");
  if (meanwhile) write((rows - 1) / slices * slices, in_transit);
  file->finish(text_of(o, g, recon_log{}, source.description()));
  return result;
}

}  // namespace mbirk::program
