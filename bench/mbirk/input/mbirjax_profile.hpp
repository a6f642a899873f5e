// Times of operations in a profile that JAX wrote of MBIRJAX on a GPU: the folder or file that jax.profiler.trace made.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "mbirk/core/index.hpp"

namespace mbirk::program {

/// An operation that MBIRJAX ran, under the name of mbirk profile.
struct mbirjax_time {
  std::string operation, device;
  index_t size = 0;
  double seconds = 0;  ///< median of the device's time
  index_t calls = 0;
  std::string file;
};

/// Reads every *.xplane.pb of a folder, or one file. A call is a range of the host or a module of the device whose name
/// is that of an operation, alone or with _v<size> behind it, as in parallel_back_project_v64. Its time is that for
/// which kernels of the device ran in it; the first call of several is left out, because it compiles. Without a size in
/// the name, that of a folder vol<size> in the path counts.
/// @throws io_error in one line: no such file, a damaged one, one without a GPU, or one of another program
/// @throws unavailable_error where the program was built without protozero
std::vector<mbirjax_time> read_mbirjax_profile(std::filesystem::path const& path);

/// The same from the bytes of one file.
std::vector<mbirjax_time> mbirjax_times(std::string const& bytes, std::filesystem::path const& file);

}  // namespace mbirk::program
