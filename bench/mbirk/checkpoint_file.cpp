// Checkpoints and records.
#include "checkpoint_file.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#if defined(MBIRK_WITH_HDF5)
#include "mbirk/io/hdf5.hpp"
#endif

namespace mbirk::program {
namespace {

/// The lists and numbers of a record, for reading and writing.
void each_member(auto& r, auto const& visit) {
  visit("num_iterations", r.num_iterations);
  visit("granularity", r.granularity);
  visit("partition_sequence", r.partition_sequence);
  visit("fm_rmse", r.fm_rmse);
  visit("prior_loss", r.prior_loss);
  visit("stop_threshold_change_pct", r.stop_threshold_change_pct);
  visit("alpha_values", r.alpha_values);
  visit("delta_norm_per_slice", r.delta_norm_per_slice);
}
void each_sigma(auto& r, auto const& visit) {
  visit("sigma_y", r.sigma_y);
  visit("sigma_x", r.sigma_x);
  visit("sigma_prox", r.sigma_prox);
}

double number_or_nan(json_field const& field) { return field.value().is_null() ? std::numeric_limits<double>::quiet_NaN() : field.number(); }

void read_value(json_field const& field, int& to) { to = static_cast<int>(field.integer()); }
void read_value(json_field const& field, index_t& to) { to = field.integer(); }
void read_value(json_field const& field, double& to) { to = number_or_nan(field); }
template <class T> void read_value(json_field const& field, std::vector<T>& to) {
  to.clear();
  for (auto const& e : field.elements()) read_value(e, to.emplace_back());
}

}  // namespace

json record_json(recon_record const& record) {
  json j = json::object(), sigmas = json::object();
  each_member(record, [&](char const* name, auto const& value) { j[name] = value; });
  each_sigma(record, [&](char const* name, double value) { sigmas[name] = value; });
  j["regularization_params"] = std::move(sigmas);
  return j;
}

recon_record record_from(json_field const& field) {
  recon_record r;
  each_member(r, [&](char const* name, auto& value) { read_value(field.at(name, "the record of a reconstruction"), value); });
  auto const sigmas = field.at("regularization_params", "the sigmas of a reconstruction");
  each_sigma(r, [&](char const* name, double& value) { value = number_or_nan(sigmas.at(name, "a number")); });
  return r;
}

#if defined(MBIRK_WITH_HDF5)

void write_checkpoint(std::filesystem::path const& path, recon_state const& state, json const& parameters) {
  auto const shape = [](std::array<index_t, 3> const& s) { return std::vector<index_t>(s.begin(), s.end()); };
  hdf5_output file(path);
  file.write("recon", shape(state.recon_shape), state.recon.data());
  file.write("hessian", shape(state.recon_shape), state.hessian.data());
  file.write("weighted_error", shape(state.sinogram_shape), state.weighted_error.data());
  file.attribute("/", "kind", "mbirk checkpoint");
  file.attribute("/", "parameters", parameters.dump());
  file.attribute("/", "record", record_json(state.record).dump());
  file.attribute("/", "seed", state.seed);
  file.commit();
}

recon_state read_checkpoint(std::filesystem::path const& path, json const& parameters) {
  hdf5_file const file(path);
  auto const attributes = file.attributes("/");
  auto const text = [&](std::string const& key) {
    auto const found = std::find_if(attributes.begin(), attributes.end(), [&](auto const& a) { return a.first == key; });
    require<io_error>(found != attributes.end(), [&] { return path.string() + ": is not a checkpoint: it has no attribute " + key; });
    return found->second;
  };
  auto const parsed = [&](std::string const& key) {
    auto j = json::parse(text(key), nullptr, false);
    require<io_error>(!j.is_discarded(), [&] { return path.string() + ": attribute " + key + " is not valid JSON"; });
    return j;
  };
  if (auto const there = parsed("parameters"); there != parameters) {
    // Through text, as it was stored: what is left differs in value, not in type.
    auto const patch = json::diff(there, json::parse(parameters.dump()));
    require<io_error>(patch.empty(), [&] {
      json::json_pointer const at(patch[0]["path"].get<std::string>());
      auto const value = [&](json const& j) { return j.contains(at) ? j[at].dump() : "missing"; };
      return path.string() + ": was made with other parameters: " + at.to_string() + " is " + value(there) + " there and " + value(parameters) + " here";
    });
  }
  auto const read = [&](char const* name, std::array<index_t, 3>& shape) {
    auto array = file.read<float>(name);
    require<io_error>(array.shape.size() == 3, [&] {
      return path.string() + ": data set " + name + " has shape " + mbirk::detail::shape_text(array.shape) + ", expected three sizes";
    });
    std::copy(array.shape.begin(), array.shape.end(), shape.begin());
    return std::move(array.data);
  };
  recon_state state;
  state.hessian = read("hessian", state.recon_shape);
  state.recon = read("recon", state.recon_shape);
  state.weighted_error = read("weighted_error", state.sinogram_shape);
  json const record = parsed("record"), seed = parsed("seed");
  std::string const place = path.string();
  json_field const seed_field(seed, place, "seed");
  if (auto const n = seed_field.integer(); std::in_range<std::uint32_t>(n)) state.seed = static_cast<std::uint32_t>(n);
  else seed_field.wrong("a whole number of 32 bits");
  state.record = record_from(json_field(record, place, "record"));
  return state;
}

#endif

}  // namespace mbirk::program
