// The problems of mbirk profile, shared out among ranks: what each of them has of the arrays, and the operations that
// they do together.
#pragma once

#include <array>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "mbirk/distributed/agreement.hpp"
#include "mbirk/distributed/slices.hpp"
#include "operations/profile_problem.hpp"
#include "ranks/rank_place.hpp"

namespace mbirk::program {

/// Some indices of one axis of an array.
struct array_part {
  std::array<index_t, 3> whole{};
  std::size_t axis = 0;
  distributed::index_range range;

  std::array<index_t, 3> shape() const;
  /// Copies the part from the array.
  std::vector<float> of(std::vector<float> const& array) const;
  /// Copies the part to the array.
  void put(std::vector<float> const& part, std::vector<float>& array) const;
};

/// How ranks share out a problem.
enum class sharing { slices, views, rows };

/// An operation that ranks do together, with the name that it has in mbirk profile and mbirk bench.
struct rank_operation {
  std::string name;
  sharing by;
  profile_entry const* entry;  ///< null: an iteration of vectorised coordinate descent, of subsets of a 128th
};
/// All of them, those of a problem together.
std::vector<rank_operation> const& rank_operations();

class rank_problem {
 public:
  virtual ~rank_problem() = default;
  rank_problem(rank_problem const&) = delete;
  rank_problem& operator=(rank_problem const&) = delete;

  /// Calls an operation. Collective. @return seconds of this rank
  virtual double call(rank_operation const& op, place_of_rank const& place) = 0;
  /// Iterates with the options of iterations_of. Collective.
  virtual void iterate(place_of_rank const& place, recon_options const& options) = 0;

  /// The problem on rank 0, which made it; null on the others.
  profile_problem const* whole() const noexcept { return whole_.get(); }
  /// Makes the operands of the whole operation, on rank 0.
  operands whole_operands(rank_operation const& op) const;
  /// The result of the last call, put together on rank 0; empty on the others. Collective.
  std::vector<float> gather_result() const;

 protected:
  using part_of_rank = std::function<array_part(int rank)>;

  /// Collective: rank 0 makes the problem.
  rank_problem(std::string const& geometry, index_t n, distributed::mpi const& ranks, int threads);
  /// The part of this rank of an array that rank 0 has. Collective.
  std::vector<float> scatter(std::vector<float> const& array, part_of_rank const& parts) const;
  /// An array that rank 0 has, on all ranks. Collective.
  std::vector<float> share(std::vector<float> array) const;
  /// An input of an operation of the whole problem; empty on other ranks than 0. Collective.
  std::vector<float> whole_input(char const* operation, char const* input) const;
  /// Calls an operation that each rank does alone. Collective, so that all ranks throw what one of them does.
  double call_locally(rank_operation const& op, place_of_rank const& place, any_scan const& scan,
                      std::map<std::string, std::vector<float>*> const& inputs);
  /// Allocates the result, and notes which parts the ranks have.
  view<float, 3> begin_result(part_of_rank parts);

  distributed::mpi const& ranks_;

 private:
  std::unique_ptr<profile_problem> whole_;
  std::map<std::string, operands> local_;  ///< of calls, by operation
  part_of_rank result_parts_;
  std::vector<float> result_;
};

/// @throws parameter_error if so many ranks cannot share it
void check_sharing(sharing by, index_t n, int ranks);
/// A problem of size n. Collective. @throws parameter_error as check_sharing, allocation_error
std::unique_ptr<rank_problem> make_rank_problem(sharing by, index_t n, distributed::mpi const& ranks, int threads);
/// Waits until all ranks have come, without taking processors from those that work. Collective.
/// @throws communication_error
void wait_for_ranks(distributed::mpi const& ranks);
/// Calls f on rank 0, for which the others wait. Collective. @throws what f throws, on every rank
template <class F> void on_root_alone(distributed::mpi const& ranks, F const& f) {
  std::exception_ptr failed;
  try {
    if (ranks.rank() == 0) f();
  } catch (...) {
    failed = std::current_exception();
  }
  wait_for_ranks(ranks);
  distributed::agree(ranks, [&] {
    if (failed) std::rethrow_exception(failed);
  });
}

}  // namespace mbirk::program
