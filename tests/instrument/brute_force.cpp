#include "instrument/brute_force.hpp"

namespace mbirk::testing::brute {

void record::access(array& a, index_t byte, index_t bytes, bool store) {
  ++(store ? a.stores : a.loads);
  (store ? a.bytes_stored : a.bytes_loaded) += static_cast<std::uint64_t>(bytes);
  for (index_t word = byte / 4; 4 * word < byte + bytes; ++word) {
    auto const w = static_cast<std::size_t>(word);
    if (store) a.written.at(w) = true;
    else if (!a.written.at(w)) a.read.at(w) = true;
  }
  std::uint64_t const number = a.number << 32;
  for (index_t line = byte / 64; 64 * line < byte + bytes; ++line) {
    bool const full = byte <= 64 * line && byte + bytes >= 64 * (line + 1);
    ++a.accesses;
    for (int c = 0; c < caches; ++c) {
      a.own[static_cast<std::size_t>(c)].touch(static_cast<std::uint64_t>(line), store, full);
      auto& cache = all[static_cast<std::size_t>(c)];
      auto const before = cache.misses;
      cache.touch(number + static_cast<std::uint64_t>(line), store, full);
      if (!stages.empty()) stage_misses[c][stages.back()] += cache.misses - before;
    }
  }
}

}  // namespace mbirk::testing::brute
