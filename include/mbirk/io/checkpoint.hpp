// Saves the state of an iterative reconstruction to one file and restores it bitwise. C++ standard library only.
//
//   mbirk checkpoint                      text, one item per line: the kind of file,
//   version 1                             version of this format,
//   byte_order little
//   note 1                                followed by one line with the caller's text (line ends as \n)
//   sinogram_shape 3 120 64 96            lists begin with their length,
//   sigma_y 1.4p-3                        real numbers are hexadecimal (as C's %a without 0x), hence exact,
//   ...
//   data                                  padded with spaces, so that the arrays begin at a multiple of 64 bytes:
//   recon, weighted_error, hessian        float32 in C order, one after the other, with the shapes given in the text
//   crc32 89abcdef                        text line again: CRC-32 (as in zip and png) of all bytes before it
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "mbirk/core/error.hpp"
#include "mbirk/io/array_size.hpp"
#include "mbirk/io/crc32.hpp"
#include "mbirk/io/input_file.hpp"
#include "mbirk/io/output_file.hpp"
#include "mbirk/io/printable.hpp"
#include "mbirk/recon/log_check.hpp"
#include "mbirk/recon/options.hpp"

namespace mbirk {

static_assert(std::endian::native == std::endian::little,
              "checkpoint.hpp reads and writes little-endian files without swapping");

namespace detail {

inline constexpr std::string_view checkpoint_magic = "mbirk checkpoint\n", checkpoint_version = "version 1\n",
                                  checkpoint_order = "byte_order little\n";
inline constexpr std::size_t checkpoint_tail = 15;  // "crc32 89abcdef\n"
inline constexpr std::size_t longest_checkpoint_header = std::size_t{1} << 28;

/// Calls f(name, member) for every field of a log, in order. All members are named here, so that a new one does not
/// compile until it is saved.
template <class Log, class F> void each_log_field(Log& log, F const& f) {
  auto& [num_iterations, granularity, partition_sequence, fm_rmse, prior_loss, sigma_y, sigma_x, sigma_prox,
         stop_threshold_change_pct, alpha_values, delta_norm_per_slice, warnings, cancelled] = log;
  f("num_iterations", num_iterations);
  f("granularity", granularity);
  f("partition_sequence", partition_sequence);
  f("fm_rmse", fm_rmse);
  f("prior_loss", prior_loss);
  f("sigma_y", sigma_y);
  f("sigma_x", sigma_x);
  f("sigma_prox", sigma_prox);
  f("stop_threshold_change_pct", stop_threshold_change_pct);
  f("alpha_values", alpha_values);
  f("delta_norm_per_slice", delta_norm_per_slice);
  f("warnings", warnings);
  f("cancelled", cancelled);
}
/// Calls f(name, member) for every field of a state, those of its log included.
template <class State, class F> void each_checkpoint_field(State& state, F const& f) {
  auto& [sinogram_shape, recon_shape, seed, recon, weighted_error, hessian, record] = state;
  f("sinogram_shape", sinogram_shape);
  f("recon_shape", recon_shape);
  f("seed", seed);
  each_log_field(record, f);
}
/// Calls f(name, data, shape) for the arrays after the text, in order.
template <class State, class F> void each_checkpoint_array(State& state, F const& f) {
  f("recon", state.recon, state.recon_shape);
  f("weighted_error", state.weighted_error, state.sinogram_shape);
  f("hessian", state.hessian, state.recon_shape);
}

/// Fields with one line per element.
template <class T>
inline constexpr bool several_lines =
    std::same_as<T, std::vector<std::vector<double>>> || std::same_as<T, std::vector<std::string>>;

/// Writes the text of a checkpoint.
class checkpoint_writer {
 public:
  template <class T> void operator()(char const* name, T const& value) {
    text_ += name;
    put(value);
    if constexpr (!several_lines<T>) text_ += '\n';
  }
  std::string take() { return std::move(text_); }

