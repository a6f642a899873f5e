// mbirk profile --no-fuse: both forms side by side, and the ratio of their traffic in the page and on the
// terminal.
#include <regex>

#include "program.hpp"

#if defined(MBIRK_PROGRAM)
namespace mbirk::test {
namespace {

TEST(Unfused, RatiosAreThoseOfTheCounts) {
  scratch_folder folder;
  auto const ran = mbirk_program({"profile", "--sizes", "16,17", "--runs", "1", "--threads", "1", "--no-fuse", "--ops",
                                  "cone_*_[pdf]*", "--out", folder.path().string(), "--quiet"});
  ASSERT_EQ(ran.code, 0) << ran;
  json report;
  std::string page;
  for (auto const& entry : fs::directory_iterator(folder.path())) {
    if (entry.path().extension() == ".json") report = json::parse(file_text(entry.path()));
    if (entry.path().filename().string().starts_with("report_")) page = file_text(entry.path());
  }
  for (std::string const size : {"16", "17"}) {
    auto const& operations = report["unfused"][size];
    EXPECT_EQ(operations.size(), 7u) << operations;
    for (auto const& [name, both] : operations.items()) {
      SCOPED_TRACE(name + " at " + size);
      auto const &fused = both["fused"], &unfused = both["unfused"], &cost = report["cost_analysis"][size][name];
      double counted = 0;
      for (auto const& stage : cost["stages"]) counted += stage["bytes compulsory"].get<double>();
      EXPECT_EQ(fused["stage bytes"], counted);
      EXPECT_EQ(fused["bytes accessed"], cost["bytes accessed"]);
      EXPECT_GT(unfused["stage bytes"], fused["stage bytes"]);
      EXPECT_DOUBLE_EQ(both["traffic ratio"].get<double>(), unfused["stage bytes"].get<double>() / counted);
      EXPECT_DOUBLE_EQ(both["time ratio"].get<double>(), unfused["time"].get<double>() / fused["time"].get<double>());
      EXPECT_LE(both["difference"], 12 * 17 * 0x1p-24);
      if (size != "17") continue;  // the largest has the tables
      auto const row = page.find("<td class=\"t\">" + name + "</td>", page.find("<table id=\"t-unfused\""));
      auto const cells = page.substr(row, page.find("</tr>", row) - row);
      std::vector<std::string> values;
      std::regex const value("data-v=\"([^\"]*)\"");
      for (std::sregex_iterator it(cells.begin(), cells.end(), value), none; it != none; ++it)
        values.push_back((*it)[1]);
      ASSERT_EQ(values.size(), 8u);
      EXPECT_EQ(std::stod(values[5]), both["traffic ratio"]);
      char text[32];
      std::snprintf(text, sizeof text, "%.3f\n", both["traffic ratio"].get<double>());
      auto const line = ran.out.find(name + ' ', ran.out.find("17^3  fused and unfused"));
      EXPECT_EQ(ran.out.substr(line, ran.out.find('\n', line) + 1 - line).ends_with(text), true) << ran.out;
    }
  }
  // Traffic between the stages matches the recorded graph: sixteen rows are whole packs.
  for (auto const* name : {"cone_back_project", "cone_forward_project"})
    EXPECT_EQ(report["unfused"]["16"][name]["unfused"]["temporaries"]["columns"]["bytes moved"],
              report["graphs"]["16"][name]["as written"]["bytes between stages"])
        << name;
}

TEST(Unfused, OnTheHostOnly) {
  scratch_folder folder;
  expect_failure(mbirk_program({"profile", "--no-fuse", "--policy", "emulated", "--out", folder.path().string()}), 3,
                 "--no-fuse is not available under policy emulated");
}

}  // namespace
}  // namespace mbirk::test
#endif
