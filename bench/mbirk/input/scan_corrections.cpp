// Runs the library's corrections.
#include "input/scan_corrections.hpp"

#include <fmt/format.h>

#include <numbers>

#include "input/measurement.hpp"
#include "mbirk/util/corrections.hpp"
#include "mbirk/util/median_views.hpp"
#include "mbirk/util/rotation_axis.hpp"
#include "mbirk/util/stripes.hpp"

namespace mbirk::program {

std::vector<std::string> correct(correction_context const& ctx, correction_options const& options, view<float, 3> y,
                                 std::span<float const> angles) {
  std::vector<std::string> notes;
  auto const [views, rows, channels] = y.extents();
  if (options.background) {
    double most = 0;
    for (index_t v = 0; v < views; ++v) {
      view<float, 3> const one(&y(v, 0, 0), {1, rows, channels});
      double const offset = background_offset(one, *options.background);
      most = std::max(most, std::abs(offset));
      for (index_t i = 0; i < one.size(); ++i) one.data()[i] -= static_cast<float>(offset);
    }
    notes.push_back(fmt::format("background: at most {:.3g} was subtracted from a view", most));
  }
  if (options.zingers)
    notes.push_back(fmt::format("zingers: {} pixels were replaced", remove_zingers(ctx, y, *options.zingers)));
  if (options.median) {
    median_filter_views(ctx, y, *options.median);
    notes.push_back(fmt::format("median: of {0} x {0} pixels", *options.median));
  }
  for (auto const& method : options.stripes) {
    if (method == "sorting") remove_stripes(ctx, y, sorted_stripes{});
    else if (method == "large") remove_stripes(ctx, y, large_stripes{});
    else if (method == "dead") remove_stripes(ctx, y, dead_stripes{});
    else remove_stripes(ctx, y, wavelet_stripes{});
    notes.push_back("stripes: removed by " + method);
  }
  if (!options.paganin.empty()) {
    auto const& p = options.paganin;
    double const strength = paganin_strength(p[0], p[1], p[3], p[2]);
    retrieve_phase(ctx, y, strength);
    notes.push_back(fmt::format("phase: retrieved with strength {:.4g}", strength));
  }
  if (!options.beam_hardening.empty()) {
    correct_beam_hardening(ctx, y, options.beam_hardening);
    notes.push_back(fmt::format("beam hardening: polynomial of {} coefficients", options.beam_hardening.size()));
  }
  if (options.rotate) {
    correct_detector_rotation(ctx, y, *options.rotate * std::numbers::pi / 180);
    notes.push_back(fmt::format("rotation: views were turned back by {:.4g} degrees", *options.rotate));
  }
  if (options.drift) {
    auto const drift = estimate_drift(y, angles);
    correct_drift(ctx, y, drift);
    double row = 0, channel = 0;
    for (auto const& d : drift) {
      row = std::max(row, std::abs(d[0]));
      channel = std::max(channel, std::abs(d[1]));
    }
    notes.push_back(fmt::format("drift: views moved by at most {:.3g} rows and {:.3g} channels", row, channel));
  }
  return notes;
}

double find_centre(correction_context const& ctx, correction_options const& options, measurement_source const& source,
                   bool cone, std::vector<std::string>& notes) {
  auto const [views, rows, channels] = source.shape();
  // Corrections that need all rows of a view get two more on each side. A turned detector and phase retrieval are
  // symmetric about the axis and would need many, as would a median. The search tolerates stripes, but not what their
  // filters do to a view that is still displaced.
  auto own = options;
  own.stripes.clear();
  own.median.reset();
  own.rotate.reset();
  own.paganin.clear();
  own.drift = false;
  index_t const beside = own.needs_rows() ? 2 : 0;
  index_t const first = std::max<index_t>(0, rows / 2 - beside), last = std::min(rows - 1, rows / 2 + beside);
  std::vector<float> read(static_cast<std::size_t>(views * (last - first + 1) * channels));
  view<float, 3> const window(read.data(), {views, last - first + 1, channels});
  source.read_rows(ctx, 0, views, first, window.extent(1), read.data());
  correct(ctx, own, window, source.theta());
  std::vector<float> row;
  for (index_t v = 0; v < views; ++v)
    row.insert(row.end(), &window(v, rows / 2 - first, 0), &window(v, rows / 2 - first, 0) + channels);
  if (options.drift) {
    view<float, 3> const alone(row.data(), {views, 1, channels});
    correct_drift(ctx, alone, estimate_drift(alone, source.theta()));
  }
  auto const axis = find_rotation_axis(view<float const, 2>(row.data(), {views, channels}), source.theta());
  auto const& part = source.part();
  auto const bin = static_cast<double>(part.bin);
  double const centre = static_cast<double>(part.first[2]) + axis.centre * bin + (bin - 1) / 2;
  double const whole = static_cast<double>(part.whole[2] - 1) / 2;
  notes.push_back(fmt::format("axis at channel {:.2f} of INPUT, det_channel_offset = {:.4g} x pitch, by {}{}", centre,
                              centre - whole, axis.method, cone ? "; in cone beam an approximation" : ""));
  return centre;
}

}  // namespace mbirk::program
