#include "fpga/hls_export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <variant>

#include "mbirk/io/output_file.hpp"
#include "mbirk/record/hand_off.hpp"
#include "mbirk/record/text.hpp"
#include "output/graph_files.hpp"

namespace mbirk::program {
namespace {

std::vector<double> numbers(any_array const& array) {
  return std::visit([](auto const& a) { return std::vector<double>(a.data.begin(), a.data.end()); }, array);
}
/// Voxel columns of the listed pixels of a volume (rows, cols, slices).
std::vector<double> voxel_columns_of(any_array const& volume, std::vector<double> const& pixels) {
  auto const all = numbers(volume);
  auto const slices = static_cast<std::size_t>(shape_of(volume).at(2));
  std::vector<double> listed;
  for (double const p : pixels) {
    auto const at = all.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(p) * slices);
    listed.insert(listed.end(), at, at + static_cast<std::ptrdiff_t>(slices));
  }
  return listed;
}

/// Inputs with the names of the graph and, if the tuned operation computes the same as the graph, its result.
record::hand_off_case case_of(record::graph const& g, profile_entry const& entry, profile_problem const& problem,
                              int threads) {
  auto x = problem.make_operands(*entry.op, entry.arguments);
  entry.op->run(context{exec::host{threads}, instrument::any{}}, problem.scan(), x);
  record::hand_off_case c;
  for (auto const& a : g.arrays) {
    if (a.use != record::array_use::input) continue;
    auto& to = c.inputs[a.name];
    if (auto const given = x.inputs.find(a.name); given != x.inputs.end() && a.name != "voxel_values")
      to = numbers(given->second);
    else if (a.name == "weights")
      to.assign(static_cast<std::size_t>(a.size()), 1.0);
    std::visit(
        [&](auto const& scan) {
          if constexpr (requires { scan.geometry(); }) {
            scan.views().each([&](char const* name, auto const& list) {
              if (a.name == name) to.assign(list.begin(), list.end());
            });
            if (a.name == "pixel_indices" && to.empty()) {
              to.assign(scan.full_indices().begin(), scan.full_indices().end());
              if (static_cast<index_t>(to.size()) == a.size()) return;
              to.resize(static_cast<std::size_t>(a.size()));  // array over the whole grid
              for (std::size_t k = 0; k < to.size(); ++k) to[k] = static_cast<double>(k);
            }
          }
        },
        problem.scan());
    if (to.empty() && a.name == "recon") to = numbers(x.inputs.at("image"));  // input of the denoiser
  }
  if (auto const values = c.inputs.find("voxel_values"); values != c.inputs.end()) {
    auto const listed = x.inputs.find("voxel_values");
    values->second = listed != x.inputs.end() ? numbers(listed->second)
                                              : voxel_columns_of(x.inputs.at("recon"), c.inputs.at("pixel_indices"));
  }
  for (auto const& a : g.arrays) {
    if (a.use != record::array_use::output || a.name == "gradient" || a.name == "hessian" || a.name == "minimum" ||
        a.name == "maximum")
      continue;
    bool const from_volume = a.name == "voxel_values" && shape_of(x.output).size() == 3;
    c.expected[a.name] = from_volume ? voxel_columns_of(x.output, c.inputs.at("pixel_indices")) : numbers(x.output);
  }
  return c;
}

/// The graph of an operation on the small problem, with data and the required word lengths; none for an operation
/// without a graph.
struct small_case {
  record::graph graph;
  record::hand_off_case with;
};
std::optional<small_case> make_small_case(profile_entry const& entry, int threads, known_words& known) {
  profile_problem const problem(entry.geometry, hand_off_size, threads, true);
  auto g = graph_of(entry, problem);
  if (!g) return std::nullopt;
  small_case made{std::move(*g), {}};
  made.with = case_of(made.graph, entry, problem, threads);
  auto const text = record::to_text(made.graph);
  if (!known.contains(text)) known[text] = record::find_word_lengths(made.graph, made.with.inputs, made.with.bound);
  made.with.words = known[text];
  return made;
}

}  // namespace

nlohmann::json measure_words(profile_entry const& entry, int threads, known_words& known) {
  auto const small = make_small_case(entry, threads, known);
  if (!small) return nullptr;
  auto const& words = *small->with.words;
  auto const format = [](record::fixed_format const& f) {
    return nlohmann::json{{"width", f.width}, {"whole", f.whole}};
  };
  return {{"size", hand_off_size},
          {"bound", small->with.bound},
          {"error", words.error},
          {"within bound", words.found},
          {"arithmetic", format(words.arithmetic)},
          {"data", format(words.data)}};
}

nlohmann::json write_hand_off(std::filesystem::path const& folder, profile_entry const& entry, int threads,
                              std::string const& verdict, known_words& known) {
  auto small = make_small_case(entry, threads, known);
  if (!small) return nullptr;
  auto& [g, c] = *small;
  g.name = entry.name;
  c.verdict = verdict;
  c.formula = fmt::format("`{}` at size {}: {} views, from the definition in include/mbirk/definition.", entry.name,
                          hand_off_size, problem_shape::cube(hand_off_size).views);
  nlohmann::json types;
  for (auto const& file : record::hand_off(g, c)) {
    if (file.name == "design.json") types = nlohmann::json::parse(file.bytes)["types"];
    auto const path = folder / entry.name / file.name;
    std::error_code failed;
    std::filesystem::create_directories(path.parent_path(), failed);
    require<io_error>(!failed,
                      [&] { return path.parent_path().string() + ": cannot be created: " + failed.message(); });
    output_file out(path);
    out.write(file.bytes);
    out.commit();
  }
  return types;
}

}  // namespace mbirk::program
