// case.json: operations to run on a scan. Reading is strict: an error is one line with the file, the field, what was
// expected and what was found.
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
  json arguments;                             ///< the object as in the file
  std::string output;
  std::optional<double> rtol;
  double outliers = 0;                        ///< share of elements allowed to exceed the tolerance
};

struct test_case {
  std::filesystem::path folder;
  std::string file;  ///< folder/case.json, for messages
  std::string name;
  any_scan scan;
  std::optional<parallel_parameters> parallel;  ///< those of `scan`, if it is in parallel beam
  std::optional<std::array<index_t, 3>> recon_shape;
  recon_model_options settings;  ///< reconstruction parameters in params
  denoise_options denoiser;      ///< denoiser parameters, for a case without geometry
  std::vector<case_entry> entries;
  std::vector<std::string> warnings;
  std::vector<std::filesystem::path> files;  ///< case.json, and what it names: inputs and references
};

/// Reads case.json with its angles, shifts and mask. Properties of single operations are checked by check_entry.
/// @throws mbirk::error
test_case read_case(std::filesystem::path const& folder);

/// Checks everything about an entry except the numbers in its files: geometry, arguments, and that inputs exist with
/// the right shape.
/// @throws mbirk::error
void check_entry(test_case const& c, case_entry const& entry, operation const& op);

/// The operands of a checked entry without any array.
operands arguments_of(test_case const& c, case_entry const& entry, operation const& op);

/// Reads the inputs of a checked entry, verifies that all values that will be read are finite, and allocates the
/// result.
/// @throws mbirk::error
operands load_operands(test_case const& c, case_entry const& entry, operation const& op);

/// Does the same for a slab of a scan in parallel beam: reads its rows and slices, from `first` on, plane by plane
/// (views of a sinogram, rows of a volume) from files that must be in C order.
/// @throws mbirk::error
operands load_slab(test_case const& c, case_entry const& entry, operation const& op, any_scan const& slab,
                   index_t first);

}  // namespace mbirk::program
