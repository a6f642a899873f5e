// Chooses the writer by the extension.
#include "output/volume_file.hpp"

#if defined(MBIRK_WITH_TIFF)
#include "mbirk/io/volume_tiff.hpp"
#endif

namespace mbirk::program {
namespace {

bool is_tiff(std::string const& name) { return name.ends_with(".tif") || name.ends_with(".tiff"); }

}  // namespace

bool is_volume_file(std::string const& name) {
  return name.ends_with(".nrrd") || name.ends_with(".mrc") || is_tiff(name);
}

void require_volume_file([[maybe_unused]] std::string const& name) {
#if !defined(MBIRK_WITH_TIFF)
  require<io_error>(!is_tiff(name), [&] { return "--out " + name + ": this program was built without libtiff"; });
#endif
}

void write_volume_file(std::string const& name, view<float const, 3> volume, voxel_grid const& grid,
                       [[maybe_unused]] std::optional<std::array<double, 2>> const& window) {
  require_volume_file(name);
  if (name.ends_with(".nrrd")) return write_nrrd(name, volume, grid);
  if (name.ends_with(".mrc")) return write_mrc(name, volume, grid);
#if defined(MBIRK_WITH_TIFF)
  write_tiff(name, volume, grid, window);
#endif
}

}  // namespace mbirk::program
