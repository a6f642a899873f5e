// The reconstructions of mbirk-mpi, on the host and on the devices of ranks.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mbirk/distributed/counted.hpp"
#include "mbirk/distributed/denoise.hpp"
#include "mbirk/distributed/mpi.hpp"
#include "mbirk/distributed/slices.hpp"
#include "mbirk/distributed/traced.hpp"
#include "mbirk/distributed/views.hpp"
#include "mbirk/instrument/any.hpp"
#include "mbirk/instrument/both.hpp"
#include "mbirk/instrument/live.hpp"
#include "mbirk/instrument/tracing.hpp"
#include "operations/recon_run.hpp"

namespace mbirk::program {

/// The messages of reconstructions.
using rank_messages = distributed::traced<distributed::counted<distributed::mpi>>;
/// The instrumentation of a rank: its live memory and, with a trace, its events.
struct rank_notes {
  instrument::live_sites& memory;
  instrument::trace_buffer* trace = nullptr;

  /// On the host or on a device.
  template <class Exec> instrument::any on(Exec const& exec) const {
    instrument::live const live(memory);
    if (!trace) return instrument::any(exec, live);
    using traced_too = instrument::both<instrument::live, instrument::tracing>;
    return instrument::any(exec, traced_too{live, instrument::tracing(*trace)});
  }
};

/// Is told when an operation begins and ends, without copies to and from a device.
struct call_watch {
  std::function<void()> begins, ends;
};

/// Reconstructs a rank's part of arrays of the host, with the other ranks: there, or on a device, to which they are
/// copied. Every function is collective.
class rank_reconstructor {
 public:
  virtual ~rank_reconstructor() = default;
  /// See distributed::recon.
  virtual recon_log slab(distributed::parallel_slab const& slab, view<float const, 3> sinogram,
                         std::optional<view<float const, 3>> weights, view<float, 3> image,
                         recon_options const& options) const = 0;
  /// See distributed::recon in cone beam.
  virtual recon_log views(distributed::cone_views const& part, view<float const, 3> sinogram,
                          std::optional<view<float const, 3>> weights, view<float, 3> image,
                          recon_options const& options) const = 0;
  /// See distributed::prox_map.
  virtual recon_log prox_slab(distributed::parallel_slab const& slab, view<float const, 3> prox_input,
                              view<float const, 3> sinogram, view<float, 3> image,
                              recon_options const& options) const = 0;
  /// See distributed::prox_map in cone beam.
  virtual recon_log prox_views(distributed::cone_views const& part, view<float const, 3> prox_input,
                               view<float const, 3> sinogram, view<float, 3> image,
                               recon_options const& options) const = 0;
  /// See distributed::fdk_recon.
  virtual void fdk(distributed::cone_views const& part, view<float const, 3> sinogram, view<float, 3> image,
                   std::vector<std::string>& warnings) const = 0;
  /// See distributed::qggmrf_denoise.
  virtual void denoise(distributed::image_rows const& part, view<float const, 3> image, denoise_options const& options,
                       view<float, 3> output) const = 0;
  /// Time of the last call, without copies to and from a device.
  double seconds() const noexcept { return seconds_; }
  /// @param watch  is told of the calls that follow; null: none is
  void set_watch(call_watch const* watch) noexcept { watch_ = watch; }

 protected:
  /// Calls an operation. @param finish  waits for a device
  template <class Operation, class Finish> void time(Operation const& operation, Finish const& finish) const {
    finish();
    if (watch_) watch_->begins();
    auto const begin = std::chrono::steady_clock::now();
    operation();
    finish();
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (watch_) watch_->ends();
  }

 private:
  mutable double seconds_ = 0;
  call_watch const* watch_ = nullptr;
};

/// On the host. @param ctx, ranks  must outlive the result
std::unique_ptr<rank_reconstructor> reconstruct_on_host(recon_context const& ctx, rank_messages const& ranks);

/// How a program reconstructs on the device of a rank; null in a program without devices.
struct rank_devices {
  /// @param threads  of this rank, for an emulated device
  using factory = std::unique_ptr<rank_reconstructor>(rank_messages const& ranks, rank_notes const& notes,
                                                      int threads);
  factory *emulated = nullptr, *cuda = nullptr;
  /// Makes one of the devices of a machine that of this rank. @param rank, ranks  on the machine
  /// @return how many ranks have that device
  int (*choose_cuda)(int rank, int ranks) = nullptr;
};
rank_devices const& rank_devices_of_this_program();

}  // namespace mbirk::program
