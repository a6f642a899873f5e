// Output of hdf5_output: a temporary file behind mbirk's own HDF5 driver, because the HDF5 library cannot close a file
// whose disk is full (1.10.8 crashes at the end of the program). The driver reports success and remembers the failure.
#pragma once

#include <hdf5.h>
#if H5_VERSION_GE(1, 13, 2)
#include <H5FDdevelop.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>
#include <string>
#include <system_error>
#include <type_traits>

#include "mbirk/io/temporary_file.hpp"

namespace mbirk::detail {

/// Random-access file that has no final name yet; commit() gives it that of `path`. Never throws but for memory:
/// error() returns the system's error.
class hdf5_sink {
 public:
  explicit hdf5_sink(std::filesystem::path const& path) : file_(path, durability::synced), error_(file_.error()) {}
  hdf5_sink(hdf5_sink const&) = delete;
  hdf5_sink& operator=(hdf5_sink const&) = delete;

  std::error_code error() const noexcept { return error_; }

  void write(haddr_t at, void const* data, std::size_t bytes) noexcept {
    if (error_ || bytes == 0) return;
    errno = 0;
    auto* const stream = file_.stream();
    if (std::fseek(stream, static_cast<long>(at), SEEK_SET) != 0 || std::fwrite(data, 1, bytes, stream) != bytes)
      fail();
    else written_ = std::max(written_, at + bytes);
  }
  /// Reads bytes; those that were never written are zeros.
  void read(haddr_t at, void* data, std::size_t bytes) noexcept {
    std::memset(data, 0, bytes);
    if (error_ || at >= written_) return;
    errno = 0;
    std::size_t const there = std::min<haddr_t>(bytes, written_ - at);
    auto* const stream = file_.stream();
    if (std::fseek(stream, static_cast<long>(at), SEEK_SET) != 0 || std::fread(data, 1, there, stream) != there) fail();
  }
  haddr_t written() const noexcept { return written_; }
  haddr_t allocated = 0;  ///< end of the file according to the library

  /// Gives the file its final name; returns whether that succeeded.
  bool commit() noexcept {
    if (allocated > written_) write(allocated - 1, "", 1);
    if (!error_) error_ = file_.commit();
    return !error_;
  }

 private:
  void fail() noexcept { error_ = system_error_code(); }

  temporary_file file_;
  std::error_code error_;
  haddr_t written_ = 0;
};

/// The driver: HDF5's function table over an hdf5_sink, which the file access properties point to.
struct hdf5_sink_driver {
  H5FD_t base;  // first, because the library accesses only this part
  hdf5_sink* sink;

  static hdf5_sink& sink_of(H5FD_t const* file) noexcept {
    return *reinterpret_cast<hdf5_sink_driver const*>(file)->sink;
  }

  static H5FD_class_t table() noexcept {
    H5FD_class_t t{};
#if H5_VERSION_GE(1, 13, 0)
    t.version = H5FD_CLASS_VERSION;
    t.value = 500;  // any number that the library itself does not use
#endif
    t.name = "mbirk sink";
    t.maxaddr = (haddr_t{1} << 62) - 1;
    t.fc_degree = H5F_CLOSE_STRONG;
    t.fapl_size = sizeof(hdf5_sink*);
    t.open = [](char const*, unsigned, hid_t access, haddr_t) noexcept -> H5FD_t* {
      auto const* const info = static_cast<hdf5_sink* const*>(H5Pget_driver_info(access));
      auto* const driver = info ? new (std::nothrow) hdf5_sink_driver{{}, *info} : nullptr;
      return driver ? &driver->base : nullptr;
    };
    t.close = [](H5FD_t* file) noexcept -> herr_t {
      delete reinterpret_cast<hdf5_sink_driver*>(file);
      return 0;
    };
    t.get_eoa = [](H5FD_t const* file, H5FD_mem_t) noexcept -> haddr_t { return sink_of(file).allocated; };
    t.set_eoa = [](H5FD_t* file, H5FD_mem_t, haddr_t end) noexcept -> herr_t {
      sink_of(file).allocated = end;
      return 0;
    };
    t.get_eof = [](H5FD_t const* file, H5FD_mem_t) noexcept -> haddr_t { return sink_of(file).written(); };
    t.read = [](H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, std::size_t bytes, void* data) noexcept -> herr_t {
      sink_of(file).read(at, data, bytes);
      return 0;
    };
    t.write = [](H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, std::size_t bytes, void const* data) noexcept -> herr_t {
      sink_of(file).write(at, data, bytes);
      return 0;
    };
    return t;
  }
};
static_assert(std::is_standard_layout_v<hdf5_sink_driver>);

}  // namespace mbirk::detail
