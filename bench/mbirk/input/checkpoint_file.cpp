#include "input/checkpoint_file.hpp"

#include <fmt/format.h>

#include <set>

#include "mbirk/io/checkpoint.hpp"
#include "mbirk/io/slabs_checkpoint.hpp"

namespace mbirk::program {

std::string data_sum(void const* data, std::size_t bytes) {
  mbirk::detail::crc32 sum;
  sum.add(data, bytes);
  return sum_text(sum);
}
std::string sum_text(mbirk::detail::crc32 const& sum) {
  auto const line = sum.line();
  return line.substr(0, line.size() - 1);
}

std::uint64_t rows_sum(view<float const, 3> const& rows, index_t first) {
  return rows_sum(sums_of_rows(rows, std::vector<std::uint32_t>(static_cast<std::size_t>(rows.extent(1)), 0)), first);
}
std::vector<std::uint32_t> sums_of_rows(view<float const, 3> const& rows, std::vector<std::uint32_t> before) {
  auto const bytes = static_cast<std::size_t>(rows.extent(2)) * sizeof(float);
  for (index_t m = 0; m < rows.extent(1); ++m) {
    auto& of_row = before[static_cast<std::size_t>(m)];
    mbirk::detail::crc32 sum(of_row);
    for (index_t v = 0; v < rows.extent(0); ++v) sum.add(&rows(v, m, 0), bytes);
    of_row = sum.value();
  }
  return before;
}
std::uint64_t rows_sum(std::vector<std::uint32_t> const& rows, index_t first) {
  std::uint64_t total = 0;
  for (index_t m = 0; m < std::ssize(rows); ++m)
    // The multiplier depends on the row, so that rows in another order have another sum.
    total += rows[static_cast<std::size_t>(m)] * (2 * static_cast<std::uint64_t>(first + m) + 1) * 0x9e3779b97f4a7c15u;
  return total;
}
std::string sum_text(std::uint64_t sum) { return fmt::format("sum64 {:016x}", sum); }

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

void write_checkpoint(std::filesystem::path const& path, recon_state const& state, json const& parameters,
                      data_sums const& sums) {
  json note = parameters;
  if (!sums.empty()) note["data"] = sums;
  save_checkpoint(path, state, dump_text(note));
}

namespace {

std::string place_of_note(std::filesystem::path const& path) { return path.string() + ": its note"; }

json parse_note(std::filesystem::path const& path, std::string const& note) {
  require<io_error>(note.starts_with('{'), [&] {
    return path.string() + ": has no parameters in its note, so it is not a checkpoint of mbirk recon";
  });
  return parse_json(note, place_of_note(path));
}
/// Removes a member of a note and returns it, or null.
json taken(json& note, char const* name) {
  auto const at = note.find(name);
  if (at == note.end()) return {};
  json const found = std::move(*at);
  note.erase(at);
  return found;
}

/// Compares the parameters in the note of a checkpoint; returns the checksums in it.
data_sums check_note(std::filesystem::path const& path, json there, json const& parameters) {
  auto const place = place_of_note(path);
  data_sums sums;
  if (auto const data = taken(there, "data"); !data.is_null())
    for (auto const& [name, sum] : json_field(data, place, "data").members()) sums[name] = sum.text();
  // Convert through text, as stored, so that only values can differ and not types.
  auto const patch = json::diff(there, json::parse(dump_text(parameters)));
  require<io_error>(patch.empty(), [&] {
    json::json_pointer const at(patch[0]["path"].get<std::string>());
    auto const value = [&](json const& j) { return j.contains(at) ? printable(j[at].dump(), 80) : "missing"; };
    return path.string() + ": was made with other parameters: " + printable(at.to_string(), 200) + " is " +
           value(there) + " there and " + value(parameters) + " here";
  });
  return sums;
}

}  // namespace

saved_state read_checkpoint(std::filesystem::path const& path, json const& parameters, memory_budget const& memory) {
  saved_state saved;
  auto const check = [&](recon_state const& header, std::string const& note) {
    saved.sums = check_note(path, parse_note(path, note), parameters);
    auto const elements = [](std::array<index_t, 3> const& shape) {
      return static_cast<double>(array_elements(shape, sizeof(float)).value_or(0));
    };
    memory.require(4 * (2 * elements(header.recon_shape) + elements(header.sinogram_shape)),
                   path.string() + ": the state to resume");
  };
  saved.state = load_checkpoint(path, nullptr, check);
  return saved;
}

void write_slabs_checkpoint(std::filesystem::path const& path, saved_slabs const& saved, json const& parameters) {
  json note = parameters;
  json& places = note["slabs"] = json::array();
  for (auto const& p : saved.places) places.push_back({{"slot", p.slot}, {"slices", p.slices}, {"data", p.data}});
  note["data"] = saved.sums;
  save_slabs_checkpoint(path, saved.state, dump_text(note));
}

saved_slabs read_slabs_checkpoint(std::filesystem::path const& path, json const& parameters) {
  std::string text;
  saved_slabs saved{load_slabs_checkpoint(path, &text), {}};
  auto note = parse_note(path, text);
  auto const slabs = taken(note, "slabs");
  saved.sums = check_note(path, std::move(note), parameters);
  require<io_error>(!saved.sums.empty(), [&] { return place_of_note(path) + " has no checksums of the data"; });
  auto const count = std::ssize(saved.state.slabs);
  auto const place = place_of_note(path);
  json_field const list(slabs, place, "slabs");
  std::set<index_t> slots;
  for (auto const& of_slab : list.elements("an array of places")) {
    auto const field = of_slab.at("slot", "a whole number");
    auto const slot = field.integer();
    if (slot < 0 || slot > count || !slots.insert(slot).second)
      field.wrong("a slot of its own, 0 to " + std::to_string(count));
    auto const sum = [&](char const* name) {
      auto const found = of_slab.at(name, "a checksum");
      if (found.text().empty()) found.wrong("a checksum");
      return found.text();
    };
    saved.places.push_back({slot, sum("slices"), sum("data")});
  }
  if (std::ssize(saved.places) != count) list.wrong(fmt::format("{} places, one for each slab", count));
  return saved;
}

void require_same_data(std::filesystem::path const& path, data_sums const& there, data_sums const& here) {
  for (auto const& [name, sum] : there) {
    auto const at = here.find(name);
    auto const found = at == here.end() ? "none" : at->second;
    require<io_error>(found == sum, [&] {
      return path.string() + ": was made from other data: the " + printable(name, 40) + " had " + printable(sum, 40) +
             " there and " + (at == here.end() ? "is missing" : "has " + found) + " here";
    });
  }
  for (auto const& [name, sum] : here)
    require<io_error>(there.empty() || there.contains(name), [&] {
      return path.string() + ": was made from other data: there was no " + name + " there, and here it has " + sum;
    });
}

}  // namespace mbirk::program
