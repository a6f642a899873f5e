#include "operations/profile_problem.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "mbirk/recon/parameters.hpp"
#include "mbirk/util/partition.hpp"
#include "mbirk/util/phantom.hpp"

namespace mbirk::program {
namespace {

/// Adds noise of 1 % of the peak.
std::vector<float> noisy(std::vector<float> values) {
  std::mt19937 random(0);
  std::normal_distribution<float> gauss;
  float peak = 0;
  for (auto const v : values) peak = std::max(peak, v);
  for (auto& v : values) v += 0.01f * peak * gauss(random);
  return values;
}

}  // namespace

std::vector<profile_entry> const& profile_entries() {
  static auto const entries = [] {
    std::vector<profile_entry> all;
    auto const add = [&](operation const& op, std::string const& prefix, std::string const& geometry) {
      for (auto const& [name, arguments] : op.profile)
        all.push_back({prefix + (name.empty() ? op.name : name), geometry, &op, arguments});
    };
    geometries::each([&]<class Geometry>(std::type_identity<Geometry>) {
      for (auto const& op : operations())
        if (op.needs_scan && std::ranges::find(op.geometries, Geometry::name) != op.geometries.end())
          add(op, std::string(Geometry::name) + '_', Geometry::name);
    });
    for (auto const& op : operations())
      if (!op.needs_scan) add(op, "", op.geometries.front());
    return all;
  }();
  return entries;
}

bool matches(std::string const& glob, std::string const& name) { return fnmatch(glob.c_str(), name.c_str(), 0) == 0; }

std::vector<profile_entry const*> matching_entries(std::string const& glob) {
  std::vector<profile_entry const*> chosen;
  for (auto const& entry : profile_entries())
    if (matches(glob, entry.name)) chosen.push_back(&entry);
  require(!chosen.empty(), [&] {
    return "--ops " + glob + " matches no operation, expected a pattern such as 'parallel_*' for names such as " +
           profile_entries().front().name;
  });
  return chosen;
}

modelled_operation model_operation(profile_entry const& entry, problem_shape const& shape) {
  instrument::ledger records;
  profile_problem const shapes(entry.geometry, shape, 1, false);
  auto x = shapes.make_operands(*entry.op, entry.arguments);
  entry.op->run(context{exec::host{1}, instrument::cost_model<>{records}}, shapes.scan(), x);
  return {records.last(), entry.op->minimal_flops(shapes.scan(), x)};
}

profile_problem::profile_problem(std::string const& geometry, problem_shape const& size, int threads, bool with_data)
    : with_data_(with_data) {
  geometries::with_name(geometry, [&]<class Geometry>(std::type_identity<Geometry>) {
    scan_ = mbirk::scan<Geometry>(Geometry::typical_scan({size.views, size.rows, size.channels}));
  });
  draw_subset();
  std::visit([&](auto const& scan) {
    if constexpr (requires { scan.geometry(); }) {
      if (!with_data) return;
      auto const shape = scan.recon_shape();
      recon_.resize(static_cast<std::size_t>(shape[0] * shape[1] * shape[2]));
      nested_ellipsoids({recon_.data(), shape});
      image_ = noisy(recon_);
      for (auto const q : subset_)
        voxel_columns_.insert(voxel_columns_.end(), recon_.begin() + q * shape[2], recon_.begin() + (q + 1) * shape[2]);
    }
  }, scan_);
  if (!with_data) return;
  auto const& project = *find_operation("forward_project");
  auto x = make_operands(project);
  project.run(context{exec::host{threads}, instrument::any{}}, scan_, x);
  sinogram_ = noisy(std::get<0>(x.output).data);
}

profile_problem::profile_problem(any_scan scan) : scan_(std::move(scan)), with_data_(false) { draw_subset(); }

void profile_problem::draw_subset() {
  std::visit([&](auto const& scan) {
    if constexpr (requires { scan.geometry(); }) {
      numpy_random_state random(0);
      auto const partition = gen_pixel_partition(scan.full_indices(), 4, random);
      subset_.assign(partition.subset(0).begin(), partition.subset(0).end());
    }
  }, scan_);
}

any_array profile_problem::input(array_kind kind) const {
  auto const shape =
      shape_of(kind == array_kind::image ? array_kind::recon : kind, scan_, static_cast<index_t>(subset_.size()));
  switch (kind) {
    case array_kind::image: return npy_array<float>{shape, image_};
    case array_kind::sinogram: return npy_array<float>{shape, sinogram_};
    case array_kind::recon: return npy_array<float>{shape, recon_};
    case array_kind::pixel_indices: return npy_array<std::int32_t>{shape, subset_};
    default: return npy_array<float>{shape, voxel_columns_};
  }
}

operands profile_problem::make_operands(operation const& op,
                                        std::map<std::string, nlohmann::json> const& arguments) const {
  operands x;
  for (auto const& i : op.inputs)
    if (i.required) x.inputs.emplace(i.name, input(i.kind));
  for (auto const& a : op.arguments)
    x.arguments.emplace(a.name, arguments.contains(a.name) ? arguments.at(a.name) : a.fallback);
  std::visit([&]<class Scan>(Scan const& scan) {
    if constexpr (requires { scan.geometry(); })
      x.settings = parameter_values<typename Scan::geometry_type>::default_options();
  }, scan_);
  allocate_output(op, scan_, x, with_data_);
  return x;
}

}  // namespace mbirk::program
