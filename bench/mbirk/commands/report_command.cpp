// mbirk report: merges the results of several profiler runs into one file, or a page.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "commands/candidate_options.hpp"
#include "commands/command.hpp"
#include "commands/command_files.hpp"
#include "commands/profile_summary.hpp"
#include "input/json_field.hpp"
#include "input/measured_times.hpp"
#include "input/merged_files.hpp"
#include "input/nsight_csv.hpp"
#include "mbirk/io/output_file.hpp"
#include "mbirk/io/printable.hpp"
#include "operations/profile_problem.hpp"
#include "output/json_object.hpp"
#include "process/streams.hpp"
#include "report/html_report.hpp"

namespace mbirk::program {
namespace {

struct report_options : common_options {
  std::vector<std::string> runs, nsys, ncu, mbirjax, published, synthesis;
  std::string cost_analysis;
  std::string out = "report.html";
  candidate_options judged;

  /// Whether files are added that change what the candidates are compared with.
  bool adds() const { return !mbirjax.empty() || !published.empty() || !synthesis.empty(); }
};

/// Reads a file of mbirk profile or mbirk report.
/// @throws io_error, in one line, when it is neither: a field is missing or of another kind.
json read_run(std::string const& path) {
  json document = read_json(path);
  json_field const root(document, path);
  auto const a_report = "a report of mbirk profile";
  root.at("timestamp", a_report).text();
  for (auto const& size : root.at("volume_sizes", a_report).elements("an array of sizes")) size.integer();
  root.at("runs_per_size", a_report).integer();
  auto const environment = root.at("environment", a_report);
  for (auto const* name : {"backend", "mbirk_version", "cpu"}) environment.at(name, "a string").text();
  for (auto const* name : {"threads", "vector_lanes"}) environment.at(name, "a whole number").integer();
  if (environment.at("devices", "an array of names").elements("an array of names").empty())
    environment.at("devices", "").wrong("at least one name");
  for (auto const& device : environment.at("devices", "").elements()) device.text();
  for (auto const& m : root.at("measurements", a_report).elements("an array of measurements")) {
    m.at("operation", "the name of an operation").text();
    m.at("volume_size", "a whole number").integer();
    m.at("run", "a whole number").integer();
    if (!(m.at("time", "seconds >= 0").number("seconds >= 0") >= 0)) m.at("time", "").wrong("seconds >= 0");
  }
  for (auto const& [size, costs] : root.at("cost_analysis", a_report).members()) {
    require<io_error>(whole_number(size).has_value(), [&] {
      return costs.place() + " is not the costs of a size, expected a whole number as its name";
    });
    for (auto const& [operation, cost] : costs.members()) {
      for (auto const* name : {"flops", "bytes accessed", "items", "arithmetic intensity"})
        cost.at(name, "a number").number();
      cost.at("source", "\"counted\" or \"model\"").text();
    }
  }
  for (auto const& e : root.at("errors", a_report).elements("an array of errors")) {
    for (auto const* name : {"operation", "error"}) e.at(name, "a string").text();
    e.at("volume_size", "a whole number").integer();
  }
  left_out_texts(root);  // checks the fields that has_part reads
  return document;
}

/// The first difference between two costs, as "flops is 12 and 13"; empty if there is none. Memory depends on the
/// number of threads, values on rounding and the counters of the hardware on the machine, so these may differ. Reuse
/// distances may be missing, because a profile leaves them out if they take too long.
std::string first_difference(json const& a, json const& b, std::string const& path = {}) {
  if (a == b) return {};
  if (a.is_object() && b.is_object()) {
    std::set<std::string> names;
    for (auto const* side : {&a, &b})
      for (auto const& [name, value] : side->items()) names.insert(name);
    for (auto const& name : names) {
      if (name == "memory" || name == "values" || name == "hardware") continue;
      if (name.find("reuse") != name.npos && a.contains(name) != b.contains(name)) continue;
      auto const what =
          first_difference(a.value(name, json()), b.value(name, json()), path.empty() ? name : path + '.' + name);
      if (!what.empty()) return what;
    }
    return {};
  }
  if (a.is_array() && b.is_array() && a.size() == b.size()) {
    for (std::size_t k = 0; k < a.size(); ++k)
      if (auto what = first_difference(a[k], b[k], fmt::format("{}[{}]", path, k)); !what.empty()) return what;
    return {};
  }
  auto const text = [](json const& j) {
    return j.is_primitive() ? j.dump()
           : j.is_array()   ? fmt::format("a list of {}", j.size())
                            : std::string("an object");
  };
  return fmt::format("{} is {} and {}", path, text(a), text(b));
}

class merger {
 public:
  void add(json const& run, std::string const& path) {
    if (out_.empty()) begin(run);
    for (auto const& size : run["volume_sizes"]) sizes_.insert(size.get<index_t>());
    out_["runs_per_size"] = std::max(out_["runs_per_size"].get<index_t>(), run["runs_per_size"].get<index_t>());
    if (run.contains("environments")) {  // a merged run: its runs keep their names
      for (auto const& e : run["environments"]) out_["environments"].push_back(e);
    } else {
      json e = run["environment"];
      e["source"] = path;
      e["timestamp"] = run["timestamp"];
      out_["environments"].push_back(e);
    }
    for (auto const* list : {"measurements", "errors"})
      for (json one : run[list]) {
        if (!one.contains("source")) one["source"] = path;
        out_[list].push_back(std::move(one));
      }
    for (auto const& [size, costs] : run["cost_analysis"].items())
      for (auto const& [operation, cost] : costs.items()) add_cost(size, operation, cost, path);
    for (auto const& one : run.value("left_out", json::array())) left_out_.push_back(one);
  }
  json finish(std::string const& timestamp) {
    out_["timestamp"] = timestamp;
    out_["volume_sizes"] = sizes_;
    std::set<std::string> versions;
    for (auto const& e : out_["environments"]) versions.insert(e.value("mbirk_version", "unknown"));
    out_["mbirk_versions"] = versions;
    out_["left_out"] = json::array();
    std::set<std::string> known;
    for (auto const& one : left_out_)
      if (!has_part(one) && known.insert(json{one["part"], one["operation"], one["volume_size"]}.dump()).second)
        out_["left_out"].push_back(one);
    return std::move(out_);
  }