 private:
  void put(std::integral auto value) { text_ += ' ' + std::to_string(value); }
  void put(double value) {
    char buffer[40];
    auto const end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::hex).ptr;
    text_ += ' ';
    text_.append(buffer, end);
  }
  template <class List> void put_list(List const& list) {
    put(list.size());
    for (auto const& e : list) put(e);
  }
  void put(std::array<index_t, 3> const& shape) { put_list(shape); }
  template <class T> void put(std::vector<T> const& list) { put_list(list); }
  void put(std::vector<std::vector<double>> const& lists) {  // one line each
    put(lists.size());
    text_ += '\n';
    for (auto const& list : lists) {
      put(list);
      text_ += '\n';
    }
  }
  void put(std::vector<std::string> const& texts) {  // one line each
    put(texts.size());
    text_ += '\n';
    for (auto const& t : texts) {
      text_ += ' ';
      for (char const c : t)
        text_ += c == '\n' ? std::string("\\n") : c == '\\' ? std::string("\\\\") : std::string(1, c);
      text_ += '\n';
    }
  }

  std::string text_;
};

[[noreturn]] inline void checkpoint_fail(std::filesystem::path const& path, std::string const& what,
                                         source_location w = source_location::current()) {
  throw io_error(path.string() + ": " + what, w);
}

/// Reads the text back, field by field in the same order; any deviation from the writer's output is reported as damage.
class checkpoint_reader {
 public:
  checkpoint_reader(std::filesystem::path const& path, std::string_view text) : path_(path), text_(text) {}

  template <class T> void operator()(char const* name, T& value) {
    name_ = name;
    if (!accept(name)) fail();
    get(value);
    if constexpr (!several_lines<T>) end_line();
  }
  bool at_end() const noexcept { return text_.empty(); }

 private:
  [[noreturn]] void fail() const {
    checkpoint_fail(path_, std::string("is damaged: the field ") + name_ + " cannot be read");
  }
  bool accept(std::string_view token) {
    if (!text_.starts_with(token)) return false;
    text_.remove_prefix(token.size());
    return true;
  }
  void end_line() {
    if (!accept("\n")) fail();
  }
  template <class T, class... Format> void number(T& value, Format... format) {
    if (!accept(" ")) fail();
    auto const [end, code] = std::from_chars(text_.data(), text_.data() + text_.size(), value, format...);
    if (code != std::errc{}) fail();
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
  }
  void get(double& value) {
    number(value, std::chars_format::hex);
    // from_chars returns a NaN with different bits.
    if (value != value) value = std::numeric_limits<double>::quiet_NaN();
  }
  void get(float& value) {
    double exact = 0;
    get(exact);
    if (!(std::abs(exact) <= static_cast<double>(std::numeric_limits<float>::max()))) fail();
    value = static_cast<float>(exact);
  }
  void get(std::integral auto& value) { number(value); }
  void get(bool& value) {
    int n = 0;
    number(n);
    if (n != 0 && n != 1) fail();
    value = n == 1;
  }
  /// Reads a length. Lists grow while their elements are read, so a wrong length does not request memory.
  std::size_t length() {
    std::size_t n = 0;
    number(n);
    if (n > text_.size()) fail();
    return n;
  }
  void get(std::array<index_t, 3>& shape) {
    if (length() != shape.size()) fail();
    for (auto& n : shape) get(n);
  }
  template <class T> void get(std::vector<T>& list) {
    for (auto n = length(); n > 0; --n) get(list.emplace_back());
  }
  void get(std::vector<std::vector<double>>& lists) {
    auto n = length();
    end_line();
    for (; n > 0; --n) {
      get<double>(lists.emplace_back());
      end_line();
    }
  }
  void get(std::vector<std::string>& texts) {
    auto n = length();
    end_line();
    for (; n > 0; --n) {
      auto& t = texts.emplace_back();
      auto const end = text_.find('\n');
      if (!accept(" ") || end == text_.npos) fail();
      for (; !accept("\n"); text_.remove_prefix(1)) {
        bool const escaped = accept("\\");
        char const c = text_.front();
        if (escaped && c != 'n' && c != '\\') fail();
        t += escaped && c == 'n' ? '\n' : c;
      }
    }
  }

