// What is made from a run: the page of `mbirk report`.
#include <nlohmann/json.hpp>
#include <optional>

#include "fpga/candidates.hpp"
#include "gpu/prediction.hpp"
#include "input/json_field.hpp"
#include "reader.hpp"
#include "report/html_report.hpp"

// The fuzzer has no operations, from whose code times on a GPU are predicted: nothing is predicted.
namespace mbirk::program {

std::vector<profile_entry> const& profile_entries() {
  static std::vector<profile_entry> const none;
  return none;
}
std::optional<gpu::prediction> gpu::predict(profile_entry const&, problem_shape const&, device const&) {
  return std::nullopt;
}

}  // namespace mbirk::program

namespace mbirk::fuzz {
namespace {

using namespace mbirk::program;

void read_page_input(std::string_view input) {
  auto const path = write_scratch("run.json", input).string();
  json run;
  if (!accepts([&] { run = read_json(path); }, path)) return;
  accepts([&] { html_report(run, path); }, path);
  if (!accepts([&] { run["candidates"] = candidates_json(run, path); }, path)) return;
  std::string page;
  if (!accepts([&] { page = html_report(run, path); }, path)) return;
  expect(page.find("<script>alert") == page.npos, "text of the run becomes a script of the page");
}

}  // namespace

std::vector<reader> page_readers() { return {{"page", read_page_input, mutate_json}}; }

}  // namespace mbirk::fuzz
