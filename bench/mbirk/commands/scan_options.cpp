// Options of the commands that read a scan.
#include "commands/scan_options.hpp"

#include <fmt/format.h>

#include "input/measurement.hpp"
#include "process/streams.hpp"

namespace mbirk::program {
namespace {

void add_range(CLI::App& command, char const* name, index_range& range, bool may_step, char const* text) {
  command
      .add_option_function<std::string>(
          name, [&range, name, may_step](std::string const& v) { range = parse_range(v, name, may_step); }, text)
      ->type_name(may_step ? "A:B:S" : "A:B");
}

}  // namespace

void add_scan_options(CLI::App& command, scan_call& call) {
  auto& files = call.files;
  auto& scan = files.scan;
  command
      .add_option(
          "INPUT", files.input,
          "A scan: .npy, HDF5 (Data Exchange, NXtomo, any by --data), TIFF (file, folder, 'pattern*.tif'), MRC, "
          "MATLAB, Zeiss .txrm, Nikon .xtekct, .nsipro, SkyScan .log, or raw with --raw")
      ->required();
  command.add_option("--data", scan.data, "Path of the array in an HDF5 file, or name of a MATLAB array")
      ->type_name("PATH");
  command.add_option("--axes", scan.axes, "Axes of the array in the order of the file, such as rows,views,channels")
      ->type_name("LIST");
  command
      .add_option("--angles", scan.angles,
                  "Angles: a data set, a file, or FIRST:LAST in degrees (FIRST:LAST:closed: the last view is at LAST)")
      ->type_name("PATH");
  command.add_option("--angle-unit", scan.angle_unit, "Unit of angles that --angles names: deg (default) or rad")
      ->check(CLI::IsMember({"deg", "rad"}))
      ->type_name("UNIT");
  command.add_option("--raw", scan.raw, "INPUT has pixels only: TYPE,VIEWS,ROWS,CHANNELS[,SKIP], TYPE such as u16le")
      ->type_name("LAYOUT");
  command.add_flag("--repeat-view", scan.repeat_view, "The only view stands for all, of a body of revolution");
  command.add_option("--white", files.white, "White field, if INPUT holds counts: a file, or a data set of INPUT")
      ->type_name("FILE");
  command.add_option("--dark", files.dark, "Dark field")->type_name("FILE");
  command.add_option("--white-level", scan.white_level, "One white value for all pixels; 1 if INPUT is transmission")
      ->check(CLI::PositiveNumber)
      ->type_name("X");
  command.add_flag("--counts", files.counts, "INPUT holds counts: an error if there is no white field");
  add_range(command, "--views", call.part.views, true, "Use views A to B - 1, every S-th");
  add_range(command, "--rows", call.part.rows, false, "Use detector rows A to B - 1");
  add_range(command, "--channels", call.part.channels, false, "Use channels A to B - 1");
  command.add_option("--bin", call.part.bin, "Mean of N x N pixels")->check(CLI::Range(1, 1024))->type_name("N");
  command.add_option("--geometry", call.geometry.file, "The scan and the parameters of its reconstruction, as JSON")
      ->type_name("G.json");
  command.add_option("--source-detector", call.geometry.source_detector, "Distance from the source to the detector")
      ->type_name("X");
  command.add_option("--source-iso", call.geometry.source_iso, "Distance from the source to the axis")->type_name("X");
  command.add_option("--pitch", call.geometry.pitch, "Pitch of the detector's channels and, if it differs, its rows")
      ->delimiter(',')
      ->expected(1, 2)
      ->check(CLI::PositiveNumber)
      ->type_name("X[,Y]");
  command.add_option("--centre,--center", call.geometry.centre, "Channel of the axis, counted from 0 in INPUT")
      ->type_name("CHANNEL");
  command.add_flag("--strict", call.strict, "Likely mistakes are errors");
  command.add_flag("--untrusted", files.trust.untrusted,
                   "INPUT and its fields are from a stranger: another process reads them, with limits on memory and "
                   "time");
  command.add_flag("--follow-links", files.trust.follow_links,
                   "Follow what an HDF5 file says of other files: external links, raw files, virtual data sets");
}

void add_scan_files(scan_call const& call, command_files& files) {
  auto const& f = call.files;
  for (auto const& name : {f.input, f.white, f.dark, f.scan.angles, call.geometry.file}) files.reads(name);
}

void add_correction_options(CLI::App& command, scan_call& call) {
  auto& c = call.corrections;
  command.add_flag("--find-centre,--find-center", call.find_centre, "Find the axis in the middle row, and use it");
  command
      .add_option("--zingers", c.zingers,
                  "Replace pixels brighter than exp(T) times the median of their neighbours by it, e.g. 0.5")
      ->check(CLI::PositiveNumber)
      ->type_name("T");
  command
      .add_option_function<index_t>(
          "--median",
          [&c](index_t size) {
            require(size % 2 == 1 && size >= 3 && size <= 63, [&] {
              return fmt::format("--median: {}, expected an odd number from 3 to 63", size);
            });
            c.median = size;
          },
          "Replace every pixel by the median of the N x N pixels around it in its view, N odd")
      ->type_name("N");
  command
      .add_option("--background", c.background,
                  "Subtract from each view the median of its N channels at both edges, which see air")
      ->check(CLI::Range(1, 100000))
      ->type_name("N");
  command
      .add_option("--stripes", c.stripes, "Remove stripes (rings): sorting, large, dead, wavelet, or several of them")
      ->delimiter(',')
      ->check(CLI::IsMember({"sorting", "large", "dead", "wavelet"}))
      ->type_name("NAMES");
  command.add_option("--rotate", c.rotate, "The detector is turned by this angle in degrees: turn views back")
      ->check(CLI::Range(-45.0, 45.0))
      ->type_name("DEGREES");
  command.add_flag("--drift", c.drift, "Find the drift of the views from their centres of mass, and undo it");
  command
      .add_option(
          "--paganin", c.paganin,
          "Phase retrieval: energy in keV, distance from object to detector in mm, delta/beta, pixel size in mm")
      ->delimiter(',')
      ->expected(4)
      ->check(CLI::PositiveNumber)
      ->type_name("KEV,MM,RATIO,MM");
  command
      .add_option("--beam-hardening", c.beam_hardening,
                  "Line integrals p become C1 p + C2 p^2 + ...: up to eight coefficients")
      ->delimiter(',')
      ->expected(1, 8)
      ->check(CLI::Number)
      ->type_name("C1,C2,...");
}

std::vector<std::string> checked_mistakes(scan_call const& call, scan_description const& scan, geometry_file const& g) {
  auto found = likely_mistakes(scan, g);
  found.insert(found.begin(), scan.warnings.begin(), scan.warnings.end());
  require<io_error>(!call.strict || found.empty(), [&] { return "--strict: " + found.front(); });
  return found;
}

geometry_options with_centre(scan_call const& call, measurement_source const& source, int threads,
                             std::vector<std::string>& notes) {
  auto options = call.geometry;
  if (!call.find_centre) return options;
  require<io_error>(!source.theta().empty(), [&] {
    return "--find-centre: " + call.files.input + " has no angles, expected --angles";
  });
  exec::host const host(threads);
  bool const cone = source.scan().source_detector_dist || options.source_detector;
  options.centre = find_centre({host, {}}, call.corrections, source, cone, notes);
  return options;
}

void print_facts(std::vector<scan_fact> const& facts) {
  for (auto const& f : facts) say("  {:22} {:28} {}\n", f.name, f.value, f.source);
}

}  // namespace mbirk::program
