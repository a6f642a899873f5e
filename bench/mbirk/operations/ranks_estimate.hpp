// A model of a reconstruction by the ranks of mbirk-mpi: time, traffic and memory, without running it.
#pragma once

#include <string>

#include "operations/recon_run.hpp"

namespace mbirk::program {

/// A network that carries the messages of ranks.
struct network {
  double latency = 2e-6;      ///< seconds
  double bandwidth = 12.5e9;  ///< bytes a second that a rank sends
};
/// @param text  "latency in microseconds,bandwidth in GB/s"
/// @throws parameter_error
network read_network(std::string const& text);

/// An iteration of 128 subsets.
struct ranks_estimate {
  int ranks = 1;
  int slabs = 1, groups = 1;              ///< of slices; of views, in each slab
  double compute = 0, communication = 0;  ///< seconds
  double alone = 0;                       ///< seconds of a single rank
  double bytes = 0, latencies = 0;        ///< that a rank sends, and waits for one after the other
  double memory = 0;                      ///< bytes of the rank that needs most, to write HDF5 or npy; 0: not modelled
  double seconds() const noexcept { return compute + communication; }
  double efficiency() const noexcept { return alone / (ranks * seconds()); }
};
/// @param threads  of a rank
/// @throws parameter_error for geometries and numbers of ranks that mbirk-mpi refuses
ranks_estimate estimate_ranks(recon_scan const& scan, int ranks, int threads, network const& carrier,
                              exec::host const& host);
/// The fastest way to share out slabs of slices and, in each slab, views. mbirk-mpi shares out only slices in parallel
/// beam and only views in cone beam, so this says what more would give. Memory is not modelled.
/// @throws parameter_error as above, and where no such way is left
ranks_estimate estimate_slabs_and_views(recon_scan const& scan, int ranks, int threads, network const& carrier);

}  // namespace mbirk::program
