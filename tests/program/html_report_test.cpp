// The HTML report: written by profile, rewritten by report, and its errors.
#include <algorithm>
#include <limits>
#include <regex>

#include "program.hpp"
#include "report/html_report_plot.hpp"

namespace mbirk::test {
namespace {

/// Balanced tags, quoted attributes, no stray "<" or "&": a small checker of errors that HTML parsers tolerate.
std::string first_fault(std::string const& page) {
  std::vector<std::string> open;
  for (std::size_t at = 0; at < page.size(); ++at) {
    if (page[at] == '&' && !std::regex_search(page.begin() + static_cast<std::ptrdiff_t>(at), page.end(),
                                              std::regex("&(#[0-9]+|[a-z]+);"), std::regex_constants::match_continuous))
      return "stray & at " + page.substr(at, 40);
    if (page[at] != '<') continue;
    auto const end = page.find('>', at);
    if (end == page.npos) return "open tag at the end";
    auto tag = page.substr(at + 1, end - at - 1);
    if (std::count(tag.begin(), tag.end(), '"') % 2) return "odd quotes in <" + tag;
    at = end;
    if (tag.starts_with("!")) continue;
    bool const closing = tag.starts_with("/"), empty = tag.ends_with("/");
    auto const name = tag.substr(closing, tag.find_first_of(" /", closing) - closing);
    if (closing) {
      if (open.empty() || open.back() != name)
        return "</" + name + "> where " + (open.empty() ? "nothing" : open.back()) + " is open";
      open.pop_back();
    } else if (!empty && name != "meta" && name != "br") {
      open.push_back(name);
      if (name == "style" || name == "script") {  // text up to the closing tag
        at = page.find("</" + name, at);
        if (at == page.npos) return "no end of " + name;
        --at;
      }
    }
  }
  return open.empty() ? "" : "never closed: " + open.back();
}

/// The data-v values of an operation's row in a table.
std::vector<double> row_of(std::string const& page, std::string const& id, std::string const& operation) {
  auto const table = page.find("<table id=\"" + id + "\"");
  auto const cell = page.find("<td class=\"t\">" + operation + "</td>", table);
  if (table == page.npos || cell == page.npos || cell > page.find("</table>", table)) return {};
  auto const begin = page.rfind("<tr>", cell), end = page.find("</tr>", cell);
  auto const row = page.substr(begin, end - begin);
  std::vector<double> out;
  static std::regex const value("data-v=\"([^\"]*)\"");
  for (std::sregex_iterator it(row.begin(), row.end(), value), none; it != none; ++it)
    out.push_back((*it)[1].str().empty() ? -1 : std::stod((*it)[1].str()));
  return out;
}

json cost(double flops, double bytes, char const* source = "counted") {
  json const reuse{{"line bytes", 64},
                   {"capacity lines", {1, 16, 1024}},
                   {"read misses", {1000, 500, 100}},
                   {"write backs", {100, 60, 10}}};
  return {{"flops", flops},
          {"bytes accessed", 4 * bytes},
          {"bytes compulsory", bytes},
          {"items", 10},
          {"arithmetic intensity", flops / (4 * bytes)},
          {"source", source},
          {"reuse", reuse},
          {"memory", {{"argument", 100}, {"output", 200}, {"temporary", 300}, {"peak", 600}}}};
}
json timing(std::string const& op, int size, int run, double time) {
  json m{{"operation", op}, {"volume_size", size}, {"run", run}, {"time", time}, {"traced", run == 2}};
  if (run > 2) m["min"] = time / 2, m["max"] = 2 * time, m["calls"] = 7;
  return m;
}

struct HtmlReport : testing::Test {
  scratch_folder scratch;
  fs::path const run = scratch / "run.json", page = scratch / "page.html";
  json good{{"timestamp", "20260102_030405_006"},
            {"volume_sizes", {32, 64}},
            {"runs_per_size", 3},
            {"environment",
             {{"backend", "host"},
              {"devices", {"A & B"}},
              {"mbirk_version", "1"},
              {"compiler", "c"},
              {"cuda_version", nullptr},
              {"threads", 2},
              {"vector_lanes", 8},
              {"cpu", "A & B"}}},
            {"measurements", json::array()},
            {"cost_analysis", {{"32", json::object()}, {"64", json::object()}}},
            {"errors", json::array()},
            {"dropped_trace_events", {{"32", 0}, {"64", 12}}}};

