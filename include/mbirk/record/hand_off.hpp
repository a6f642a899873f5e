// Hand-off package for a hardware engineer: the kernel of an operation as plain C++ with fixed bounds, a testbench with
// vectors that compiles with g++ and passes in float and in fixed point, a JSON of loops, ports, buffers and word
// lengths, and the graph.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mbirk/record/cost.hpp"
#include "mbirk/record/cpp.hpp"
#include "mbirk/record/evaluate.hpp"
#include "mbirk/record/fixed_source.hpp"

namespace mbirk::record {

/// A file of the hand-off folder, with its name relative to that folder.
struct hand_off_file {
  std::string name, bytes;
};

/// Inputs from which a hand-off folder is made.
struct hand_off_case {
  named_arrays inputs;                     ///< one array for every input of the graph
  named_arrays expected;                   ///< outputs of the tuned operation for these inputs; empty: not compared
  double tolerance = 1e-5;                 ///< float32 against `expected`, relative to the largest magnitude
  double bound = 1e-4;                     ///< fixed point against exact arithmetic, relative to the largest magnitude
  std::string formula = {}, verdict = {};  ///< texts for the README
  /// Result of find_word_lengths() with this bound; empty: computed by hand_off().
  std::optional<word_lengths> words = {};
};

namespace detail {

template <class T> std::string packed(std::vector<double> const& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  for (std::size_t k = 0; k < values.size(); ++k) {
    auto const x = static_cast<T>(values[k]);
    std::memcpy(bytes.data() + k * sizeof(T), &x, sizeof(T));
  }
  return bytes;
}
inline std::string scientific(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", x);
  return text;
}
inline std::string fixed_name(fixed_format const& f) {
  return "fixed<" + std::to_string(f.width) + ", " + std::to_string(f.whole) + ">";
}

/// Whether the text of a graph accesses an array only along its axes in order, not at computed indices.
inline bool in_order(graph const& g, int array) {
  auto const live = g.live();
  for (std::size_t k = 0; k < g.nodes.size(); ++k)
    if (live[k] && g.nodes[k].what == op::load && g.nodes[k].which == array)
      for (int const i : g.nodes[k].in)
        if (g.at(i).what != op::axis) return false;
  for (auto const& s : g.stages)
    for (auto const& st : s.statements)
      if (st.array == array)
        for (int const i : st.index)
          if (g.at(i).what != op::axis) return false;
  return true;
}

inline std::string design_json(graph const& g, word_lengths const& words) {
  std::string loops, ports, buffers;
  for (auto const& s : g.stages) {
    bool lookup = false;
    for (auto const& st : s.statements) lookup = lookup || (st.adds && !in_order(g, st.array));
    auto const add = [&](int a, char const* carried) {
      loops += std::string(loops.empty() ? "" : ",") + "\n    {\"stage\": \"" + s.name + "\", \"loop\": \"" +
               g.axis_at(a).name + "\", \"trips\": " + std::to_string(g.axis_at(a).extent) + ", \"carried\": \"" +
               carried + "\", \"directive\": \"" + (g.axis_at(a).kind == axis_kind::small ? "UNROLL" : "PIPELINE") +
               "\"}";
    };
    for (int const a : s.outer) add(a, "stages in turn");
    for (int const a : s.axes) add(a, lookup ? "sums at computed places" : "none");
    for (auto const& st : s.statements)
      for (int const a : st.loops) add(a, "sums at computed places");
    auto const needed = g.reached(s.roots());
    for (std::size_t k = g.nodes.size(); k-- > 0;)
      if (needed[k] && g.nodes[k].what == op::sum) add(g.nodes[k].which, "sum");
  }
  auto const cost = cost_of(g);
  for (std::size_t k = 0; k < g.arrays.size(); ++k) {
    auto const& a = g.arrays[k];
    int const bits = a.element == type::i32 ? 32 : a.is_data() ? words.data.width : words.arithmetic.width;
    auto const common = "{\"name\": \"" + a.name + "\", \"shape\": " + shape_text(a.shape) +
                        ", \"bits\": " + std::to_string(bits) + ", \"loads\": " + std::to_string(cost.arrays[k].loads) +
                        ", \"stores\": " + std::to_string(cost.arrays[k].stores);
    if (a.use == array_use::temporary)
      buffers += std::string(buffers.empty() ? "" : ",") + "\n    " + common + "}";
    else
      ports += std::string(ports.empty() ? "" : ",") + "\n    " + common + ", \"direction\": \"" +
               (a.use == array_use::input ? "in" : "out") + "\", \"interface\": \"" +
               (in_order(g, static_cast<int>(k)) ? "axis, or m_axi with bursts" : "m_axi with a local copy") + "\"}";
  }
  auto const format = [](fixed_format const& f) {
    return "{\"width\": " + std::to_string(f.width) + ", \"whole\": " + std::to_string(f.whole) +
           ", \"rounding\": \"AP_TRN\", \"overflow\": \"AP_WRAP\"}";
  };
  return "{\n  \"operation\": \"" + g.name + "\",\n  \"loops\": [" + loops + "],\n  \"ports\": [" + ports +
         "],\n  \"buffers\": [" + buffers + "],\n  \"types\": {\"arithmetic\": " + format(words.arithmetic) +
         ", \"data\": " + format(words.data) + ", \"error\": " + scientific(words.error) +
         ", \"within bound\": " + (words.found ? "true" : "false") +
         "},\n  \"flops\": " + std::to_string(cost.flops()) +
         ",\n  \"transcendentals\": " + std::to_string(cost.transcendentals()) +
         ",\n  \"bytes compulsory\": " + std::to_string(cost.bytes_compulsory) + "\n}\n";
}

inline std::string testbench(graph const& g, hand_off_case const& c, word_lengths const& words) {
  std::string declare, call_float, call_fixed, fixed_inputs, compare;
  auto const separated = [](std::string& list, std::string const& item) { list += (list.empty() ? "" : ", ") + item; };
  for (auto const& a : g.arrays) {
    auto const n = std::to_string(a.size());
    if (a.use == array_use::temporary) continue;
    if (a.use == array_use::input) {
      auto const kind = a.element == type::i32 ? std::string("int") : std::string("float");
      declare += "  std::vector<" + kind + "> " + a.name + " = read<" + kind + ">(\"" + a.name + "\", " + n + ");\n";
      separated(call_float, a.name + ".data()");
      if (a.element == type::i32)
        separated(call_fixed, a.name + ".data()");
      else {
        fixed_inputs += "  std::vector<" + std::string(a.is_data() ? "data" : "real") + "> " + a.name + "_fixed(" +
                        a.name + ".begin(), " + a.name + ".end());\n";
        separated(call_fixed, a.name + "_fixed.data()");
      }
    } else {
      declare += "  std::vector<float> " + a.name + "(" + n + ");\n";
      fixed_inputs += "  std::vector<real> " + a.name + "_fixed(" + n + ");\n";
      separated(call_float, a.name + ".data()");
      separated(call_fixed, a.name + "_fixed.data()");
      if (c.expected.contains(a.name))
        compare += "  ok &= close(\"" + a.name + ", float, against the tuned operation\", " + a.name +
                   ", read<float>(\"" + a.name + "\", " + n + "), " + scientific(c.tolerance) + ");\n";
      compare += "  ok &= close(\"" + a.name + ", fixed, against exact arithmetic\", " + a.name +
                 "_fixed, read<double>(\"" + a.name + ".exact\", " + n + "), " + scientific(c.bound) + ");\n";
      compare += "  ok &= equal(\"" + a.name + ", fixed, bits\", " + a.name + "_fixed, read<double>(\"" + a.name +
                 ".fixed\", " + n + "));\n";
    }
  }
  return R"(// Runs the kernel on its vectors: in float, compared with the tuned operation; in fixed point, compared
// with exact arithmetic and bit for bit with the expected results for these word lengths. Exits with 1 if any result
// differs.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "fixed.hpp"
#include "kernel.hpp"

typedef )" +
         fixed_name(words.arithmetic) + " real;\ntypedef " + fixed_name(words.data) + R"( data;

static std::string folder = "vectors";

template <class T> static std::vector<T> read(const std::string& name, std::size_t count) {
  std::vector<T> values(count);
  std::FILE* file = std::fopen((folder + "/" + name).c_str(), "rb");
  if (!file || std::fread(values.data(), sizeof(T), count, file) != count) {
    std::fprintf(stderr, "%s/%s: expected %zu elements\n", folder.c_str(), name.c_str(), count);
    std::exit(1);
  }
  std::fclose(file);
  return values;
}
template <class A, class B>
static bool close(const char* what, const std::vector<A>& got, const std::vector<B>& expected, double tolerance) {
  double largest = 0, worst = 0;
  for (std::size_t k = 0; k < got.size(); ++k) {
    largest = std::max(largest, std::abs(static_cast<double>(expected[k])));
    worst = std::max(worst, std::abs(static_cast<double>(got[k]) - static_cast<double>(expected[k])));
  }
  const bool ok = worst <= tolerance * largest;
  std::printf("%s %s: %.2e of the largest, allowed %.2e\n", ok ? "ok   " : "WRONG", what,
              largest > 0 ? worst / largest : worst, tolerance);
  return ok;
}
template <class A> static bool equal(const char* what, const std::vector<A>& got, const std::vector<double>& expected) {
  std::size_t different = 0;
  for (std::size_t k = 0; k < got.size(); ++k) different += static_cast<double>(got[k]) != expected[k];
  std::printf("%s %s: %zu of %zu differ\n", different ? "WRONG" : "ok   ", what, different, got.size());
  return different == 0;
}

int main(int argc, char** argv) {
  if (argc > 1) folder = argv[1];
  bool ok = true;
)" + declare +
         fixed_inputs + "  " + g.name + "<float>(" + call_float + ");\n  " + g.name + "<real, data>(" + call_fixed +
         ");\n" + compare + "  return ok ? 0 : 1;\n}\n";
}

}  // namespace detail

