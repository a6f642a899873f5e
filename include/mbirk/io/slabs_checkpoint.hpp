// Saves where a reconstruction in slabs is (distributed::slabs_state) to one small file, and restores it bitwise. The
// slices are not in it: the caller keeps them.
//
//   mbirk slabs                           text, one item per line: the kind of file,
//   version 1                             version of this format,
//   note 1                                followed by one line with the caller's text (line ends as \n)
//   sinogram_shape 3 120 64 96            fields as in checkpoint.hpp: of the whole,
//   ...
//   slabs 2                               and of as many slabs,
//   ...
//   crc32 89abcdef                        CRC-32 (as in zip and png) of all bytes before it
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "mbirk/core/error.hpp"
#include "mbirk/core/index.hpp"
#include "mbirk/distributed/slab_arrays.hpp"
#include "mbirk/io/checkpoint.hpp"
#include "mbirk/io/crc32.hpp"
#include "mbirk/io/input_file.hpp"
#include "mbirk/io/output_file.hpp"

namespace mbirk {
namespace detail {

inline constexpr std::string_view slabs_magic = "mbirk slabs\n";

/// Calls f(name, member) for every field of a state but its slabs, in order, and for those of a slab.
template <class State, class F> void each_slabs_field(State& state, F const& f) {
  auto& [sinogram_shape, recon_shape, division, seed, visits, scale, warnings, slabs] = state;
  auto& [slices, sweeps] = division;
  f("sinogram_shape", sinogram_shape);
  f("recon_shape", recon_shape);
  f("slices", slices);
  f("sweeps", sweeps);
  f("seed", seed);
  f("visits", visits);
  f("scale", scale);
  f("warnings", warnings);
}
template <class Slab, class F> void each_slab_field(Slab& slab, F const& f) {
  auto& [log, norms, weight] = slab;
  each_log_field(log, f);
  f("norms", norms);
  f("weight", weight);
}

}  // namespace detail

/// Whether a file begins like those of save_slabs_checkpoint. @throws io_error if it cannot be read
inline bool is_slabs_checkpoint(std::filesystem::path const& path) {
  auto file = detail::open_input(path);
  std::string begin(detail::slabs_magic.size(), '\0');
  return file.read(begin.data(), static_cast<std::streamsize>(begin.size())) && begin == detail::slabs_magic;
}

/// Writes a state; the file appears under its name only when it is complete. An existing file of that name is replaced.
///
/// @param note  any text, saved with the state.
/// @throws io_error with the file and the system's message
inline void save_slabs_checkpoint(std::filesystem::path const& path, distributed::slabs_state const& state,
                                  std::string const& note = {}) {
  detail::checkpoint_writer fields;
  auto const put = [&](char const* name, auto const& value) { fields(name, value); };
  put("note", std::vector{note});
  detail::each_slabs_field(state, put);
  put("slabs", state.slabs.size());
  for (auto const& slab : state.slabs) detail::each_slab_field(slab, put);
  std::string text(detail::slabs_magic);
  text.append(detail::checkpoint_version).append(fields.take());
  detail::crc32 sum;
  sum.add(text.data(), text.size());
  output_file file(path);
  file.write(text);
  file.write(sum.line());
  file.commit();
}

/// Reads a state and returns it, bitwise identical. Whether it fits the scan and is consistent is checked by
/// recon_in_slabs.
///
/// @param note  if not null, receives the text saved with the state.
/// @throws io_error of one line with the file, when it cannot be read, is no such file, has another version, or is
///         truncated or damaged
inline distributed::slabs_state load_slabs_checkpoint(std::filesystem::path const& path, std::string* note = nullptr) {
  auto const fail = [&](std::string const& what, source_location w = source_location::current()) {
    detail::checkpoint_fail(path, what, w);
  };
  if (!is_slabs_checkpoint(path)) fail("is not the state of a reconstruction in slabs");
  auto const text = detail::read_text(path, detail::longest_checkpoint_header);
  std::string_view rest(text);
  if (rest.size() < detail::slabs_magic.size() + detail::checkpoint_tail) fail("is truncated");
  auto const end = rest.size() - detail::checkpoint_tail;
  detail::crc32 sum;
  sum.add(text.data(), end);
  if (rest.substr(end) != sum.line()) fail("is truncated or damaged: it does not have the checksum at its end");
  rest = rest.substr(0, end);
  rest.remove_prefix(detail::slabs_magic.size());
  if (!rest.starts_with(detail::checkpoint_version))
    fail("has '" + printable(rest.substr(0, rest.find('\n')), 40) +
         "', expected 'version 1': it is from a newer mbirk");
  rest.remove_prefix(detail::checkpoint_version.size());

  distributed::slabs_state state;
  detail::checkpoint_reader fields(path, rest);
  auto const get = [&](char const* name, auto& value) { fields(name, value); };
  std::vector<std::string> notes;
  get("note", notes);
  if (notes.size() != 1) fail("is damaged: it has " + std::to_string(notes.size()) + " notes, expected 1");
  detail::each_slabs_field(state, get);
  std::size_t slabs = 0;
  get("slabs", slabs);
  if (slabs > text.size()) fail("is damaged: it has " + std::to_string(slabs) + " slabs");
  for (; slabs > 0; --slabs) detail::each_slab_field(state.slabs.emplace_back(), get);
  if (!fields.at_end()) fail("is damaged: it has more than its fields");
  if (note) *note = std::move(notes.front());
  return state;
}

}  // namespace mbirk
