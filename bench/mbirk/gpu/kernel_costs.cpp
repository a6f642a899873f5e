#include "gpu/kernel_costs.hpp"

#include <nlohmann/json.hpp>

#include "gpu/gpu_data.hpp"

namespace mbirk::program::gpu {
namespace {

using table = std::map<std::string, std::map<int, kernel_code>, std::less<>>;

cost cost_of(nlohmann::json const& numbers) {
  auto const at = [&](char const* name) { return numbers.value(name, 0.0); };
  return {at("issue"),      at("fma"), at("integer"), at("fp64"),   at("special"),
          at("wavefronts"), at("LDG"), at("STG"),     at("clocks"), at("rounds")};
}

table const& kernels() {
  static auto const made = [] {
    table all;
    auto const document = nlohmann::json::parse(kernel_costs);
    for (auto const& [name, capabilities] : document.at("kernels").items())
      for (auto const& [capability, entry] : capabilities.items()) {
        kernel_code code{entry.value("registers", 0), entry.value("shared", 0), {}};
        for (auto const& [variant, units] : entry.at("units").items())
          for (auto const& [unit, numbers] : units.items()) code.units[variant][unit] = cost_of(numbers);
        all[name].emplace(std::stoi(capability), std::move(code));
      }
    return all;
  }();
  return made;
}

}  // namespace

cost& cost::operator+=(cost const& o) {
  issue += o.issue;
  fma += o.fma;
  integer += o.integer;
  fp64 += o.fp64;
  special += o.special;
  wavefronts += o.wavefronts;
  loads += o.loads;
  stores += o.stores;
  clocks += o.clocks;
  rounds += o.rounds;
  return *this;
}

cost operator*(double n, cost c) {
  return {n * c.issue,      n * c.fma,   n * c.integer, n * c.fp64,   n * c.special,
          n * c.wavefronts, n * c.loads, n * c.stores,  n * c.clocks, n * c.rounds};
}

kernel_code const* find_kernel(std::string_view name, int capability) {
  auto const found = kernels().find(name);
  if (found == kernels().end()) return nullptr;
  auto const code = found->second.find(capability);
  return code == found->second.end() ? nullptr : &code->second;
}

}  // namespace mbirk::program::gpu
