// The text that a reconstruction prints at its end, and the file that its errors name.
#pragma once

#include <array>
#include <chrono>
#include <string>
#include <typeinfo>
#include <vector>

#include "commands/recon_files.hpp"
#include "input/measurement.hpp"
#include "operations/recon_run.hpp"

namespace mbirk::program {

/// Names the file in errors about values, which the library cannot know.
template <class F> auto naming(std::string const& file, F const& f) {
  try {
    return f();
  } catch (parameter_error const& e) {
    throw parameter_error(file + ": " + e.what(), e.where);
  } catch (error const& e) {
    if (typeid(e) != typeid(error)) throw;  // interrupted, out of memory, no threads, files that cannot be written
    throw error(file + ": " + e.what(), e.where);
  }
}

std::array<index_t, 3> recon_shape_of(recon_scan const& scan);

/// A note about a checkpoint that has no checksums of the data.
std::string note_without_sums(std::string const& checkpoint);

/// One line about the volume, since `start`, unless quiet.
void print_result(recon_command const& o, recon_scan const& scan, recon_log const& record,
                  std::chrono::steady_clock::time_point start);
void print_notes(std::vector<std::string> notes, recon_log const& record, repair_count const& repaired);

}  // namespace mbirk::program
