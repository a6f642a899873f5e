// Chooses the writer of a volume's slabs by the extension.
#include "output/volume_stream.hpp"

#include <algorithm>
#include <bit>

#include "mbirk/io/npy.hpp"
#include "output/volume_file.hpp"
#if defined(MBIRK_WITH_HDF5)
#include "mbirk/io/hdf5.hpp"
#endif
#if defined(MBIRK_WITH_TIFF)
#include "mbirk/io/volume_tiff.hpp"
#endif

namespace mbirk::program {
namespace {

using text_pairs = std::vector<std::pair<std::string, std::string>>;

/// Formats whose files are slices one after the other.
template <class File> class slice_stream final : public volume_stream {
 public:
  template <class... Arguments>
  explicit slice_stream(std::string const& name, Arguments const&... arguments)
      : name_(name), file_(name, arguments...) {}
  void add(view<float const, 3> slab) override { file_.add(slab); }
  void add_rows(view<float const, 3>) override {
    throw io_error(name_ + ": the format takes no bands of rows", source_location::current());
  }
  void finish(text_pairs const&) override { file_.commit(); }

 private:
  std::string name_;
  File file_;
};

/// Slices are the fastest axis, so a slab is a short run in every voxel column.
class npy_stream final : public volume_stream {
 public:
  npy_stream(std::string const& name, volume_options const& options) : shape_(options.shape), file_(name) {
    auto const start = mbirk::detail::npy_start<float>(name, {shape_.begin(), shape_.end()});
    file_.write(start);
    start_ = std::ssize(start);
  }
  void add(view<float const, 3> slab) override {
    auto const [rows, cols, slices] = slab.extents();
    for (index_t i = 0; i < rows; ++i)
      for (index_t j = 0; j < cols && slices > 0; ++j) {
        index_t const at = (i * shape_[1] + j) * shape_[2] + done_;
        file_.write_at(start_ + at * static_cast<index_t>(sizeof(float)), &slab(i, j, 0),
                       static_cast<std::size_t>(slices) * sizeof(float));
      }
    done_ += slices;
  }
  void add_rows(view<float const, 3> band) override {
    auto const values = to_span(band);
    file_.write_at(start_ + done_ * shape_[1] * shape_[2] * static_cast<index_t>(sizeof(float)), values.data(),
                   values.size_bytes());
    done_ += band.extent(0);
  }
  void finish(text_pairs const&) override { file_.commit(); }

 private:
  std::array<index_t, 3> shape_;
  output_file file_;
  index_t start_ = 0, done_ = 0;
};

#if defined(MBIRK_WITH_HDF5)
/// Data set `recon` in chunks of about a MiB, each of which lies in one part: HDF5 writes them without reading.
class hdf5_stream final : public volume_stream {
 public:
  hdf5_stream(std::string const& name, volume_options const& options) : file_(name) {
    auto const [rows, cols, slices] = options.shape;
    constexpr index_t largest = (index_t{1} << 20) / static_cast<index_t>(sizeof(float));
    bool const bands = options.slab == 0;
    index_t const deep = std::clamp<index_t>(bands ? largest : options.slab, 1, std::max<index_t>(1, slices));
    index_t const wide = std::clamp<index_t>(largest / deep, 1, std::max<index_t>(1, cols));
    index_t const most = std::clamp<index_t>(largest / (deep * wide), 1, std::max<index_t>(1, rows));
    // A power of two, so that bands consist of whole chunks.
    static_assert(std::has_single_bit(std::size_t{band_unit}));
    auto const in_band = static_cast<index_t>(std::bit_floor(static_cast<std::size_t>(most)));
    index_t const high = bands ? std::min(in_band, band_unit) : most;
    file_.create<float>("recon", {rows, cols, slices}, options.compress, {high, wide, deep});
  }
  void add(view<float const, 3> slab) override {
    auto const values = to_span(slab);
    file_.write_slices("recon", done_, slab.extent(2), values.data());
    done_ += slab.extent(2);
  }
  void add_rows(view<float const, 3> band) override {
    file_.write("recon", done_, band.extent(0), to_span(band).data());
    done_ += band.extent(0);
  }
  void finish(text_pairs const& record) override {
    for (auto const& [key, text] : record) file_.attribute("recon", key, text);
    file_.commit();
  }

 private:
  hdf5_output file_;
  index_t done_ = 0;
};
#endif

}  // namespace

bool takes_rows(std::string const& name) { return name.ends_with(".npy") || !is_volume_file(name); }

index_t rows_to_write(std::string const& name, index_t rows) {
  return takes_rows(name) ? std::min(rows, band_unit) : rows;
}

std::unique_ptr<volume_stream> open_volume(std::string const& name, volume_options const& options) {
  require_volume_file(name);
  if (name.ends_with(".npy")) return std::make_unique<npy_stream>(name, options);
  if (name.ends_with(".nrrd")) return std::make_unique<slice_stream<nrrd_output>>(name, options.shape, options.grid);
  if (name.ends_with(".mrc")) return std::make_unique<slice_stream<mrc_output>>(name, options.shape, options.grid);
#if defined(MBIRK_WITH_TIFF)
  if (is_volume_file(name))
    return std::make_unique<slice_stream<tiff_output>>(name, options.shape, options.grid, options.window);
#endif
#if defined(MBIRK_WITH_HDF5)
  return std::make_unique<hdf5_stream>(name, options);
#else
  throw io_error(name + ": this program was built without HDF5", source_location::current());
#endif
}

}  // namespace mbirk::program
