// Word lengths from several sets of data: phantoms with weights as a scanner gives them, noise, and the user's own
// scan.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "mbirk/core/index.hpp"
#include "mbirk/record/evaluate.hpp"

namespace mbirk::program {

/// A sinogram of the user's, of which the search takes values at evenly spaced places.
struct sinogram_sample {
  std::string name;
  std::array<index_t, 3> shape{};
  std::vector<float> values;
};
/// Reads a .npy file of float32 with (views, rows, channels).
/// @throws io_error in one line: what is wrong, where, and what was expected
sinogram_sample read_sinogram_sample(std::string const& file);

struct found_words {
  record::word_lengths lengths;
  std::vector<std::string> tried;  ///< names of the sets of data
  std::string unseen;              ///< name of a set that the search has not seen
  double unseen_error = 0;         ///< with the words found, at most the bound unless nothing was found
};

/// Finds word lengths on all sets but one. The last set must keep the bound too: bits are added until it does.
/// @param inputs    of the phantom; "weights", if the graph has some, are replaced
/// @param sinogram  of the phantom, of which the weights are exp(-x)
found_words search_words(record::graph const& g, record::named_arrays const& inputs,
                         std::vector<double> const& sinogram, std::optional<sinogram_sample> const& users,
                         double bound);

/// Error of a graph in these formats, relative to the largest magnitude of the exact outputs.
double error_of_words(record::graph const& g, record::named_arrays const& inputs, record::fixed_format const& arithmetic,
                      record::fixed_format const& data);

}  // namespace mbirk::program
