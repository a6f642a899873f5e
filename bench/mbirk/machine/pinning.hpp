// Threads of the program on processors of their own.
#pragma once

#include <string>
#include <vector>

namespace mbirk::program {

/// Numbers of the processors that the main thread may run on, in ascending order.
std::vector<int> allowed_processors();

/// Parses "0,2-3" into {0, 2, 3}; an empty list chooses all allowed processors.
/// @throws parameter_error, in one line, for a malformed list, one that names a processor twice, and a processor that
/// is not allowed.
std::vector<int> processors_of(std::string const& list, std::vector<int> const& allowed);

/// Pins each thread of the default pool to a processor of its own, the calling thread to the first. To be called before
/// the pool has threads: its size follows the processors.
/// @param threads  how many; 0: one for each processor
/// @returns the processors
/// @throws parameter_error when there are more threads than processors, or the system refuses.
std::vector<int> pin_threads(std::vector<int> const& processors, int threads);

}  // namespace mbirk::program
