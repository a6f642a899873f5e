#include "output/xplane_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <span>

#include "mbirk/io/output_file.hpp"
#include "mbirk/profile/xplane.hpp"

namespace mbirk::program {
namespace {

/// Host name, the part of the file name that viewers show.
std::string host_name() {
  char text[256] = {};
  if (gethostname(text, sizeof text - 1) != 0 || text[0] == '\0') return "localhost";
  std::string name = text;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

/// Sets the shape of a buffer to that of an array with the same number of bytes.
void take_shape(profile::program_buffer& to, any_array const& from) {
  auto const& shape = shape_of(from);
  std::uint64_t bytes = 4;  // float32 and int32
  for (auto const n : shape) bytes *= static_cast<std::uint64_t>(n);
  if (bytes == to.bytes && (to.type == "f32" || to.type == "i32")) to.shape.assign(shape.begin(), shape.end());
}

}  // namespace

profile::machine_specs machine_of(chosen_policy const& policy, ceilings const& measured) {
  profile::machine_specs m{.name = cpu_name(), .threads = measured.threads};
  m.peak_tflops = 2 * measured.fma.best * 1e-12;
  m.memory_gbs = std::max(measured.levels.back().read.best, measured.triad.best) * 1e-9;
  for (auto const& level : measured.levels) m.cache_gbs = std::max(m.cache_gbs, level.read.best * 1e-9);
  m.cache_bytes = static_cast<std::uint64_t>(measured.last_cache_bytes);
  if (!policy.has_blocks()) return m;
  m.backend = profile::backend::emulated;
  m.name = "emulated on " + m.name;
  if (auto const* d = policy.device()) {
    m = {.name = d->device,
         .peak_tflops = d->peak_tflops,
         .memory_gbs = d->memory_gbs,
         .backend = profile::backend::cuda,
         .memory_bytes = d->memory_bytes};
    m.capability_major = d->major;
    m.capability_minor = d->minor;
    m.multiprocessors = d->multiprocessors;
    m.clock_khz = d->clock_khz;
  }
  return m;
}

profile::program traced_program(instrument::operation_record const& counts, std::string name, operands const& data,
                                std::int64_t from, std::int64_t to) {
  auto p = profile::program_of(counts, std::move(name));
  p.from = from;
  p.to = to;
  for (auto& b : p.buffers) {
    if (b.role == array_role::output) take_shape(b, data.output);
    else if (auto const found = data.inputs.find(b.name); found != data.inputs.end() && b.role == array_role::argument)
      take_shape(b, found->second);
  }
  return p;
}

void write_xplane(std::filesystem::path const& folder, std::string const& session,
                  instrument::trace_buffer const& trace, std::vector<profile::program> const& programs,
                  profile::machine_specs const& machine) {
  auto const now =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  profile::xspace_options const options{
      .host = host_name(), .unix_nanoseconds = now - trace.now(), .longest_idle = 100'000};
  auto const bytes = profile::to_xspace(trace, programs, machine, options);
  auto const below = folder / "plugins" / "profile" / session;
  std::error_code failed;
  std::filesystem::create_directories(below, failed);
  require<io_error>(!failed, [&] { return below.string() + ": cannot be created: " + failed.message(); });
  output_file out(below / (options.host + ".xplane.pb"));
  out.write(bytes);
  out.commit();
}

}  // namespace mbirk::program
