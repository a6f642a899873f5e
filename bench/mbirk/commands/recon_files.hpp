// The files of mbirk recon: the names of what it writes, checked before hours are spent, and the writing at its end.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "commands/call_options.hpp"
#include "commands/run_watch.hpp"
#include "commands/scan_options.hpp"
#include "input/geometry_file.hpp"
#include "mbirk/io/npy.hpp"

namespace mbirk::program {

struct recon_command : common_options {
  scan_call scan;
  std::string out, method = "vcd", weights = "unweighted", checkpoint, resume, save_parameters;
  recon_call_options call;
  bool seed_given = false;
  std::optional<double> sharpness, snr_db, sigma_y, sigma_x;
  std::optional<std::uint64_t> memory_limit;
  std::optional<int> slab_sweeps;
  bool positivity = false, no_png = false;
  int compress = 0;
  std::optional<std::array<double, 2>> out_window;
  std::vector<std::string> only_vcd;  ///< options given that only vcd uses
  std::optional<std::array<double, 2>> png_window;
  monitor_options monitor;
};

std::string checkpoint_name(recon_command const& o);
/// The file with the slices that belong to the checkpoint of a reconstruction in slabs.
std::string slices_name(std::string const& checkpoint);

/// Output files must be writable, and must differ from all input files.
void check_out(recon_command const& o, geometry_file const& g, scan_description const& scan);

/// Metadata of a finished reconstruction as names and texts, like MBIRJAX stores them.
/// @param data  says what was read.
std::vector<std::pair<std::string, std::string>> text_of(recon_command const& o, geometry_file const& g,
                                                         recon_log const& record, std::string const& data);

/// Writes OUT and, because an npy file has room for an array only, the record as JSON next to it.
void write_result(recon_command const& o, geometry_file const& g, npy_array<float> const& recon,
                  std::vector<std::pair<std::string, std::string>> const& record);

/// Writes the same files in parts.
class result_stream {
 public:
  virtual ~result_stream() = default;
  /// Writes the next slices.
  virtual void add(view<float const, 3> slab) = 0;
  /// Writes the next rows, dense.
  virtual void add_rows(view<float const, 3> band) = 0;
  virtual void finish(std::vector<std::pair<std::string, std::string>> const& record) = 0;
};
/// @param slab  slices of all slabs but the last; 0: bands
std::unique_ptr<result_stream> open_result(recon_command const& o, geometry_file const& g, index_t slab);

}  // namespace mbirk::program
