// A source whose calls are carried out by a child process with limits on memory and time.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "input/hdf5_source.hpp"

namespace mbirk::program {

/// Starts the child, which opens the file by open() and answers requests until the source is destroyed. What the child
/// sends is checked: a child that a file has taken over can deliver wrong data, but not more.
/// @throws io_error when the file cannot be opened, or the child cannot be started.
std::shared_ptr<hdf5_source> read_in_child(std::filesystem::path const& path, hdf5_trust const& trust,
                                           std::function<std::unique_ptr<hdf5_source>()> const& open);

}  // namespace mbirk::program