  std::filesystem::path const& path_;
  std::string_view text_;
  char const* name_ = "";
};

}  // namespace detail

/// Writes a checkpoint; the file appears under its name only when it is complete. An existing file of that name is
/// replaced.
///
/// @param note  any text, saved with the state; for instance the options of the reconstruction, so that it resumes with
///              the same ones.
/// @throws shape_error when an array does not match the shapes in the state, or a list of its log not the number of
///         iterations; io_error with the file and the system's
///         message.
/// Cost: the arrays are written without copying; the checksum takes about half a second per gigabyte.
inline void save_checkpoint(std::filesystem::path const& path, recon_state const& state, std::string const& note = {}) {
  detail::each_checkpoint_array(
      state, [](char const* name, std::vector<float> const& data, std::array<index_t, 3> const& shape) {
        require<shape_error>(
            array_elements(shape, sizeof(float)) == static_cast<index_t>(data.size()), [&] {
              return std::string("save_checkpoint: ") + name + " has " + std::to_string(data.size()) +
                     " values, expected those of a shape " + detail::shape_text(shape);
            });
      });
  auto const fault = detail::log_fault(state.record, state.recon_shape[2]);
  require<shape_error>(fault.empty(), [&] { return "save_checkpoint: the log is inconsistent: " + fault; });
  detail::checkpoint_writer fields;
  fields("note", std::vector{note});
  detail::each_checkpoint_field(state, [&](char const* name, auto const& value) { fields(name, value); });
  std::string text;
  text.append(detail::checkpoint_magic)
      .append(detail::checkpoint_version)
      .append(detail::checkpoint_order)
      .append(fields.take())
      .append("data");
  text.append(63 - text.size() % 64, ' ') += '\n';

  detail::crc32 sum;
  output_file file(path);
  auto const write = [&](void const* data, std::size_t bytes) {
    sum.add(data, bytes);
    file.write(data, bytes);
  };
  write(text.data(), text.size());
  detail::each_checkpoint_array(state, [&](char const*, std::vector<float> const& data, auto const&) {
    write(data.data(), data.size() * sizeof(float));
  });
  file.write(sum.line());
  file.commit();
}

