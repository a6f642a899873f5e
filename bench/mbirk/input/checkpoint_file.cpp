#include "input/checkpoint_file.hpp"

#include "mbirk/io/checkpoint.hpp"

namespace mbirk::program {

json record_json(recon_log const& r) {
  return {{"num_iterations", r.num_iterations},
          {"granularity", r.granularity},
          {"partition_sequence", r.partition_sequence},
          {"fm_rmse", r.fm_rmse},
          {"prior_loss", r.prior_loss},
          {"regularization_params", {{"sigma_y", r.sigma_y}, {"sigma_x", r.sigma_x}, {"sigma_prox", r.sigma_prox}}},
          {"stop_threshold_change_pct", r.stop_threshold_change_pct},
          {"alpha_values", r.alpha_values},
          {"delta_norm_per_slice", r.delta_norm_per_slice}};
}

void write_checkpoint(std::filesystem::path const& path, recon_state const& state, json const& parameters) {
  save_checkpoint(path, state, dump_text(parameters));
}

recon_state read_checkpoint(std::filesystem::path const& path, json const& parameters) {
  std::string note;
  auto state = load_checkpoint(path, &note);
  auto const there = json::parse(note, nullptr, false);
  require<io_error>(!there.is_discarded(), [&] {
    return path.string() + ": has no parameters in its note, so it is not a checkpoint of mbirk recon";
  });
  // Convert through text, as stored, so that only values can differ and not types.
  auto const patch = json::diff(there, json::parse(dump_text(parameters)));
  require<io_error>(patch.empty(), [&] {
    json::json_pointer const at(patch[0]["path"].get<std::string>());
    auto const value = [&](json const& j) { return j.contains(at) ? j[at].dump() : "missing"; };
    return path.string() + ": was made with other parameters: " + at.to_string() + " is " + value(there) +
           " there and " + value(parameters) + " here";
  });
  return state;
}

}  // namespace mbirk::program
