#include "commands/recon_options.hpp"

#include <array>
#include <cmath>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "commands/call_options.hpp"
#include "mbirk/geometry/operation_name.hpp"

namespace mbirk::program {
namespace {

std::array<double, 2> window_of(std::vector<double> const& levels, char const* option) {
  if (!(levels[0] < levels[1]) || !std::isfinite(levels[0]) || !std::isfinite(levels[1]))
    throw CLI::ValidationError(option, "expected LOW < HIGH");
  return {levels[0], levels[1]};
}

}  // namespace

std::shared_ptr<recon_command> add_recon_options(CLI::App& command, bool on_devices) {
  auto const o = std::make_shared<recon_command>();
  add_scan_options(command, o->scan);
  add_correction_options(command, o->scan);
  command.add_option("--out", o->out, "The volume (rows, cols, slices): .h5, .npy, .tif, .nrrd or .mrc")
      ->required()
      ->type_name("OUT");
  command.add_option("--compress", o->compress, "Compress an .h5 file: 1 (fast) to 9 (small)")
      ->check(CLI::Range(1, 9))
      ->type_name("LEVEL");
  command
      .add_option_function<std::vector<double>>(
          "--tiff-window", [o](std::vector<double> const& v) { o->out_window = window_of(v, "--tiff-window"); },
          "Write a .tif of 16 bits, with these values as 0 and 65535 (default: float32)")
      ->delimiter(',')
      ->expected(2)
      ->check(CLI::Number)
      ->type_name("LOW,HIGH");
  command.add_option("--method", o->method, "vcd (iterative), fbp (parallel beam) or fdk (cone beam)")
      ->check(CLI::IsMember({"fbp", "fdk", "vcd"}))
      ->type_name("NAME")
      ->capture_default_str();
  add_call_options(command, o->call);
  command.add_option("--sharpness", o->sharpness, "Higher values give sharper and noisier images (default 1)")
      ->type_name("X");
  command.add_option("--snr-db", o->snr_db, "Signal to noise ratio of the data (default 30)")->type_name("DB");
  command
      .add_option("--sigma-y", o->sigma_y, "Standard deviation of a measurement of weight 1 (default: from the data)")
      ->check(positive_number())
      ->type_name("X");
  command.add_option("--sigma-x", o->sigma_x, "Scale of the prior (default: from the data)")
      ->check(positive_number())
      ->type_name("X");
  command.add_flag("--positivity", o->positivity, "Keep all voxels >= 0");
  command.add_option("--weights", o->weights, "Formula of the weights of the measurements")
      ->check(CLI::IsMember(weight_names()))
      ->type_name("NAME")
      ->capture_default_str();
  command
      .add_option("--checkpoint", o->checkpoint,
                   "Save the state to this file for --resume (default: only on ctrl-C, to OUT.checkpoint)")
      ->type_name("FILE");
  command.add_option("--checkpoint-every", o->call.checkpoint_every, "Number of iterations between checkpoints")
      ->check(CLI::Range(1, 100000))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--resume", o->resume, "Continue from a checkpoint")->type_name("FILE");
  add_memory_limit(command, o->memory_limit,
                   "Refuse to start if more memory is needed, e.g. 8GiB (default: what is available); fbp, fdk "
                   "and, in parallel beam, vcd work in parts that fit");
  if (on_devices)
    command
        .add_option("--slab-sweeps", o->slab_sweeps,
                    "Iterations of vcd larger than memory: so many times all slabs in turn, each with an equal share "
                    "(default 3)")
        ->check(CLI::Range(1, 100000))
        ->type_name("N");
  command
      .add_option("--save-parameters", o->save_parameters,
                   "Write all parameters, including automatic sizes, as JSON that --geometry reads")
      ->type_name("FILE");
  command
      .add_option_function<std::vector<double>>(
          "--png-window", [o](std::vector<double> const& v) { o->png_window = window_of(v, "--png-window"); },
          "Values shown as black and white in the picture (default: its 1st and 99th percentiles)")
      ->delimiter(',')
      ->expected(2)
      ->check(CLI::Number)
      ->type_name("LOW,HIGH");
  command.add_flag("--no-png", o->no_png, "Do not write a picture of three slices next to OUT");
  add_monitor_options(command, o->monitor);
  add_common_options(command, *o, on_devices);
  return o;
}

void note_given_options(CLI::App const& command, recon_command& o) {
  o.seed_given = command.count("--seed") > 0;
  for (char const* name :
       {"--positivity", "--sharpness", "--snr-db", "--sigma-y", "--sigma-x", "--weights", "--slab-sweeps"})
    if (command.get_option_no_throw(name) && command.count(name) > 0) o.only_vcd.emplace_back(name);
}

void check_method(recon_command const& o, recon_scan const& scan) {
  std::visit([&]<class Geometry>(mbirk::scan<Geometry> const&) {
    bool const known = o.method == "vcd" || (has_direct_recon<Geometry> && o.method == Geometry::direct_method);
    require<io_error>(known, [&] {
      std::string others;
      geometries::each([&]<class Other>(std::type_identity<Other>) {
        if (o.method == Other::direct_method) others += (others.empty() ? "" : " or ") + std::string(Other::name);
      });
      return "--method " + o.method + " is for geometry " + others + ", expected " +
             (has_direct_recon<Geometry> ? std::string(Geometry::direct_method) + " or vcd" : "vcd");
    });
  }, scan);
}

void check_ignored(recon_command const& o) {
  require<io_error>(o.method == "vcd" || o.only_vcd.empty(), [&] {
    return o.only_vcd.front() + " is for method vcd, found --method " + o.method;
  });
}

recon_model_options merged(recon_model_options options, recon_command const& o) {
  options.sharpness = o.sharpness.value_or(options.sharpness);
  options.snr_db = o.snr_db.value_or(options.snr_db);
  if (o.sigma_y) options.sigma_y = o.sigma_y;
  if (o.sigma_x) options.sigma_x = o.sigma_x;
  options.positivity_flag = options.positivity_flag || o.positivity;
  return options;
}

}  // namespace mbirk::program
