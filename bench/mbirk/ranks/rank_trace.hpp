// The trace of a reconstruction by several ranks: one timeline of all, what each has sent, and its memory.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "mbirk/instrument/trace.hpp"
#include "ranks/rank_reconstructor.hpp"

namespace mbirk::program {

/// Messages of a rank, and their traffic and, if it was asked for, their trace.
class rank_trace {
 public:
  /// @param folder             for the files; empty: nothing is traced
  /// @param has_clock_of_root  whether this rank is on the machine of rank 0
  rank_trace(std::string const& folder, distributed::mpi const& ranks, bool has_clock_of_root);
  rank_trace(rank_trace const&) = delete;
  rank_trace& operator=(rank_trace const&) = delete;

  rank_messages const& messages() const noexcept { return messages_; }
  /// Null unless a trace was asked for.
  instrument::trace_buffer* buffer() const noexcept { return buffer_.get(); }
  /// Writes the files, of which rank 0 receives the parts of all ranks. Collective.
  /// @param quiet  no table is printed
  void write(bool quiet);

 private:
  std::filesystem::path folder_;
  distributed::mpi const& ranks_;
  bool has_clock_of_root_;
  std::unique_ptr<instrument::trace_buffer> buffer_;
  distributed::traffic_ledger traffic_;
  distributed::counted<distributed::mpi> counted_;
  rank_messages messages_;
};

}  // namespace mbirk::program
