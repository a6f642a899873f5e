// Kernels with a planted mistake and their correct twins: how to run them, and the expected findings.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mbirk/exec/emulation/run.hpp"

namespace mbirk::test {

using exec::emulation_error;
using exec::emulation_options;
using exec::finding;

/// Three orders, copies that land early and late.
inline std::vector<emulation_options> modes(bool check_races) {
  std::vector<emulation_options> all;
  for (std::uint64_t seed : {0, 1, 2}) {
    for (bool const late : {false, true})
      all.push_back({.seed = seed, .late_copies = late, .check_races = check_races});
  }
  return all;
}

inline std::string text_of(emulation_options const& o) {
  return "seed " + std::to_string(o.seed) + (o.late_copies ? ", late" : ", eager") + (o.check_races ? ", races" : "") +
         ", preempt " + std::to_string(o.preempt) + ", workers " + std::to_string(o.workers);
}

/// One float for every thread of the launch, and the findings of a launch. The test program owns the pool, so that
/// abandoned fibers are reused.
struct outcome {
  std::vector<float> out;
  std::vector<finding> findings;
};

inline exec::emulation::emulator_pool& pool() {
  static exec::emulation::emulator_pool p;
  return p;
}

/// The findings; what() reports each with file and line.
inline std::vector<finding> findings_of(emulation_error const& e) {
  for (finding const& f : e.findings) {
    std::string const line = std::string(f.where.file) + ":" + std::to_string(f.where.line) + ": " + f.text;
    EXPECT_NE(std::string_view(e.what()).find(line), std::string_view::npos) << e.what();
  }
  return e.findings;
}

/// Runs kernel with its member `out` set to an array of zeros.
template <class Kernel> outcome run(Kernel kernel, emulation_options const& options, int blocks = 3) {
  outcome result;
  result.out.resize(static_cast<std::size_t>(blocks * Kernel::bounds.threads));
  kernel.out = result.out.data();
  try {
    exec::emulation::run(kernel, {blocks, 1, 1}, options, pool());
  } catch (emulation_error const& e) {
    result.findings = findings_of(e);
  }
  return result;
}

/// A kernel with every member that the checks below require: its first and last line, the expected value of each
/// thread, how it is run.
struct planted {
  std::string_view file;
  int first_line, last_line, threads;
  float (*expected)(int block, int rank);
  outcome (*run)(emulation_options const&, int blocks);
};

template <class Kernel> planted describe() {
  planted p{"", 0, 0, Kernel::bounds.threads, nullptr,
            [](emulation_options const& o, int blocks) { return test::run(Kernel{}, o, blocks); }};
  if constexpr (requires { Kernel::file; }) {
    p.file = Kernel::file;
    p.first_line = Kernel::first_line;
    p.last_line = Kernel::last_line;
  }
  if constexpr (requires { Kernel::expected(0, 0); }) p.expected = &Kernel::expected;
  return p;
}

/// Exactly one finding has the text, and its line belongs to the kernel. Null if there is none.
inline finding const* expect_found(planted const& kernel, outcome const& o, std::string_view text) {
  finding const* found = nullptr;
  std::string all;
  for (finding const& f : o.findings) {
    all += "\n" + f.text;
    if (!found && f.text.find(text) != std::string::npos) found = &f;
  }
  EXPECT_NE(found, nullptr) << "found only:" << all;
  if (!found) return nullptr;
  EXPECT_EQ(std::string_view(found->where.file), kernel.file);
  EXPECT_GE(found->where.line, kernel.first_line) << found->text;
  EXPECT_LE(found->where.line, kernel.last_line) << found->text;
  return found;
}
template <class Kernel> finding const* expect_found(outcome const& o, std::string_view text) {
  return expect_found(describe<Kernel>(), o, text);
}

/// Lines of the kernel that the text of a finding names, besides the finding's own.
inline int other_lines_named(planted const& kernel, finding const& f) {
  int named = 0;
  for (int line = kernel.first_line; line <= kernel.last_line; ++line) {
    std::string at(kernel.file);
    at.append(1, ':').append(std::to_string(line));
    auto const k = f.text.find(at);
    bool const whole = k != std::string::npos && !(k + at.size() < f.text.size() &&
                                                   std::isdigit(static_cast<unsigned char>(f.text[k + at.size()])));
    if (whole && line != f.where.line) ++named;
  }
  return named;
}

/// The first thread that wrote a wrong value, or -1.
inline int first_wrong(planted const& kernel, outcome const& o) {
  for (int i = 0; i < static_cast<int>(o.out.size()); ++i) {
    if (!(o.out[static_cast<std::size_t>(i)] == kernel.expected(i / kernel.threads, i % kernel.threads))) return i;
  }
  return -1;
}

/// No findings, and the right value for every thread.
inline void expect_right(planted const& kernel, outcome const& o) {
  for (finding const& f : o.findings) ADD_FAILURE() << f.where.file << ":" << f.where.line << ": " << f.text;
  EXPECT_EQ(first_wrong(kernel, o), -1);
}
template <class Kernel> void expect_right(outcome const& o) { expect_right(describe<Kernel>(), o); }

/// The twin has no findings and correct values in every mode, with and without the check, and when threads take turns
/// at accesses, too.
inline void expect_silent(planted const& twin, int blocks) {
  for (bool const check : {false, true}) {
    for (emulation_options o : modes(check)) {
      for (int const preempt : {0, 4}) {
        o.preempt = preempt;
        SCOPED_TRACE(text_of(o));
        expect_right(twin, twin.run(o, blocks));
      }
    }
  }
}
template <class Twin> void expect_silent(int blocks = 3) { expect_silent(describe<Twin>(), blocks); }

/// The race check finds the kernel's mistake in every mode, and the text names this many further lines of the kernel.
inline void expect_found_by_check(planted const& kernel, std::string_view text, int other_lines) {
  for (emulation_options const& o : modes(true)) {
    SCOPED_TRACE(text_of(o));
    outcome const result = kernel.run(o, 3);
    finding const* const f = expect_found(kernel, result, text);
    if (f) { EXPECT_EQ(other_lines_named(kernel, *f), other_lines) << f->text; }
  }
}
template <class Kernel> void expect_found_by_check(std::string_view text, int other_lines = 1) {
  expect_found_by_check(describe<Kernel>(), text, other_lines);
}

/// The kernel's mistake is found with and without the race check.
inline void expect_found_always(planted const& kernel, std::string_view text) {
  for (bool const check : {false, true}) {
    for (emulation_options const& o : modes(check)) {
      SCOPED_TRACE(text_of(o));
      expect_found(kernel, kernel.run(o, 3), text);
    }
  }
}
template <class Kernel> void expect_found_always(std::string_view text) {
  expect_found_always(describe<Kernel>(), text);
}

/// Without the check there are no findings, but wrong values, in every order. ThreadSanitizer would end the program for
/// these.
inline void expect_only_wrong_values(planted const& kernel, std::vector<emulation_options> const& all) {
  if constexpr (exec::emulation::thread_sanitizer) return;
  for (emulation_options const& o : all) {
    SCOPED_TRACE(text_of(o));
    outcome const result = kernel.run(o, 3);
    EXPECT_TRUE(result.findings.empty());
    EXPECT_NE(first_wrong(kernel, result), -1);
  }
}
template <class Kernel> void expect_only_wrong_values(std::vector<emulation_options> const& all) {
  expect_only_wrong_values(describe<Kernel>(), all);
}

}  // namespace mbirk::test
