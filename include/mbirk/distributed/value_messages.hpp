// Messages of floats in the memory of a policy: on the host from there, on a device by way of the host. Not for users.
#pragma once

#include <cassert>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "mbirk/distributed/communicator.hpp"
#include "mbirk/memory.hpp"

namespace mbirk::distributed::detail {

/// Calls of a communicator with arrays of the policy.
template <class Context, communicator Comm> class value_messages {
 public:
  /// @param floats  of the largest message, which a device needs memory of the host for
  value_messages(Context const& ctx, Comm const& ranks, index_t floats) : ctx_(ctx), ranks_(ranks) {
    if constexpr (on_device<Context>) room_.resize(static_cast<std::size_t>(floats));
  }

  void send(char const* what, float const* from, index_t count, int to) {
    ranks_.send(what, std::as_bytes(on_host(from, count)), to);
  }
  void receive(char const* what, float* to, index_t count, int from) {
    auto const received = room_for(to, count);
    ranks_.receive(what, std::as_writable_bytes(received), from);
    store(received, to);
  }
  void broadcast(char const* what, float* values, index_t count, int root) {
    bool const sends = ranks_.rank() == root;
    auto const all = room_for(values, count);
    if (sends) fetch(values, all);
    ranks_.broadcast(what, std::as_writable_bytes(all), root);
    if (!sends) store(all, values);
  }
  /// @param counts  floats of every rank
  /// @param all     those of all ranks in their order
  void all_gather(char const* what, float const* mine, std::vector<index_t> counts, float* all) {
    auto const received = room_for(all, std::accumulate(counts.begin(), counts.end(), index_t{0}));
    auto const own = counts[static_cast<std::size_t>(ranks_.rank())];
    for (auto& n : counts) n *= static_cast<index_t>(sizeof(float));
    host_copy const sent(ctx_, mine, own);
    ranks_.all_gather(what, std::as_bytes(std::span(sent.data(), static_cast<std::size_t>(own))), counts,
                      std::as_writable_bytes(received));
    store(received, all);
  }
  /// Exchanges values with the neighbours, as communicator::start_exchange.
  void exchange(char const* what, std::span<float const> to_below, std::span<float const> to_above,
                std::span<float> from_below, std::span<float> from_above) const {
    host_copy const below(ctx_, to_below.data(), std::ssize(to_below)),
        above(ctx_, to_above.data(), std::ssize(to_above));
    auto const out = [](auto const& copy) {
      return std::as_bytes(std::span(copy.data(), static_cast<std::size_t>(copy.size())));
    };
    neighbour_exchange e{out(below), out(above), std::as_writable_bytes(from_below),
                         std::as_writable_bytes(from_above)};
    std::vector<float> received_below, received_above;
    if constexpr (on_device<Context>) {
      received_below.resize(from_below.size());
      received_above.resize(from_above.size());
      e.from_below = std::as_writable_bytes(std::span(received_below));
      e.from_above = std::as_writable_bytes(std::span(received_above));
    }
    ranks_.start_exchange(what, e).wait();
    store(received_below, from_below.data());
    store(received_above, from_above.data());
  }

 private:
  /// The values themselves, or on a device as many in the memory of the host.
  std::span<float> room_for(float* values, index_t count) {
    auto const floats = static_cast<std::size_t>(count);
    if constexpr (on_device<Context>) {
      assert(floats <= room_.size());
      return std::span(room_).first(floats);
    } else {
      return {values, floats};
    }
  }
  std::span<float const> on_host(float const* values, index_t count) {
    if constexpr (on_device<Context>) {
      auto const room = room_for(nullptr, count);
      fetch(values, room);
      return room;
    } else {
      return {values, static_cast<std::size_t>(count)};
    }
  }
  void fetch(float const* from, std::span<float> to) const {
    if constexpr (on_device<Context>) get(ctx_, from, std::ssize(to), to.data());
  }
  void store(std::span<float const> from, float* to) const {
    if constexpr (on_device<Context>) put(ctx_, from.data(), std::ssize(from), to);
  }

  Context const& ctx_;
  Comm const& ranks_;
  std::vector<float> room_;
};

}  // namespace mbirk::distributed::detail
