// HDF5 files that the program reads: in this process, or in a child process with limits, for files from strangers.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mbirk/core/index.hpp"

namespace mbirk::program {

/// How far an HDF5 file is trusted.
struct hdf5_trust {
  /// The file is read by a child process, which ends when it exceeds a limit. libhdf5 has known faults: a file made for
  /// it can crash the process that reads it, or keep it busy for ever.
  bool untrusted = false;
  bool follow_links = false;  ///< external links, external raw data and virtual data sets name further files

  // Limits of the child.
  std::size_t memory = std::size_t{2} << 30;  ///< bytes, beyond those of the program itself
  std::chrono::milliseconds time{60'000};     ///< per request, and as much processor time
  double bytes_per_second = 4e6;              ///< adds to the time of a request for data
};

/// Data sets have names such as "/exchange/data".
class hdf5_source {
 public:
  virtual ~hdf5_source() = default;
  // All members throw io_error with the file, and allocation_error.
  virtual bool has(std::string const& set) = 0;
  virtual std::vector<index_t> shape(std::string const& set) = 0;
  virtual std::string type(std::string const& set) = 0;
  virtual std::vector<std::pair<std::string, std::string>> attributes(std::string const& object) = 0;
  /// Reads [first, first + count) of axis 0.
  virtual void read(std::string const& set, index_t first, index_t count, float* to) = 0;
  virtual void read(std::string const& set, index_t first, index_t count, double* to) = 0;
};

/// Opens a file. An untrusted one is opened by a child process of this one, so this is to be called before there are
/// further threads. @throws io_error
std::shared_ptr<hdf5_source> open_hdf5(std::filesystem::path const& path, hdf5_trust const& trust);

/// Turns off the messages that libhdf5 prints itself, for the rest of the process.
void silence_hdf5();

}  // namespace mbirk::program
