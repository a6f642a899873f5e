// The records of several ranks: one timeline of all, their messages, and their memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "mbirk/instrument/trace.hpp"
#include "ranks/rank_reconstructor.hpp"

namespace mbirk::program {

/// The texts of all ranks, on rank 0. Collective.
std::vector<std::string> gather_texts(distributed::mpi const& ranks, std::string text);

/// Messages of a rank, their traffic and, if it was asked for, their trace.
class rank_trace {
 public:
  /// Events of a rank; a reconstruction of 256^3 has some hundred thousand.
  static constexpr std::size_t events = 1'000'000;
  static constexpr double bytes = static_cast<double>(events * sizeof(instrument::trace_event));

  /// @param traced             whether calls are traced
  /// @param has_clock_of_root  whether this rank is on the machine of rank 0
  rank_trace(bool traced, distributed::mpi const& ranks, bool has_clock_of_root);
  rank_trace(rank_trace const&) = delete;
  rank_trace& operator=(rank_trace const&) = delete;

  rank_messages const& messages() const noexcept { return messages_; }
  distributed::traffic_ledger const& traffic() const noexcept { return traffic_; }
  /// Null unless calls are traced.
  instrument::trace_buffer* buffer() const noexcept { return buffer_.get(); }
  /// The nanoseconds by which times of rank 0 are later than those of the trace of this rank; found once. Collective.
  std::int64_t shift();
  /// Writes the files of a trace to a folder: rank 0 receives the parts of all ranks. Collective.
  void write(std::filesystem::path const& folder);
  /// Writes ranks.json, and prints a table unless quiet. Collective.
  void write_summary(std::filesystem::path const& folder, bool quiet);

 private:
  distributed::mpi const& ranks_;
  bool has_clock_of_root_;
  std::optional<std::int64_t> shift_;
  std::unique_ptr<instrument::trace_buffer> buffer_;
  distributed::traffic_ledger traffic_;
  distributed::counted<distributed::mpi> counted_;
  rank_messages messages_;
};

/// {"messages", "bytes", "sent": {name of the data: {"messages", "bytes"}}}
nlohmann::json to_json(distributed::traffic_ledger const& traffic);
/// The highest of the live bytes between two times of a trace.
index_t peak_between(instrument::trace_buffer const& trace, std::int64_t begin, std::int64_t end);

}  // namespace mbirk::program
