// Reconstructions run by `mbirk recon` for any scan, declared here so that the library's templates are compiled once.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mbirk/context.hpp"
#include "mbirk/distributed/slab_arrays.hpp"
#include "mbirk/exec/host.hpp"
#include "mbirk/geometry/list.hpp"
#include "mbirk/instrument/any.hpp"
#include "mbirk/recon/options.hpp"

namespace mbirk::program {

using recon_scan = scan_variant;
/// Long work is visible to `mbirk top` through this instrumentation.
using recon_context = context<exec::host, instrument::any>;

/// FDK of some rows of a reconstruction from blocks of views, see mbirk::fdk_band.
class band_reconstructor {
 public:
  virtual ~band_reconstructor() = default;
  /// Number of views that have been added.
  virtual index_t views() const = 0;
  /// @throws mbirk::error
  virtual void add(view<float const, 3> sinogram) = 0;
  /// The band is complete only after this. Returns warnings. @throws mbirk::error
  virtual std::vector<std::string> finish() = 0;
};

/// Reconstructs arrays of the host: there, or on a device, to which they are copied.
class reconstructor {
 public:
  virtual ~reconstructor() = default;
  /// Filtered back projection (parallel beam) or FDK (cone beam). Returns warnings.
  /// @throws mbirk::error
  virtual std::vector<std::string> direct(recon_scan const& scan, view<float const, 3> sinogram,
                                          view<float, 3> recon) const = 0;
  /// Filtered back projection of a fan beam.
  /// @throws mbirk::error
  virtual void fan(cone_parameters const& p, view<float const, 3> sinogram, view<float, 3> recon) const = 0;
  /// Iterative reconstruction, see mbirk::recon.
  /// @throws mbirk::error
  virtual recon_log vcd(recon_scan const& scan, view<float const, 3> sinogram,
                        std::optional<view<float const, 3>> weights, view<float, 3> recon,
                        recon_options const& options) const = 0;
  /// Iterative reconstruction in parallel beam, slab by slab, see distributed::recon_in_slabs.
  /// @throws mbirk::error
  virtual recon_log vcd_in_slabs(parallel_parameters const& whole, distributed::slab_division const& division,
                                 distributed::slab_arrays const& arrays, recon_options const& options) const = 0;
  /// Begins a band of FDK. @param recon  rows from first_row on, dense; it and the scan must outlive the result
  /// @throws mbirk::error
  virtual std::unique_ptr<band_reconstructor> fdk_in_bands(cone_scan const& scan, index_t first_row,
                                                           view<float, 3> recon) const = 0;
  /// Bytes that are free in the memory of a device; nothing where the only limit is the memory of the host.
  virtual std::optional<double> free_device_memory() const { return {}; }
};
/// On the host. @param ctx  must outlive the result
std::unique_ptr<reconstructor> host_reconstructor(recon_context const& ctx);

/// Iterative reconstruction, see mbirk::recon.
/// @throws mbirk::error
recon_log vcd_recon(recon_context const& ctx, recon_scan const& scan, view<float const, 3> sinogram,
                    std::optional<view<float const, 3>> weights, view<float, 3> recon, recon_options const& options);

/// Names of weights accepted by sinogram_weights.
std::vector<std::string> weight_names();
/// Computes weights of a sinogram, with a name from weight_names.
/// @throws mbirk::error
void sinogram_weights(recon_context const& ctx, std::string const& type, view<float const, 3> sinogram,
                      view<float, 3> weights);

}  // namespace mbirk::program