 private:
  void begin(json const& run) {
    out_ = {{"timestamp", ""},
            {"volume_sizes", json::array()},
            {"runs_per_size", 0},
            {"environment", run["environment"]},
            {"environments", json::array()},
            {"measurements", json::array()},
            {"cost_analysis", json::object()},
            {"errors", json::array()}};
  }
  /// Whether some run has what another one left out. No merged run has whole reconstructions.
  bool has_part(json const& left_out) const {
    std::string const part = left_out["part"], operation = left_out["operation"];
    auto const measured = [&](std::string const& name) {
      return std::ranges::any_of(out_["measurements"], [&](json const& m) {
        return m["operation"] == name && m["volume_size"] == left_out["volume_size"];
      });
    };
    if (part == "times") return measured(operation);
    if (part == "operations")  // of a geometry, such as "cone_*"
      return std::ranges::all_of(profile_entries(), [&](profile_entry const& entry) {
        return entry.geometry + "_*" != operation || measured(entry.name);
      });
    if (part == "whole reconstruction") return true;
    auto const cost = json::json_pointer() / "cost_analysis" / left_out["volume_size"].dump() / operation;
    return out_.contains(part == "reuse distances" ? cost / "reuse" : cost);
  }
  void add_cost(std::string const& size, std::string const& operation, json const& cost, std::string const& path) {
    auto& costs = object_in(out_["cost_analysis"], size);
    auto const key = size + ' ' + operation;
    if (!costs.contains(operation)) {
      costs[operation] = cost;
      from_[key] = path;
      return;
    }
    auto const difference = first_difference(costs[operation], cost);
    if (difference.empty()) {
      if (cost.contains("reuse") && !costs[operation].contains("reuse")) costs[operation] = cost;
      return;
    }
    out_["errors"].push_back(
        {{"operation", operation},
         {"volume_size", whole_number(size).value_or(0)},
         {"source", path},
         {"error", fmt::format("the costs in {} and {} are not the same: {}", from_[key], path, difference)}});
  }

