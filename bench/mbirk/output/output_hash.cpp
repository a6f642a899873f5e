#include "output/output_hash.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

namespace mbirk::program {

std::string output_hash(any_array const& array) {
  std::uint64_t hash = 0xcbf29ce484222325;
  auto const add = [&](auto const& values) {
    for (auto const byte : std::as_bytes(std::span(values.data)))
      hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
  };
  std::visit(add, array);
  return fmt::format("{:016x}", hash);
}

}  // namespace mbirk::program
