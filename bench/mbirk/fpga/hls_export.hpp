// Hand-off folders: the kernel of an operation with a testbench, made from its graph on a small problem.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "mbirk/record/evaluate.hpp"
#include "operations/profile_problem.hpp"

namespace mbirk::program {

/// Size of the problem that vectors come from: word lengths are found by running the graph some 40 times.
inline constexpr index_t hand_off_size = 16;

/// Word lengths that were found already, by the text of the graph: several operations have the same one.
using known_words = std::map<std::string, record::word_lengths>;

/// The shortest words that keep the graph of an operation within a bound on the small problem: {"size", "bound", "error", "within bound", "arithmetic":
/// {"width", "whole"}, "data"}; null for an operation without a graph.
nlohmann::json measure_words(profile_entry const& entry, int threads, known_words& known);

/// Writes <folder>/<operation>/{kernel.hpp, tb.cpp, fixed.hpp, vectors/, design.json, graph.txt, graph.dot, build.sh, README.md}, with the result of
/// the tuned operation as what float32 must give. @param verdict  one sentence for the README; may be empty.
/// @returns the word lengths that were found, with their error; null for an operation without a graph. @throws io_error
nlohmann::json write_hand_off(std::filesystem::path const& folder, profile_entry const& entry, int threads, std::string const& verdict, known_words& known);

}  // namespace mbirk::program