/// Makes the files of a hand-off folder. If the case has no word lengths, it finds them first, which evaluates the
/// graph about 40 times: use a small case (up to 32^3).
/// @throws error when an input is missing.
inline std::vector<hand_off_file> hand_off(graph const& g, hand_off_case const& c) {
  auto const words = c.words ? *c.words : find_word_lengths(g, c.inputs, c.bound);
  auto const exact = evaluate<double>(g, c.inputs), in_fixed = evaluate(g, c.inputs, words.arithmetic, words.data);
  std::vector<hand_off_file> files;
  files.push_back({"fixed.hpp", fixed_source});
  files.push_back({"kernel.hpp",
                   "// Printed from the graph of the definition; C++14, one function, fixed bounds. `real` is the type "
                   "of the arithmetic, `data` "
                   "that of samples in memory.\n"
                   "#pragma once\n\n#include <cmath>\n\nusing std::abs;\nusing std::atan;\nusing std::ceil;\nusing "
                   "std::cos;\nusing std::exp;\nusing "
                   "std::exp2;\nusing std::floor;\n"
                   "using std::log;\nusing std::log2;\nusing std::sin;\nusing std::sqrt;\n\n" +
                       to_cpp(g)});
  files.push_back({"tb.cpp", detail::testbench(g, c, words)});
  files.push_back({"design.json", detail::design_json(g, words)});
  files.push_back({"graph.txt", to_text(g)});
  files.push_back({"graph.dot", to_dot(g)});
  files.push_back({"build.sh",
                   "#!/bin/sh\n# Builds the testbench and runs it.\nset -e\ncd \"$(dirname \"$0\")\"\n${CXX:-g++} "
                   "-std=c++14 -O1 -ffp-contract=off "
                   "-Wall -Wextra tb.cpp -o tb\n./tb\n"});
  for (auto const& a : g.arrays) {
    if (a.use == array_use::input) {
      auto const& v = c.inputs.at(a.name);
      files.push_back(
          {"vectors/" + a.name, a.element == type::i32 ? detail::packed<std::int32_t>(v) : detail::packed<float>(v)});
    } else if (a.use == array_use::output) {
      if (auto const e = c.expected.find(a.name); e != c.expected.end())
        files.push_back({"vectors/" + a.name, detail::packed<float>(e->second)});
      files.push_back({"vectors/" + a.name + ".exact", detail::packed<double>(exact.outputs.at(a.name))});
      files.push_back({"vectors/" + a.name + ".fixed", detail::packed<double>(in_fixed.outputs.at(a.name))});
    }
  }
  files.push_back(
      {"README.md",
       "# " + g.name + "\n\n" + (c.formula.empty() ? "" : c.formula + "\n\n") +
           (c.verdict.empty() ? "" : "Verdict: " + c.verdict + "\n\n") +
           "`sh build.sh` builds the testbench with g++ and runs it: float against the tuned operation, fixed point "
           "against "
           "exact arithmetic (bound " +
           detail::scientific(c.bound) + ", reached " + detail::scientific(words.error) +
           ") and bit for bit.\n\nArithmetic: `" + detail::fixed_name(words.arithmetic) + "`; samples in memory: `" +
           detail::fixed_name(words.data) +
           "`. Found on a few sets of data at this size: others may need more bits.  Divisions and functions "
           "(sin, "
           "sqrt, exp) are computed as such; in hardware they belong into tables by "
           "view, outside of the inner loops.\n\n`design.json` has loops with their trips and what they carry, ports, "
           "buffers and types; `graph.txt` and `graph.dot` the graph. Bounds are those of this "
           "size; nothing here has been through a synthesis tool.\n"});
  return files;
}

}  // namespace mbirk::record
