// mbirk estimate: predicts the cost of an operation before anything is allocated.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>

#include "commands/command.hpp"
#include "gpu/prediction.hpp"
#include "input/geometry_file.hpp"
#include "machine/ceilings.hpp"
#include "machine/memory.hpp"
#include "mbirk/instrument/sizing.hpp"
#include "operations/modelled_work.hpp"
#include "operations/policy.hpp"
#include "operations/profile_problem.hpp"
#include "operations/ranks_estimate.hpp"
#include "operations/recon_memory.hpp"
#include "process/streams.hpp"

namespace mbirk::program {
namespace {

struct estimate_options : common_options {
  std::string op, geometry, gpu, network = "2,12.5";
  std::optional<index_t> size;
  std::vector<int> ranks;
  bool as_json = false, slabs_and_views = false;
};

// Beyond this size the model takes seconds, and flops are extrapolated by items.
constexpr index_t largest_modelled = 64;

/// The profile entry with this name or, for the name of an operation, the entry of this geometry.
profile_entry const& find_entry(std::string const& name, std::string const& geometry) {
  profile_entry const* found = nullptr;
  for (auto const& entry : profile_entries()) {
    bool const fits = geometry.empty() || entry.geometry == geometry || !entry.name.starts_with(entry.geometry);
    if (fits && (entry.name == name || (entry.op->name == name && !found))) found = &entry;
  }
  require(found != nullptr, [&] {
    std::vector<std::string> names;
    for (auto const& entry : profile_entries()) names.push_back(entry.name);
    return "operation " + name + " is not known" + (geometry.empty() ? "" : " in geometry " + geometry) +
           fmt::format(", expected one of {}", fmt::join(names, ", "));
  });
  return *found;
}

/// Reads the scan of G.json, which must contain the shape of the sinogram.
any_scan read_scan(std::string const& path) {
  json const document = read_json(path);
  auto const shape = read_shape(json_field(document, path).at("sinogram_shape", "[views, rows, channels]"));
  auto const geometry = read_geometry(path, shape, {}, memory_budget(memory_available()));
  return std::visit([](auto const& scan) -> any_scan { return scan; }, geometry.scan);
}

gpu::device const& find_gpu(std::string const& name) {
  auto const* const found = gpu::find_device(name);
  require(found != nullptr, [&] {
    std::vector<std::string> names;
    for (auto const& d : gpu::every_device()) names.push_back(d.name);
    return "--on " + name + " is not a known device" + fmt::format(", expected one of {}", fmt::join(names, ", "));
  });
  return *found;
}

/// The prediction for a device, by the profile's problem of a size or for a given scan.
std::optional<gpu::prediction> predict_on(gpu::device const& on, profile_entry const& entry, estimate_options const& o,
                                          std::optional<any_scan> const& scan, operands const& x) {
  if (!scan) return gpu::predict(entry, problem_shape::cube(*o.size), on);
  std::vector<std::int32_t> listed;
  for (auto const& input : entry.op->inputs)
    if (is_index_array(input.kind) && x.inputs.contains(input.name)) {
      auto const pixels = x.list(input.name);
      listed.assign(pixels.data(), pixels.data() + pixels.size());
    }
  auto const iterations = x.arguments.find("max_iterations");
  bool const given = iterations != x.arguments.end() && iterations->second.is_number_integer();
  return gpu::predict(entry.op->name, *scan, on, listed, given ? iterations->second.get<int>() : 1);
}

json to_json(gpu::device const& on, gpu::prediction const& p) {
  json launches = json::array();
  for (auto const& t : p.launches) {
    json resources = json::object();
    for (auto const& [name, seconds] : t.resources) resources[name] = seconds;
    launches.push_back({{"kernel", t.kernel}, {"lower bound", t.lower_bound}, {"expected", t.expected},
                        {"bound", t.bound}, {"waves", t.waves}, {"seconds by resource", resources}});
  }
  return {{"device", on.name},
          {"source", p.source},
          {"lower bound", p.lower_bound},
          {"expected", p.expected},
          {"low", p.low},
          {"high", p.high},
          {"bound", p.bound},
          {"transfers", p.transfer_seconds},
          {"joules", p.joules},
          {"launches", launches}};
}

void print_prediction(gpu::device const& on, gpu::prediction const& p) {
  show(
      "\nOn an {} (predicted): {:.3g} s, between {:.3g} and {:.3g} s; at least {:.3g} s; {:.3g} s of "
      "transfers; {:.3g} J.\n{:>12} {:>12}  {:<8} kernel\n",
      on.name, p.expected, p.low, p.high, p.lower_bound, p.transfer_seconds, p.joules, "expected s", "at least s",
      "bound");
  for (auto const& t : p.launches) show("{:12.4g} {:12.4g}  {:<8} {}\n", t.expected, t.lower_bound, t.bound, t.kernel);
}

ranks_estimate estimate_by_ranks(estimate_options const& o, int ranks, operation const& op, any_scan const& any,
                                 exec::host const& host) {
  require(op.name == "recon", [&] { return "--ranks is for recon, found " + op.name; });
  return std::visit([&]<class Scan>(Scan const& scan) -> ranks_estimate {
    if constexpr (std::is_same_v<Scan, std::monostate>) return {};
    else if (o.slabs_and_views)
      return estimate_slabs_and_views(scan, ranks, host.threads(), read_network(o.network));
    else return estimate_ranks(scan, ranks, host.threads(), read_network(o.network), host);
  }, any);
}
json to_json(ranks_estimate const& e) {
  return {{"ranks", e.ranks},
          {"slabs", e.slabs},
          {"groups of views", e.groups},
          {"compute", e.compute},
          {"communication", e.communication},
          {"seconds", e.seconds()},
          {"alone", e.alone},
          {"efficiency", e.efficiency()},
          {"bytes sent", e.bytes},
          {"latencies", e.latencies},
          {"memory", e.memory > 0 ? json(e.memory) : json()}};
}
void print_ranks(ranks_estimate const& e, int threads, std::string const& carrier) {
  show("\nBy {} ranks of {} threads (slabs of slices times groups of views: {} x {}), with messages of {} (us,GB/s): "
       "an iteration of 128 subsets takes {:.4g} s, {:.4g} s of it for messages; efficiency {:.3g} %. A rank sends {} "
       "and waits {:.0f} times for a message. ",
       e.ranks, threads, e.slabs, e.groups, carrier, e.seconds(), e.communication, 100 * e.efficiency(),
       bytes_text(e.bytes), e.latencies);
  if (e.memory > 0) show("It needs {} at most. Modelled, not measured.\n", bytes_text(e.memory));
  else show("Modelled only: mbirk-mpi shares out slices in parallel beam and views in cone beam, not both.\n");
}

int estimate(estimate_options const& o) {
  require_host(o, "estimate");
  require(!o.slabs_and_views || !o.ranks.empty(),
          [] { return std::string("--slabs-and-views is given without --ranks, expected both"); });
  require(o.size.has_value() != !o.geometry.empty(),
          [] { return std::string("expected either --size N or --geometry FILE"); });
  std::optional<any_scan> given;
  if (!o.geometry.empty()) given = read_scan(o.geometry);
  auto entry = find_entry(o.op, given ? geometry_name(*given) : "");
  if (o.op != entry.name) entry.arguments.clear();  // an operation given by its own name is called without arguments
  auto const problem = given ? profile_problem(*given) : profile_problem(entry.geometry, *o.size, 1, false);

  exec::host const exec(o.threads);
  instrument::size_record size;
  auto x = problem.make_operands(*entry.op, entry.arguments);
  entry.op->run(context{exec, instrument::sizing{size}}, problem.scan(), x);

  index_t arguments = 0, results = 0;
  for (auto const& a : size.outer) (a.role == array_role::argument ? arguments : results) += a.bytes;
  auto const* const on = o.gpu.empty() ? nullptr : &find_gpu(o.gpu);
  std::optional<gpu::prediction> predicted;
  if (on) predicted = predict_on(*on, entry, o, given, x);
  std::vector<ranks_estimate> shared;
  for (int const ranks : o.ranks) shared.push_back(estimate_by_ranks(o, ranks, *entry.op, problem.scan(), exec));
  auto const roofs = measure_ceilings(exec);
  index_t const modelled = std::min(o.size.value_or(largest_modelled), largest_modelled);
  auto work = work_of(entry, problem_shape::cube(modelled));
  work.flops *= work.items > 0 ? static_cast<double>(size.items) / work.items : 0;
  work.bytes = static_cast<double>(arguments + results);

  if (o.as_json) {
    json arrays = json::array();
    for (auto const* list : {&size.outer, &size.at_peak})
      for (auto const& a : *list) arrays.push_back({{"name", a.name}, {"role", role_name(a.role)}, {"bytes", a.bytes}});
    json report{
            {"operation", entry.name},
            {"threads", exec.threads()},
            {"items", size.items},
            {"arrays", arrays},
            {"memory",
             {{"argument", arguments}, {"output", results}, {"temporary", size.temporary_peak}, {"peak", size.peak()}}},
            {"transfers", {{"host to device", arguments}, {"device to host", results}}},
            {"flops", work.flops},
            {"seconds", {{"FMA ceiling", work.fma_seconds(roofs)}, {"memory ceiling", work.memory_seconds(roofs)}}},
            {"ceilings", to_json(roofs)}};
    if (on) report["gpu"] = predicted ? to_json(*on, *predicted) : json();
    if (shared.size() == 1) report["ranks"] = to_json(shared[0]);
    else
      for (auto const& one : shared) report["ranks"].push_back(to_json(one));
    show("{}\n", report.dump(1));
    return done;
  }
  show("{}, {} threads, {} items\n\n{:>12}  {:<10} array\n", entry.name, exec.threads(), size.items, "bytes", "");
  for (auto const& a : size.outer)
    show("{:>12}  {:<10} {}\n", bytes_text(static_cast<double>(a.bytes)), role_name(a.role), a.name);
  for (auto const& item : memory_items(size.at_peak))
    show("{:>12}  {:<10} {}\n", bytes_text(item.bytes), "temporary", item.name);
  show("{:>12}  peak, without tables of a few numbers per pixel and view\n",
             bytes_text(static_cast<double>(size.peak())));
  show("\nTo a device and back: {} and {}.\n", bytes_text(static_cast<double>(arguments)),
             bytes_text(static_cast<double>(results)));
  show(
      "At least {:.4g} s here: {:.4g} s for {:.4g} flops (model{}) at {:.1f} G FMA/s, {:.4g} s for the arguments and "
      "results at {:.1f} GB/s.\n",
      work.roof(roofs), work.fma_seconds(roofs), work.flops,
      o.size && *o.size <= largest_modelled ? "" : fmt::format(" of {}^3, by items", modelled), 1e-9 * roofs.fma.best,
      work.memory_seconds(roofs), 1e-9 * roofs.levels.back().read.best);
  for (auto const& one : shared) print_ranks(one, exec.threads(), o.network);
  if (predicted) print_prediction(*on, *predicted);
  else if (on)
    show("\nOn an {}: not predicted: {}.\n", on->name,
         entry.op->only_on_host                            ? "it runs on the host"
         : gpu::has_known_costs(*entry.op, problem.scan()) ? "only with --size, not for a geometry file"
                                                           : "what the kernels of this geometry cost is not known");
  return done;
}

}  // namespace

void add_estimate_command(CLI::App& app, chosen_command& chosen) {
  auto* const command = app.add_subcommand(
      "estimate", "Predict memory by array, transfers and minimum time of an operation without running it");
  auto const o = std::make_shared<estimate_options>();
  command->add_option("OP", o->op, "Name of an operation, as in mbirk profile or mbirk ops")->required();
  command->add_option("--size", o->size, "Size N: recon N^3, N/2 views")->check(CLI::Range(2, 16384))->type_name("N");
  command->add_option("--geometry", o->geometry, "Geometry file as for mbirk recon, with sinogram_shape")
      ->type_name("FILE");
  command->add_option("--on", o->gpu, "Also predict the time on a GPU: A100, L40S, \"RTX 4090\", H100, H200, B200, ...")
      ->type_name("GPU");
  command->add_option("--ranks", o->ranks, "Of recon: also by so many processes of mbirk-mpi")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20))
      ->type_name("N,...");
  command->add_option("--network", o->network, "What their messages take: microseconds and GB/s")
      ->capture_default_str()
      ->type_name("US,GB_S");
  command->add_flag("--slabs-and-views", o->slabs_and_views,
                    "Model the fastest way to share out both slices and views, which mbirk-mpi does not do");
  command->add_flag("--json", o->as_json, "Print JSON");
  add_common_options(*command, *o);
  command->callback([o, &chosen] { chosen = [o] { return estimate(*o); }; });
}

}  // namespace mbirk::program
