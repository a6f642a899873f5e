// Hand-off folders: the kernel of an operation with a testbench, generated from its graph on a small problem.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "mbirk/record/evaluate.hpp"
#include "operations/profile_problem.hpp"

namespace mbirk::program {

/// Size of the problem that provides the vectors. It is small because finding word lengths runs the graph about 40
/// times.
inline constexpr index_t hand_off_size = 16;

/// Word lengths found so far, by the text of the graph, because several operations share a graph.
using known_words = std::map<std::string, record::word_lengths>;

/// Finds the shortest words that keep the graph of an operation within an error bound on the small problem: {"size",
/// "bound", "error", "within bound", "arithmetic": {"width", "whole"}, "data"}; null for an operation without a graph.
nlohmann::json measure_words(profile_entry const& entry, int threads, known_words& known);

/// Writes <folder>/<operation>/{kernel.hpp, tb.cpp, fixed.hpp, vectors/, design.json, graph.txt, graph.dot, build.sh,
/// README.md}, with the result of the tuned operation as the expected float32 output.
/// @param verdict  one sentence for the README; may be empty.
/// @returns the word lengths with their error; null for an operation without a graph.
/// @throws io_error
nlohmann::json write_hand_off(std::filesystem::path const& folder, profile_entry const& entry, int threads,
                              std::string const& verdict, known_words& known);

}  // namespace mbirk::program
