// Corrections of a scan that the command line asks for, in the order in which they are made.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mbirk/context.hpp"
#include "mbirk/core/view.hpp"
#include "mbirk/exec/host.hpp"
#include "mbirk/instrument/none.hpp"

namespace mbirk::program {

class measurement_source;

struct correction_options {
  std::optional<double> zingers = {};         ///< threshold
  std::optional<index_t> median = {};         ///< size of the window
  std::optional<index_t> background = {};     ///< channels at each edge
  std::vector<std::string> stripes = {};      ///< sorting, large, dead, wavelet
  std::vector<double> beam_hardening = {};    ///< coefficients of p, p^2, ...
  std::optional<double> rotate = {};          ///< degrees
  bool drift = false;
  std::vector<double> paganin = {};           ///< energy (keV), distance (mm), delta/beta, pixel (mm)

  /// Whether a correction needs all views of a row, or all rows of a view.
  bool needs_views() const noexcept { return !stripes.empty() || drift; }
  bool needs_rows() const noexcept { return background || zingers || median || rotate || drift || !paganin.empty(); }
};

using correction_context = context<exec::host, instrument::none>;

/// Corrects line integrals in place: what detector pixels do (background, zingers, median, stripes), what rays do
/// (phase, beam hardening), and then where the detector was (rotation, drift), because that mixes pixels.
/// @param y       (views, rows, channels), all that needs_views and needs_rows ask for.
/// @param angles  one per view; for drift only.
/// @return one line for each correction, with what it found
std::vector<std::string> correct(correction_context const& ctx, correction_options const& options, view<float, 3> y,
                                 std::span<float const> angles);

/// Finds the axis in the middle row, corrected by the options. @return channel of INPUT, and notes
double find_centre(correction_context const& ctx, correction_options const& options, measurement_source const& source,
                   bool cone, std::vector<std::string>& notes);

}  // namespace mbirk::program
