// The iterative reconstructions and weights of ParallelBeamModel and ConeBeamModel.
#pragma once

#include "beam.hpp"

namespace mbirk::python {

/// @param used  the parameters of this call; the model's own may have changed meanwhile.
inline image_and_dict image_and_record(nb::dict const& used, volume_out const& image, recon_log const& record) {
  warn(record.warnings);
  nb::dict d;
  d["recon_params"] = to_dict(record);
  d["model_params"] = used;
  d["notes"] = "";
  return image_and_dict(nb::make_tuple(image, d));
}

/// Runs f(context, model) on a copy of the model m, which is then stored. Returns the result of f and the copy's
/// parameters.
template <class Geometry, class F> auto run_and_keep(beam<Geometry>& s, std::shared_ptr<model<Geometry> const> const& m,
                                                     call& c, int threads, F const& f) {
  auto copy = *m;
  auto result = c.run(threads, [&](auto const& ctx) { return f(ctx, copy); });
  auto used = parameters_of(copy.parameters());
  s.keep(m, std::move(copy));
  return std::pair(std::move(result), std::move(used));
}

template <class Geometry> void bind_iterative(nb::class_<beam<Geometry>>& type) {
  using self = beam<Geometry>;
  type.def(
      "auto_set_regularization_params",
      [](self& s, volume const& sinogram, std::optional<volume> const& weights, int threads) {
        auto const m = s.ready();
        call c("auto_set_regularization_params");
        auto const y = c.read(sinogram, "sinogram", sinogram_axes);
        auto const w = c.read(weights, "weights", sinogram_axes);
        auto copy = *m;
        auto const found =
            c.run(threads, [&](auto const& ctx) { return copy.auto_set_regularization_params(ctx, y, w); });
        s.keep(m, std::move(copy));
        warn(found.warnings);
        nb::dict d;
        d["sigma_y"] = found.sigma_y, d["sigma_x"] = found.sigma_x, d["sigma_prox"] = found.sigma_prox;
        return d;
      },
      "sinogram"_a, "weights"_a = nb::none(), nb::kw_only(), "threads"_a = 0,
      "sigma_y, sigma_x and sigma_prox from the data, snr_db and sharpness; they become the model's. recon does this "
      "by itself.\n\n"
      "sinogram, weights: (views, rows, channels). Returns them by name.");

  type.def(
      "recon",
      [](self& s, volume const& sinogram, std::optional<volume> const& weights, initial_image const& init_recon,
         int max_iterations, double stop_threshold_change_pct, int first_iteration, bool compute_prior_loss,
         std::uint32_t seed, std::optional<nb::callable> const& progress, std::optional<nb::callable> const& checkpoint,
         int checkpoint_every, recon_state const* resume, bool mbirjax_rounding, std::optional<volume_out> out,
         int threads) {
        auto const m = s.ready();
        call c("recon");
        auto const y = c.read(sinogram, "sinogram", sinogram_axes);
        auto const w = c.read(weights, "weights", sinogram_axes);
        auto const first = read_initial(c, init_recon);
        auto const x = c.write(out, m->recon_shape(), "out", recon_axes);
        recon_call_options const a{.init_recon = first,
                                   .max_iterations = max_iterations,
                                   .stop_threshold_change_pct = stop_threshold_change_pct,
                                   .first_iteration = first_iteration,
                                   .compute_prior_loss = compute_prior_loss,
                                   .seed = seed,
                                   .mbirjax_rounding = mbirjax_rounding,
                                   .progress = progress_of(progress),
                                   .checkpoint = checkpoint_of(checkpoint),
                                   .checkpoint_every = checkpoint_every,
                                   .resume = resume};
        auto const [record, used] =
            run_and_keep(s, m, c, threads, [&](auto const& ctx, auto& copy) { return copy.recon(ctx, y, w, x, a); });
        return image_and_record(used, *out, record);
      },
      "sinogram"_a, "weights"_a = nb::none(), "init_recon"_a = nb::none(), "max_iterations"_a = 15,
      "stop_threshold_change_pct"_a = 0.2, "first_iteration"_a = 0, "compute_prior_loss"_a = false, nb::kw_only(),
      "seed"_a = 0, "progress"_a = nb::none(), "checkpoint"_a = nb::none(), "checkpoint_every"_a = 1,
      "resume"_a.none() = nb::none(), "mbirjax_rounding"_a = false, "out"_a = nb::none(), "threads"_a = 0,
      "Model-based reconstruction by vectorised coordinate descent: minimises sum w (y - A x)^2 / (2 sigma_y^2) + "
      "qGGMRF prior of x.\n\n"
      "sinogram: (views, rows, channels), line integrals. weights: as the sinogram, >= 0, None for 1. init_recon: None "
      "(a direct reconstruction), a number,\n"
      "or (rows, cols, slices). seed: partitions are those that MBIRJAX draws after numpy.random.seed(seed).\n"
      "progress: called with an IterationReport after each iteration; False stops. checkpoint: called with a "
      "ReconState every checkpoint_every iterations,\n"
      "from which resume goes on. Returns (recon, recon_dict): (rows, cols, slices), attenuation per unit of length, "
      "and what MBIRJAX calls so.");

  type.def(
      "prox_map",
      [](self& s, volume const& prox_input, volume const& sinogram, std::optional<double> sigma_prox,
         std::optional<volume> const& weights, initial_image const& init_recon, bool do_initialization,
         double stop_threshold_change_pct, int max_iterations, int first_iteration, std::uint32_t seed,
         std::optional<nb::callable> const& progress, bool mbirjax_rounding, std::optional<volume_out> out,
         int threads) {
        auto const m = s.ready();
        call c("prox_map");
        auto const v = c.read(prox_input, "prox_input", recon_axes);
        auto const y = c.read(sinogram, "sinogram", sinogram_axes);
        auto const w = c.read(weights, "weights", sinogram_axes);
        auto const first = read_initial(c, init_recon);
        auto const x = c.write(out, m->recon_shape(), "out", recon_axes);
        recon_call_options const a{.init_recon = first,
                                   .max_iterations = max_iterations,
                                   .stop_threshold_change_pct = stop_threshold_change_pct,
                                   .first_iteration = first_iteration,
                                   .seed = seed,
                                   .mbirjax_rounding = mbirjax_rounding,
                                   .progress = progress_of(progress)};
        auto const [record, used] = run_and_keep(s, m, c, threads, [&](auto const& ctx, auto& copy) {
          return copy.prox_map(ctx, v, y, w, x, a, {sigma_prox, do_initialization});
        });
        return image_and_record(used, *out, record);
      },
      "prox_input"_a, "sinogram"_a, "sigma_prox"_a = nb::none(), "weights"_a = nb::none(), "init_recon"_a = nb::none(),
      "do_initialization"_a = true, "stop_threshold_change_pct"_a = 0.2, "max_iterations"_a = 3,
      "first_iteration"_a = 0, nb::kw_only(), "seed"_a = 0, "progress"_a = nb::none(), "mbirjax_rounding"_a = false,
      "out"_a = nb::none(), "threads"_a = 0,
      "The proximal map of the data term at prox_input, for plug-and-play methods: minimises\n"
      "sum w (y - A x)^2 / (2 sigma_y^2) + |x - prox_input|^2 / (2 sigma_prox^2).\n\n"
      "prox_input: (rows, cols, slices). sigma_prox: for this call; None for the model's. do_initialization: False "
      "keeps the automatic sigmas of the\n"
      "previous call. Everything else, and what is returned, as recon.");

  type.def(
      "gen_weights_mar",
      [](self& s, volume const& sinogram, std::optional<volume> const& init_recon,
         std::optional<double> metal_threshold, double beta, double gamma, std::optional<volume_out> out, int threads) {
        auto const m = s.ready();
        call c("gen_weights_mar");
        auto const y = c.read(sinogram, "sinogram", sinogram_axes);
        auto const x = c.read(init_recon, "init_recon", recon_axes);
        auto const w = c.write(out, m->sinogram_shape(), "out", sinogram_axes);
        c.run(threads, [&](auto const& ctx) { m->gen_weights_mar(ctx, y, w, {x, metal_threshold, beta, gamma}); });
        return *out;
      },
      "sinogram"_a, "init_recon"_a = nb::none(), "metal_threshold"_a = nb::none(), "beta"_a = 1.0, "gamma"_a = 3.0,
      nb::kw_only(), "out"_a = nb::none(), "threads"_a = 0,
      "Weights that distrust rays through metal: exp(-y (1 + gamma [through metal]) / beta).\n\n"
      "sinogram: (views, rows, channels), line integrals. init_recon: (rows, cols, slices), where metal is what "
      "exceeds metal_threshold (None: Otsu's\n"
      "threshold); without it metal is found in the sinogram. Returns (views, rows, channels).");

  if constexpr (std::is_same_v<Geometry, cone_geometry>) {
    auto const plan_dict = [](split_plan const& p) {
      auto const half = [](split_half const& h) {
        nb::dict d;
        d["first_row"] = h.first_row, d["rows"] = h.rows, d["first_slice"] = h.first_slice, d["slices"] = h.slices;
        d["det_row_offset"] = h.det_row_offset, d["recon_slice_offset"] = h.recon_slice_offset;
        return d;
      };
      nb::dict d;
      d["possible"] = p.possible, d["top"] = half(p.top), d["bottom"] = half(p.bottom),
      d["row_overlap"] = p.row_overlap;
      d["slice_overlap"] = p.slice_overlap, d["grid_shift"] = p.grid_shift, d["mismatch"] = p.mismatch;
      return d;
    };
    type.def(
        "plan_split",
        [plan_dict](self const& s, index_t half_overlap, bool align_split_grid) {
          return plan_dict(plan_split(s.now().parameters().scan(), {half_overlap, align_split_grid}));
        },
        "half_overlap"_a = 5, "align_split_grid"_a = false,
        "Where split_sino_recon cuts: rows and slices of both halves.");
    type.def(
        "split_sino_recon",
        [plan_dict](self& s, volume const& sinogram, std::optional<volume> const& weights, index_t half_overlap,
                    initial_image const& init_recon, int max_iterations, double stop_threshold_change_pct,
                    int first_iteration, bool compute_prior_loss, bool align_split_grid, std::uint32_t seed,
                    std::optional<nb::callable> const& progress, std::optional<volume_out> out, int threads) {
          auto const m = s.ready();
          call c("split_sino_recon");
          auto const y = c.read(sinogram, "sinogram", sinogram_axes);
          auto const w = c.read(weights, "weights", sinogram_axes);
          auto const first = read_initial(c, init_recon);
          auto const x = c.write(out, m->recon_shape(), "out", recon_axes);
          recon_call_options const a{.init_recon = first,
                                     .max_iterations = max_iterations,
                                     .stop_threshold_change_pct = stop_threshold_change_pct,
                                     .first_iteration = first_iteration,
                                     .compute_prior_loss = compute_prior_loss,
                                     .seed = seed,
                                     .progress = progress_of(progress)};
          auto const [record, used] = run_and_keep(s, m, c, threads, [&](auto const& ctx, auto& copy) {
            return copy.split_sino_recon(ctx, y, w, x, a, {half_overlap, align_split_grid});
          });
          warn(record.warnings);
          warn(record.bottom.warnings);
          auto result = image_and_record(used, *out, record.top);
          nb::dict d(nb::borrow<nb::dict>(result[1]));
          d["recon_params_bottom"] = record.split ? nb::object(to_dict(record.bottom)) : nb::none();
          d["plan"] = plan_dict(record.plan);
          return result;
        },
        "sinogram"_a, "weights"_a = nb::none(), "half_overlap"_a = 5, "init_recon"_a = nb::none(),
        "max_iterations"_a = 15, "stop_threshold_change_pct"_a = 0.2, "first_iteration"_a = 0,
        "compute_prior_loss"_a = false, nb::kw_only(), "align_split_grid"_a = false, "seed"_a = 0,
        "progress"_a = nb::none(), "out"_a = nb::none(), "threads"_a = 0,
        "recon of a circular scan in two halves of the detector, one after the other, with half the memory; joined by "
        "a cross-fade.\n\n"
        "Arguments and result as recon; recon_dict has recon_params of the low slices, recon_params_bottom of the high "
        "ones, and plan.");
  }
}

}  // namespace mbirk::python
