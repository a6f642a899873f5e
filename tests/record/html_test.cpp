// The page of a graph: well-formed, without requests, with the whole text of the graph, and with names that stay text.
// A script reads it by a browser's rules, because it is HTML with JSON in it.
#include "mbirk/record/html.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "io/scratch_folder.hpp"
#include "mbirk/record/operations.hpp"

namespace {

using namespace mbirk;
using record::recorder;

cone_scan small_scan() {
  cone_parameters p;
  p.sinogram_shape = {5, 4, 9}, p.angles = {0.f, 0.5f, 1.f, 1.5f, 2.f};
  p.source_detector_dist = 40, p.source_iso_dist = 20;
  return cone_scan(p);
}

struct GraphPage : testing::Test {
  test::scratch_folder scratch;
  void SetUp() override {
    if (std::string(MBIRK_PYTHON).empty())
      GTEST_SKIP() << "there is no Python here that has numpy, which the build asks of it";
  }
  /// 0 if the checker finds that the page matches the texts of its forms, else its exit code.
  int check(std::string const& title, record::graph const& g) const {
    auto const forms = record::fusion_forms(g);
    std::string command =
        MBIRK_PYTHON " -B " MBIRK_GOLDEN_DIR "/../record/check_page.py '" + (scratch / "page.html").string() + "'";
    test::write_text(scratch / "page.html", record::to_html(title, forms));
    for (auto const& form : forms) {
      auto const file = scratch / (std::string(form.name) + ".txt");
      test::write_text(file, record::to_text(form.g));
      command += " '" + file.string() + "'";
    }
    return std::system(command.c_str());
  }
};

TEST_F(GraphPage, HasEveryNodeArrayLoopAndStatementOfEachForm) {
  auto const g = record::sparse_forward_project(small_scan(), 20);
  ASSERT_EQ(record::fusion_forms(g).size(), 3u);
  EXPECT_EQ(check("cone_forward_project_v9", g), 0);
  EXPECT_EQ(check("median_filter3d_v4", record::median_filter3d({4, 4, 4})), 0);
}

TEST_F(GraphPage, NamesAreText) {
  record::graph g("g");
  recorder m(g);
  auto const x = m.reals("</script><i>x", {3});
  auto const y = m.output("\"y\\\n&amp;", {3});
  m.each("<b>stage", {"<u>axis", 3},
         [&](record::index i) { m.store(y, m.let("'<label>", x.at(i) * record::real(2.0)), i); });
  EXPECT_EQ(check("<em>&\"title", g), 0);
  auto const page = record::to_html("<em>&\"title", record::fusion_forms(g));
  for (auto const* markup : {"<i>x", "<b>stage", "<u>axis", "<label>", "<em>", "\"y\\"})
    EXPECT_EQ(page.find(markup), page.npos) << markup;
}

TEST(GraphPageWithoutAReader, AsksForNothing) {
  auto const page = record::to_html("t", record::fusion_forms(record::gen_weights_transmission({2, 3, 4})));
  for (auto const* part :
       {"http:", "https:", "://", "src=", "href", "@import", "<link", "<img", "innerHTML", "fetch(", "eval("})
    EXPECT_EQ(page.find(part), page.npos) << part;
  for (auto at = page.find("url("); at != page.npos; at = page.find("url(", at + 1))
    EXPECT_EQ(page.substr(at, 5), "url(#") << "a part of the page";
  EXPECT_NE(page.find("default-src 'none'"), page.npos);
}

}  // namespace
