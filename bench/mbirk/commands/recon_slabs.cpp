#include "commands/recon_slabs.hpp"

#include <fmt/format.h>

#include <algorithm>
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

slab_plan plan_of(exec::host const& host, geometry_file const& g, memory_limits const& limits,
                  std::vector<memory_item> const& other, index_t slices) {
  auto const part = slab_of(g, slices);
  slab_plan plan{slices, recon_memory(host, part.scan, {}, {.vcd = false, .on_device = limits.on_device}, limits.host)};
  for (auto& item : plan.memory) {
    if (item.name == "sinogram") item = {"sinograms of two slabs", 2 * item.bytes};
    else if (item.name == "reconstruction") item.name = "reconstruction of a slab";
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
  std::vector<float> now(element_count({views, shape[2], channels})), next(now.size()), volume(element_count(shape));
  held_arrays held(watch.memory());
  held.add("sinograms of two slabs", 2 * now.size() * sizeof(float));
  held.add("reconstruction of a slab", volume.size() * sizeof(float));
  auto const file = open_result(o, g, slices);
  auto const read = [&](index_t first, std::vector<float>& to) {
    exec::host const reader(1);  // the others reconstruct
    return read_slab(source, reader, first, std::min(shape[2], rows - first), to.data());
  };

  partial_result result;
  progress bar(static_cast<std::size_t>(rows), o.quiet);
  result.repaired = read(0, now);
  for (index_t first = 0; first < rows; first += slices) {
    bar.at(static_cast<std::size_t>(first), "slices");
    watch.step(fmt::format("slices from {} of {}", first, rows));
    index_t const count = std::min(slices, rows - first);
    if (count < shape[2]) part = slab_of(g, count);
    std::future<repair_count> reading;
    if (first + slices < rows)
      reading = std::async(std::launch::async, read, first + slices, std::ref(next));
    view<float, 3> const y(now.data(), {views, count, channels}), x(volume.data(), {shape[0], shape[1], count});
    auto corrected = correct({ctx.exec, {}}, o.scan.corrections, y,
                             std::visit([](auto const& s) { return angles_of(s); }, part.scan));
    auto notes = direct_scan_recon(on, part, y, x);
    if (first == 0) {
      result.corrected = std::move(corrected);
      result.notes = std::move(notes);
    }
    // HDF5 must be used by one thread at a time, so nothing is written while a slab is read.
    if (reading.valid()) result.repaired += reading.get();
    stop_if_asked();
    file->add(x);
    std::swap(now, next);
  }
  bar.clear();
  watch.step("writing");
  file->finish(text_of(o, g, recon_log{}, source.description()));
  return result;
}

}  // namespace mbirk::program
