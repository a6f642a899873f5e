// Reading of measurements.
#include "input/measurement.hpp"

#include <algorithm>
#include <cmath>

namespace mbirk::program {
namespace {

using mbirk::detail::shape_text;

[[noreturn]] void fail(std::string const& name, std::string const& what,
                       source_location w = source_location::current()) {
  throw io_error(name + ": " + what, w);
}

/// Field of view `at` on the line between the fields before and after it. @return (rows, channels)
std::vector<float> field_at(std::vector<mean_field> const& fields, double at, std::size_t first, std::size_t count) {
  auto const part = [&](mean_field const& f) {
    auto const from = f.values.begin() + static_cast<std::ptrdiff_t>(first);
    return std::vector<float>(from, from + static_cast<std::ptrdiff_t>(count));
  };
  auto const after = std::find_if(fields.begin(), fields.end(), [&](mean_field const& f) { return f.at > at; });
  if (after == fields.begin()) return part(fields.front());
  if (after == fields.end()) return part(fields.back());
  auto const& before = *(after - 1);
  double const t = (at - before.at) / (after->at - before.at);
  std::vector<float> mixed(count);
  for (std::size_t i = 0; i < count; ++i)
    mixed[i] = static_cast<float>((1 - t) * static_cast<double>(before.values[first + i]) +
                                  t * static_cast<double>(after->values[first + i]));
  return mixed;
}

/// Number of fields that the frames of a stack become.
index_t groups_of(std::vector<index_t> const& at) {
  index_t groups = 1;
  for (std::size_t k = 1; k < at.size(); ++k) groups += at[k] != at[k - 1] ? 1 : 0;
  return groups;
}

}  // namespace

/// Reads frames of a stack, cut to the selected channels and binned: the mean of bin x bin pixels. Rows are binned
/// rows.
void measurement_source::read_selected(frame_stack const& stack, std::vector<index_t> const& frames, index_t first_row,
                                       index_t rows, float* to) const {
  auto const& s = part_;
  index_t const channels = s.shape[2], all_channels = stack.shape[2], source_rows = rows * s.bin;
  auto const selected = mbirk::detail::selected_stack(stack, frames);
  if (s.bin == 1 && channels == all_channels)
    return selected.read({0, selected.shape[0], s.first[1] + first_row, rows}, to);
  std::vector<float> frame(static_cast<std::size_t>(source_rows * all_channels));
  double const scale = 1 / static_cast<double>(s.bin * s.bin);
  for (index_t f = 0; f < selected.shape[0]; ++f) {
    selected.read({f, 1, s.first[1] + first_row * s.bin, source_rows}, frame.data());
    for (index_t r = 0; r < rows; ++r)
      for (index_t c = 0; c < channels; ++c) {
        double sum = 0;
        for (index_t y = 0; y < s.bin; ++y)
          for (index_t x = 0; x < s.bin; ++x)
            sum += static_cast<double>(
                frame[static_cast<std::size_t>((r * s.bin + y) * all_channels + s.first[2] + c * s.bin + x)]);
        *to++ = static_cast<float>(sum * scale);
      }
  }
}

std::vector<mean_field> measurement_source::read_fields(frame_stack const& stack,
                                                        std::vector<index_t> const& at) const {
  index_t const rows = part_.shape[1], channels = part_.shape[2];
  std::vector<mean_field> fields;
  std::vector<float> frame(static_cast<std::size_t>(rows * channels));
  view<float const, 3> const one(frame.data(), {1, rows, channels});
  for (index_t f = 0; f < stack.shape[0];) {
    auto const before = [&](index_t k) { return at.empty() ? 0 : at[static_cast<std::size_t>(k)]; };
    frame_mean mean(rows, channels);
    index_t const first = f;
    for (; f < stack.shape[0] && before(f) == before(first); ++f) {
      read_selected(stack, {f}, 0, rows, frame.data());
      mean.add(one);
    }
    fields.push_back({static_cast<double>(before(first)), mean.values()});
  }
  return fields;
}

double measurement_source::needed_memory() const {
  auto const size = [](index_t n) { return static_cast<double>(n); };
  auto const bytes = [&](index_t rows, index_t channels) { return 4 * size(rows) * size(channels); };
  double const pixels = bytes(part_.shape[1], part_.shape[2]);
  // Angles in both precisions; what readers keep; a frame before it is cut.
  double sum = 12 * size(scan_.data.shape[0]) + scan_.data.memory;
  if (!part_.all() || part_.bin > 1) sum += bytes(scan_.data.shape[1], scan_.data.shape[2]);
  if (!scan_.white && !scan_.white_level) return sum;
  // A field for each group of frames, and those in use for a view or between two of them.
  index_t fields = 2 + (scan_.white ? groups_of(scan_.white_at) : 1) + (scan_.dark ? groups_of(scan_.dark_at) : 1);
  sum += pixels * size(fields);
  for (auto const* const field : {&scan_.white, &scan_.dark})
    if (*field) sum += (*field)->memory;
  // While a mean is made: the frame, sums in double, and the mean as it grows.
  return sum + (scan_.white ? 6 * pixels : 0);
}

measurement_source::measurement_source(measurement_files const& files, selection_options const& part,
                                       memory_budget const& memory)
    : scan_(open_scan(files, memory)), part_(select(part, scan_.data.shape)) {
  if (files.counts && !scan_.white && !scan_.white_level)
    fail(scan_.data.name, "is said to hold counts, but there is no white field: expected --white FILE, --white-level X "
                          "or /exchange/data_white");
  if (!files.dark.empty() && !scan_.white && !scan_.white_level)
    fail(files.dark, "is a dark field, but there is no white field: expected --white FILE");
  auto const pixels = static_cast<std::size_t>(part_.shape[1] * part_.shape[2]);
  // A header may say anything; a frame of 64 GiB is none.
  if (pixels > (std::size_t{1} << 34))
    fail(scan_.data.name, "has frames of " + std::to_string(part_.shape[1]) + " x " + std::to_string(part_.shape[2]) +
                              " pixels, expected at most 2^34 (--rows and --channels select a part)");
  memory_ = needed_memory();
  memory.require(memory_, scan_.data.name + ": reading frames of shape " + shape_text(scan_.data.shape));
  for (index_t v = 0; v < part_.shape[0] && !scan_.angles.empty(); ++v)
    theta_.push_back(static_cast<float>(scan_.angles[static_cast<std::size_t>(part_.first[0] + v * part_.step)]));
  if (scan_.white) {
    white_ = read_fields(*scan_.white, scan_.white_at);
    white_frames_ = scan_.white->shape[0];
  } else if (scan_.white_level) {
    white_ = {{0, std::vector<float>(pixels, static_cast<float>(*scan_.white_level))}};
  } else {
    return;
  }
  if (scan_.dark) {
    dark_ = read_fields(*scan_.dark, scan_.dark_at);
    dark_frames_ = scan_.dark->shape[0];
  } else {
    dark_ = {{0, std::vector<float>(pixels, 0)}};
  }
}

std::string measurement_source::description() const {
  if (!counts()) return "line integrals (" + scan_.data.type + ')';
  if (!scan_.white)
    return "counts (" + scan_.data.type + "), white level " + mbirk::detail::number_text(*scan_.white_level);
  return "counts (" + scan_.data.type + "), " + std::to_string(white_frames_) + " white and " +
         std::to_string(dark_frames_) + " dark frames";
}

index_t measurement_source::block() const noexcept {
  return std::clamp<index_t>((index_t{1} << 24) / (part_.shape[1] * part_.shape[2]), 1, part_.shape[0]);
}

repair_count measurement_source::read(context<exec::host, instrument::none> const& ctx, index_t first, index_t count,
                                      float* to) const {
  return read_rows(ctx, first, count, 0, part_.shape[1], to);
}

repair_count measurement_source::read_rows(context<exec::host, instrument::none> const& ctx, index_t first,
                                           index_t count, index_t first_row, index_t rows, float* to) const {
  index_t const channels = part_.shape[2];
  std::vector<index_t> frames;
  for (index_t v = first; v < first + count; ++v) frames.push_back(part_.first[0] + v * part_.step);
  if (counts()) {
    if (rows == part_.shape[1]) return read_counts(ctx, frames, {0, rows}, {0, rows}, to);
    // Dead pixels at the edge of the band are repaired as they are in whole frames.
    index_t const from = std::max<index_t>(0, first_row - dead_pixel_reach),
                  until = std::min(part_.shape[1], first_row + rows + dead_pixel_reach);
    std::vector<float> wide(static_cast<std::size_t>(count * (until - from) * channels));
    auto const repaired = read_counts(ctx, frames, {from, until - from}, {first_row - from, rows}, wide.data());
    for (index_t v = 0; v < count; ++v)
      std::copy_n(wide.data() + (v * (until - from) + first_row - from) * channels, rows * channels,
                  to + v * rows * channels);
    return repaired;
  }
  read_selected(scan_.data, frames, first_row, rows, to);
  for (index_t i = 0; i < count * rows * channels; ++i)
    if (!mbirk::detail::is_finite(to[i])) {
      std::array const at{first + i / (rows * channels), first_row + i / channels % rows, i % channels};
      fail(scan_.data.name, "value " + shape_text(at) + " is " + mbirk::detail::number_text(to[i]) +
                                ", expected finite line integrals (counts need a white field)");
    }
  return {};
}

repair_count measurement_source::read_counts(context<exec::host, instrument::none> const& ctx,
                                             std::vector<index_t> const& frames, row_band read, row_band counted,
                                             float* to) const {
  index_t const channels = part_.shape[2], count = std::ssize(frames);
  read_selected(scan_.data, frames, read.first, read.rows, to);
  // With one white and one dark field all views of a block are converted at once.
  bool const constant = white_.size() == 1 && dark_.size() == 1;
  index_t const step = constant ? count : 1;
  auto const before = static_cast<std::size_t>(read.first * channels),
             pixels = static_cast<std::size_t>(read.rows * channels);
  repair_count repaired;
  for (index_t v = 0; v < count; v += step) {
    auto const at = static_cast<double>(frames[static_cast<std::size_t>(v)]);
    auto const white_values = field_at(white_, at, before, pixels), dark_values = field_at(dark_, at, before, pixels);
    view<float const, 2> const white(white_values.data(), {read.rows, channels}),
        dark(dark_values.data(), {read.rows, channels});
    view<float, 3> const part(to + v * read.rows * channels, {step, read.rows, channels});
    repaired += counts_to_line_integrals(ctx, part, white, dark, part, counted.first, counted.rows);
  }
  return repaired;
}

repair_count measurement_source::read_all(context<exec::host, instrument::none> const& ctx, float* sinogram,
                                          std::function<void(index_t)> const& done) const {
  repair_count all;
  auto const [views, rows, channels] = part_.shape;
  for (index_t first = 0; first < views; first += block()) {
    index_t const count = std::min(block(), views - first);
    all += read(ctx, first, count, sinogram + first * rows * channels);
    if (done) done(first + count);
  }
  return all;
}

}  // namespace mbirk::program
