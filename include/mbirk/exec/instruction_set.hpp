// The instruction sets that kernels are compiled for, and the one that they run with.
#pragma once

#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "mbirk/core/config.hpp"
#include "mbirk/core/error.hpp"

namespace mbirk {
namespace detail {
inline namespace MBIRK_VECTORS {

/// The largest named set whose instructions this translation unit may use.
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512CD__) && defined(__AVX512DQ__) && \
    defined(__AVX512VL__)
inline constexpr std::string_view compiled_set = "x86-64-v4";
#elif defined(__AVX2__) && defined(__FMA__) && defined(__BMI2__)
inline constexpr std::string_view compiled_set = "x86-64-v3";
#elif defined(__x86_64__)
inline constexpr std::string_view compiled_set = "x86-64";
#elif defined(__aarch64__)
inline constexpr std::string_view compiled_set = "aarch64";
#else
inline constexpr std::string_view compiled_set = "unknown";
#endif

}  // namespace MBIRK_VECTORS

/// The last of the sets that the processor has, unless the environment variable MBIRK_INSTRUCTION_SET names another.
/// @param has  whether the processor has a set.
template <class Has>
std::string_view choose_instruction_set(std::span<std::string_view const> sets, Has const& has) {
  std::string_view chosen;
  std::string possible;
  char const* const variable = std::getenv("MBIRK_INSTRUCTION_SET");
  std::string_view const wanted = variable ? variable : "";
  for (auto const set : sets) {
    if (!has(set)) continue;
    if (set == wanted) return set;
    chosen = set;
    possible += (possible.empty() ? "" : ", ") + std::string(set);
  }
  require(!chosen.empty(), [&] {
    return "mbirk is compiled for " + std::string(sets[0]) + ", which this processor lacks";
  });
  require(wanted.empty(), [&] {
    return "MBIRK_INSTRUCTION_SET is \"" + std::string(wanted) +
           "\", expected what this build and this processor have: " + possible;
  });
  return chosen;
}

}  // namespace detail

inline namespace MBIRK_HOST_VECTORS {

/// Names of the sets that have kernels, smallest first: x86-64 (SSE2, 4 lanes), x86-64-v3 (AVX2 and FMA, 8 lanes) and
/// x86-64-v4 (AVX-512, 16 lanes) in an mbirk::compiled that is built for any processor; otherwise the set that it is
/// compiled for, such as aarch64 (NEON, 4 lanes), or native for -march=native.
std::span<std::string_view const> instruction_sets();

/// The set whose kernels run: the largest that this processor has, or the one named by the environment variable
/// MBIRK_INSTRUCTION_SET. Chosen by the first call of this function or of any operation.
/// @throws parameter_error when the variable names a set that this build or this processor lacks.
std::string_view instruction_set();

#if !defined(MBIRK_COMPILED)

inline std::span<std::string_view const> instruction_sets() { return {&detail::compiled_set, 1}; }
inline std::string_view instruction_set() {
  static std::string_view const chosen =
      detail::choose_instruction_set(instruction_sets(), [](std::string_view) { return true; });
  return chosen;
}

#endif

}  // namespace MBIRK_HOST_VECTORS
}  // namespace mbirk
