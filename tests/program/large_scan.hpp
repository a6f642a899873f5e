// A raw scan that is larger than the memory that mbirk recon may take, and its reconstruction within that memory.
#pragma once

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <random>

#include "program.hpp"

namespace mbirk::test {

/// Counts of 240 rows, about a thousandth of them dead.
struct LargeScan : testing::Test {
  static constexpr index_t views = 200, rows = 240, channels = 320;
  std::string const method, parts;
  double const limit;
  scratch_folder folder;

  /// @param parts_said  what the program says that it reconstructs
  LargeScan(std::string const& method_used, std::string const& parts_said, double bytes, std::string const& geometry)
      : method(method_used), parts("larger than memory: " + parts_said + " of"), limit(bytes) {
    std::mt19937 random(7);
    std::vector<std::uint16_t> counts(static_cast<std::size_t>(views * rows * channels));
    for (auto& n : counts) {
      auto const word = random();
      n = word % 1024 == 0 ? 0 : static_cast<std::uint16_t>(20000 + word / 131072);
    }
    write_text(folder / "scan.raw", std::string(reinterpret_cast<char const*>(counts.data()), 2 * counts.size()));
    write_text(folder / "scan.json", geometry);
  }
  std::string name(std::string const& file) const { return (folder / file).string(); }
  std::vector<std::string> words(std::string const& out, std::vector<std::string> const& more) const {
    std::vector<std::string> all{"recon", name("scan.raw"), "--geometry", name("scan.json"), "--out", name(out)};
    all.insert(all.end(), {"--raw", "u16le,200,240,320", "--white-level", "60000", "--method", method});
    all.insert(all.end(), {"--threads", "2"});
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  outcome recon(std::string const& out, std::vector<std::string> const& more) const {
    return mbirk_program(words(out, more));
  }
  /// Runs within the limit in a process of its own, whose children are the program alone. @return peak bytes
  double recon_in_parts(std::string const& out, std::vector<std::string> more = {}) const {
    more.insert(more.end(), {"--memory-limit", std::to_string(static_cast<index_t>(limit))});
    int ends[2];
    if (::pipe(ends) != 0) return -1;
    pid_t const child = ::fork();
    if (child == 0) {
      ::malloc_trim(0);  // the peak of a program includes the memory that it was forked with
      auto const ran = recon(out, more);
      if (ran.code != 0 || ran.out.find(parts) == std::string::npos) {
        std::fprintf(stderr, "%s\n%s\n%s\n", ran.command.c_str(), ran.out.c_str(), ran.err.c_str());
        _exit(1);
      }
      rusage used{};
      getrusage(RUSAGE_CHILDREN, &used);
      long const peak = used.ru_maxrss;
      _exit(::write(ends[1], &peak, sizeof peak) == sizeof peak ? 0 : 1);
    }
    ::close(ends[1]);
    long peak = -1;
    if (::read(ends[0], &peak, sizeof peak) != sizeof peak) peak = -1;
    ::close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << out;
    return 1024 * static_cast<double>(peak);
  }
};

}  // namespace mbirk::test
