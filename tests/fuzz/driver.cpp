// One fuzzer for every reader.
//
//   mbirk_fuzz                                     lists the readers
//   mbirk_fuzz READER [options and folders]        libFuzzer, as its manual says
//   mbirk_fuzz READER --mutations N FILE...        the files and N mutations of each, the same ones in every build
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <random>

#include "mbirk/io/printable.hpp"
#include "reader.hpp"

extern "C" {
std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);
int LLVMFuzzerInitialize(int* count, char*** arguments);
int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);
std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed);
}

namespace mbirk::fuzz {

std::size_t (*mutate_bytes)(std::uint8_t* data, std::size_t size, std::size_t most) = LLVMFuzzerMutate;

namespace {

constexpr char variable[] = "MBIRK_FUZZ_READER";  // tells processes that libFuzzer starts which reader is meant

std::vector<reader> every_reader() {
  std::vector<reader> all;
  auto const add = [&](std::vector<reader> const& some) { all.insert(all.end(), some.begin(), some.end()); };
  add(array_readers());
#if defined(MBIRK_FUZZ_DOCUMENT)
  add(document_readers());
#endif
#if defined(MBIRK_FUZZ_HDF5)
  add(hdf5_readers());
#endif
#if defined(MBIRK_FUZZ_SCAN)
  add(scan_readers());
#endif
#if defined(MBIRK_FUZZ_PAGE)
  add(page_readers());
#endif
  return all;
}

reader chosen{};

std::minstd_rand fixed_random(1);

/// Changes, removes, inserts, or copies some bytes. libFuzzer's mutations depend on what the compiler made of a reader.
std::size_t mutate_fixed(std::uint8_t* data, std::size_t size, std::size_t most) {
  auto const below = [](std::size_t n) { return static_cast<std::size_t>(fixed_random()) % n; };
  constexpr std::uint8_t extremes[] = {0, 1, 0x7f, 0x80, 0xff, ' ', '"', '-', '9', '\n'};
  std::vector<std::uint8_t> bytes(data, data + size);
  auto const at = [&] { return static_cast<std::ptrdiff_t>(below(bytes.size() + 1)); };
  auto const length = [&](std::ptrdiff_t from) {
    return static_cast<std::ptrdiff_t>(
        below(std::min<std::size_t>(bytes.size() - static_cast<std::size_t>(from), 16) + 1));
  };
  switch (auto const from = at(); bytes.empty() ? 4 : below(6)) {
    case 0: bytes[below(bytes.size())] ^= static_cast<std::uint8_t>(1u << below(8)); break;
    case 1: bytes[below(bytes.size())] = extremes[below(std::size(extremes))]; break;
    case 2: std::fill_n(bytes.begin() + from, length(from), extremes[below(std::size(extremes))]); break;
    case 3: bytes.erase(bytes.begin() + from, bytes.begin() + from + length(from)); break;
    case 4: bytes.insert(bytes.begin() + from, 1 + below(8), static_cast<std::uint8_t>(below(256))); break;
    default: {
      std::vector<std::uint8_t> const piece(bytes.begin() + from, bytes.begin() + from + length(from));
      bytes.insert(bytes.begin() + at(), piece.begin(), piece.end());
    }
  }
  bytes.resize(std::min(bytes.size(), most));
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}

void read_mutations(char const* count, int files, char** names) {
  constexpr std::size_t most = 1 << 14;
  mutate_bytes = mutate_fixed;
  auto const mutations = std::strtoul(count, nullptr, 10);
  std::vector<std::uint8_t> input(most);
  for (int k = 0; k < files; ++k) {
    std::FILE* const file = std::fopen(names[k], "rb");
    expect(file != nullptr, "a file cannot be read", names[k]);
    auto const size = std::fread(input.data(), 1, most, file);
    std::fclose(file);
    std::vector<std::uint8_t> const start(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(size));
    LLVMFuzzerTestOneInput(start.data(), start.size());
    for (unsigned long m = 0; m < mutations; ++m) {
      std::copy(start.begin(), start.end(), input.begin());
      auto mutated = start.size();
      for (auto rounds = 1 + fixed_random() % 4; rounds > 0; --rounds)
        mutated = LLVMFuzzerCustomMutator(input.data(), mutated, most, static_cast<unsigned>(fixed_random()));
      // A copy of its own size, so that reading beyond its end is seen.
      std::vector<std::uint8_t> const copy(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(mutated));
      LLVMFuzzerTestOneInput(copy.data(), copy.size());
    }
  }
  std::printf("%s: %lu inputs\n", chosen.name, static_cast<unsigned long>(files) * (mutations + 1));
}

/// Larger requests fail as they do on a machine without memory, so that an input of a few bytes that asks for
/// gigabytes is refused and does not end the run.
constexpr std::size_t largest_allocation = std::size_t{1} << 25;

void* try_allocate(std::size_t bytes) noexcept {
  return bytes > largest_allocation ? nullptr : std::malloc(bytes ? bytes : 1);
}
void* allocate(std::size_t bytes) {
  void* const p = try_allocate(bytes);
  if (!p) throw std::bad_alloc();
  return p;
}
void* allocate(std::size_t bytes, std::align_val_t alignment) {
  void* p = nullptr;
  if (bytes > largest_allocation || posix_memalign(&p, static_cast<std::size_t>(alignment), bytes ? bytes : 1) != 0)
    throw std::bad_alloc();
  return p;
}

}  // namespace

std::filesystem::path const& scratch_folder() {
  static std::filesystem::path const folder = [] {
    std::filesystem::path const memory = "/dev/shm";
    auto name = ((std::filesystem::exists(memory) ? memory : std::filesystem::temp_directory_path()) /
                 "mbirk-fuzz-XXXXXX").string();
    expect(mkdtemp(name.data()) != nullptr, "no folder for files", name);
    static std::string const mine = name;
    static pid_t const owner = getpid();
    std::atexit([] {
      std::error_code ignored;
      if (getpid() == owner) std::filesystem::remove_all(mine, ignored);
    });
    return std::filesystem::path(name);
  }();
  return folder;
}

std::filesystem::path write_scratch(std::string const& name, std::string_view contents) {
  auto const path = scratch_folder() / name;
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  expect(file && std::fwrite(contents.data(), 1, contents.size(), file) == contents.size() && std::fclose(file) == 0,
         "a file cannot be written", path.string());
  return path;
}

void expect(bool ok, char const* what, std::string_view detail) {
  if (ok) return;
  std::fprintf(stderr, "mbirk_fuzz: %s: %s: %.*s\n", chosen.name ? chosen.name : "", what,
               static_cast<int>(std::min<std::size_t>(detail.size(), 2000)), detail.data());
  std::abort();
}

void expect_message(std::string_view message, std::string_view file) {
  expect(!message.empty() && message.size() < 8192, "a message is empty or endless", message);
  expect(chosen.names_files || printable(message, 8192) == message, "a message is not one printable line", message);
  expect(message.find(file) != message.npos, "a message does not name the file", message);
}

}  // namespace mbirk::fuzz

