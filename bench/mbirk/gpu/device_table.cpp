#include "gpu/device_table.hpp"

#include <algorithm>
#include <cctype>

#include "gpu/gpu_data.hpp"

namespace mbirk::program::gpu {

namespace pf = mbirk::profile::fpga;

namespace {

std::string const file_name = "gpu/data/devices.json";

json const& document() {
  static auto const parsed = json::parse(devices);
  return parsed;
}

pf::sourced number_of(json_field const& field) {
  auto const value = field.at("value", "a number > 0");
  auto const mark = field.at("mark", "one of n, R, A, m");
  auto const text = mark.text("one of n, R, A, m");
  if (text.size() != 1 || std::string_view("nRAm").find(text[0]) == std::string_view::npos)
    mark.wrong("one of n, R, A, m");
  double const number = value.number("a number > 0");
  if (!(number > 0)) value.wrong("a number > 0");
  return {number, static_cast<pf::mark>(text[0]), field.at("source", "where the number is from").text()};
}

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

}  // namespace

std::vector<std::string> const& device_numbers() {
  static std::vector<std::string> const names{"multiprocessors", "clock", "instructions per clock", "fma per clock",
                                              "integer per clock", "fp64 per clock", "special per clock",
                                              "wavefronts per clock", "resident warps", "registers", "shared bytes",
                                              "L2 bytes", "L2 bytes per second", "memory bytes per second",
                                              "L2 latency clocks", "memory latency clocks", "launch seconds",
                                              "upload bytes per second", "download bytes per second", "buffer seconds",
                                              "watts", "idle watts", "max watts"};
  return names;
}

device device_from(json_field const& field) {
  device d{.name = field.at("name", "the name of the device").text(), .capability = 0, .numbers = {}};
  d.capability = static_cast<int>(field.at("capability", "a compute capability such as 90").integer());
  auto const numbers = field.at("numbers", "an object with the numbers of a device");
  for (auto const& name : device_numbers()) d.numbers.emplace(name, number_of(numbers.at(name, "a number > 0")));
  for (auto const& [name, value] : numbers.members())
    if (!d.numbers.contains(name)) value.wrong("no such number: docs/gpu.md lists those of a device");
  return d;
}

std::vector<device> const& every_device() {
  static auto const all = [] {
    std::vector<device> made;
    for (auto const& d : json_field(document(), file_name).at("devices", "an array").elements())
      made.push_back(device_from(d));
    return made;
  }();
  return all;
}

device const* find_device(std::string_view name) {
  auto const& all = every_device();
  auto const found = std::ranges::find_if(all, [&](auto const& d) { return same_name(d.name, name); });
  return found == all.end() ? nullptr : &*found;
}

std::vector<published_time> const& published_times() {
  static auto const all = [] {
    std::vector<published_time> made;
    for (auto const& row : json_field(document(), file_name).at("published", "an array").elements()) {
      auto const text = [&](char const* key) { return row.at(key, "a string").text(); };
      made.push_back({text("operation"), text("geometry"), text("cell"), text("pixels"), text("device"),
                      text("software"), text("source"), row.at("seconds", "a number > 0").number(),
                      row.has("iterations") ? static_cast<int>(row.at("iterations", "a number").integer()) : 0});
    }
    return made;
  }();
  return all;
}

}  // namespace mbirk::program::gpu
