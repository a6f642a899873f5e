// case.json: what to run on which scan. Strict: a complaint is one line with file, field, what was expected and what was found.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "input/json_field.hpp"
#include "operations/operations.hpp"

namespace mbirk::program {

struct case_entry {
  std::string field;                          ///< "ops[2]", for messages
  std::string op;
  std::map<std::string, std::string> inputs;  ///< name -> npy file, relative to the case
  json arguments;                             ///< the object as it stands in the file
  std::string output;
  std::optional<double> rtol;
  double outliers = 0;                        ///< share of elements allowed out of tolerance
};

struct test_case {
  std::filesystem::path folder;
  std::string file;  ///< folder/case.json, for messages
  std::string name;
  any_scan scan;
  std::optional<std::array<index_t, 3>> recon_shape;
  recon_options settings;    ///< the parameters of reconstruction among params
  denoise_options denoiser;  ///< those of the denoiser, when there is no geometry
  std::vector<case_entry> entries;
  std::vector<std::string> warnings;
};

/// Reads case.json with its angles, shifts and mask. What belongs to single operations is checked by check_entry.
/// @throws mbirk::error
test_case read_case(std::filesystem::path const& folder);

/// Checks all of an entry but the numbers in its files: geometry, arguments, and inputs that exist and have the right shape.
/// @throws mbirk::error
void check_entry(test_case const& c, case_entry const& entry, operation const& op);

/// Reads the inputs of a checked entry, makes sure they are finite where they are read, and allocates the result.
/// @throws mbirk::error
operands load_operands(test_case const& c, case_entry const& entry, operation const& op);

}  // namespace mbirk::program
