// A hash by which the results of two runs can be compared bit by bit.
#pragma once

#include <string>

#include "operations/operations.hpp"

namespace mbirk::program {

/// FNV-1a with 64 bits over the bytes of all values, as 16 hexadecimal digits.
std::string output_hash(any_array const& array);

}  // namespace mbirk::program
