#include "operations/views_memory.hpp"

#include <algorithm>

#include "mbirk/core/element_count.hpp"
#include "mbirk/distributed/self.hpp"
#include "mbirk/distributed/subset_of_views.hpp"
#include "mbirk/distributed/view_tree.hpp"
#include "mbirk/exec/host.hpp"
#include "mbirk/instrument/none.hpp"
#include "mbirk/kernel/shared/layout.hpp"
#include "mbirk/util/histogram.hpp"

namespace mbirk::program {
namespace {

double bytes_of(std::array<index_t, 3> const& shape) { return 4 * static_cast<double>(element_count(shape)); }

/// Pixels of the largest subset.
double most_pixels(recon_options const& o, double masked) {
  index_t fewest = 0;
  for (auto const k : o.partition_sequence) {
    if (k < 0 || k >= std::ssize(o.granularity)) continue;  // refused later
    auto const subsets = std::max<index_t>(1, o.granularity[static_cast<std::size_t>(k)]);
    fewest = fewest == 0 ? subsets : std::min(fewest, subsets);
  }
  return masked / static_cast<double>(std::max<index_t>(1, fewest)) + 1;
}

}  // namespace

double state_bytes(std::array<index_t, 3> const& sinogram, std::array<index_t, 3> const& recon) {
  return 2 * bytes_of(recon) + bytes_of(sinogram);
}

namespace {

/// Bytes of what a rank needs.
struct bytes_of_views {
  double program;    // its views and weights, and its rows of the volume
  double direct;     // the arrays of a direct reconstruction
  double messages;   // of a device, on the host: the largest ones at the same time
  double kept;       // the arrays of an iterative reconstruction from its beginning to its end
  double iterating;  // and those of its iterations
  double lists;      // of pixels
  double state;      // to be saved

  double arrays(double saved) const { return kept + std::max(direct, iterating + saved); }
};

bytes_of_views find_bytes(distributed::cone_views const& part, int rank, recon_options const& o,
                          memory_question const& question, bool saves) {
  using context_of_rank = context<exec::host, instrument::none>;
  auto const whole = part.whole().recon_shape();
  double const views = bytes_of(part.sinogram_shape()), band = bytes_of(part.recon_shape()),
               column = 4 * static_cast<double>(whole[2]);
  // Sums of voxel columns that ranks add up, a sixteenth of the pixels at a time.
  auto const arrays = static_cast<double>(
      distributed::detail::view_tree<context_of_rank, distributed::self>::arrays(part, rank));
  double const sixteenth = static_cast<double>(part.by_bands().most_rows_of_a_band() * whole[1]) * column;
  double const program = views + band;
  double const direct = 2 * views + arrays * sixteenth;  // filtered, and in the layout of the projector
  if (!question.vcd) return {program, direct, sixteenth, 0, 0, 0, 0};

  auto const& g = part.whole().geometry();
  double const channel_major = 4 * static_cast<double>(part.views().count) *
                               static_cast<double>(g.channels + 2 * kernel::guard_channels) *
                               static_cast<double>(round_up(g.rows, exec::host::backend::lanes));
  auto const masked = static_cast<double>(part.whole().full_indices().size());
  double const largest = most_pixels(o, masked);
  auto const pieces = static_cast<double>(distributed::detail::pieces_of_subset(static_cast<index_t>(largest)));
  // Bands in the middle of a disc have up to 4 / pi as many pixels as the mean.
  double const piece = std::min(largest, 1.4 * largest / pieces),
               own = std::min(largest, 1.4 * largest / part.ranks());
  double const iterating = (largest + (o.slice_damping.value_or(true) ? 2 : 1) * own + arrays * piece) * column;
  double const state = saves ? state_bytes(part.sinogram_shape(), part.recon_shape()) +
                                   (rank == 0 ? state_bytes(part.whole().sinogram_shape(), whole) : 0)
                             : 0;
  // Lists take 4 bytes a pixel, and plans 16; every range of views has a mask and a list of its own.
  double const lists = masked * (16 + 60 * static_cast<double>(o.granularity.size()) + 5.0 * 16 / part.ranks());
  double const kept = (question.weighted ? 3 : 2) * channel_major + 2 * band +
                      2 * static_cast<double>(whole[1]) * column;
  double const messages = std::max(sixteenth, (largest + own + piece) * column);
  // Rank 0 receives the views that sigmas are found from.
  bool const finds_sigmas = rank == 0 && (!o.sigma_y || !o.sigma_x);
  double const sampled = finds_sigmas
                             ? (question.weighted ? 2 : 1) * bytes_of(part.whole().sinogram_shape()) /
                                   static_cast<double>(mbirk::detail::sampling_step(std::max<index_t>(1, g.views)))
                             : 0;
  double const given = program + (question.weighted ? views : 0);
  return {given, direct, std::max(messages, sampled), kept, iterating, lists, state};
}

}  // namespace

double views_memory(distributed::cone_views const& part, int rank, recon_options const& o,
                    memory_question const& question, bool saves, index_t rows_to_receive) {
  auto b = find_bytes(part, rank, o, question, saves);
  auto const whole = part.whole().recon_shape();
  if (rank == 0) b.program += bytes_of({std::min(rows_to_receive, whole[0]), whole[1], whole[2]});
  if (!question.on_device) return b.program + b.lists + b.arrays(b.state);
  return b.program + b.lists + b.state + b.messages + pinned_bytes(bytes_of(part.sinogram_shape()));
}

double device_memory_of_views(distributed::cone_views const& part, int rank, recon_options const& o,
                              memory_question const& question) {
  auto const b = find_bytes(part, rank, o, question, false);
  return with_lists * padded_on_device(b.program + b.arrays(0), part.whole().geometry().rows) +
         filter_scratch(part.sinogram_shape());
}

}  // namespace mbirk::program
