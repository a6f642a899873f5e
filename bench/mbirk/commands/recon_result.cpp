#include "commands/recon_result.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <variant>

#include "commands/iteration_progress.hpp"
#include "mbirk/io/printable.hpp"
#include "process/streams.hpp"

namespace mbirk::program {

std::array<index_t, 3> recon_shape_of(recon_scan const& scan) {
  return std::visit([](auto const& s) { return s.recon_shape(); }, scan);
}

std::string note_without_sums(std::string const& checkpoint) {
  return checkpoint +
         ": has no checksums of the data, because an older mbirk wrote it; whether they are the same data was not "
         "checked";
}

void print_result(recon_command const& o, recon_scan const& scan, recon_log const& record,
                  std::chrono::steady_clock::time_point start) {
  if (o.quiet) return;
  say("{}: {} {} in {}", o.out, o.method, mbirk::detail::shape_text(recon_shape_of(scan)),
      duration_text(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()));
  if (record.num_iterations > 0)
    say(", {} iterations, last change {:.3g} %", record.num_iterations, record.stop_threshold_change_pct.back());
  say("\n");
  std::fflush(stdout);
}

void print_notes(std::vector<std::string> notes, recon_log const& record, repair_count const& repaired) {
  notes.insert(notes.end(), record.warnings.begin(), record.warnings.end());
  if (repaired.repaired > 0)
    notes.push_back(fmt::format("{} dead pixels were replaced by the mean of their neighbours", repaired.repaired));
  if (repaired.lost > 0)
    notes.push_back(
        fmt::format("{} dead pixels have no good ones within three pixels and count as no attenuation", repaired.lost));
  for (auto const& text : notes) note("{}", printable(text));
}

}  // namespace mbirk::program
