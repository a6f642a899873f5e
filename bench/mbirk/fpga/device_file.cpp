#include "fpga/device_file.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "input/json_field.hpp"

namespace mbirk::program {

namespace pf = mbirk::profile::fpga;

namespace {

/// Required numbers of a kind.
std::set<std::string_view> required_of(pf::device_kind kind) {
  using enum pf::device_kind;
  if (kind == fpga)
    return {"memory bytes per second",
            "upload bytes per second",
            "download bytes per second",
            "watts",
            "idle watts",
            "clock",
            "dsp",
            "lut",
            "bram36",
            "f32 add dsp",
            "f32 mul dsp",
            "f32 fma dsp"};
  if (kind == gpu) return {"memory bytes per second", "watts", "idle watts", "flops per second", "cache bytes"};
  return {"memory bytes per second", "flops per second"};
}

/// A device of a kind with the numbers common to all devices of that kind.
pf::device blank(std::string const& name, pf::device_kind kind) {
  if (kind == pf::device_kind::fpga) return pf::device_data::fpga(name);
  if (kind == pf::device_kind::gpu) return pf::device_data::gpu(name, {}, {}, {}, {}, {}, {});
  pf::device d{.name = name, .kind = kind};
  return d;
}

pf::sourced number_of(json_field const& field, std::string const& file) {
  pf::sourced s{0, pf::mark::assumed, file};
  auto const number = field.value().is_object() ? field.at("value", "a number") : field;
  if (field.value().is_object()) {
    for (auto const& [key, value] : field.members())
      if (key != "value" && key != "mark" && key != "source") value.wrong("one of value, mark, source");
    if (field.has("mark")) {
      auto const mark = field.at("mark", "").text("one of n, R, A, m");
      if (mark.size() != 1 || std::string_view("nRAm").find(mark[0]) == std::string_view::npos)
        field.at("mark", "").wrong("one of n, R, A, m");
      s.mark = static_cast<pf::mark>(mark[0]);
    }
    if (field.has("source")) s.source = field.at("source", "").text();
  }
  s.value = number.number("a number > 0");
  bool const may_lack = field.path() == "uram";  // a device may have no URAM
  if (!(s.value > 0 || (may_lack && s.value == 0)) || !std::isfinite(s.value)) number.wrong("a number > 0");
  if (field.path() == "memory usable" && s.value > 1) number.wrong("a share, at most 1");
  return s;
}

}  // namespace

pf::device read_device(std::string const& file) {
  json const document = read_json(file);
  json_field const root(document, file);
  auto const name = root.at("name", "the name of the device").text("the name of the device");
  if (name.empty()) root.at("name", "").wrong("the name of the device");
  auto const kind_text = root.at("kind", "fpga, gpu or cpu").text("fpga, gpu or cpu");
  std::vector<std::string> const kinds{"fpga", "gpu", "cpu"};
  auto const known = std::find(kinds.begin(), kinds.end(), kind_text);
  if (known == kinds.end()) root.at("kind", "").wrong("fpga, gpu or cpu");
  auto const kind = static_cast<pf::device_kind>(known - kinds.begin());
  auto d = blank(name, kind);
  for (auto const& [key, field] : root.members()) {
    if (key == "name" || key == "kind") continue;
    auto const* const found = std::find_if(pf::device_fields.begin(), pf::device_fields.end(),
                                           [&key = key](auto const& f) { return f.name == key; });
    require<io_error>(found != pf::device_fields.end(), [&, &field = field] {
      std::string all;
      for (auto const& f : pf::device_fields) all += (all.empty() ? "" : ", ") + std::string(f.name);
      return field.place() + " is not a device parameter, expected one of " + all;
    });
    d.*found->number = number_of(field, file);
  }
  for (auto const& key : required_of(kind)) root.at(std::string(key), "a number > 0");
  return d;
}

std::vector<pf::device> devices_with(std::vector<std::string> const& files) {
  auto all = pf::device_data::every_device();
  for (auto const& file : files) {
    auto d = read_device(file);
    auto const same = std::find_if(all.begin(), all.end(), [&](auto const& known) { return known.name == d.name; });
    if (same == all.end()) all.push_back(std::move(d));
    else *same = std::move(d);
  }
  return all;
}

}  // namespace mbirk::program
