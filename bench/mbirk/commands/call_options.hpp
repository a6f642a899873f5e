// Options of a call (recon/options.hpp) as options of the command line.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <concepts>
#include <string>

#include "mbirk/recon/options.hpp"

namespace mbirk::program {

/// Adds every option of the call that is a number or a flag: --max-iterations for max_iterations.
template <class Options> void add_call_options(CLI::App& command, Options& call) {
  mbirk::detail::each_call_option(
      call, [&]<class T>(std::string name, auto const& rule, T& member, std::string description) {
        std::ranges::replace(name, '_', '-');
        auto const option = "--" + name;
        description[0] = static_cast<char>(std::toupper(description[0]));
        if constexpr (std::same_as<T, bool>) {
          command.add_flag(option, member, description);
        } else {
          auto const set = [option, &rule, &member](T const& value) {
            if (!rule.test(value)) throw CLI::ValidationError(option, std::string("expected ") + rule.expected);
            member = value;
          };
          command.add_option_function<T>(option, set, fmt::format("{} (default {})", description, member))
              ->type_name(std::integral<T> ? "N" : "X");
        }
      });
}

}  // namespace mbirk::program
