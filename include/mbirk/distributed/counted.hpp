// Counts what a rank sends: an instrumentation of any communicator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "mbirk/distributed/communicator.hpp"

namespace mbirk::distributed {

/// Calls that a rank has made for some data, and the bytes that it has handed to the engine in them. How often the
/// engine sends them on depends on its algorithms, and is not counted: a broadcast counts at its root, an exchange
/// counts a message for each neighbour.
struct traffic {
  index_t messages = 0, bytes = 0;
  friend bool operator==(traffic const&, traffic const&) = default;
};

/// Traffic by the name of the data. The caller owns it; one thread uses it at a time.
using traffic_ledger = std::map<std::string, traffic>;

/// A communicator whose calls are counted. Refers to both arguments.
template <communicator C> class counted {
 public:
  counted(C const& inner, traffic_ledger& ledger) : inner_(inner), ledger_(ledger) {}

  int rank() const noexcept { return inner_.rank(); }
  int size() const noexcept { return inner_.size(); }
  void all_gather(char const* what, std::span<std::byte const> mine, std::span<index_t const> bytes,
                  std::span<std::byte> all) const {
    note(what, mine.size());
    inner_.all_gather(what, mine, bytes, all);
  }
  void broadcast(char const* what, std::span<std::byte> data, int root) const {
    if (rank() == root) note(what, data.size());
    inner_.broadcast(what, data, root);
  }
  auto start_exchange(char const* what, neighbour_exchange const& e) const {
    if (!e.to_below.empty()) note(what, e.to_below.size());
    if (!e.to_above.empty()) note(what, e.to_above.size());
    return inner_.start_exchange(what, e);
  }
  void all_reduce(char const* what, std::span<std::int64_t> values, reduction r) const {
    note(what, values.size_bytes());
    inner_.all_reduce(what, values, r);
  }
  void send(char const* what, std::span<std::byte const> data, int to) const {
    note(what, data.size());
    inner_.send(what, data, to);
  }
  void receive(char const* what, std::span<std::byte> data, int from) const { inner_.receive(what, data, from); }

 private:
  void note(char const* what, std::size_t bytes) const {
    auto& entry = ledger_[what];
    ++entry.messages;
    entry.bytes += static_cast<index_t>(bytes);
  }

  C const& inner_;
  traffic_ledger& ledger_;
};

}  // namespace mbirk::distributed
