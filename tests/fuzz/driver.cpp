// One fuzzer for every reader: mbirk_fuzz READER [options and folders of libFuzzer]. Without arguments it lists the
// readers.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "mbirk/io/printable.hpp"
#include "reader.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace mbirk::fuzz {
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
  expect(printable(message, 8192) == message, "a message is not one printable line", message);
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

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
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
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  chosen.read({reinterpret_cast<char const*>(data), size});
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  return chosen.mutate ? chosen.mutate(data, size, most, seed) : LLVMFuzzerMutate(data, size, most);
}
