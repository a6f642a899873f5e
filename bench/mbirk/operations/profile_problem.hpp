// What `mbirk profile` runs: for a geometry and size N the scan and the data from which operations get their inputs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "operations/operations.hpp"

namespace mbirk::program {

/// An operation under the name that the tables of this field use, and how the profile calls it.
struct profile_entry {
  std::string name, geometry;  ///< geometry: of the problem that its inputs come from
  operation const* op;
  std::map<std::string, nlohmann::json> arguments;  ///< other than the fallbacks
};
/// All of them, in the order of the report.
std::vector<profile_entry> const& profile_entries();
bool matches(std::string const& glob, std::string const& name);
/// Those whose name matches a shell pattern, the option --ops. @throws error when there is none.
std::vector<profile_entry const*> matching_entries(std::string const& glob);

/// Of a sinogram; the recon is (channels, channels, rows).
struct problem_shape {
  index_t views, rows, channels;
  /// The problem of size n.
  static problem_shape cube(index_t n) { return {n / 2 > 0 ? n / 2 : 1, n, n}; }
};

/// recon N^3, N/2 views, sinogram (N/2, N, N); angles evenly over [0, pi) in parallel beam and [0, 2 pi) in cone beam, source_detector_dist 4N,
/// source_iso_dist 2N. Data: two nested ellipsoids, without and with 1 % noise, their projection with 1 % noise; subset 0 of a random partition into 4,
/// and its cylinders.
class profile_problem {
 public:
  /// Without data (the cost model) there are the scan and the subset only.
  profile_problem(std::string const& geometry, problem_shape const& shape, int threads, bool with_data);
  profile_problem(std::string const& geometry, index_t n, int threads, bool with_data)
      : profile_problem(geometry, problem_shape::cube(n), threads, with_data) {}
  /// Of any scan, without data.
  explicit profile_problem(any_scan scan);

  any_scan const& scan() const noexcept { return scan_; }
  /// Required inputs, arguments and an output for an operation.
  operands make_operands(operation const& op, std::map<std::string, nlohmann::json> const& arguments = {}) const;

 private:
  any_array input(array_kind kind) const;
  void draw_subset();

  any_scan scan_;
  bool with_data_;
  std::vector<std::int32_t> subset_;
  std::vector<float> recon_, image_, sinogram_, cylinders_;
};

/// What the cost model says of an operation, and the flops of its definition: no data is needed.
struct modelled_operation {
  instrument::operation_record record;
  std::uint64_t minimal_flops;
};
modelled_operation model_operation(profile_entry const& entry, problem_shape const& shape);

}  // namespace mbirk::program