/// Reads a checkpoint and returns the saved state, bitwise identical.
///
/// @param note   if not null, receives the text saved with the state.
/// @param check  called with all but the arrays, before memory is taken for them; what it throws is passed on. The
///               checksum has not been compared yet.
/// @throws io_error of one line with the file, when it cannot be read, is not a checkpoint, has another version, or is
///         truncated or damaged (the checksum and every length are checked); allocation_error when memory runs out.
inline recon_state load_checkpoint(
    std::filesystem::path const& path, std::string* note = nullptr,
    std::function<void(recon_state const& header, std::string const& note)> const& check = {}) {
  auto const fail = [&](std::string const& what, source_location w = source_location::current()) {
    detail::checkpoint_fail(path, what, w);
  };
  auto file = detail::open_input(path);
  std::error_code code;
  std::uintmax_t const size = std::filesystem::file_size(path, code);
  if (code) fail("cannot be read: " + code.message());

  // Read the text up to the line that begins with "data", in pieces, so that an unrelated file of any size is not read
  // as a whole.
  std::string text;
  std::size_t end = text.npos;
  auto const is_ours = [&] {
    return std::string_view(text).substr(0, detail::checkpoint_magic.size()) ==
           detail::checkpoint_magic.substr(0, text.size());
  };
  for (std::size_t searched = 0; end == text.npos; searched = text.size() < 5 ? 0 : text.size() - 5) {
    auto const more = static_cast<std::size_t>(
        std::min<std::uintmax_t>(std::max<std::size_t>(4096, text.size()), size - text.size()));
    auto const old = text.size();
    text.resize(old + more);
    if (more > 0 && !file.read(text.data() + old, static_cast<std::streamsize>(more)))
      fail("cannot be read to its end");
    if (!is_ours()) fail("is not a checkpoint of mbirk");
    if (auto const data = text.find("\ndata", searched); data != text.npos) end = text.find('\n', data + 1);
    if (end == text.npos && text.size() > detail::longest_checkpoint_header)
      fail("is damaged: its header has no end in " + std::to_string(text.size()) + " bytes");
    if (more == 0 && end == text.npos)
      fail("is truncated or damaged: its header has no end in " + std::to_string(size) + " bytes");
  }
  text.resize(end + 1);

  std::string_view rest(text);
  rest.remove_prefix(detail::checkpoint_magic.size());
  if (!rest.starts_with(detail::checkpoint_version))
    fail("has '" + printable(rest.substr(0, rest.find('\n')), 40) +
         "', expected 'version 1': it is damaged, or from a newer mbirk");
  rest.remove_prefix(detail::checkpoint_version.size());
  if (!rest.starts_with(detail::checkpoint_order))
    fail("has another byte order than 'byte_order little', or is damaged");
  rest.remove_prefix(detail::checkpoint_order.size());

  recon_state state;
  detail::checkpoint_reader fields(path, rest);
  std::vector<std::string> notes;
  fields("note", notes);
  if (notes.size() != 1) fail("is damaged: it has " + std::to_string(notes.size()) + " notes, expected 1");
  detail::each_checkpoint_field(state, [&](char const* name, auto& value) { fields(name, value); });
  if (auto const fault = detail::log_fault(state.record, state.recon_shape[2]); !fault.empty())
    fail("is damaged: " + fault);
  std::uintmax_t expected = text.size() + detail::checkpoint_tail;
  detail::each_checkpoint_array(state, [&](char const* name, auto const&, std::array<index_t, 3> const& shape) {
    auto const elements = array_elements(shape, sizeof(float));
    if (!elements) fail("is damaged: " + std::string(name) + " has the shape " + detail::shape_text(shape));
    expected += static_cast<std::uintmax_t>(*elements) * sizeof(float);  // three times at most 2^59
  });
  if (size != expected)
    fail(size < expected
             ? "is truncated or damaged: it has " + std::to_string(size) + " bytes, expected more by its shapes"
             : "is damaged: it has " + std::to_string(size) + " bytes, expected " + std::to_string(expected) +
                   " by its shapes");

  if (check) check(state, notes.front());
  if (note) *note = std::move(notes.front());

  detail::crc32 sum;
  sum.add(text.data(), text.size());
  file.seekg(static_cast<std::streamoff>(text.size()));
  detail::each_checkpoint_array(
      state, [&](char const* name, std::vector<float>& data, std::array<index_t, 3> const& shape) {
        auto const bytes = static_cast<std::size_t>(*array_elements(shape, sizeof(float))) * sizeof(float);
        try {
          data.resize(bytes / sizeof(float));
        } catch (std::bad_alloc const&) {
          throw allocation_error(path.string() + ": out of memory: " + std::to_string(bytes) + " bytes for " + name,
                                 source_location::current());
        }
        if (bytes > 0 && !file.read(reinterpret_cast<char*>(data.data()), static_cast<std::streamsize>(bytes)))
          fail("cannot be read to its end");
        sum.add(data.data(), bytes);
      });
  std::string tail(detail::checkpoint_tail, '\0');
  if (!file.read(tail.data(), static_cast<std::streamsize>(tail.size()))) fail("cannot be read to its end");
  if (tail != sum.line()) fail("is damaged: its content does not have the checksum at its end");
  return state;
}

}  // namespace mbirk
