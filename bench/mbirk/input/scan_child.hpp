// A scan that a child process with limits opens and reads, because the file is not trusted.
#pragma once

#include <functional>
#include <string>

#include "input/limited_process.hpp"
#include "mbirk/io/frame_stack.hpp"

namespace mbirk::program {

/// Opens a scan in a child process, which lives as long as the stacks of the description. What the child sends is
/// checked: one that a file has taken over can deliver wrong values, but not more.
/// @param name  of the file, for messages.
/// @param open  runs in the child.
/// @throws what open() throws, as io_error or allocation_error; io_error for any end of the child
scan_description open_scan_in_child(std::string const& name, process_limits const& limits,
                                    std::function<scan_description()> const& open);

}  // namespace mbirk::program
