// Reading of measurements.
#include "input/measurement.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <optional>

#include "mbirk/io/checkpoint.hpp"
#include "mbirk/io/input_file.hpp"
#include "mbirk/io/npy.hpp"

namespace mbirk::program {
namespace {

namespace fs = std::filesystem;
using mbirk::detail::shape_text;

[[noreturn]] void fail(std::string const& name, std::string const& what,
                       source_location w = source_location::current()) {
  throw io_error(name + ": " + what, w);
}

enum class format { npy, hdf5 };

/// Detects the format from the contents of the file, not from its name.
format format_of(fs::path const& path) {
  auto file = mbirk::detail::open_input(path);
  char start[8] = {};
  file.read(start, sizeof start);
  if (std::memcmp(start, "\x93NUMPY", 6) == 0) return format::npy;
  // The signature of HDF5 is at offset 0 or, after a user block, at 512, 1024, 2048, ...
  for (std::streamoff at = 0; file.gcount() == sizeof start; at = at ? 2 * at : 512) {
    if (std::memcmp(start, "\x89HDF\r\n\x1a\n", 8) == 0) return format::hdf5;
    file.clear();
    file.seekg(at ? 2 * at : 512);
    file.read(start, sizeof start);
  }
  fail(path.string(), "is neither an npy file nor an HDF5 file");
}

template <class S>
void read_npy_block(fs::path const& path, npy_header header, index_t first, index_t count, float* to) {
  index_t each = 1;
  for (std::size_t d = 1; d < header.shape.size(); ++d) each *= header.shape[d];
  auto file = mbirk::detail::open_input(path);
  file.seekg(header.offset + first * each * header.element_bytes);
  header.shape[0] = count;
  header.elements = count * each;
  try {
    mbirk::detail::npy_read_elements<float, S>(path, file, header, to);
  } catch (io_error const& e) {
    throw io_error(std::string(e.what()) + " (counted from " + std::to_string(first) + " along the first axis)",
                   e.where);
  }
}

stored_array open_npy(fs::path const& path, memory_budget const& memory) {
  auto const header = read_npy_header(path);
  stored_array a{path.string(), header.shape, header.dtype, {}};
  if (header.fortran_order && header.shape.size() > 1) {  // blocks of views are scattered over the file
    memory.require(8 * static_cast<double>(header.elements),
                   path.string() + ": an array in Fortran order of shape " + shape_text(header.shape));
    auto const whole = std::make_shared<npy_array<float>>(read_npy<float>(path));
    index_t const each = whole->shape[0] ? static_cast<index_t>(whole->data.size()) / whole->shape[0] : 0;
    a.read = [whole, each](index_t first, index_t count, float* to) {
      std::copy_n(whole->data.begin() + first * each, count * each, to);
    };
    return a;
  }
  a.read = [path, header](index_t first, index_t count, float* to) {
    mbirk::detail::npy_with_stored_type(
        header, [&]<class S>(std::type_identity<S>) { read_npy_block<S>(path, header, first, count, to); });
  };
  return a;
}

#if defined(MBIRK_WITH_HDF5)
stored_array open_set(std::string const& path, std::shared_ptr<hdf5_source> const& file, std::string const& set) {
  return {path + ": " + set, file->shape(set), file->type(set),
          [file, set](index_t first, index_t count, float* to) { file->read(set, first, count, to); }};
}

/// Checks the shape of angles.
void check_theta(std::string const& path, hdf5_source& file, std::string const& set, index_t views) {
  if (auto const shape = file.shape(set); shape != std::vector<index_t>{views})
    fail(path + ": " + set,
         "has shape " + shape_text(shape) + ", expected one angle per view = (" + std::to_string(views) + ")");
}
/// Reads angles in degrees, unless the attribute `units` says radians.
std::vector<float> read_theta(std::string const& path, hdf5_source& file, std::string const& set, index_t views) {
  std::vector<double> angles(static_cast<std::size_t>(views));
  file.read(set, 0, views, angles.data());
  bool radians = false;
  for (auto const& [key, text] : file.attributes(set)) radians = radians || (key == "units" && text.starts_with("rad"));
  std::vector<float> theta;
  theta.reserve(angles.size());
  for (auto const x : angles) {
    theta.push_back(static_cast<float>(radians ? x : x * std::numbers::pi / 180));
    if (!mbirk::detail::is_finite(theta.back()))
      fail(path + ": " + set, "value (" + std::to_string(theta.size() - 1) + ") is " + mbirk::detail::number_text(x) +
                                  ", expected finite angles");
  }
  return theta;
}
#else
[[noreturn]] void fail_without_hdf5(fs::path const& path) {
  fail(path.string(), "is an HDF5 file, expected an npy file: this program was built without HDF5");
}
#endif

/// Opens an array in a file: the only array of an npy file, or a data set.
stored_array open_array(fs::path const& path, [[maybe_unused]] std::string const& set,
                        [[maybe_unused]] hdf5_trust const& trust, memory_budget const& memory) {
  if (format_of(path) == format::npy) return open_npy(path, memory);
#if defined(MBIRK_WITH_HDF5)
  return open_set(path.string(), open_hdf5(path, trust), set);
#else
  fail_without_hdf5(path);
#endif
}

/// Number of frames of a white or dark field, after a check of its shape.
index_t frames_of(stored_array const& field, index_t rows, index_t channels) {
  auto const& s = field.shape;
  bool const single = s == std::vector<index_t>{rows, channels};
  if (!single && !(s.size() == 3 && s[0] > 0 && s[1] == rows && s[2] == channels))
    fail(field.name, "has shape " + shape_text(s) + ", expected (frames, rows, channels) or (rows, channels) with " +
                         std::to_string(rows) + " rows and " + std::to_string(channels) + " channels");
  return single ? 1 : s[0];
}

/// Mean of the frames of a white or dark field.
std::vector<float> read_field(stored_array const& field, index_t rows, index_t channels, index_t frames) {
  bool const single = field.shape.size() == 2;
  frame_mean mean(rows, channels);
  std::vector<float> frame(static_cast<std::size_t>(rows * channels));
  view<float const, 3> const one(frame.data(), {1, rows, channels});
  for (index_t f = 0; f < frames; ++f) {
    if (single) field.read(0, rows, frame.data());
    else field.read(f, 1, frame.data());
    mean.add(one);
  }
  return mean.values();
}

}  // namespace

std::string data_sum(void const* data, std::size_t bytes) {
  mbirk::detail::crc32 sum;
  sum.add(data, bytes);
  auto const line = sum.line();
  return line.substr(0, line.size() - 1);
}

measurement_source::measurement_source(measurement_files const& files, memory_budget const& memory) {
  auto const is = format_of(files.input);
  std::optional<stored_array> white, dark;
#if defined(MBIRK_WITH_HDF5)
  std::shared_ptr<hdf5_source> file;
  if (is == format::hdf5) {
    file = open_hdf5(files.input, files.trust);
    if (!file->has("/exchange/data"))
      fail(files.input, "has no data set /exchange/data, expected the Data Exchange layout");
    data_ = open_set(files.input, file, "/exchange/data");
    if (file->has("/exchange/data_white")) white = open_set(files.input, file, "/exchange/data_white");
    if (file->has("/exchange/data_dark")) dark = open_set(files.input, file, "/exchange/data_dark");
  }
#else
  if (is == format::hdf5) fail_without_hdf5(files.input);
#endif
  if (is == format::npy) data_ = open_npy(files.input, memory);
  auto const& s = data_.shape;
  if (s.size() != 3 || s[0] < 1 || s[1] < 1 || s[2] < 1)
    fail(data_.name, "has shape " + shape_text(s) + ", expected (views, rows, channels), at least one of each");
  std::copy(s.begin(), s.end(), shape_.begin());
#if defined(MBIRK_WITH_HDF5)
  bool const has_theta = file && file->has("/exchange/theta");
  if (has_theta) check_theta(files.input, *file, "/exchange/theta", shape_[0]);
#endif

  if (!files.white.empty()) white = open_array(files.white, "/exchange/data_white", files.trust, memory);
  if (!files.dark.empty()) dark = open_array(files.dark, "/exchange/data_dark", files.trust, memory);
  if (files.counts && !white)
    fail(data_.name,
         "is said to hold counts, but there is no white field: expected --white FILE or /exchange/data_white");
  if (!files.dark.empty() && !white)
    fail(files.dark, "is a dark field, but there is no white field: expected --white FILE");
  if (white) white_frames_ = frames_of(*white, shape_[1], shape_[2]);
  if (white && dark) dark_frames_ = frames_of(*dark, shape_[1], shape_[2]);

  // Nothing but shapes has been read so far. Angles come as doubles; a field takes a frame, its sums and their means.
  auto const size = [](index_t n) { return static_cast<double>(n); };
  double const pixels = size(shape_[1]) * size(shape_[2]);
  memory.require(4 * size(shape_[0]) * pixels + 12 * size(shape_[0]) + (white ? 24 * pixels : 0),
                 data_.name + ": a sinogram of shape " + shape_text(shape_));
#if defined(MBIRK_WITH_HDF5)
  if (has_theta) theta_ = read_theta(files.input, *file, "/exchange/theta", shape_[0]);
#endif
  if (!white) return;
  white_ = read_field(*white, shape_[1], shape_[2], white_frames_);
  if (dark) dark_ = read_field(*dark, shape_[1], shape_[2], dark_frames_);
  else dark_.assign(white_.size(), 0);
}

std::string measurement_source::description() const {
  if (!counts()) return "line integrals (" + data_.type + ')';
  return "counts (" + data_.type + "), " + std::to_string(white_frames_) + " white and " +
         std::to_string(dark_frames_) + " dark frames";
}

index_t measurement_source::block() const noexcept {
  return std::clamp<index_t>((index_t{1} << 24) / (shape_[1] * shape_[2]), 1, shape_[0]);
}

repair_count measurement_source::read(context<exec::host, instrument::none> const& ctx, index_t first, index_t count,
                                      float* to) const {
  data_.read(first, count, to);
  return convert(ctx, first, count, to);
}

repair_count measurement_source::convert(context<exec::host, instrument::none> const& ctx, index_t first, index_t count,
                                         float* to) const {
  index_t const rows = shape_[1], channels = shape_[2];
  view<float, 3> const views(to, {count, rows, channels});
  if (counts()) {
    view<float const, 2> const white(white_.data(), {rows, channels}), dark(dark_.data(), {rows, channels});
    return counts_to_line_integrals(ctx, views, white, dark, views);
  }
  for (index_t i = 0; i < views.size(); ++i)
    if (!mbirk::detail::is_finite(to[i])) {
      std::array const at{first + i / (rows * channels), i / channels % rows, i % channels};
      fail(data_.name, "value " + shape_text(at) + " is " + mbirk::detail::number_text(to[i]) +
                           ", expected finite line integrals (counts need a white field)");
    }
  return {};
}

repair_count measurement_source::read_all(context<exec::host, instrument::none> const& ctx, float* sinogram,
                                          std::function<void(index_t)> const& done, data_sums* sums) const {
  repair_count all;
  mbirk::detail::crc32 sum;
  for (index_t first = 0; first < shape_[0]; first += block()) {
    index_t const count = std::min(block(), shape_[0] - first);
    float* const to = sinogram + first * shape_[1] * shape_[2];
    data_.read(first, count, to);
    if (sums) sum.add(to, static_cast<std::size_t>(count * shape_[1] * shape_[2]) * sizeof(float));
    all += convert(ctx, first, count, to);
    if (done) done(first + count);
  }
  if (sums) {
    (*sums)["measurements"] = sum.line().substr(0, mbirk::detail::checkpoint_tail - 1);
    if (counts()) {
      (*sums)["white field"] = data_sum(white_.data(), white_.size() * sizeof(float));
      (*sums)["dark field"] = data_sum(dark_.data(), dark_.size() * sizeof(float));
    }
  }
  return all;
}

}  // namespace mbirk::program
