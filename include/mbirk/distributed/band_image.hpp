// The image of a rank that has bands of pixel rows and, where the prior couples pixels, one row beside them at either
// end. Not for users.
#pragma once

#include <optional>
#include <vector>

#include "mbirk/distributed/subset_of_views.hpp"
#include "mbirk/kernel/shared/pixel_band.hpp"
#include "mbirk/kernel/shared/qggmrf_cylinder.hpp"
#include "mbirk/kernel/shared/slice_units.hpp"
#include "mbirk/prior/qggmrf.hpp"

namespace mbirk::distributed::detail {

/// The rows of a rank between those of its neighbours, or the caller's array where no other rows are needed.
template <class Context, communicator Comm> class band_image {
  using B = typename Context::backend;

 public:
  /// @param coupled  whether rows of other ranks are needed
  band_image(Context const& ctx, Comm const& ranks, cone_views const& part, view<float, 3> image, bool coupled)
      : ctx_(ctx),
        ranks_(ranks),
        part_(part),
        image_(image),
        coupled_(coupled),
        held_(coupled ? part.by_bands().rows_with_neighbours() : part.rows()),
        row_(image.extent(1) * image.extent(2)),
        messages_(ctx, ranks, coupled && ranks.size() > 1 ? row_ : 0) {
    if (held_.count == part.rows().count) return;
    memory_.emplace(ctx, "image with rows beside", held_.count * row_);
    clear(ctx, *memory_);
  }

  /// The rows of this rank.
  view<float, 3> slices() const {
    if (!memory_) return image_;
    return {memory_->data() + lead() * row_, image_.extents()};
  }
  auto observe_slices() const { return observe(ctx_, slices(), "recon", array_role::output); }
  kernel::slab_columns columns() const noexcept {
    return {image_.extent(1), image_.extent(2), row_, image_.extent(2)};
  }
  /// Voxels of the n-th band of this rank: the first one, and how many.
  index_range voxels_of(index_t n) const {
    auto const rows = part_.rows_of_band(part_.bands().first + n);
    return {(rows.first - part_.rows().first) * row_, rows.count * row_};
  }

  /// The prior of the image, for kernels.
  kernel::band_prior<B, kernel::qggmrf_cylinder<B>> prior(qggmrf_parameters const& p) const {
    view<float, 3> const held(memory_ ? memory_->data() : image_.data(),
                              {held_.count, image_.extent(1), image_.extent(2)});
    return {{observe(ctx_, held, "recon", array_role::output), held_.count, image_.extent(1), image_.extent(2), row_,
             image_.extent(2), kernel::qggmrf_constants(p)},
            lead(),
            image_.extent(2)};
  }

  /// x = values
  void assign(view<float const, 3> values) const {
    if (values.data() == slices().data()) return;
    copy_floats(ctx_, observe(ctx_, values, "init_recon", array_role::argument), observe_slices(), image_.size());
  }
  /// x = values in the memory of the host
  void restore(std::vector<float> const& values) const {
    put(ctx_, values.data(), image_.size(), slices().data());
  }
  void fill(float value) const {
    launch(ctx_, blocks(), kernel::fill_values<B>{observe_slices(), value, image_.size()});
  }
  void scale(float factor) const {
    launch(ctx_, blocks(), kernel::scale_values<B>{observe_slices(), factor, image_.size()});
  }
  /// Copies the rows to the caller's array.
  void store() const {
    if (!memory_) return;
    copy_floats(ctx_, observe_slices(), observe(ctx_, image_, "recon", array_role::output), image_.size());
  }

  /// Fetches the rows beside those of this rank: every rank in turn receives its own from those that have them.
  void exchange_slices() {
    if (!coupled_) return;
    [[maybe_unused]] auto const guard = ctx_.instr.stage("rows beside");
    for (int r = 0; r < ranks_.size(); ++r) {
      auto const rows = part_.rows(r), held = part_.by_bands().rows_with_neighbours(r);
      if (held.first < rows.first) send_row(held.first, r);
      if (rows.end() < held.end()) send_row(rows.end(), r);
    }
  }
  /// Updates the rows beside those of this rank, whose direction it has received. There is nothing to send.
  void send_boundaries(subset_of_views<Context> const& subset, step_of_views<Context, Comm> const& step,
                       kernel::step_length const& alpha) const {
    if (!memory_) return;
    for (auto const& row : subset.rows_beside())
      launch(ctx_, row.ranges.size(),
             kernel::move_columns<B>{observe(ctx_, row.pixels),
                                     observe(ctx_, step.shared()) + row.first_entry * image_.extent(2),
                                     observe(ctx_, *memory_), image_.extent(2), alpha, row.ranges.all()});
  }
  void receive_boundaries() const noexcept {}

 private:
  index_t lead() const { return part_.rows().first - held_.first; }
  index_t blocks() const noexcept { return ceil_div(image_.size(), kernel::voxel_block); }
  /// A rank receives a row from the one that has it, if that is another one.
  void send_row(index_t row, int to) {
    int const from = part_.by_bands().owner_of_row(row);
    if (from == ranks_.rank())
      messages_.send("rows beside", slices().data() + (row - part_.rows().first) * row_, row_, to);
    if (to == ranks_.rank())
      messages_.receive("rows beside", memory_->data() + (row - held_.first) * row_, row_, from);
  }

  Context const& ctx_;
  Comm const& ranks_;
  cone_views const& part_;
  view<float, 3> image_;
  bool coupled_;
  index_range held_;  // rows
  index_t row_;       // voxels
  value_messages<Context, Comm> messages_;
  std::optional<temporary<float, Context>> memory_;
};

}  // namespace mbirk::distributed::detail