using namespace mbirk::fuzz;

void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept { return try_allocate(bytes); }
void* operator new[](std::size_t bytes, std::nothrow_t const&) noexcept { return try_allocate(bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment) { return allocate(bytes, alignment); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) { return allocate(bytes, alignment); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

int LLVMFuzzerInitialize(int* count, char*** arguments) {
  auto const all = every_reader();
  char const* name = std::getenv(variable);
  if (*count > 1 && (*arguments)[1][0] != '-') {
    name = (*arguments)[1];
    std::copy(*arguments + 2, *arguments + *count + 1, *arguments + 1);
    --*count;
  }
  for (auto const& r : all)
    if (name && std::strcmp(name, r.name) == 0) chosen = r;
  if (!chosen.read) {
    for (auto const& r : all) std::printf("%s\n", r.name);
    std::exit(name ? 2 : 0);
  }
  setenv(variable, chosen.name, 1);
  scratch_folder();
  if (*count > 3 && std::strcmp((*arguments)[1], "--mutations") == 0) {
    read_mutations((*arguments)[2], *count - 3, *arguments + 3);
    std::exit(0);
  }
  return 0;
}

int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  chosen.read({reinterpret_cast<char const*>(data), size});
  return 0;
}

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  return chosen.mutate ? chosen.mutate(data, size, most, seed) : mutate_bytes(data, size, most);
}
