// Files for a synthesis tool: the kernel with directives, a top function with interfaces, a script, and a form for what
// the synthesis found.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "mbirk/record/cpp.hpp"
#include "mbirk/record/hand_off.hpp"

namespace mbirk::record {

/// What the model recommends, and for what.
struct hls_settings {
  std::string target = "Alveo U280", part = "xcu280-fsvh2892-2L-e";
  double clock_hz = 3e8;
  int lanes = 1;
  double buffer_bytes = 0;
  double modelled_seconds = 0;
  double dsp = 0, lut = 0, bram = 0, uram = 0;  ///< modelled use, in blocks
  index_t size = 0;
};

/// A number that tells two kernels apart: FNV-1a of the text of the graph.
inline std::string kernel_digest(graph const& g) {
  std::uint64_t h = 1469598103934665603u;
  for (char const c : to_text(g)) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(h));
  return text;
}

namespace detail {

inline std::string ap_fixed_name(fixed_format const& f) {
  return "ap_fixed<" + std::to_string(f.width) + ", " + std::to_string(f.whole) + ", AP_TRN, AP_WRAP>";
}
/// Words of a burst of 4096 bytes, which an AXI burst may not cross, and at most 256 beats.
inline index_t burst_words(index_t elements, int bits) {
  index_t const words = 4096 / std::max(1, (bits + 7) / 8);
  return std::min<index_t>({256, words, std::max<index_t>(elements, 2)});
}

inline std::string hls_top(graph const& g, word_lengths const& words, hls_settings const& s) {
  std::string parameters, arguments, directives;
  int bundle = 0;
  for (std::size_t k = 0; k < g.arrays.size(); ++k) {
    auto const& a = g.arrays[k];
    if (a.use == array_use::temporary) continue;
    bool const in = a.use == array_use::input;
    std::string const type = a.element == type::i32 ? "int" : a.is_data() ? "data" : "real";
    int const bits = a.element == type::i32 ? 32 : a.is_data() ? words.data.width : words.arithmetic.width;
    parameters += (parameters.empty() ? "" : ", ") + std::string(in ? "const " : "") + type + "* " + a.name;
    arguments += (arguments.empty() ? "" : ", ") + a.name;
    bool const streamed = in_order(g, static_cast<int>(k));
    directives += "#pragma HLS INTERFACE m_axi port=" + a.name + " bundle=gmem" + std::to_string(bundle) +
                  " offset=slave depth=" + std::to_string(a.size()) + " max_" + (in ? "read" : "write") +
                  "_burst_length=" + std::to_string(burst_words(a.size(), bits)) + " num_" + (in ? "read" : "write") +
                  "_outstanding=" + (streamed ? "4" : "16") + "\n";
    ++bundle;
  }
  return "// The function that is synthesised: interfaces and word lengths around the kernel, printed for " + s.target +
         " with " + std::to_string(s.lanes) +
         " lanes. Not tried with a synthesis tool.\n#include <ap_fixed.h>\n\n"
         "#include \"kernel.hpp\"\n\ntypedef " +
         ap_fixed_name(words.arithmetic) + " real;\ntypedef " + ap_fixed_name(words.data) +
         " data;\n\nextern \"C\" void " + g.name + "_top(" + parameters + ") {\n" + directives +
         "#pragma HLS INTERFACE s_axilite port=return\n  " + g.name + "<real, data>(" + arguments + ");\n}\n";
}

inline std::string hls_script(graph const& g, hls_settings const& s) {
  return "# Vitis HLS: vitis_hls -f hls.tcl. Not tried: no such tool was at hand when this was "
         "written.\nopen_project " +
         g.name + "\nset_top " + g.name +
         "_top\nadd_files top.cpp -cflags \"-std=c++14\"\nopen_solution -flow_target vitis "
         "solution1\nset_part " +
         s.part + "\ncreate_clock -period " + scientific(1e9 / s.clock_hz) +
         " -name default\nconfig_interface -m_axi_max_widen_bitwidth 512 -m_axi_alignment_byte_size 64\nconfig_storage "
         "fifo "
         "-impl autosrl\ncsynth_design\n# Then fill synthesis.json from solution1/syn/report/" +
         g.name + "_top_csynth.rpt; mbirk report RUN.json --synthesis synthesis.json\nexit\n";
}

inline std::string synthesis_form(graph const& g, hls_settings const& s) {
  return "{\n  \"operation\": \"" + g.name + "\",\n  \"size\": " + std::to_string(s.size) + ",\n  \"kernel\": \"" +
         kernel_digest(g) + "\",\n  \"target\": \"" + s.target +
         "\",\n  \"modelled\": {\"clock\": " + scientific(s.clock_hz) + ", \"lanes\": " + std::to_string(s.lanes) +
         ", \"buffer bytes\": " + scientific(s.buffer_bytes) + ", \"seconds\": " + scientific(s.modelled_seconds) +
         ", \"dsp\": " + scientific(s.dsp) + ", \"lut\": " + scientific(s.lut) + ", \"bram36\": " + scientific(s.bram) +
         ", \"uram\": " + scientific(s.uram) +
         "},\n  \"synthesised\": {\"clock\": null, \"latency clocks\": null, \"dsp\": null, \"lut\": null, \"bram36\": "
         "null, "
         "\"uram\": null}\n}\n";
}

}  // namespace detail

/// The files of the folder hls of a hand-off.
inline std::vector<hand_off_file> hls_files(graph const& g, word_lengths const& words, hls_settings const& s) {
  return {
      {"hls/kernel.hpp",
       "// Printed from the graph of the definition with directives for synthesis, which other compilers ignore.\n"
       "#pragma once\n\n#ifdef __SYNTHESIS__\n#include <hls_math.h>\nusing namespace hls;\n#else\n#include <cmath>\n"
       "using namespace std;\n#endif\n#ifdef __GNUC__\n#pragma GCC diagnostic ignored "
       "\"-Wunknown-pragmas\"\n#endif\n\n" +
           to_cpp(g, {s.lanes})},
      {"hls/top.cpp", detail::hls_top(g, words, s)},
      {"hls/hls.tcl", detail::hls_script(g, s)},
      {"hls/synthesis.json", detail::synthesis_form(g, s)}};
}

}  // namespace mbirk::record
