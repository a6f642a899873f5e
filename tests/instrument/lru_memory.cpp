#include "instrument/lru_memory.hpp"

namespace mbirk::testing {

void lru_memory::touch(std::uint64_t line, bool store, bool full) {
  auto const [found, missed] = where_.try_emplace(line);
  if (!missed) {
    order_.splice(order_.begin(), order_, found->second);
    order_.front().second |= store;
    return;
  }
  if (!(store && full)) ++misses;
  order_.push_front({line, store});
  found->second = order_.begin();
  if (order_.size() > lines_) {
    write_backs += order_.back().second;
    where_.erase(order_.back().first);
    order_.pop_back();
  }
}

}  // namespace mbirk::testing
