#include "commands/run_in_slabs.hpp"

#include <algorithm>
#include <array>

#include "machine/process_status.hpp"
#include "mbirk/distributed/slices.hpp"
#include "mbirk/instrument/sizing.hpp"
#include "mbirk/io/npy.hpp"
#include "mbirk/io/output_file.hpp"

namespace mbirk::program {
namespace {

namespace fs = std::filesystem;

index_t slices_of(test_case const& c) { return std::get<parallel_scan>(c.scan).recon_shape()[2]; }

any_scan slab_scan(test_case const& c, index_t first, index_t slices) {
  return distributed::parallel_slab(*c.parallel, {first, std::min(slices, slices_of(c) - first)}).scan();
}

/// Bytes of an operation on a slab, or on all of the scan.
instrument::size_record size_of(test_case const& c, case_entry const& e, operation const& op, exec::host const& host,
                                any_scan const& scan) {
  auto x = arguments_of(c, e, op);
  for (auto const& input : op.inputs)
    if (e.inputs.contains(input.name)) x.inputs[input.name] = npy_array<float>{shape_of(input.kind, scan, 0), {}};
  allocate_output(op, scan, x, false);
  instrument::size_record size;
  op.run(context{host, instrument::sizing{size}}, scan, x);
  return size;
}

/// An array in a file, written in parts along an axis.
class npy_parts {
 public:
  npy_parts(fs::path const& path, std::vector<index_t> shape, std::size_t axis)
      : shape_(std::move(shape)), axis_(axis), file_(path) {
    auto const start = mbirk::detail::npy_start<float>(path, shape_);
    file_.write(start);
    start_ = std::ssize(start);
  }
  void add(index_t first, npy_array<float> const& part) {
    index_t inner = 1, outer = 1;
    for (std::size_t d = 0; d < axis_; ++d) outer *= shape_[d];
    for (std::size_t d = axis_ + 1; d < shape_.size(); ++d) inner *= shape_[d];
    index_t const run = part.shape[axis_] * inner, bytes = sizeof(float);
    for (index_t o = 0; o < outer; ++o)
      file_.write_at(start_ + bytes * (o * shape_[axis_] + first) * inner, part.data.data() + o * run,
                     static_cast<std::size_t>(bytes * run));
  }
  void commit() { file_.commit(); }

 private:
  std::vector<index_t> shape_;
  std::size_t axis_;
  output_file file_;
  index_t start_ = 0;
};

}  // namespace

bool runs_in_slabs(test_case const& c, operation const& op) {
  constexpr std::array bodies{"forward_project", "back_project", "hessian_diagonal", "direct_filter", "direct_recon",
                              "gen_weights"};
  return c.parallel && std::ranges::find(bodies, op.body) != bodies.end();
}

double entry_bytes(test_case const& c, case_entry const& e, operation const& op, exec::host const& host, bool check) {
  auto bytes = static_cast<double>(resident_bytes().value_or(0));
  if (runs_in_slabs(c, op)) {
    bytes += static_cast<double>(size_of(c, e, op, host, c.scan).peak());
    if (check) bytes += 4 * static_cast<double>(read_npy_header(c.folder / e.output).elements);
    return bytes;
  }
  for (auto const& [name, file] : e.inputs)
    bytes += 4 * static_cast<double>(read_npy_header(c.folder / file).elements);
  return bytes;
}

slab_plan plan_slabs(test_case const& c, case_entry const& e, operation const& op, exec::host const& host,
                     double limit) {
  return largest_slabs(slices_of(c), limit, [&](index_t slices) {
    auto const size = size_of(c, e, op, host, slab_scan(c, 0, slices));
    slab_plan plan{slices, memory_items(size.at_peak)};
    for (auto const& a : size.outer) plan.memory.push_back({a.name, static_cast<double>(a.bytes)});
    add_program_memory(plan.memory, {});
    return plan;
  });
}

double run_in_slabs(test_case const& c, case_entry const& e, operation const& op, index_t slices,
                    fs::path const& result, std::vector<std::string>& warnings,
                    std::function<double(any_scan const&, operands&)> const& run) {
  npy_parts file(result, shape_of(op.output, c.scan, 0), op.output == array_kind::recon ? 2 : 1);
  double seconds = 0;
  for (index_t first = 0; first < slices_of(c); first += slices) {
    auto const scan = slab_scan(c, first, slices);
    auto x = load_slab(c, e, op, scan, first);
    seconds += run(scan, x);
    file.add(first, std::get<npy_array<float>>(x.output));
    if (first == 0) warnings = x.warnings;
  }
  file.commit();
  return seconds;
}

check_outcome check_result_file(fs::path const& result, fs::path const& reference, double rtol, double outliers) {
  auto const got = read_npy_header(result), expected = read_npy_header(reference);
  if (got.shape != expected.shape) return {.same_shape = false};
  result_check check(rtol, outliers);
  std::vector<float> a(static_cast<std::size_t>(got.shape[1] * got.shape[2])), b(a.size());
  std::array<index_t, 3> const plane{1, got.shape[1], got.shape[2]};
  for (index_t i = 0; i < got.shape[0]; ++i) {
    read_npy(reference, i, view<float, 3>(b.data(), plane));
    check.see(std::span<float const>(b));
  }
  for (index_t i = 0; i < got.shape[0]; ++i) {
    read_npy(result, i, view<float, 3>(a.data(), plane));
    read_npy(reference, i, view<float, 3>(b.data(), plane));
    check.compare(std::span<float const>(a), std::span<float const>(b));
  }
  return check.outcome();
}

}  // namespace mbirk::program
