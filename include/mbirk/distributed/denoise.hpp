// qggmrf_denoise by several ranks, which have some pixel rows of the image each.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mbirk/distributed/band_norms.hpp"
#include "mbirk/distributed/subset_of_views.hpp"
#include "mbirk/distributed/value_messages.hpp"
#include "mbirk/exec/instruction_set.hpp"
#include "mbirk/kernel/shared/pixel_band.hpp"
#include "mbirk/kernel/shared/slice_units.hpp"
#include "mbirk/recon/denoise.hpp"

namespace mbirk::distributed {

/// The pixel rows of an image that a rank has.
class image_rows : public banded_rows {
 public:
  /// @param whole  shape of the image of all ranks, (rows, cols, slices)
  /// @throws parameter_error if a rank would have no rows, or for more ranks than bands
  image_rows(std::array<index_t, 3> whole, int rank, int ranks) : banded_rows(whole[0], rank, ranks), whole_(whole) {
    require(ranks >= 1 && ranks <= row_bands, [&] {
      return mbirk::detail::message(ranks, " ranks for ", row_bands, " bands of rows, expected at most ", row_bands);
    });
    for (int r = 0; r < ranks; ++r)
      require(rows(r).count > 0, [&] {
        return mbirk::detail::message(ranks, " ranks for ", whole[0], " rows in ", row_bands, " bands: rank ", r,
                                      " would have none, expected fewer ranks");
      });
  }

  std::array<index_t, 3> const& whole() const noexcept { return whole_; }
  std::array<index_t, 3> shape() const { return {rows().count, whole_[1], whole_[2]}; }

