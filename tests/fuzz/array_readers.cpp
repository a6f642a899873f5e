// Arrays and states in files: npy, checkpoints, the live memory of a process.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>

#include "mbirk/io/checkpoint.hpp"
#include "mbirk/io/npy.hpp"
#include "mbirk/io/slabs_checkpoint.hpp"
#include "mbirk/profile/live_memory.hpp"
#include "reader.hpp"

namespace mbirk::fuzz {
namespace {

template <class T> bool same_bits(std::vector<T> const& a, std::vector<T> const& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// What is read must be what is read again after writing, and blocks must be those of the whole array.
template <class T> void read_array(std::filesystem::path const& path) {
  npy_array<T> array;
  if (!accepts([&] { array = read_npy<T>(path); }, path.string())) return;
  std::size_t elements = 1;
  for (auto const n : array.shape) elements *= static_cast<std::size_t>(n);
  expect(array.data.size() == elements, "an array has not the elements of its shape");
  auto const again = scratch_folder() / "again.npy";
  write_npy(again, array);
  auto const copy = read_npy<T>(again);
  expect(copy.shape == array.shape && same_bits(copy.data, array.data), "an array changed by writing and reading");
  if (array.shape.size() != 3 || array.shape[0] < 2) return;
  index_t const first = array.shape[0] / 2, each = array.shape[1] * array.shape[2];
  std::vector<T> block(static_cast<std::size_t>((array.shape[0] - first) * each));
  view<T, 3> const to(block.data(), {array.shape[0] - first, array.shape[1], array.shape[2]});
  if (block.empty() || !accepts([&] { read_npy(path, first, to); }, path.string())) return;
  expect(std::memcmp(block.data(), array.data.data() + first * each, block.size() * sizeof(T)) == 0,
         "a block differs from the array");
}
void read_npy_input(std::string_view input) {
  auto const path = write_scratch("input.npy", input);
  read_array<float>(path);
  read_array<std::int32_t>(path);
}

/// A state that is read is written, and read again as it is. `ending` is that of the files.
template <class Load, class Save>
void read_state(std::string_view input, std::string const& ending, Load const& load, Save const& save) {
  auto const path = write_scratch("input" + ending, input);
  std::optional<decltype(load(path, nullptr))> state;
  std::string note;
  if (!accepts([&] { state = load(path, &note); }, path.string())) return;
  auto const again = scratch_folder() / ("again" + ending), third = scratch_folder() / ("third" + ending);
  save(again, *state, note);
  std::string note_again;
  auto const copy = load(again, &note_again);
  save(third, copy, note_again);
  expect(note == note_again && mbirk::detail::read_text(again) == mbirk::detail::read_text(third),
         "a state changed by writing and reading");
}
void read_checkpoint_input(std::string_view input) {
  auto const load = [](std::filesystem::path const& path, std::string* note) { return load_checkpoint(path, note); };
  read_state(input, ".checkpoint", load, save_checkpoint);
}
void read_slabs_input(std::string_view input) {
  read_state(input, ".slabs", load_slabs_checkpoint, save_slabs_checkpoint);
}

/// Gives a mutated text its checksum, because an input with a wrong one is refused before its fields matter.
std::size_t with_checksum(std::string text, std::uint8_t* data, std::size_t size, std::size_t most) {
  constexpr auto tail = mbirk::detail::checkpoint_tail;
  if (text.size() < tail) text.resize(tail);
  mbirk::detail::crc32 sum;
  sum.add(text.data(), text.size() - tail);
  text.replace(text.size() - tail, tail, sum.line());
  if (text.size() > most) return size;
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
std::size_t mutate_slabs(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  size = mutate_bytes(data, size, most);
  if (seed % 16 == 0) return size;
  return with_checksum({reinterpret_cast<char const*>(data), size}, data, size, most);
}

/// Changes bytes, then makes the arrays as long as the text says if they are small.
std::size_t mutate_checkpoint(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  constexpr auto tail = mbirk::detail::checkpoint_tail;
  size = mutate_bytes(data, size, most);
  std::minstd_rand random(seed);
  if (random() % 16 == 0) return size;
  std::string text(reinterpret_cast<char const*>(data), size);
  auto const header = text.find('\n', std::min(text.find("\ndata"), text.size() - 1) + 1);
  if (header != text.npos && random() % 4 != 0) {
    auto const floats_of = [&](char const* name) {
      auto const at = text.find(name);
      unsigned a = 0, b = 0, c = 0;
      if (at == text.npos || std::sscanf(text.c_str() + at + std::strlen(name), " 3 %u %u %u", &a, &b, &c) != 3)
        return 0u;
      return a < 64 && b < 64 && c < 64 ? a * b * c : 0u;
    };
    text.resize(header + 1 + 4 * (2 * floats_of("\nrecon_shape") + floats_of("\nsinogram_shape")) + tail);
  }
  return with_checksum(std::move(text), data, size, most);
}

/// The file of a process that runs is locked by it. An input is laid over a valid page, whose size is part of the
/// format.
void read_live_input(std::string_view input) {
  using profile::live_page;
  static std::string const valid = [] {
    std::string page(sizeof(live_page), '\0');
    profile::live_header header{};
    std::memcpy(header.magic, live_page::magic, sizeof header.magic);
    header.version = live_page::version;
    header.bytes = sizeof(live_page);
    std::memcpy(page.data(), &header, sizeof header);
    return page;
  }();
  auto page = valid;
  bool const whole = !input.empty() && input.front() == 'w';  // as it is, of any size
  if (whole) page = input.substr(1);
  else std::copy_n(input.begin(), std::min(input.size(), page.size()), page.begin());
  if (constexpr auto count = offsetof(live_page, table); page.size() > count)
    page[count] &= '\xfe';  // no change is under way
  auto const path = write_scratch("mbirk-live-1", page);
  int const owner = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  expect(owner >= 0 && ::flock(owner, LOCK_EX | LOCK_NB) == 0, "no lock");
  profile::live_report report;
  if (accepts([&] { report = profile::read_live(path); }, path.string())) {
    auto const& s = report.state;
    expect(s.sites >= 0 && s.sites <= instrument::live_state::capacity, "more sites than there are");
    std::size_t length = std::strlen(s.step) + std::strlen(s.current);
    for (std::int64_t k = 0; k < s.sites; ++k) length += std::strlen(s.site[k].where) + std::strlen(s.site[k].array);
    expect(length < sizeof s, "texts without an end");
  }
  ::close(owner);
  auto const all = profile::live_processes({scratch_folder()});
  expect(all.empty(), "a process that is gone is listed");
}

}  // namespace

std::vector<reader> array_readers() {
  return {{"npy", read_npy_input},
          {"checkpoint", read_checkpoint_input, mutate_checkpoint},
          {"slabs", read_slabs_input, mutate_slabs},
          {"live", read_live_input}};
}

}  // namespace mbirk::fuzz
