#include "ranks/rank_place.hpp"

#include <fmt/format.h>

namespace mbirk::program {
namespace {

chosen_policy chosen(common_options const& o, std::pmr::memory_resource* memory) {
  require<unavailable_error>(o.policy == "host" || rank_devices_of_this_program().emulated, [&] {
    return "policy " + o.policy + " is not available here: the program mbirk-mpi-devices next to mbirk-mpi is not "
           "there, or older, or cannot be run; the target mbirk_mpi_devices makes it";
  });
  chosen_policy policy(o);
  if (memory) policy.set_host_memory(memory);
  return policy;
}

}  // namespace

neighbours_on_machine find_neighbours(distributed::mpi const& ranks) {
  neighbours_on_machine here{.with_root = ranks.rank() == 0};
  MPI_Comm machine = MPI_COMM_NULL;
  if (MPI_Comm_split_type(ranks.handle(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine) == MPI_SUCCESS) {
    MPI_Comm_rank(machine, &here.rank);
    MPI_Comm_size(machine, &here.ranks);
    int first = ranks.rank();
    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, machine);
    here.with_root = first == 0;
    MPI_Comm_free(&machine);
  }
  return here;
}

memory_budget budget_of(std::optional<std::uint64_t> const& limit, neighbours_on_machine const& here) {
  if (limit) return memory_budget(available_memory{static_cast<double>(*limit), "--memory-limit"});
  auto available = memory_available();
  if (available && here.ranks > 1) {
    available->bytes /= here.ranks;
    available->source += fmt::format(", shared by {} ranks", here.ranks);
  }
  return memory_budget(available);
}

place_of_rank::place_of_rank(common_options const& o, rank_messages const& ranks, neighbours_on_machine const& here,
                             rank_notes const& notes, std::pmr::memory_resource* memory)
    : trace_(notes.trace),
      ranks_on_device_(o.policy == "cuda" && rank_devices_of_this_program().choose_cuda
                           ? rank_devices_of_this_program().choose_cuda(here.rank, here.ranks)
                           : 1),
      policy_(chosen(o, memory)),
      ctx_{policy_.host(), notes.on(policy_.host())},
      alone_(policy_.recon(ctx_, notes.memory)) {
  auto const& devices = rank_devices_of_this_program();
  if (o.policy == "host") with_ = reconstruct_on_host(ctx_, ranks);
  else with_ = (o.policy == "cuda" ? devices.cuda : devices.emulated)(ranks, notes, policy_.host().threads());
}

std::optional<double> place_of_rank::free_on_device() const {
  auto bytes = alone_->free_device_memory();
  if (bytes) *bytes /= ranks_on_device_;
  return bytes;
}

}  // namespace mbirk::program
