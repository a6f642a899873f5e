// Where a rank of mbirk-mpi computes: its share of a machine, and the policy there.
#pragma once

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <string>

#include "machine/memory.hpp"
#include "mbirk/distributed/agreement.hpp"
#include "mbirk/distributed/mpi.hpp"
#include "operations/policy.hpp"
#include "operations/recon_run.hpp"
#include "ranks/rank_reconstructor.hpp"

namespace mbirk::program {

/// The ranks on the machine of this one.
struct neighbours_on_machine {
  int rank = 0, ranks = 1;  ///< this one among them, and how many there are
  bool with_root = false;   ///< whether rank 0 is one of them
};
/// Collective.
neighbours_on_machine find_neighbours(distributed::mpi const& ranks);
/// The memory that this rank may take: the limit, or its share of what its machine has.
memory_budget budget_of(std::optional<std::uint64_t> const& limit, neighbours_on_machine const& here);

class place_of_rank {
 public:
  /// @param memory  source of the temporaries of the host; null: the system
  /// @throws unavailable_error, device_error
  place_of_rank(common_options const& o, rank_messages const& ranks, neighbours_on_machine const& here,
                rank_notes const& notes, std::pmr::memory_resource* memory = nullptr);
  place_of_rank(place_of_rank const&) = delete;
  place_of_rank& operator=(place_of_rank const&) = delete;

  chosen_policy const& policy() const noexcept { return policy_; }
  recon_context const& host() const noexcept { return ctx_; }
  reconstructor const& alone() const noexcept { return *alone_; }
  rank_reconstructor const& with() const noexcept { return *with_; }
  /// @param watch  is told of the operations that follow; null: none is
  void set_watch(call_watch const* watch) noexcept {
    watch_ = watch;
    with_->set_watch(watch);
  }
  call_watch const* watch() const noexcept { return watch_; }
  /// Null unless calls are traced.
  instrument::trace_buffer* trace() const noexcept { return trace_; }
  /// Bytes of its device that this rank may take, if it has one with memory of its own.
  std::optional<double> free_on_device() const;
  std::string device() const { return policy_.device() ? policy_.device()->device : std::string(); }

 private:
  instrument::trace_buffer* trace_;
  int ranks_on_device_;
  chosen_policy policy_;  // after the device is chosen
  recon_context ctx_;
  std::unique_ptr<reconstructor> alone_;
  std::unique_ptr<rank_reconstructor> with_;
  call_watch const* watch_ = nullptr;
};

/// distributed::agree, which keeps an unavailable_error what it is.
/// @throws unavailable_error on every rank if f throws it on some
template <class F> void agree_on_available(distributed::mpi const& ranks, F const& f) {
  bool unavailable = false;
  try {
    distributed::agree(ranks, [&] {
      try {
        f();
      } catch (unavailable_error const&) {
        unavailable = true;
        throw;
      }
    });
  } catch (communication_error const&) {
    throw;  // of this rank alone
  } catch (error const& e) {
    bool const any =
        distributed::all_reduce(ranks, "unavailable", unavailable ? 1 : 0, distributed::reduction::maximum) > 0;
    if (any) throw unavailable_error(e.what(), e.where);
    throw;
  }
}

}  // namespace mbirk::program
