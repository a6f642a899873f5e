// Time and energy of an operation on a GPU: measured or published where the run has it, else predicted for mbirk's
// kernels, else estimated from counts.
#pragma once

#include <optional>
#include <string>

#include "fpga/candidate_input.hpp"
#include "gpu/device_table.hpp"

namespace mbirk::program {

/// An implementation that an FPGA has to beat: the host or a GPU.
struct opponent_time {
  std::string device, kind;         ///< kind: "host" or "gpu"
  profile::fpga::interval seconds;  ///< kernels with their launches
  double transfer_seconds = 0;      ///< arguments and results once over the link
  double watts = 0, idle_watts = 0;
  double attainable = 0;                ///< seconds of a better implementation
  std::string source = {}, bound = {};  ///< "measured", "predicted", "published", "estimated from counts"
  bool plausible = true;
  std::string note = {}, disturbed = {};

  double joules() const { return watts * seconds.nominal + idle_watts * transfer_seconds; }
};
json to_json(opponent_time const& t);

/// Name of the source of a time that follows from counts and a data sheet alone.
inline constexpr char const* estimated = "estimated from counts";
/// Seconds of a GPU for counted work, by arithmetic on its data sheet.
opponent_time estimated_on(profile::fpga::device const& gpu, profile::fpga::counted_work const& w);

/// "gpu_times" of a run: [{"operation", "size", "device", "seconds", "source", "from"}].
std::optional<opponent_time> known_time(json_field const& root, std::string const& operation, index_t size,
                                        profile::fpga::device const& gpu, profile::fpga::counted_work const& w);

/// Seconds of mbirk's kernels for an operation of the profile, predicted from their code: gpu/prediction.hpp. Empty for
/// devices and operations that are not in its tables.
std::optional<opponent_time> predicted_on(std::string const& operation, index_t size,
                                          profile::fpga::device const& gpu, profile::fpga::counted_work const& w);

/// The numbers of a GPU of the table of predictions that a comparison uses.
profile::fpga::device device_of_table(gpu::device const& known);

/// The best that is known of an operation on a GPU.
opponent_time gpu_time_of(json_field const& root, std::string const& operation, index_t size,
                          profile::fpga::device const& gpu, profile::fpga::counted_work const& w);

}  // namespace mbirk::program