 private:
  std::array<index_t, 3> whole_;
};

namespace detail {

/// The rows of a rank between those of its neighbours, and the subsets of their pixels.
template <class Context, communicator Comm> class denoising_in_rows {
  using B = typename Context::backend;

 public:
  denoising_in_rows(Context const& ctx, Comm const& ranks, image_rows const& part, pixel_partition const& partition)
      : ctx_(ctx),
        ranks_(ranks),
        tree_(ranks),
        part_(part),
        held_(part.rows_with_neighbours()),
        row_(part.whole()[1] * part.whole()[2]),
        input_(ctx, "image with rows beside", held_.count * row_),
        output_(ctx, "output with rows beside", held_.count * row_),
        messages_(ctx, ranks, 0),
        ones_(static_cast<std::size_t>(round_up(part.whole()[2], B::lanes)), 1.0f),
        device_ones_(ctx, ones_, "ones") {
    index_t const cols = part.whole()[1];
    auto const mine = part.rows();
    // Tasks have as many pixels on every rank, however many ranks there are.
    index_t const of_task =
        on_device<Context>
            ? kernel::pixels_of_device_task(ceil_div(partition.length, row_bands), kernel::prior_batch)
            : kernel::prior_batch;
    for (index_t s = 0; s < partition.subsets; ++s) {
      auto const all = partition.subset(s);
      auto const pixels_of = [&](index_range rows) {
        auto const [first, end] = entries_of(all, rows, cols);
        std::vector<std::int32_t> pixels;
        for (index_t e = first; e < end; ++e)
          pixels.push_back(static_cast<std::int32_t>(all[static_cast<std::size_t>(e)] - held_.first * cols));
        return pixels;
      };
      index_t in_subset = 0;
      for (index_t b = part.bands().first; b < part.bands().end(); ++b) {
        auto const pixels = pixels_of(part.rows_of_band(b));
        subsets_.add(kernel::chunk_without_splitting_duplicates(pixels, of_task), in_subset);
        subsets_.pixels.insert(subsets_.pixels.end(), pixels.begin(), pixels.end());
        in_subset += std::ssize(pixels);
        band_ends_.push_back(std::ssize(subsets_.ranges) - subsets_.first_range.back());
      }
      subsets_.end_subset(std::ssize(subsets_.pixels));
      // In the order of edge.
      for (index_t const row : {mine.first, mine.end() - 1, mine.first - 1, mine.end()}) {
        auto const pixels = pixels_of({row, 1});
        edges_.push_back({std::ssize(edge_pixels_), std::ssize(pixels)});
        edge_pixels_.insert(edge_pixels_.end(), pixels.begin(), pixels.end());
        longest_edge_ = std::max(longest_edge_, std::ssize(pixels));
      }
    }
    device_edge_pixels_.emplace(ctx, edge_pixels_, "pixels next to a neighbour");
    edge_columns_.emplace(ctx, "columns next to a neighbour", edges * longest_edge_ * part.whole()[2]);
  }

  denoise_subsets const& subsets() const noexcept { return subsets_; }
  view<float, 3> input() const { return held(input_); }
  view<float, 3> output() const { return held(output_); }

  /// Copies the rows of this rank, and fetches those beside them. Collective.
  void load_input(view<float const, 3> from) { load(from, input_); }
  void load_output(view<float const, 3> from) { load(from, output_); }
  void store(view<float, 3> to) const { copy_rows(view<float const, 3>(rows_of_rank(output_)), to, "output"); }
  /// Sum of the absolute values of the output, in the rows of this rank. Collective.
  double norm() const {
    std::vector<index_range> bands;
    for (index_t b = part_.bands().first; b < part_.bands().end(); ++b) {
      auto const rows = part_.rows_of_band(b);
      bands.push_back({(rows.first - held_.first) * row_, rows.count * row_});
    }
    return tree_.sum("norm", band_norms(ctx_, observe(ctx_, output_), bands), 1)[0];
  }

  // The policy of detail::denoiser:

  /// Line searches of the subsets of an iteration, whose sums are those of all ranks.
  class search {
   public:
    struct step { double alpha = 0; std::array<double, 2> changes{}; };

    search(denoising_in_rows const& all, index_t subsets, std::string failure)
        : all_(all), steps_(static_cast<std::size_t>(subsets)), failure_(std::move(failure)) {}
    template <class Formula>
    kernel::step_length find(index_t subset, Formula const& formula, temporary<double, Context> const& pairs) {
      auto const [slope, curve] = all_.sum("line search", subset, pairs);
      double alpha[1] = {1};
      formula({slope, curve, 0}, alpha);
      require<error>(std::isfinite(alpha[0]), [&] { return failure_; });
      at(subset).alpha = alpha[0];
      return {alpha[0]};
    }
    void add_changes(index_t subset, temporary<double, Context> const& pairs) {
      at(subset).changes = all_.sum("change and norm", subset, pairs);
    }
    std::vector<step> const& steps() const noexcept { return steps_; }

   private:
    step& at(index_t subset) { return steps_[static_cast<std::size_t>(subset)]; }

    denoising_in_rows const& all_;
    std::vector<step> steps_;
    std::string failure_;
  };
  search make_search(Context const&, denoise_subsets const& subsets, std::string failure) const {
    return {*this, subsets.count(), std::move(failure)};
  }
  /// Exchanges the new values of a subset's pixels in the rows next to a neighbour.
  void updated(index_t subset) const {
    index_t const slices = part_.whole()[2];
    auto const pixels = [&](edge e) { return edges_[static_cast<std::size_t>(edges * subset + e)]; };
    auto const room = [&](edge e, bool there) {
      auto const columns = there ? pixels(e).count : 0;
      return std::span(edge_columns_->data() + e * longest_edge_ * slices, static_cast<std::size_t>(columns * slices));
    };
    auto const listed = [&](edge e) { return observe(ctx_, *device_edge_pixels_) + pixels(e).first; };
    auto const columns = [&](edge e) { return observe(ctx_, *edge_columns_) + e * longest_edge_ * slices; };
    auto const take = [&](edge e, bool there) {
      if (there)
        launch(ctx_, ceil_div(pixels(e).count, kernel::band_batch),
               kernel::take_columns<B>{observe(ctx_, output_), listed(e), columns(e), slices, pixels(e).count});
      return room(e, there);
    };
    auto const put_back = [&](edge e, bool there) {
      if (there)
        launch(ctx_, ceil_div(pixels(e).count, kernel::band_batch),
               kernel::store_columns<B>{columns(e), listed(e), observe(ctx_, device_ones_), observe(ctx_, output_),
                                        slices, pixels(e).count, 0});
    };
    auto const to_below = take(first_row, has_below()), to_above = take(last_row, has_above());
    messages_.exchange("rows of a subset", to_below, to_above, room(below, has_below()), room(above, has_above()));
    put_back(below, has_below());
    put_back(above, has_above());
  }
  template <class F> bool stops(F const& f) const {
    bool mine = false;
    agree(ranks_, [&] { mine = f(); });
    return all_reduce(ranks_, "whether to go on", mine ? 0 : 1, reduction::minimum) == 0;
  }

 private:
  /// Rows whose pixels neighbours exchange: the first and the last one of this rank, and those beside them.
  enum edge : index_t { first_row, last_row, below, above, edges };

  void load(view<float const, 3> from, temporary<float, Context> const& to) {
    copy_rows(from, rows_of_rank(to), "image");
    auto const row = [&](index_t i, bool there) {
      return std::span(to.data() + i * row_, static_cast<std::size_t>(there ? row_ : 0));
    };
    index_t const end = lead() + part_.shape()[0];
    messages_.exchange("rows beside", row(lead(), has_below()), row(end - 1, has_above()), row(0, has_below()),
                       row(end, has_above()));
  }
  /// Copies the rows of this rank, whose voxel columns may have gaps between them.
  void copy_rows(view<float const, 3> from, view<float, 3> to, char const* name) const {
    auto const [rows, cols, slices] = part_.shape();
    auto const in = observe(ctx_, from, name, array_role::argument);
    auto const out = observe(ctx_, to, name, array_role::output);
    for (index_t i = 0; i < rows; ++i)
      launch(ctx_, ceil_div(cols, kernel::copy_slab_columns<B>::batch),
             kernel::copy_slab_columns<B>{in + i * from.stride(0), out + i * to.stride(0), from.stride(1),
                                          to.stride(1), slices, cols});
  }
  view<float, 3> rows_of_rank(temporary<float, Context> const& memory) const {
    return {memory.data() + lead() * row_, part_.shape()};
  }
  bool has_below() const noexcept { return ranks_.rank() > 0; }
  bool has_above() const { return !is_last(ranks_); }
  index_t lead() const { return part_.rows().first - held_.first; }
  view<float, 3> held(temporary<float, Context> const& memory) const {
    return {memory.data(), {held_.count, part_.whole()[1], part_.whole()[2]}};
  }
  /// Sums over the tasks of a subset, two numbers each. Collective.
  std::array<double, 2> sum(char const* what, index_t subset, temporary<double, Context> const& pairs) const {
    host_copy const partial(ctx_, pairs);
    std::vector<double> leaves;
    index_t task = 0;
    for (index_t b = 0; b < part_.bands().count; ++b) {
      std::array<double, 2> both{};
      for (; task < band_ends_[static_cast<std::size_t>(subset * part_.bands().count + b)]; ++task)
        for (std::size_t m = 0; m < 2; ++m) both[m] += partial[2 * task + static_cast<index_t>(m)];
      leaves.insert(leaves.end(), both.begin(), both.end());
    }
    auto const all = tree_.sum(what, leaves, 2);
    return {all[0], all[1]};
  }

  Context const& ctx_;
  Comm const& ranks_;
  tree_sums<Comm> tree_;
  image_rows const& part_;
  index_range held_;
  index_t row_;
  temporary<float, Context> input_, output_;
  value_messages<Context, Comm> messages_;
  denoise_subsets subsets_;
  std::vector<index_t> band_ends_;         // tasks of a subset up to the end of a band, (subsets, bands of this rank)
  std::vector<std::int32_t> edge_pixels_;  // counted from the first row that is held
  std::vector<index_range> edges_;         // in edge_pixels_, (subsets, edges)
  index_t longest_edge_ = 0;
  std::vector<float> ones_;
  device_table<float, Context> device_ones_;
  std::optional<device_table<std::int32_t, Context>> device_edge_pixels_;
  std::optional<temporary<float, Context>> edge_columns_;  // (edges, longest edge, slices)
};

/// Every row_step-th row, and every step-th column and slice of it, of the image of all ranks, on rank 0; empty on the
/// others.
template <class Context, communicator Comm>
std::vector<float> gather_voxels(Context const& ctx, Comm const& ranks, image_rows const& part,
                                 view<float const, 3> image, index_t row_step, index_t step) {
  auto const before = [&](index_t row) { return ceil_div(row, row_step); };
  auto const [rows, cols, slices] = part.whole();
  auto const each = static_cast<std::size_t>(ceil_div(cols, step) * ceil_div(slices, step));
  std::vector<float> all;
  agree(ranks, [&] {
    auto const mine = part.rows();
    index_t const taken = ranks.rank() == 0 ? before(rows) : before(mine.end()) - before(mine.first);
    all.reserve(each * static_cast<std::size_t>(taken));
    for (index_t i = before(mine.first) * row_step; i < mine.end(); i += row_step) {
      view<float const, 2> const of_image(image.data() + (i - mine.first) * image.stride(0), {cols, slices},
                                          {image.stride(1), image.stride(2)});
      host_view const row(ctx, of_image);
      for (index_t j = 0; j < cols; j += step)
        for (index_t k = 0; k < slices; k += step) all.push_back(row(j, k));
    }
  });
  if (ranks.rank() > 0) {
    ranks.send("sampled voxels", std::as_bytes(std::span(all)), 0);
    return {};
  }
  for (int r = 1; r < ranks.size(); ++r) {
    auto const theirs = part.rows(r);
    auto const at = all.size();
    all.resize(at + each * static_cast<std::size_t>(before(theirs.end()) - before(theirs.first)));
    ranks.receive("sampled voxels", std::as_writable_bytes(std::span(all).subspan(at)), r);
  }
  return all;
}

/// The values on which ranks must agree.
/// @param device  whether this rank has its rows on a device
inline std::vector<common_value> common_values(image_rows const& part, denoise_options const& o, bool device) {
  auto const of = [](auto const&... values) { return fingerprint(values...).value(); };
  std::int64_t const mask = o.use_ror_mask ? of(make_mask(part.whole()[0], part.whole()[1], *o.use_ror_mask)) : 0;
  return {{"the shape of the image", of(part.whole())},
          {"the instruction set", of(instruction_set())},
          {"use_ror_mask", mask},
          {"having init_image", o.init_image ? 1 : 0},
          {"sigma_noise", of(o.sigma_noise)},
          {"sigma_x", of(o.sigma_x)},
          {"sharpness", of(o.sharpness)},
          {"p, q or T", of(o.p, o.q, o.T)},
          {"qggmrf_nbr_wts", of(o.qggmrf_nbr_wts)},
          {"granularity", o.granularity},
          {"max_iterations", o.max_iterations},
          {"stop_threshold_change_pct", of(o.stop_threshold_change_pct)},
          {"seed", o.seed},
          {"having the rows on a device", device ? 1 : 0}};
}

}  // namespace detail

/// mbirk::qggmrf_denoise, by several ranks that have some pixel rows of the image each. Collective.
///
/// @param ctx      execution and instrumentation; on a device the arrays of the rank are in its memory, and the call
///                 waits for every line search.
/// @param ranks    a communicator: self, mpi, or either one counted.
/// @param part     the rows of this rank: image_rows(shape, ranks.rank(), ranks.size()).
/// @param image    (rows of the rank, cols, slices).
/// @param options  the same on all ranks; init_image has the rows of the rank. Any rank's progress callback can stop
///                 all.
/// @param output   as image; overwritten.
/// @return the record, the same on every rank.
/// @throws as qggmrf_denoise, on every rank the error of the first that failed; communication_error; parameter_error
///         also when ranks differ in the options.
/// Cost: as qggmrf_denoise of the rows of the rank. Memory besides: the rows of the rank twice, with one beside them at
/// either end; for the estimates, on rank 0, up to five million voxels and 20 to 39 rows of the image. Traffic of a
/// rank: for each subset 32 bytes (up to three times as much where the number of ranks is no power of two), and 4 bytes
/// a voxel of the subset in the rows next to a neighbour. The result has the same bits for every number of ranks, up to
/// 16, and of threads, and sigmas have those of mbirk::qggmrf_denoise, with which the image agrees to float32 rounding.
template <execution_policy Exec, instrumentation_policy Instr, communicator Comm>
denoise_record qggmrf_denoise(context<Exec, Instr> const& ctx, Comm const& ranks, image_rows const& part,
                              view<float const, 3> image, denoise_options const& options, view<float, 3> output) {
  using Context = context<Exec, Instr>;
  static_assert(Context::backend::has_data);
  constexpr char const* name = "qggmrf_denoise";
  std::vector<common_value> values;
  agree(ranks, [&] {
    mbirk::detail::check_denoise(ctx, image, options, output);
    require_shape(image, part.shape(), name, "image", "(rows of the rank, cols, slices)");
    require(part.is_of(ranks.rank(), ranks.size()), [&] {
      return mbirk::detail::message(name, ": the rows are those of another rank or number of ranks");
    });
    values = detail::common_values(part, options, on_device<Context>);
  });
  require_same(ranks, values, name);
  [[maybe_unused]] auto const guard = ctx.instr.scope({name, image.size() * options.max_iterations});

  auto const [rows, cols, slices] = part.whole();
  denoise_record record;
  std::optional<detail::denoising_in_rows<Context, Comm>> made;
  agree(ranks, [&] {
    auto const pixels = full_indices(make_mask(rows, cols, options.use_ror_mask.value_or(false)));
    numpy_random_state random(options.seed);
    auto const partition = mbirk::detail::list_partition(host_context_of(ctx), pixels, options.granularity, random,
                                                         array_role::temporary, array_role::temporary);
    record.subsets = partition.subsets;
    record.warnings = partition.warnings;
    made.emplace(ctx, ranks, part, partition);
    mbirk::detail::denoiser<Context> const here(ctx, image, output, options);
    auto const finite = [&](view<float const, 3> v, char const* what) {
      auto const all = here.template measure<false>(here.cylinders(v, what));
      require(std::isfinite(all.sum), [&] {
        return mbirk::detail::message(
            name, ", rows from ", part.rows().first, " on: ",
            mbirk::detail::first_bad(ctx, v, what, [](float x) { return !std::isfinite(x); }),
            ", expected finite values");
      });
    };
    finite(image, "image");
    if (options.init_image) finite(*options.init_image, "init_image");
  });
  auto& mine = *made;
  auto const start = options.init_image.value_or(image);
  mine.load_input(image);
  mine.load_output(start);

  using denoiser = mbirk::detail::denoiser<Context>;
  denoiser const run(ctx, view<float const, 3>(mine.input()), mine.output(), options);
  auto const estimate = [&](std::optional<double> const& given, index_t row_step, index_t step, auto const& find) {
    double found = given.value_or(0);
    if (given) return found;
    auto const voxels = detail::gather_voxels(ctx, ranks, part, image, row_step, step);
    agree(ranks, [&] {
      if (ranks.rank() > 0) return;
      index_t const c = ceil_div(cols, step), s = ceil_div(slices, step);
      device_table const sampled(ctx, voxels, "image sample");
      typename denoiser::image const sample{observe(ctx, sampled), ceil_div(rows, row_step), c, s, c * s, s};
      found = find(sample, run.template measure<false>(sample));
    });
    ranks.broadcast("sigmas", std::as_writable_bytes(std::span(&found, 1)), 0);
    return found;
  };
  index_t const step = std::max<index_t>(1, denoiser::noise_step(rows * cols * slices));
  record.sigma_noise = estimate(options.sigma_noise, step, step,
                                [&](auto const& sample, auto const& m) { return run.noise_of(sample, m); });
  record.sigma_x =
      estimate(options.sigma_x, mbirk::detail::sampling_step(rows), 1, [&](auto const& sample, auto const& m) {
        return run.scale_of(sample, m, record.sigma_noise);
      });
  run.iterate(mine, mine.subsets(), record, mine.norm());
  mine.store(output);
  return record;
}

}  // namespace mbirk::distributed
