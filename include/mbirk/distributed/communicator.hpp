// The communicator of a distributed operation: how its ranks exchange bytes. A small concept, so that an operation
// never names an engine. self.hpp is a single rank, mpi.hpp is MPI, counted.hpp counts what any of them sends.
//
// Ranks only ever exchange bytes, whole numbers, minima and maxima. A sum of floats is computed from parts that every
// rank receives and adds in the same order (unit_sums.hpp), because the order within a reduction of MPI depends on the
// number of ranks.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "mbirk/core/error.hpp"
#include "mbirk/core/index.hpp"

namespace mbirk {

struct communication_error : error { using error::error; };  ///< a call of the engine failed; names call and reason

namespace distributed {

/// Reductions whose result does not depend on the order of the ranks.
enum class reduction { sum, minimum, maximum };

/// Data that a rank sends to and receives from the ranks with the slices below and above its own. Spans are empty where
/// there is no neighbour. They must live until the exchange is waited for.
struct neighbour_exchange {
  std::span<std::byte const> to_below, to_above;
  std::span<std::byte> from_below, from_above;
};

/// Every call is collective, except send and receive; `what` names the data in a count of the traffic.
///
///   rank(), size()                       this rank, 0 <= rank < size, and the number of ranks
///   all_gather(what, mine, bytes, all)   the parts of all ranks in their order, rank r sending bytes[r]
///   broadcast(what, data, root)          the data of rank `root`
///   start_exchange(what, exchange)       returns what waits for it: wait(); begins without blocking
///   all_reduce(what, values, reduction)  of 64-bit integers, element by element, in place
///   send(what, data, rank), receive(what, data, rank)
///
/// @throws communication_error
template <class C>
concept communicator = requires(C const& c, char const* what, std::span<std::byte const> out, std::span<std::byte> in,
                                std::span<index_t const> bytes, std::span<std::int64_t> numbers, int rank) {
  { c.rank() } -> std::same_as<int>;
  { c.size() } -> std::same_as<int>;
  c.all_gather(what, out, bytes, in);
  c.broadcast(what, in, rank);
  c.start_exchange(what, neighbour_exchange{}).wait();
  c.all_reduce(what, numbers, reduction::sum);
  c.send(what, out, rank);
  c.receive(what, in, rank);
};

template <communicator C> bool is_last(C const& c) { return c.rank() + 1 == c.size(); }

/// all_reduce of one number.
template <communicator C> std::int64_t all_reduce(C const& c, char const* what, std::int64_t value, reduction r) {
  c.all_reduce(what, std::span(&value, 1), r);
  return value;
}

/// The number of every rank, in their order.
template <communicator C> std::vector<index_t> gather_number(C const& c, char const* what, index_t value) {
  auto const ranks = static_cast<std::size_t>(c.size());
  std::vector<index_t> all(ranks), bytes(ranks, sizeof(index_t));
  c.all_gather(what, std::as_bytes(std::span(&value, 1)), bytes, std::as_writable_bytes(std::span(all)));
  return all;
}

/// The elements of all ranks, in their order, rank r having counts[r] of them.
template <class T, communicator C>
std::vector<T> gather(C const& c, char const* what, std::vector<T> const& mine, std::vector<index_t> const& counts) {
  static_assert(std::is_trivially_copyable_v<T>);
  auto bytes = counts;
  for (auto& n : bytes) n *= static_cast<index_t>(sizeof(T));
  std::vector<T> all(static_cast<std::size_t>(std::accumulate(counts.begin(), counts.end(), index_t{0})));
  c.all_gather(what, std::as_bytes(std::span(mine)), bytes, std::as_writable_bytes(std::span(all)));
  return all;
}

/// A text that only rank `root` has.
template <communicator C> std::string broadcast_text(C const& c, char const* what, std::string text, int root) {
  auto size = static_cast<std::int64_t>(text.size());
  c.broadcast(what, std::as_writable_bytes(std::span(&size, 1)), root);
  text.resize(static_cast<std::size_t>(size));
  c.broadcast(what, std::as_writable_bytes(std::span(text)), root);
  return text;
}

}  // namespace distributed
}  // namespace mbirk
