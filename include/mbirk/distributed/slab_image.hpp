// The image of a rank: its slices and, where the prior couples slices, one slice of each neighbour. Not for users.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "mbirk/distributed/boundary_values.hpp"
#include "mbirk/distributed/communicator.hpp"
#include "mbirk/kernel/shared/qggmrf_cylinder.hpp"
#include "mbirk/kernel/shared/slice_units.hpp"
#include "mbirk/launch.hpp"
#include "mbirk/recon/vcd_subset.hpp"

namespace mbirk::distributed::detail {

using namespace mbirk::detail;

/// A slice of each neighbour, of all pixels or of a subset: what is sent, what is received.
struct boundary_slices {
  std::vector<float> to_below, to_above, from_below, from_above;

  void resize(index_t pixels, bool below, bool above) {
    auto const n = static_cast<std::size_t>(pixels);
    for (auto* v : {&to_below, &from_below}) v->resize(below ? n : 0);
    for (auto* v : {&to_above, &from_above}) v->resize(above ? n : 0);
  }
  neighbour_exchange exchange() {
    auto const out = [](std::vector<float> const& v) { return std::as_bytes(std::span(v)); };
    auto const in = [](std::vector<float>& v) { return std::as_writable_bytes(std::span(v)); };
    return {out(to_below), out(to_above), in(from_below), in(from_above)};
  }
};

/// The slices of a rank between those of its neighbours, each voxel column as (pack below, slices, one above), or the
/// caller's array where there are no neighbours.
template <class Context, communicator Comm> class slab_image {
  using B = typename Context::backend;
  static constexpr bool neighbours_never_update = requires { requires Comm::never_update; };
  using pending_exchange = decltype(std::declval<Comm const&>().start_exchange("", neighbour_exchange{}));

 public:
  static constexpr bool dense = false;  // there may be slices of the neighbours between voxel columns

  /// @param coupled  whether slices of the neighbours are needed
  slab_image(Context const& ctx, Comm const& ranks, view<float, 3> image, bool coupled)
      : ctx_(ctx),
        ranks_(ranks),
        image_(image),
        below_(coupled && ranks.rank() > 0),
        above_(coupled && !is_last(ranks)),
        // A whole pack below keeps the packs of the slab in place.
        lead_(below_ ? B::lanes : 0),
        length_(lead_ + image.extent(2) + (above_ ? 1 : 0)),
        // On a device a multiple of its packs, so that they stay aligned.
        column_(on_device<Context> ? round_up(length_, B::lanes) : length_),
        pixels_(image.extent(0) * image.extent(1)) {
    if (!below_ && !above_) return;
    memory_.emplace(ctx, "image with slices of the neighbours", pixels_ * column_);
    packed_.emplace(ctx, "boundary values", on_device<Context> ? pixels_ : 0);  // a subset has no more pixels
    clear(ctx, *memory_);
  }

  index_t pixels() const noexcept { return pixels_; }
  /// The slices of this rank.
  view<float, 3> slices() const {
    if (!memory_) return image_;
    return {memory_->data() + lead_, image_.extents(), {image_.extent(1) * column_, column_, 1}};
  }
  auto observe_slices() const { return observe(ctx_, slices(), "recon", array_role::output); }
  kernel::slab_columns columns() const {
    auto const x = slices();
    return {x.extent(1), x.extent(2), x.stride(0), x.stride(1)};
  }

  /// The prior of the image, for kernels.
  kernel::slab_prior<B, kernel::qggmrf_cylinder<B>> prior(qggmrf_parameters const& p) const {
    auto const x = slices();
    auto const whole_columns =
        observe(ctx_, view<float const, 3>(x.data() - lead_, {x.extent(0), x.extent(1), length_}, x.strides()), "recon",
                array_role::output);
    return {{whole_columns, x.extent(0), x.extent(1), length_, x.stride(0), x.stride(1),
             kernel::qggmrf_constants(p)},
            lead_,
            x.extent(2)};
  }

  /// x = values, in the slices of this rank.
  void assign(view<float const, 3> values) const {
    if (values.data() == slices().data()) return;
    launch(ctx_, ceil_div(pixels_, kernel::copy_slab_columns<B>::batch),
           kernel::copy_slab_columns<B>{observe(ctx_, values, "init_recon", array_role::argument), observe_slices(),
                                        values.extent(2), slices().stride(1), values.extent(2), pixels_});
  }
  /// x = values in the memory of the host, in the slices of this rank.
  void restore(std::vector<float> const& values) const {
    device_table const uploaded(ctx_, values, "saved recon");
    assign(view<float const, 3>(uploaded.data(), image_.extents()));
  }
  /// x = value, in the slices of the neighbours too.
  void fill(float value) {
    each_element([&](auto all, index_t count) { return kernel::fill_values<B>{all, value, count}; });
  }
  /// x *= factor, in the slices of the neighbours too.
  void scale(float factor) {
    each_element([&](auto all, index_t count) { return kernel::scale_values<B>{all, factor, count}; });
  }
  /// Copies the slices to the caller's array.
  void store() const {
    if (!memory_) return;
    launch(ctx_, ceil_div(pixels_, kernel::copy_slab_columns<B>::batch),
           kernel::copy_slab_columns<B>{observe_slices(), observe(ctx_, image_, "recon", array_role::output), column_,
                                        image_.extent(2), image_.extent(2), pixels_});
  }

  /// Fetches the boundary slices of the neighbours, of all pixels.
  void exchange_slices() {
    if (!memory_) return;
    [[maybe_unused]] auto const guard = ctx_.instr.stage("boundary slices");
    boundary_slices all;
    all.resize(pixels_, below_, above_);
    index_t const count = image_.extent(2);
    if (below_) fetch_slice(ctx_, slice(0), *packed_, all.to_below);
    if (above_) fetch_slice(ctx_, slice(count - 1), *packed_, all.to_above);
    ranks_.start_exchange("boundary slices", all.exchange()).wait();
    if (below_) store_slice(ctx_, all.from_below, *packed_, slice(-1));
    if (above_) store_slice(ctx_, all.from_above, *packed_, slice(count));
  }
  /// Sends alpha d of the boundary slices without waiting for it: receive_boundaries() does so after the next back
  /// projection. Whether the data travel meanwhile depends on the engine. The subset must live until then.
  /// @param alpha  on the host
  void send_boundaries(vcd_subset<Context> const& subset, vcd_step<Context> const& d, kernel::step_length alpha) {
    if (!memory_ || neighbours_never_update) return;
    boundaries_.resize(subset.size(), below_, above_);
    index_t const count = image_.extent(2);
    auto const fetch = [&](index_t slice, std::vector<float>& to) {
      view<float const, 3> const of_pixels(d.direction().data() + slice, {1, subset.size(), 1}, {0, count, 1});
      fetch_slice(ctx_, of_pixels, *packed_, to);
      for (auto& x : to) x *= alpha.get();
    };
    if (below_) fetch(0, boundaries_.to_below);
    if (above_) fetch(count - 1, boundaries_.to_above);
    in_flight_.emplace(
        in_flight{subset, ranks_.start_exchange("boundaries of a subset", boundaries_.exchange())});
  }
  /// Adds what the neighbours have sent to their slices here, as they did: pixel by pixel, repeated ones twice.
  void receive_boundaries() {
    if (!in_flight_) return;
    [[maybe_unused]] auto const guard = ctx_.instr.stage("boundaries");
    in_flight_->messages.wait();
    if (below_) add_to_slice(ctx_, in_flight_->subset, boundaries_.from_below, *packed_, slice(-1));
    if (above_)
      add_to_slice(ctx_, in_flight_->subset, boundaries_.from_above, *packed_, slice(image_.extent(2)));
    in_flight_.reset();
  }

 private:
  /// A slice of this rank, or the one below or above them.
  view<float, 3> slice(index_t k) const {
    auto const x = slices();
    return {x.data() + k, {x.extent(0), x.extent(1), 1}, x.strides()};
  }
  template <class Make> void each_element(Make const& make) {
    index_t const count = memory_ ? memory_->size() : image_.size();
    auto const all = memory_ ? observe(ctx_, *memory_) : observe_slices();
    launch(ctx_, ceil_div(count, kernel::voxel_block), make(all, count));
  }

  struct in_flight { vcd_subset<Context> const& subset; pending_exchange messages; };

  Context const& ctx_;
  Comm const& ranks_;
  view<float, 3> image_;
  bool below_, above_;  // whether there is a neighbour whose slice is needed
  index_t lead_, length_, column_, pixels_;  // slices before those of this rank, all, and between voxel columns
  std::optional<temporary<float, Context>> memory_;  // (pixels, column)
  std::optional<temporary<float, Context>> packed_;  // boundary values on their way between a device and the host
  boundary_slices boundaries_;
  std::optional<in_flight> in_flight_;  // after boundaries_, which its messages refer to
};

}  // namespace mbirk::distributed::detail
