#include "operations/staged.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string>

namespace mbirk::program {

std::uint64_t stage_bytes(instrument::operation_record const& r) {
  std::uint64_t sum = 0;
  for (auto const& s : r.stages) sum += bytes_compulsory(s.arrays, true);
  return sum;
}

void print_staged(nlohmann::json const& report) {
  if (!report.contains("unfused")) return;
  for (auto const& size : report["volume_sizes"]) {
    auto const operations = report["unfused"].value(size.dump(), nlohmann::json::object());
    if (operations.empty()) continue;
    fmt::print("\n{:>4}^3  {:<33}{:>11}{:>11}{:>8}{:>13}{:>13}{:>9}\n", size.get<long>(), "fused and unfused",
               "ms fused", "unfused", "ratio", "MB of stages", "unfused", "ratio");
    for (auto const& [name, both] : operations.items()) {
      auto const cell = [&, &pair = both](char const* form, char const* what, double unit, int digits) {
        return pair[form].contains(what) ? fmt::format("{:.{}f}", unit * pair[form][what].get<double>(), digits)
                                         : std::string("-");
      };
      auto const ratio = [&, &pair = both](char const* what) {
        return pair[what].is_null() ? std::string("-") : fmt::format("{:.3f}", pair[what].get<double>());
      };
      fmt::print("{:8}{:<33}{:>11}{:>11}{:>8}{:>13}{:>13}{:>9}\n", "", name, cell("fused", "time", 1e3, 3),
                 cell("unfused", "time", 1e3, 3), ratio("time ratio"), cell("fused", "stage bytes", 1e-6, 3),
                 cell("unfused", "stage bytes", 1e-6, 3), ratio("traffic ratio"));
    }
  }
  fmt::print(
      "\nMB of stages: bytes that the stages of an operation move if each reads its inputs and writes its results "
      "once.\n");
}

}  // namespace mbirk::program
