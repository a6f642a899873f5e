// What the fuzzer needs to know about a reader. Each source of this folder lists its readers in a function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mbirk/core/error.hpp"

namespace mbirk::fuzz {

/// Mutates an input in place. @returns its new size, at most `most`
using mutator = std::size_t (*)(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed);

struct reader {
  char const* name;
  void (*read)(std::string_view input);  ///< must not throw and must not leave files
  mutator mutate = nullptr;              ///< null: mutate_bytes
  bool names_files = false;              ///< its messages have names of files that the input chooses
};

std::vector<reader> array_readers();     ///< npy, checkpoints, live memory
std::vector<reader> document_readers();  ///< JSON and CSV
std::vector<reader> hdf5_readers();
std::vector<reader> scan_readers();      ///< scans as scanners write them
std::vector<reader> page_readers();      ///< pages and commands made from a run

/// Mutates bytes in place: libFuzzer, or a sequence that is the same in every build.
extern std::size_t (*mutate_bytes)(std::uint8_t* data, std::size_t size, std::size_t most);
/// Replaces, repeats, removes, renames and nests values of a JSON text; now and then bytes.
std::size_t mutate_json(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed);

/// The folder of this process in memory, which is removed at exit.
std::filesystem::path const& scratch_folder();
/// Writes a file into it, replacing what is there, and returns its path.
std::filesystem::path write_scratch(std::string const& name, std::string_view contents);

/// Ends the process unless ok: a finding.
void expect(bool ok, char const* what, std::string_view detail = {});
/// A message is one line of printable text, but for names of files, whose bytes the program replaces when it prints
/// them. If a file is given, the message names it.
void expect_message(std::string_view message, std::string_view file);

/// Whether f() accepts the input. It may refuse it with an error of the library or for lack of memory, in no other way.
template <class F> bool accepts(F const& f, std::string_view file = {}) {
  try {
    f();
    return true;
  } catch (error const& e) {
    expect_message(e.what(), file);
  } catch (std::bad_alloc const&) {
  }
  return false;
}

}  // namespace mbirk::fuzz
