// A synthetic profile of one operation, its stages, and a device of the user.
#pragma once

#include "fpga/candidates.hpp"
#include "program.hpp"

namespace mbirk::test {

inline json array_of(std::string const& name, std::string const& role, double bytes, bool reuse = false) {
  bool const out = role == "output";
  json a{{"name", name},
         {"role", role},
         {"type", "f32"},
         {"elements", bytes / 4},
         {"bytes", bytes},
         {"loads", bytes / 64},
         {"stores", 0},
         {"bytes loaded", bytes},
         {"bytes stored", 0},
         {"bytes unique read", out ? 0 : bytes},
         {"bytes unique written", out ? bytes : 0}};
  if (reuse)
    a["reuse"] = {{"line bytes", 64},
                  {"capacity lines", {1, 2}},
                  {"read misses", {bytes / 64, bytes / 64}},
                  {"write backs", {0, 0}}};
  a["values"] = {{"min", -3.0}, {"max", 2.5}, {"exponents", {{"-4", 10}, {"1", 7}}}};
  return a;
}

inline std::string const profiled_operation = "parallel_back_project";

/// One operation of 1e6 items with 10 FMA each on 8 MB; the miss curve falls to its floor at 256 KB.
inline json profile_of(double seconds) {
  double const bytes = 4e6, lines = 2 * bytes / 64;
  json const cost{{"items", 1e6},
                  {"operations", {{"fma", 1e7}, {"permute", 1e7}}},
                  {"vector operations", 2e6},
                  {"bytes accessed", 8e7},
                  {"bytes compulsory", 2 * bytes},
                  {"bytes touched", 2 * bytes},
                  {"launches", 1},
                  {"arrays",
                   {array_of("in", "argument", bytes, true), array_of("out", "output", bytes, true),
                    array_of("tile", "scratch", 4096)}},
                  {"stages", json::array()},
                  {"reuse",
                   {{"line bytes", 64},
                    {"capacity lines", {64, 4096, 262144}},
                    {"read misses", {1e6, lines / 2, lines / 2}},
                    {"write backs", {2e5, lines / 2, lines / 2}}}}};
  auto const level = [](char const* name, double of_thread, double rate) {
    return json{
        {"name", name}, {"bytes of a thread", of_thread}, {"bytes per second", {{"best", rate}, {"median", rate}}}};
  };
  auto const measured = [](int run, double time, bool traced) {
    return json{
        {"operation", profiled_operation}, {"volume_size", 100}, {"run", run}, {"time", time}, {"traced", traced}};
  };
  return {{"environment",
           {{"backend", "host"},
            {"cpu", "a processor"},
            {"threads", 2},
            {"vector_lanes", 16},
            {"devices", {"a processor"}}}},
          {"ceilings",
           {{"threads", 2},
            {"fma per second", {{"best", 1e11}}},
            {"read", {level("L1", 16384, 4e11), level("L2", 5e5, 2e11), level("DRAM", 1e8, 3e10)}},
            {"triad bytes per second", {{"best", 4e10}}},
            {"launch seconds", 2e-6}}},
          {"measurements", {measured(1, 1.0, false), measured(2, 2.0, true), measured(3, seconds, false)}},
          {"cost_analysis", {{"100", {{profiled_operation, cost}}}}}};
}

inline json only_operation(json const& report) {
  auto const block = program::candidates_json(report, "run.json");
  EXPECT_EQ(block["operations"].size(), 1u);
  return block["operations"][0];
}

/// A stage of a reconstruction on 1000 bytes of a temporary, with this number of flops.
inline json stage_of(std::string const& name, double flops) {
  auto array = array_of("error", "temporary", 1000);
  return {{"name", name},
          {"flops", flops},
          {"operations", {{"fma", flops / 2}}},
          {"vector operations", flops / 32},
          {"bytes accessed", 1000},
          {"bytes compulsory", 1000},
          {"lanes useful", 0.5},
          {"arrays", {array}}};
}

inline json a_device() {
  return {{"name", "My card"},
          {"kind", "fpga"},
          {"clock", 2e8},
          {"dsp", {{"value", 4512}, {"mark", "n"}, {"source", "its data sheet"}}},
          {"lut", 7e5},
          {"bram36", 1000},
          {"uram", 0},
          {"memory bytes per second", 2e11},
          {"upload bytes per second", 7.5e9},
          {"download bytes per second", 1.21e10},
          {"watts", 50},
          {"idle watts", 20},
          {"f32 add dsp", 2},
          {"f32 mul dsp", 3},
          {"f32 fma dsp", 5}};
}
}  // namespace mbirk::test
