// Word lengths of the HLS export: within their bound on data that the search has not seen.
#include "fpga/word_search.hpp"

#include <cmath>

#include "fpga/hls_export.hpp"
#include "mbirk/io/npy.hpp"
#include "program.hpp"

namespace mbirk::test {
namespace {

program::profile_entry const& entry_of(std::string const& name) { return *program::matching_entries(name).front(); }
record::fixed_format format_of(json const& j) { return {j["width"], j["whole"]}; }

TEST(WordSearch, HoldsForWeightsThatTheSearchHasNotSeen) {
  auto const& entry = entry_of("parallel_hessian_diagonal");
  program::known_words known;
  auto const words = program::measure_words(entry, 1, known);
  ASSERT_TRUE(words["within bound"].get<bool>());
  EXPECT_GE(words["data sets"].size(), 2u);
  EXPECT_LE(words["unseen"]["error"], words["bound"]);
  auto const small = program::small_graph_of(entry, 1);
  ASSERT_TRUE(small);
  auto inputs = small->inputs;
  auto& weights = inputs.at("weights");
  // A path of up to 5 mean free lengths, as a scan of something else would have.
  for (std::size_t k = 0; k < weights.size(); ++k)
    weights[k] = std::exp(-5 * std::pow(std::sin(0.21 * static_cast<double>(k)), 2));
  auto const arithmetic = format_of(words["arithmetic"]);
  auto data = format_of(words["data"]);
  double const bound = words["bound"];
  EXPECT_LE(program::error_of_words(small->graph, inputs, arithmetic, data), bound);
  // Weights of 1 would have asked for 2 bits.
  data.width = data.whole + 1;
  EXPECT_GT(program::error_of_words(small->graph, inputs, arithmetic, data), 100 * bound);
}

TEST(WordSearch, TriesTheUsersSinogram) {
  scratch_folder folder;
  auto const file = (folder / "scan.npy").string();
  npy_array<float> scan{{4, 6, 8}, std::vector<float>(192)};
  for (std::size_t k = 0; k < scan.data.size(); ++k) scan.data[k] = 3 * static_cast<float>(k % 48) / 48;
  write_npy(file, scan);
  program::known_words known;
  known.users = program::read_sinogram_sample(file);
  auto const words = program::measure_words(entry_of("gen_weights_transmission"), 1, known);
  EXPECT_EQ(words["data sets"].back(), file);
  scan.shape = {32, 6};
  write_npy(file, scan);
  try {
    program::read_sinogram_sample(file);
    FAIL();
  } catch (io_error const& e) {
    EXPECT_EQ(std::string(e.what()), file + " has 2 dimensions, expected a sinogram (views, rows, channels)");
  }
}

}  // namespace
}  // namespace mbirk::test