  HtmlReport() {
    for (auto const& [name, slow] : {std::pair{"cone_x", 1.0}, {"parallel_x", 3.0}, {"y", 0.5}})
      for (int const size : {32, 64}) {
        for (int k = 1; k <= 3; ++k)
          good["measurements"].push_back(timing(name, size, k, (k < 3 ? 90 : 1) * slow * 1e-3 * size * size * size));
        good["cost_analysis"][std::to_string(size)][name] =
            cost(slow * 1e6 * size, 4096.0 * size, size == 64 ? "model" : "counted");
      }
  }
  outcome make(json const& j) const {
    write_text(run, j.dump());
    return mbirk_program({"report", run.string(), "--out", page.string()});
  }
  std::string text(json const& j) const {
    auto const o = make(j);
    EXPECT_EQ(o.code, 0) << o;
    return o.code == 0 ? file_text(page) : "";
  }
  void refuses(std::function<void(json&)> const& change, std::string const& part) const {
    auto j = good;
    change(j);
    expect_failure(make(j), 2, part);
    EXPECT_FALSE(fs::exists(page));
    EXPECT_EQ(std::distance(fs::directory_iterator(page.parent_path()), fs::directory_iterator()), 1)
        << "something is left beside " << run;
  }
};

TEST_F(HtmlReport, IsWellFormedAndNeedsNothingElse) {
  auto const all = text(good);
  EXPECT_EQ(first_fault(all), "");
  for (auto const* part : {"http:", "https:", "src=", "@import", "url(", "<link", "<img", "<iframe", "//"})
    EXPECT_EQ(all.find(part), all.npos) << part;
  for (auto const* part : {"prefers-color-scheme: dark", "@media print", "aria-labelledby=\"roof-t",
                           "aria-labelledby=\"scale-t", "aria-labelledby=\"miss1-t"})
    EXPECT_NE(all.find(part), all.npos) << part;
}

TEST_F(HtmlReport, NumbersAreThoseOfTheRun) {
  auto const all = text(good);
  double const n3 = 64.0 * 64 * 64, total = 4.5e-3 * n3;
  auto const rank = row_of(all, "t-rank", "parallel_x");
  ASSERT_EQ(rank.size(), 10u);  // the nearest roof is unknown
  EXPECT_EQ(rank[0], 1);
  EXPECT_DOUBLE_EQ(rank[1], 1.5e-3 * n3);  // the fastest call
  EXPECT_DOUBLE_EQ(rank[2], 3e-3 * n3);  // time of run 3: warm-up and traced runs are slower
  EXPECT_EQ(rank[3], -1);  // an older file has no intervals
  EXPECT_DOUBLE_EQ(rank[4], 3e-3 * n3 / total);
  EXPECT_DOUBLE_EQ(rank[5], 3e6 * 64 / (3e-3 * n3));
  EXPECT_DOUBLE_EQ(rank[6], 4 * 4096.0 * 64 / (3e-3 * n3));
  EXPECT_DOUBLE_EQ(rank[7], 3e6 / 4096);
  EXPECT_EQ(row_of(all, "t-rank", "y")[0], 3);
  auto const times = row_of(all, "t-times", "cone_x");
  ASSERT_EQ(times.size(), 5u);
  EXPECT_DOUBLE_EQ(times[1], 1e-3 * 32 * 32 * 32);
  EXPECT_NEAR(times[3], 3, 1e-12);
  EXPECT_NEAR(times[4], 1, 1e-12);
  auto const misses = row_of(all, "t-misses", "cone_x");
  ASSERT_EQ(misses.size(), 6u);
  EXPECT_EQ(misses[0], 1024 * 64);
  EXPECT_EQ(misses[1], 560 * 64);  // at 32 KiB: the largest simulated memory below has 16 lines
  EXPECT_EQ(misses[4], 110 * 64);
  EXPECT_EQ(row_of(all, "t-memory", "y")[3], 600);
}

TEST_F(HtmlReport, SaysWhatItDoesNotKnow) {
  auto const all = text(good);
  for (auto const* part : {"No candidate analysis is in this file", "No ceilings of the machine are in this file",
                           "12 at size 64", "Costs of 3 of 6 are modelled", "3 of 6"})
    EXPECT_NE(all.find(part), all.npos) << part;
  auto without = good;
  without.erase("dropped_trace_events");
  without["errors"].push_back({{"operation", "z"}, {"volume_size", 64}, {"error", "out of luck"}});
  auto const other = text(without);
  for (auto const* part : {"does not say whether trace events were dropped", "1 failed", "z at 64: out of luck"})
    EXPECT_NE(other.find(part), other.npos) << part;
}

TEST_F(HtmlReport, RoofsAreThoseOfTheCeilings) {
  auto with = good;
  auto const rate = [](double r) { return json{{"best", r}, {"median", r}}; };
  with["ceilings"] = {{"threads", 2},
                      {"fma per second", rate(1e9)},
                      {"triad bytes per second", rate(1e9)},
                      {"read",
                       {{{"name", "L1"}, {"bytes of a thread", 1}, {"bytes per second", rate(1e10)}},
                        {{"name", "DRAM"}, {"bytes of a thread", 1}, {"bytes per second", rate(1e3)}}}}};
  auto const all = text(with);
  auto const rank = row_of(all, "t-rank", "parallel_x");
  ASSERT_EQ(rank.size(), 10u);
  EXPECT_DOUBLE_EQ(rank[9], 4096.0 * 64 / 1e3 / (3e-3 * 64 * 64 * 64));  // DRAM: more than 3e6 * 64 flops at 2e9
  EXPECT_NE(all.find("DRAM 1.00 kB/s"), all.npos);
}

TEST_F(HtmlReport, DisturbedCeilingsAreNotUsed) {
  auto with = good;
  auto const rate = [](double r) { return json{{"best", r}, {"median", r}}; };
  with["ceilings"] = {{"fma per second", rate(100)}, {"read", {{{"name", "L1"}, {"bytes per second", rate(1e10)}}}}};
  auto const all = text(with);
  ASSERT_NE(all.find("cone_x at size 32 calculates faster than the FMA loop did"), all.npos);
  EXPECT_EQ(row_of(all, "t-rank", "parallel_x").back(), -1);
}

TEST_F(HtmlReport, DisturbedTimesSayNothing) {
  auto with = good;
  with["volume_sizes"] = {32, 64, 128};
  with["cost_analysis"]["128"] = with["cost_analysis"]["64"];
  for (auto const& [name, slow] : {std::pair{"cone_x", 1.0}, {"y", 0.5}}) {
    auto m = timing(name, 128, 3, slow * 1e-3 * 128 * 128 * 128);
    m["interval"] = {0.9 * m["time"].get<double>(), 1.2 * m["time"].get<double>()};
    m["disturbed"] = false;
    with["measurements"].push_back(m);
  }
  auto const calm = text(with);
  auto const rank = row_of(calm, "t-rank", "cone_x");
  ASSERT_GE(rank.size(), 4u);
  EXPECT_NEAR(rank[3], 0.3, 1e-12) << "width of the interval";
  EXPECT_EQ(calm.find("disturbed</td>"), calm.npos);
  EXPECT_NEAR(row_of(calm, "t-times", "cone_x")[4], 3, 1e-12);

  auto& m = with["measurements"][with["measurements"].size() - 2];
  m["time"] = 1e6;
  m["disturbed"] = true;
  m["reason"] = "2 of 9 calls are clean & more";
  auto const all = text(with);
  EXPECT_EQ(first_fault(all), "");
  auto const first = all.find("<p"), said = all.find("1 of 8 operations were disturbed by other programs");
  EXPECT_LT(first, said);
  EXPECT_LT(said, all.find("</p>", first)) << "the first paragraph";
  EXPECT_NE(all.find("title=\"2 of 9 calls are clean &amp; more\">disturbed</td>"), all.npos);
  EXPECT_NE(all.find("cone_x at 128: 2 of 9 calls are clean &amp; more"), all.npos);
  auto const row = row_of(all, "t-rank", "cone_x");
  EXPECT_EQ(row[2], -1) << "no median";
  EXPECT_EQ(row[3], -1) << "no interval";
  EXPECT_EQ(row[4], -1) << "no share";
  auto const times = row_of(all, "t-times", "cone_x");
  ASSERT_EQ(times.size(), 6u);
  EXPECT_EQ(times[3], -1);
  EXPECT_NEAR(times[4], 3, 1e-12) << "of the other two sizes";
}

TEST_F(HtmlReport, FlagsImpossibleGrowth) {
  auto const with = text(good);  // times grow with N^3, flops with N
  EXPECT_NE(
      with.find("impossible growth, so these times are wrong: cone_x (time ~ N^3.00, flops ~ N^1.00), parallel_x"),
      with.npos);
  EXPECT_NE(with.find("class=\"no\">3.00, impossible</td>"), with.npos);
  auto possible = good;
  for (auto& [name, cost] : possible["cost_analysis"]["64"].items()) cost["flops"] = 5 * cost["flops"].get<double>();
  auto const without = text(possible);  // N^3.3
  EXPECT_EQ(without.find("impossible growth"), without.npos);
}

TEST_F(HtmlReport, NamesAreText) {
  auto odd = good;
  std::string const name = "<script>alert(\"1\")</script>&'\x01";
  odd["measurements"].push_back(timing(name, 64, 3, 1e6));
  odd["environment"]["compiler"] = "</style><b>";
  odd["errors"].push_back({{"operation", name}, {"volume_size", 64}, {"error", "<i>"}});
  auto const all = text(odd);
  EXPECT_EQ(first_fault(all), "");
  EXPECT_EQ(all.find("<script>alert"), all.npos);
  EXPECT_NE(all.find("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39; "), all.npos);
}

TEST_F(HtmlReport, LinksTheFilesOfItsRunOnly) {
  auto const folder = scratch / "graphs" / "20260102_030405_006";
  fs::create_directories(folder);
  fs::create_directories(scratch / "graphs" / "other");
  write_text(folder / "cone \"x\".dot", "");
  write_text(scratch / "graphs" / "other" / "no.dot", "");
  auto const all = text(good);
  EXPECT_NE(all.find("href=\"graphs/20260102_030405_006/cone%20%22x%22.dot\""), all.npos);
  EXPECT_EQ(all.find("no.dot"), all.npos);
}

TEST_F(HtmlReport, MalformedRunsAreOneLine) {
  refuses([](json& j) { j = json::array(); }, "holds []");
  refuses([](json& j) { j.erase("cost_analysis"); }, "cost_analysis is missing, expected a report of mbirk profile");
  refuses([](json& j) { j.erase("timestamp"); }, "timestamp is missing");
  refuses([](json& j) { j["measurements"] = json::array(); }, "expected at least one untraced run");
  refuses([](json& j) { j["measurements"][0]["time"] = -1; }, "measurements[0].time is -1, expected seconds >= 0");
  refuses([](json& j) { j["measurements"][0]["calls"] = INT64_MAX; },
          "measurements[0].calls is 9223372036854775807, expected a whole number from 0 to 10^12");
  refuses([](json& j) { j["measurements"][1]["volume_size"] = "big"; }, "measurements[1].volume_size is \"big\"");
  refuses([](json& j) { j["cost_analysis"]["64"]["y"].erase("memory"); }, "cost_analysis.64.y.memory is missing");
  refuses([](json& j) { j["cost_analysis"]["64"]["y"]["source"] = "guessed"; }, "y.source is \"guessed\"");
  refuses([](json& j) { j["cost_analysis"]["64"]["y"]["reuse"]["read misses"] = {1}; },
          "as many numbers as capacity lines");
  refuses([](json& j) { j["cost_analysis"]["big"] = json::object(); }, "expected a whole number as its name");
  refuses([](json& j) { j["ceilings"] = {{"fma per second", {{"best", 0}}}}; }, "expected a rate > 0");
  refuses([](json& j) { j["candidates"] = {{"operations", 3}}; }, "candidates.operations is 3");
  expect_failure(mbirk_program({"report", (scratch / "none.json").string(), "--out", page.string()}), 2,
                 "no such file");
  write_text(run, "{\"timestamp\": ");
  expect_failure(mbirk_program({"report", run.string(), "--out", page.string()}), 2, "is not valid JSON");
  expect_failure(mbirk_program({"report", run.string(), "--out", (scratch / "no" / "page.html").string()}), 2,
                 "is not valid JSON");
  EXPECT_FALSE(fs::exists(page));
}

/// Numbers of a run that are too large or too small for a plot leave it without ticks.
TEST(LogPlot, TicksNeedFiniteBounds) {
  auto const text = +[](double x) { return std::to_string(x); };
  double const infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(program::report::decades(1, 1000, text).size(), 4u);
  EXPECT_TRUE(program::report::decades(infinity, infinity, text).empty());
  EXPECT_TRUE(program::report::decades(1, infinity, text).empty());
  EXPECT_TRUE(program::report::decades(0, 1, text).empty());
}

TEST(HtmlReportOfAProfile, IsWrittenByProfile) {
  auto const& [out, ran, run, page, report] = host_profile();
  ASSERT_EQ(ran.code, 0) << ran;
  ASSERT_FALSE(run.empty() || page.empty());
  auto const when = report["timestamp"].get<std::string>();
  EXPECT_EQ(page.filename(), "report_" + when + ".html");
  auto const all = file_text(page);
  EXPECT_EQ(first_fault(all), "");
  for (auto const* part : {"Timeline of ", "traces/"})  // the ceilings may be disturbed, so they are not checked
    EXPECT_NE(all.find(part), all.npos) << part;
  auto const again = mbirk_program({"report", run.string(), "--out", (out / "again.html").string()});
  ASSERT_EQ(again.code, 0) << again;
  EXPECT_EQ(file_text(out / "again.html"), all);
  auto const graphs = out / "graphs" / when, graph = graphs / "cone_forward_project_v16.html";
  EXPECT_NE(all.find("href=\"graphs/" + when + "/cone_forward_project_v16.html\">cone_forward_project</a>"), all.npos)
      << "in the table of graphs";
  EXPECT_TRUE(fs::exists(graph));
  for (auto const* step :
       {"step00_unfused", "step01_fuse_channel_weight", "step02_fuse_row_weight", "step03_fuse_columns"})
    for (auto const* ending : {".txt", ".dot"})
      EXPECT_TRUE(fs::exists(graphs / (std::string("cone_forward_project_v16_") + step + ending))) << step << ending;
  if (std::string const python = MBIRK_PYTHON; !python.empty())
    for (auto const& [script, opened] : {std::pair{"check_report.py", page}, {"check_graph.py", graph}}) {
      auto const browser = run_words(
          {python, "-B", (fs::path(MBIRK_GOLDEN_DIR).parent_path() / "program" / script).string(), opened.string()});
      if (browser.code == 77) GTEST_SKIP() << browser.out;
      EXPECT_EQ(browser.code, 0) << browser;
    }
}

}  // namespace
}  // namespace mbirk::test
