// MPI as a communicator. The only header that includes mpi.h; nothing else of the library includes it.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mbirk/distributed/communicator.hpp"

namespace mbirk::distributed {

/// Ranks of an MPI communicator. The caller's communicator is duplicated, so that no message meets one of the caller's;
/// the duplicate is freed with the last copy of this object, which must be gone before MPI_Finalize. MPI must have been
/// initialised for the threads that call operations: MPI_THREAD_FUNNELED is enough, as operations call MPI from the
/// thread that called them. Errors of MPI are thrown.
///
/// After an exception that not all ranks have thrown, such as communication_error, call MPI_Abort: the other ranks may
/// wait for this one, and messages may be in flight, so that the communicator cannot be used again.
class mpi {
 public:
  /// Collective. @param piece  bytes of the largest message, at most 2^31 - 1: larger data are sent in several
  /// @throws communication_error
  explicit mpi(MPI_Comm ranks, std::size_t piece = std::size_t{1} << 30) : piece_(piece) {
    MPI_Comm copy = MPI_COMM_NULL;
    check(MPI_Comm_dup(ranks, &copy), "MPI_Comm_dup");
    comm_ = std::shared_ptr<MPI_Comm>(new MPI_Comm(copy), [](MPI_Comm* c) {
      MPI_Comm_free(c);
      delete c;
    });
    check(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_rank(copy, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(copy, &size_), "MPI_Comm_size");
  }

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  MPI_Comm handle() const noexcept { return *comm_; }

  void all_gather(char const* what, std::span<std::byte const> mine, std::span<index_t const> bytes,
                  std::span<std::byte> all) const {
    if (std::accumulate(bytes.begin(), bytes.end(), index_t{0}) > static_cast<index_t>(piece_))
      return gather_in_pieces(what, mine, bytes, all);
    std::vector<int> counts(bytes.begin(), bytes.end()), places(bytes.size(), 0);
    std::partial_sum(counts.begin(), counts.end() - 1, places.begin() + 1);
    check(MPI_Allgatherv(mine.data(), static_cast<int>(mine.size()), MPI_BYTE, all.data(), counts.data(), places.data(),
                         MPI_BYTE, handle()),
          "MPI_Allgatherv");
  }

  void broadcast(char const*, std::span<std::byte> data, int root) const {
    pieces(data, [&](std::span<std::byte> part) {
      check(MPI_Bcast(part.data(), static_cast<int>(part.size()), MPI_BYTE, root, handle()), "MPI_Bcast");
    });
  }

  /// Messages under way. Without wait(), as when an exception passes, what has not been received is given up.
  class pending_exchange {
   public:
    pending_exchange() = default;
    pending_exchange(pending_exchange&& other) noexcept
        : requests_(std::exchange(other.requests_, {})), comm_(other.comm_) {}
    pending_exchange& operator=(pending_exchange&&) = delete;
    ~pending_exchange() {
      for (auto& r : requests_) {
        if (r == MPI_REQUEST_NULL) continue;
        MPI_Cancel(&r);
        MPI_Request_free(&r);
      }
    }
    /// @throws communication_error
    void wait() {
      auto requests = std::exchange(requests_, {});
      check(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
    }

   private:
    friend class mpi;
    std::vector<MPI_Request> requests_;
    std::shared_ptr<MPI_Comm> comm_;  // outlives the messages
  };

  pending_exchange start_exchange(char const*, neighbour_exchange const& e) const {
    pending_exchange messages;
    messages.comm_ = comm_;
    auto const begin = [&](auto call, auto span, int neighbour, char const* name) {
      pieces(span, [&](auto part) {
        auto& request = messages.requests_.emplace_back(MPI_REQUEST_NULL);
        check(call(part.data(), static_cast<int>(part.size()), MPI_BYTE, neighbour, exchange_tag, handle(), &request),
              name);
      });
    };
    begin(MPI_Irecv, e.from_below, rank_ - 1, "MPI_Irecv");
    begin(MPI_Irecv, e.from_above, rank_ + 1, "MPI_Irecv");
    begin(MPI_Isend, e.to_below, rank_ - 1, "MPI_Isend");
    begin(MPI_Isend, e.to_above, rank_ + 1, "MPI_Isend");
    return messages;
  }

  void all_reduce(char const*, std::span<std::int64_t> values, reduction r) const {
    MPI_Op const op = r == reduction::sum ? MPI_SUM : r == reduction::minimum ? MPI_MIN : MPI_MAX;
    check(MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_INT64_T, op, handle()),
          "MPI_Allreduce");
  }

  void send(char const*, std::span<std::byte const> data, int to) const {
    pieces(data, [&](std::span<std::byte const> part) {
      check(MPI_Send(part.data(), static_cast<int>(part.size()), MPI_BYTE, to, send_tag, handle()), "MPI_Send");
    });
  }
  void receive(char const*, std::span<std::byte> data, int from) const {
    pieces(data, [&](std::span<std::byte> part) {
      check(MPI_Recv(part.data(), static_cast<int>(part.size()), MPI_BYTE, from, send_tag, handle(),
                     MPI_STATUS_IGNORE),
            "MPI_Recv");
    });
  }

 private:
  static constexpr int send_tag = 0, exchange_tag = 1;

  /// all_gather of more bytes than a count of MPI can say.
  void gather_in_pieces(char const* what, std::span<std::byte const> mine, std::span<index_t const> bytes,
                        std::span<std::byte> all) const {
    for (int r = 0; r < size_; ++r) {
      auto const part = all.first(static_cast<std::size_t>(bytes[static_cast<std::size_t>(r)]));
      all = all.subspan(part.size());
      if (r == rank_) std::ranges::copy(mine, part.begin());
      broadcast(what, part, r);
    }
  }
  static void check(int code, char const* call) {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    throw communication_error(std::string(call) + " failed: " + text, source_location::current());
  }
  template <class Span, class F> void pieces(Span data, F const& f) const {
    for (std::size_t at = 0; at < data.size(); at += piece_) f(data.subspan(at, std::min(piece_, data.size() - at)));
  }

  std::shared_ptr<MPI_Comm> comm_;
  std::size_t piece_;  // counts of MPI are ints
  int rank_ = 0, size_ = 1;
};
static_assert(communicator<mpi>);

}  // namespace mbirk::distributed