  json out_ = json::object(), left_out_ = json::array();
  std::set<index_t> sizes_;
  std::map<std::string, std::string> from_;
};

int iterations_of(json_field const& field) {
  double const n = field.number();
  if (!(n >= 1 && n <= 1e6)) field.wrong("1 to 1000000 iterations");
  return static_cast<int>(n);
}

/// Judges the candidates of a run again, against other devices. The number of iterations changes only if it is given.
void judge_again(json& run, std::string const& path, candidate_options const& options) {
  auto settings = options.settings();
  if (auto const* const at = "/candidates/model/rules/iterations per transfer/value";
      options.iterations == 0 && run.contains(json::json_pointer(at)))
    settings.iterations = iterations_of(json_field(run.at(json::json_pointer(at)), path, at));
  if (options.against.empty() && run.contains("/candidates/against"_json_pointer))
    settings.against = run.at("/candidates/against"_json_pointer).get<std::vector<std::string>>();
  run["candidates"] = candidates_json(run, path, settings);
  if (!run["candidates"].contains("skipped")) print_candidates(run["candidates"]);
}

int run_report(report_options const& options) {
  namespace fs = std::filesystem;
  bool const page = fs::path(options.out).extension() == ".html";
  require(page || fs::path(options.out).extension() == ".json",
          [&] { return "--out is " + options.out + ", expected a name that ends in .html or .json"; });
  std::vector<json> runs;
  std::set<fs::path> known;
  for (auto const& path : options.runs) {
    runs.push_back(read_run(path));
    require(known.insert(fs::canonical(path)).second,
            [&] { return path + " is given twice, expected different runs"; });
  }
  command_files files;
  for (auto const* names : {&options.runs, &options.nsys, &options.ncu, &options.judged.devices})
    for (auto const& name : *names) files.reads(name);
  files.writes(options.out);
  files.check_and_open();
  bool const one_page = page && runs.size() == 1 && options.nsys.empty() && options.ncu.empty();
  require(one_page || !(options.judged.given() || options.adds()), [] {
    return std::string(
        "--device, --iterations-per-transfer, --against, --mbirjax, --published and --synthesis are for the page of "
        "one run, expected one RUN.json and --out FILE.html");
  });
  require(options.cost_analysis.empty() || options.mbirjax.size() == 1, [] {
    return std::string("--cost-analysis is of a profile of MBIRJAX, expected one --mbirjax");
  });
  if (one_page) {
    for (auto const& profile : options.mbirjax) add_mbirjax(runs[0], profile, options.cost_analysis);
    for (auto const& file : options.published) add_published(runs[0], file);
    for (auto const& file : options.synthesis) add_synthesis(runs[0], file);
    if (options.judged.given() || options.adds()) judge_again(runs[0], options.runs[0], options.judged);
    write_html_report(runs[0], options.runs[0], options.out);
    return done;
  }
  merger merged;
  for (std::size_t k = 0; k < runs.size(); ++k) merged.add(runs[k], options.runs[k]);
  json report = merged.finish(fmt::format("{:%Y%m%d_%H%M%S}", fmt::localtime(std::time(nullptr))));
  if (!options.nsys.empty() || !options.ncu.empty()) merge_nsight(report, options.nsys, options.ncu);
  if (page) {
    write_html_report(report, options.runs[0], options.out);
  } else {
    output_file file(options.out);
    file.write(dump_text(report, 1) + "\n");
    file.commit();
  }
  if (!options.quiet) {
    say("{} runs:\n", report["environments"].size());
    for (auto const& e : report["environments"])
      say("  {}: {}, {}, {} threads, mbirk {}\n", e.value("source", ""), e.value("backend", ""), e.value("cpu", ""),
          e.value("threads", 0), e.value("mbirk_version", ""));
    if (report["mbirk_versions"].size() > 1)
      say("of different versions of mbirk: {}\n",
                 fmt::join(report["mbirk_versions"].get<std::vector<std::string>>(), ", "));
    say("medians are over all runs; the description of the machine is that of the first one\n\n");
    print_summary(report);
  }
  return report["errors"].empty() ? done : check_failed;
}

}  // namespace

void add_report_command(CLI::App& app, chosen_command& chosen) {
  auto* const command = app.add_subcommand("report", "Write the page of a run of mbirk profile, or merge several runs");
  auto const options = std::make_shared<report_options>();
  add_common_options(*command, *options);
  command->add_option("RUN.json", options->runs, "Files of mbirk profile, or of mbirk report")->required();
  command->add_option("--out", options->out, "File to write: a page (.html), or all runs merged (.json)")
      ->type_name("FILE")
      ->capture_default_str();
  command
      ->add_option("--nsys", options->nsys,
                   "CSV of nsys stats, merged by the names of ranges and kernels (docs/nsight.md)")
      ->type_name("FILE");
  command->add_option("--ncu", options->ncu, "CSV of ncu --csv --page raw, merged as well")->type_name("FILE");
  auto const file_option = [&](char const* name, std::vector<std::string>& to, char const* what, char const* type) {
    command->add_option(name, to, what)->type_name(type)->allow_extra_args(false);
  };
  file_option("--mbirjax", options->mbirjax,
              "What jax.profiler.trace wrote of MBIRJAX on a GPU: its times become those of the GPU", "XSPACE_DIR");
  command
      ->add_option("--cost-analysis", options->cost_analysis,
                    "XLA's cost analysis of the same operations, by size and name")
      ->type_name("JSON");
  file_option("--published", options->published, "Published times of operations on GPUs (docs/fpga.md)", "JSON");
  file_option("--synthesis", options->synthesis,
              "hls/synthesis.json of an HLS export, filled in: what a synthesis tool found replaces the model", "JSON");
  add_candidate_options(*command, options->judged);
  command->callback([options, &chosen] {
    chosen = [options] {
      require_host(*options, "report");
      try {
        return run_report(*options);
      } catch (json::exception const& e) {  // a field of another kind than mbirk profile writes
        std::string_view what = e.what();
        what.remove_prefix(std::min(what.size(), what.find("] ") + 2));
        throw io_error(fmt::format("{}: is not a report of mbirk profile: {}", fmt::join(options->runs, ", "),
                                   printable(what, 200)),
                       source_location::current());
      }
    };
  });
}

}  // namespace mbirk::program
