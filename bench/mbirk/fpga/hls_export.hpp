// Hand-off folders: the kernel of an operation with a testbench, generated from its graph on a small problem.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "fpga/word_search.hpp"
#include "operations/profile_problem.hpp"

namespace mbirk::program {

/// Size of the problem that provides the vectors. It is small because finding word lengths runs the graph about 40
/// times.
inline constexpr index_t hand_off_size = 16;

/// Word lengths found so far, by the text of the graph, because several operations share a graph; and a sinogram of the
/// user's, whose values the search tries too.
struct known_words {
  std::map<std::string, found_words> by_graph = {};
  std::optional<sinogram_sample> users = {};
};

/// The graph of an operation on the small problem with the inputs of its phantom; none for an operation without a graph.
struct small_graph {
  record::graph graph;
  record::named_arrays inputs;
};
std::optional<small_graph> small_graph_of(profile_entry const& entry, int threads);

/// Finds the shortest words that keep the graph of an operation within an error bound on the small problem: {"size",
/// "bound", "error", "within bound", "arithmetic": {"width", "whole"}, "data", "data sets", "unseen"}; null for an
/// operation without a graph.
nlohmann::json measure_words(profile_entry const& entry, int threads, known_words& known);

/// Writes <folder>/<operation>/{kernel.hpp, tb.cpp, fixed.hpp, vectors/, design.json, graph.txt, graph.dot, build.sh,
/// README.md}, with the result of the tuned operation as the expected float32 output, and hls/{kernel.hpp, top.cpp,
/// hls.tcl, synthesis.json}, the kernel at the size of the candidate with directives.
/// @param candidate  an entry of "operations" of the candidates: its verdict goes into the README, its lanes and buffer
///                   into the directives
/// @returns the word lengths with their error; null for an operation without a graph.
/// @throws io_error
nlohmann::json write_hand_off(std::filesystem::path const& folder, profile_entry const& entry, int threads,
                              nlohmann::json const& candidate, known_words& known);

}  // namespace mbirk::program
