// The option --pin [LIST].
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "machine/pinning.hpp"

namespace mbirk::program {

class pin_option {
 public:
  void add(CLI::App& command) {
    given_ = command
                 .add_option("--pin", list_,
                             "Pin each thread to a processor of its own: those of the list (0,2-3), or all that the "
                             "process may use")
                 ->expected(0, 1)
                 ->type_name("LIST");
  }
  /// Pins `threads` threads (0: one for each processor) if the option was given; the processors, otherwise none.
  /// @throws parameter_error, in one line.
  std::vector<int> pin(int threads) const {
    if (given_->count() == 0) return {};
    return pin_threads(processors_of(list_, allowed_processors()), threads);
  }

 private:
  std::string list_;
  CLI::Option const* given_ = nullptr;
};

}  // namespace mbirk::program
