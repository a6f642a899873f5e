// Problems of `mbirk profile`: for a geometry and size N, the scan and the data from which operations get their inputs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "operations/operations.hpp"

namespace mbirk::program {

/// An operation with the name used in tables of this field, and its arguments in the profile.
struct profile_entry {
  std::string name, geometry;  ///< geometry: of the problem that provides the inputs
  operation const* op;
  std::map<std::string, nlohmann::json> arguments;  ///< arguments that differ from the defaults
};
/// All entries, in the order of the report.
std::vector<profile_entry> const& profile_entries();
bool matches(std::string const& glob, std::string const& name);
/// Entries whose name matches a shell pattern, the option --ops.
/// @throws error when there is none.
std::vector<profile_entry const*> matching_entries(std::string const& glob);

/// Shape of the sinogram; the recon is (channels, channels, rows).
struct problem_shape {
  index_t views, rows, channels;
  /// The problem of size n.
  static problem_shape cube(index_t n) { return {n / 2 > 0 ? n / 2 : 1, n, n}; }
};

/// The problem has a recon of N^3 voxels, N/2 views, and a sinogram (N/2, N, N). Angles are evenly spaced over [0, pi)
/// in parallel beam and [0, 2 pi) in cone beam, with source_detector_dist 4N and source_iso_dist 2N.
/// Translation has the same distances and N/4 rows, each four times as long as a column. Data: two nested
/// ellipsoids without and with 1 % noise, their projection with 1 % noise, and subset 0 of a random partition into 4
/// with its voxel columns.
class profile_problem {
 public:
  /// Without data (for the cost model) only the scan and the subset exist.
  profile_problem(std::string const& geometry, problem_shape const& shape, int threads, bool with_data);
  profile_problem(std::string const& geometry, index_t n, int threads, bool with_data)
      : profile_problem(geometry, problem_shape::cube(n), threads, with_data) {}
  /// A problem from any scan, without data.
  explicit profile_problem(any_scan scan);

  any_scan const& scan() const noexcept { return scan_; }
  /// Makes required inputs, arguments and an output for an operation.
  operands make_operands(operation const& op, std::map<std::string, nlohmann::json> const& arguments = {}) const;

 private:
  any_array input(array_kind kind) const;
  void draw_subset();

  any_scan scan_;
  bool with_data_;
  std::vector<std::int32_t> subset_;
  std::vector<float> recon_, image_, sinogram_, voxel_columns_;
};

/// Costs of an operation according to the cost model, and the flops of its definition. No data is needed.
struct modelled_operation {
  instrument::operation_record record;
  std::uint64_t minimal_flops;
};
modelled_operation model_operation(profile_entry const& entry, problem_shape const& shape);

}  // namespace mbirk::program
