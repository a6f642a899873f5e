// A raw scan that is larger than the memory that mbirk recon may take, and its reconstruction within that memory.
#pragma once

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
    // The counts repeat after a prime number, so that no two rows are equal: drawing 15 million of them takes longer
    // than some tests.
    std::mt19937 random(7);
    std::vector<std::uint16_t> drawn(65537);
    for (auto& n : drawn) {
      auto const word = random();
      n = word % 1024 == 0 ? 0 : static_cast<std::uint16_t>(20000 + word / 131072);
    }
    std::string const period(reinterpret_cast<char const*>(drawn.data()), 2 * drawn.size());
    constexpr std::size_t size = 2 * views * rows * channels;
    std::string counts;
    while (counts.size() < size) counts.append(period, 0, size - counts.size());
    write_text(folder / "scan.raw", counts);
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
  /// Runs within the limit. The program is started by Python, because the peak of a process includes what the one that
  /// it was started by had in memory: here the arrays of the tests before. @return peak bytes
  double recon_in_parts(std::string const& out, std::vector<std::string> more = {}) const {
    more.insert(more.end(), {"--memory-limit", std::to_string(static_cast<index_t>(limit))});
    std::vector<std::string> measured{MBIRK_PYTHON, "-c",
                                      "import resource, subprocess, sys\n"
                                      "code = subprocess.call(sys.argv[2:])\n"
                                      "with open(sys.argv[1], 'w') as file:\n"
                                      "    file.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))\n"
                                      "sys.exit(code)",
                                      name("peak"), MBIRK_PROGRAM};
    auto const program = words(out, more);
    measured.insert(measured.end(), program.begin(), program.end());
    auto const ran = run_words(measured);
    EXPECT_EQ(ran.code, 0) << ran;
    EXPECT_NE(ran.out.find(parts), std::string::npos) << ran;
    return ran.code == 0 ? 1024 * std::stod(file_text(name("peak"))) : -1;
  }
};

}  // namespace mbirk::test
