#include "fpga/hls_export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <variant>

#include "mbirk/io/output_file.hpp"
#include "mbirk/record/hand_off.hpp"
#include "mbirk/record/hls.hpp"
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
  // Weights as a scan has them: with weights of 1 the words would need no bits after the point.
  bool const weighted = std::ranges::any_of(g.arrays, [](auto const& a) { return a.name == "weights"; });
  if (weighted && !x.inputs.contains("weights")) {
    auto const scan = problem.make_operands(*find_operation("back_project")).inputs.at("sinogram");
    npy_array<float> weights{shape_of(scan), {}};
    for (double const y : numbers(scan)) weights.data.push_back(static_cast<float>(std::exp(-std::max(0.0, y))));
    x.inputs.emplace("weights", std::move(weights));
  }
  entry.op->run(context{exec::host{threads}, instrument::any{}}, problem.scan(), x);
  record::hand_off_case c;
  for (auto const& a : g.arrays) {
    if (a.use != record::array_use::input) continue;
    auto& to = c.inputs[a.name];
    if (auto const given = x.inputs.find(a.name); given != x.inputs.end() && a.name != "voxel_values")
      to = numbers(given->second);
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
  found_words words;
};
std::optional<small_case> make_small_case(profile_entry const& entry, int threads, known_words& known) {
  profile_problem const problem(entry.geometry, hand_off_size, threads, true);
  auto g = graph_of(entry, problem);
  if (!g) return std::nullopt;
  small_case made{std::move(*g), {}, {}};
  made.with = case_of(made.graph, entry, problem, threads);
  auto const text = record::to_text(made.graph);
  if (!known.by_graph.contains(text)) {
    auto const sinogram = numbers(problem.make_operands(*find_operation("back_project")).inputs.at("sinogram"));
    known.by_graph[text] = search_words(made.graph, made.with.inputs, sinogram, known.users, made.with.bound);
  }
  made.words = known.by_graph[text];
  made.with.words = made.words.lengths;
  return made;
}

}  // namespace

namespace {

/// What the model recommends for the device of the verdict, with the words that were measured if it has them.
record::hls_settings settings_of(nlohmann::json const& candidate) {
  record::hls_settings s;
  s.size = candidate["size"];
  nlohmann::json const* chosen = nullptr;
  for (auto const& t : candidate["targets"]) {
    if (t["target"] != candidate["target"]) continue;
    if (t["word"] == "f32" ? !chosen : t["word"] != "fixed 16") chosen = &t;
  }
  if (!chosen) return s;
  auto const& t = *chosen;
  auto const number = [](nlohmann::json const& x) { return x.is_number() ? x.get<double>() : 0; };
  s.target = t["target"];
  if (s.target == "Versal VCK190") s.part = "xcvc1902-vsva2197-2MP-e-S";
  s.lanes = static_cast<int>(std::clamp(number(t["lanes"]), 1.0, 65536.0));
  if (t["buffer"].is_object()) s.buffer_bytes = number(t["buffer"]["bytes"]);
  s.modelled_seconds = number(t["kernel seconds"][1]);
  s.clock_hz = number(t["clock"]);
  s.dsp = number(t["blocks"]["dsp"]);
  s.lut = number(t["blocks"]["lut"]);
  s.bram = number(t["blocks"]["bram36"]);
  s.uram = number(t["blocks"]["uram"]);
  return s;
}

void write_files(std::filesystem::path const& folder, std::vector<record::hand_off_file> const& files) {
  for (auto const& file : files) {
    auto const path = folder / file.name;
    std::error_code failed;
    std::filesystem::create_directories(path.parent_path(), failed);
    require<io_error>(!failed,
                      [&] { return path.parent_path().string() + ": cannot be created: " + failed.message(); });
    output_file out(path);
    out.write(file.bytes);
    out.commit();
  }
}

}  // namespace

std::optional<small_graph> small_graph_of(profile_entry const& entry, int threads) {
  profile_problem const problem(entry.geometry, hand_off_size, threads, true);
  auto g = graph_of(entry, problem);
  if (!g) return std::nullopt;
  auto inputs = case_of(*g, entry, problem, threads).inputs;
  return small_graph{std::move(*g), std::move(inputs)};
}

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
          {"data", format(words.data)},
          {"data sets", small->words.tried},
          {"unseen", {{"data set", small->words.unseen}, {"error", small->words.unseen_error}}},
          {"bits per doubling of the size", 1}};
}

nlohmann::json write_hand_off(std::filesystem::path const& folder, profile_entry const& entry, int threads,
                              nlohmann::json const& candidate, known_words& known) {
  auto small = make_small_case(entry, threads, known);
  if (!small) return nullptr;
  auto& g = small->graph;
  auto& c = small->with;
  g.name = entry.name;
  auto const reason = candidate["reason"].get<std::string>();
  c.verdict = candidate["verdict"].is_null() ? reason : candidate["verdict"].get<std::string>() + ": " + reason;
  c.formula = fmt::format("`{}` at size {}: {} views, from the definition in include/mbirk/definition.", entry.name,
                          hand_off_size, problem_shape::cube(hand_off_size).views);
  auto const files = record::hand_off(g, c);
  auto out = nlohmann::json::object();
  for (auto const& file : files)
    if (file.name == "design.json") out["types"] = nlohmann::json::parse(file.bytes)["types"];
  write_files(folder / entry.name, files);
  auto const settings = settings_of(candidate);
  profile_problem const full(entry.geometry, settings.size, threads, false);
  auto large = graph_of(entry, full);
  if (!large) return out;
  large->name = entry.name;
  // Sums grow with the size: a bit for each doubling, before the point.
  auto words = *c.words;
  int const more = settings.size > hand_off_size
                       ? static_cast<int>(std::ceil(std::log2(static_cast<double>(settings.size) / hand_off_size)))
                       : 0;
  words.arithmetic.width += more;
  words.arithmetic.whole += more;
  write_files(folder / entry.name, record::hls_files(*large, words, settings));
  out["hls"] = {{"size", settings.size},
                {"kernel", record::kernel_digest(*large)},
                {"target", settings.target},
                {"lanes", settings.lanes}};
  return out;
}

}  // namespace mbirk::program
