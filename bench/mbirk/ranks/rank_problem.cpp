#include "ranks/rank_problem.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "mbirk/distributed/agreement.hpp"
#include "mbirk/distributed/denoise.hpp"
#include "mbirk/distributed/views.hpp"

namespace mbirk::program {
namespace {

template <class T> std::span<std::byte const> bytes_of(std::vector<T> const& values) {
  return std::as_bytes(std::span(values));
}
template <class T> std::span<std::byte> bytes_of(std::vector<T>& values) {
  return std::as_writable_bytes(std::span(values));
}

std::size_t values_in(std::array<index_t, 3> const& shape) {
  return static_cast<std::size_t>(shape[0] * shape[1] * shape[2]);
}

/// The volume and the sinogram of a problem of mbirk profile.
std::array<index_t, 3> recon_shape(index_t n) { return {n, n, n}; }
std::array<index_t, 3> sinogram_shape(index_t n) {
  auto const [views, rows, channels] = problem_shape::cube(n);
  return {views, rows, channels};
}

/// The options with which mbirk profile calls an iterative operation.
template <class Options> Options options_of(rank_operation const& op) {
  Options o;
  o.max_iterations = op.entry->arguments.at("max_iterations");
  o.stop_threshold_change_pct = 0;
  return o;
}

/// Parallel beam: a rank has some slices.
class problem_of_slices final : public rank_problem {
 public:
  problem_of_slices(index_t n, distributed::mpi const& ranks, int threads)
      : rank_problem(std::string(parallel_geometry::name), n, ranks, threads),
        n_(n),
        slab_(parallel_geometry::typical_scan(sinogram_shape(n)), ranks.rank(), ranks.size()),
        recon_(scatter(whole_input("forward_project", "recon"), slices_of(recon_shape(n), 2))),
        sinogram_(scatter(whole_input("back_project", "sinogram"), slices_of(sinogram_shape(n), 1))) {}

  double call(rank_operation const& op, place_of_rank const& place) override {
    auto const& name = op.entry->op->name;
    auto const image = slices_of(recon_shape(n_), 2);
    if (name == "forward_project") {
      begin_result(slices_of(sinogram_shape(n_), 1));
      return call_locally(op, place, slab_.scan(), {{"recon", &recon_}});
    }
    auto const result = begin_result(image);
    if (name != "recon" && name != "prox_map")
      return call_locally(op, place, slab_.scan(), {{"sinogram", &sinogram_}});
    auto const options = options_of<recon_options>(op);
    if (name == "recon") place.with().slab(slab_, sinogram(), std::nullopt, result, options);
    else place.with().prox_slab(slab_, {recon_.data(), image(ranks_.rank()).shape()}, sinogram(), result, options);
    return place.with().seconds();
  }
  void iterate(place_of_rank const& place, recon_options const& options) override {
    place.with().slab(slab_, sinogram(), std::nullopt, begin_result(slices_of(recon_shape(n_), 2)), options);
  }

 private:
  part_of_rank slices_of(std::array<index_t, 3> const& whole, std::size_t axis) const {
    return [whole, axis, slices = n_, ranks = ranks_.size()](int rank) {
      return array_part{whole, axis, distributed::slices_of(slices, rank, ranks)};
    };
  }
  view<float const, 3> sinogram() const {
    auto const parts = slices_of(sinogram_shape(n_), 1);
    return {sinogram_.data(), parts(ranks_.rank()).shape()};
  }

  index_t n_;
  distributed::parallel_slab slab_;
  std::vector<float> recon_, sinogram_;
};

/// Cone beam: a rank has some views of the sinogram, and some pixel rows of the image.
class problem_of_views final : public rank_problem {
 public:
  problem_of_views(index_t n, distributed::mpi const& ranks, int threads)
      : rank_problem(std::string(cone_geometry::name), n, ranks, threads),
        n_(n),
        part_(cone_geometry::typical_scan(sinogram_shape(n)), ranks.rank(), ranks.size()),
        scan_(part_.scan()),
        recon_(share(whole_input("forward_project", "recon"))),
        sinogram_(scatter(whole_input("back_project", "sinogram"), views())) {}

  double call(rank_operation const& op, place_of_rank const& place) override {
    auto const& name = op.entry->op->name;
    if (name == "forward_project") {
      begin_result(views());
      return call_locally(op, place, scan_, {{"recon", &recon_}});
    }
    auto const result = begin_result(rows());
    std::vector<std::string> warnings;
    if (name == "recon")
      place.with().views(part_, sinogram(), std::nullopt, result, options_of<recon_options>(op));
    else if (name == "prox_map")
      place.with().prox_views(part_, own_rows(), sinogram(), result, options_of<recon_options>(op));
    else place.with().fdk(part_, sinogram(), result, warnings);
    return place.with().seconds();
  }
  void iterate(place_of_rank const& place, recon_options const& options) override {
    place.with().views(part_, sinogram(), std::nullopt, begin_result(rows()), options);
  }

 private:
  part_of_rank views() const {
    return [this](int rank) { return array_part{sinogram_shape(n_), 0, part_.views(rank)}; };
  }
  part_of_rank rows() const {
    return [this](int rank) { return array_part{recon_shape(n_), 0, part_.rows(rank)}; };
  }
  view<float const, 3> sinogram() const { return {sinogram_.data(), part_.sinogram_shape()}; }
  view<float const, 3> own_rows() const {
    return {recon_.data() + part_.rows().first * n_ * n_, part_.recon_shape()};
  }

  index_t n_;
  distributed::cone_views part_;
  cone_scan scan_;
  std::vector<float> recon_, sinogram_;
};

/// Denoising: a rank has some pixel rows.
class problem_of_rows final : public rank_problem {
 public:
  problem_of_rows(index_t n, distributed::mpi const& ranks, int threads)
      : rank_problem(std::string(parallel_geometry::name), n, ranks, threads),
        part_(recon_shape(n), ranks.rank(), ranks.size()),
        image_(scatter(whole_input("qggmrf_denoise", "image"), rows())) {}

  double call(rank_operation const& op, place_of_rank const& place) override {
    auto const result = begin_result(rows());
    auto options = options_of<denoise_options>(op);
    options.use_ror_mask = false;
    place.with().denoise(part_, {image_.data(), part_.shape()}, options, result);
    return place.with().seconds();
  }
  void iterate(place_of_rank const&, recon_options const&) override {}

 private:
  part_of_rank rows() const {
    return [this](int rank) { return array_part{part_.whole(), 0, part_.rows(rank)}; };
  }

  distributed::image_rows part_;
  std::vector<float> image_;
};

}  // namespace

std::array<index_t, 3> array_part::shape() const {
  auto part = whole;
  part[axis] = range.count;
  return part;
}

namespace {

/// Calls f(place in the part, place in the array, count) for the runs of values that follow each other in both.
template <class F> void each_run(array_part const& part, F const& f) {
  index_t outer = 1, inner = 1;
  for (std::size_t axis = 0; axis < part.axis; ++axis) outer *= part.whole[axis];
  for (std::size_t axis = part.axis + 1; axis < part.whole.size(); ++axis) inner *= part.whole[axis];
  index_t const count = part.range.count * inner;
  for (index_t o = 0; o < outer; ++o) f(o * count, (o * part.whole[part.axis] + part.range.first) * inner, count);
}

}  // namespace

std::vector<float> array_part::of(std::vector<float> const& array) const {
  std::vector<float> part(values_in(shape()));
  each_run(*this, [&](index_t to, index_t from, index_t count) {
    std::copy_n(array.begin() + from, count, part.begin() + to);
  });
  return part;
}

void array_part::put(std::vector<float> const& part, std::vector<float>& array) const {
  each_run(*this, [&](index_t from, index_t to, index_t count) {
    std::copy_n(part.begin() + from, count, array.begin() + to);
  });
}

std::vector<rank_operation> const& rank_operations() {
  static auto const all = [] {
    std::vector<rank_operation> operations;
    auto const add = [&](std::string const& prefix, sharing by, std::initializer_list<char const*> names) {
      for (std::string const name : names) {
        auto const found = std::ranges::find(profile_entries(), prefix + name, &profile_entry::name);
        operations.push_back({prefix + name, by, found == profile_entries().end() ? nullptr : &*found});
      }
    };
    add("parallel_", sharing::slices,
        {"forward_project", "back_project", "fbp_recon", "mbir_recon", "prox_map", "vcd_iteration"});
    add("cone_", sharing::views, {"forward_project", "fdk_recon", "mbir_recon", "prox_map", "vcd_iteration"});
    add("", sharing::rows, {"qggmrf_denoise"});
    return operations;
  }();
  return all;
}

rank_problem::rank_problem(std::string const& geometry, index_t n, distributed::mpi const& ranks, int threads)
    : ranks_(ranks) {
  on_root_alone(ranks, [&] { whole_ = std::make_unique<profile_problem>(geometry, n, threads, true); });
}

operands rank_problem::whole_operands(rank_operation const& op) const {
  return op.entry ? whole_->make_operands(*op.entry->op, op.entry->arguments)
                  : whole_->make_operands(*find_operation("recon"));
}

std::vector<float> rank_problem::whole_input(char const* operation, char const* input) const {
  std::vector<float> values;
  distributed::agree(ranks_, [&] {
    if (!whole_) return;
    auto x = whole_->make_operands(*find_operation(operation));
    values = std::move(std::get<npy_array<float>>(x.inputs.at(input)).data);
  });
  return values;
}

std::vector<float> rank_problem::scatter(std::vector<float> const& array, part_of_rank const& parts) const {
  std::vector<float> mine;
  for (int r = ranks_.size() - 1; r >= 0; --r) {
    distributed::agree(ranks_, [&] {
      if (ranks_.rank() == 0) mine = parts(r).of(array);
      else if (ranks_.rank() == r) mine.resize(values_in(parts(r).shape()));
    });
    if (r == 0) break;
    if (ranks_.rank() == 0) ranks_.send("parts", bytes_of(std::as_const(mine)), r);
    else if (ranks_.rank() == r) ranks_.receive("parts", bytes_of(mine), 0);
  }
  return mine;
}

std::vector<float> rank_problem::share(std::vector<float> array) const {
  auto const size = distributed::all_reduce(ranks_, "parts", std::ssize(array), distributed::reduction::maximum);
  distributed::agree(ranks_, [&] { array.resize(static_cast<std::size_t>(size)); });
  ranks_.broadcast("parts", bytes_of(array), 0);
  return array;
}

view<float, 3> rank_problem::begin_result(part_of_rank parts) {
  result_parts_ = std::move(parts);
  auto const shape = result_parts_(ranks_.rank()).shape();
  distributed::agree(ranks_, [&] { result_.assign(values_in(shape), 0); });
  return {result_.data(), shape};
}

double rank_problem::call_locally(rank_operation const& op, place_of_rank const& place, any_scan const& scan,
                                  std::map<std::string, std::vector<float>*> const& inputs) {
  double seconds = 0;
  distributed::agree(ranks_, [&] {
    auto& x = local_[op.name];
    if (x.inputs.empty()) x = profile_problem(scan).make_operands(*op.entry->op, op.entry->arguments);
    auto const swap_arrays = [&] {
      for (auto const& [name, values] : inputs) std::get<npy_array<float>>(x.inputs.at(name)).data.swap(*values);
      std::get<npy_array<float>>(x.output).data.swap(result_);
    };
    auto const* const watch = place.watch();
    swap_arrays();
    try {
      place.policy().run(*op.entry->op, scan, x, {.trace = place.trace()},
                         [&](std::function<call_cost()> const& call) {
                           if (watch) watch->begins();
                           seconds = call().seconds;
                           if (watch) watch->ends();
                         });
    } catch (...) {
      swap_arrays();
      throw;
    }
    swap_arrays();
  });
  return seconds;
}

std::vector<float> rank_problem::gather_result() const {
  std::vector<float> all, part;
  for (int r = 0; r < ranks_.size(); ++r) {
    auto const theirs = result_parts_(r);
    distributed::agree(ranks_, [&] {
      if (ranks_.rank() > 0) return;
      all.resize(values_in(theirs.whole));
      part.resize(r == 0 ? 0 : values_in(theirs.shape()));
    });
    if (ranks_.rank() == r && r > 0) ranks_.send("parts", bytes_of(result_), 0);
    if (ranks_.rank() > 0) continue;
    if (r > 0) ranks_.receive("parts", bytes_of(part), r);
    theirs.put(r == 0 ? result_ : part, all);
  }
  return all;
}

void check_sharing(sharing by, index_t n, int ranks) {
  if (by == sharing::slices) distributed::slices_of(n, 0, ranks);
  else if (by == sharing::views) distributed::cone_views(cone_geometry::typical_scan(sinogram_shape(n)), 0, ranks);
  else distributed::image_rows(recon_shape(n), 0, ranks);
}

std::unique_ptr<rank_problem> make_rank_problem(sharing by, index_t n, distributed::mpi const& ranks, int threads) {
  check_sharing(by, n, ranks.size());
  if (by == sharing::slices) return std::make_unique<problem_of_slices>(n, ranks, threads);
  if (by == sharing::views) return std::make_unique<problem_of_views>(n, ranks, threads);
  return std::make_unique<problem_of_rows>(n, ranks, threads);
}

void wait_for_ranks(distributed::mpi const& ranks) {
  auto const check = [](int code, char const* call) {
    require<communication_error>(code == MPI_SUCCESS, [&] { return std::string(call) + " failed"; });
  };
  MPI_Request all = MPI_REQUEST_NULL;
  check(MPI_Ibarrier(ranks.handle(), &all), "MPI_Ibarrier");
  int together = 0;
  while (true) {
    check(MPI_Test(&all, &together, MPI_STATUS_IGNORE), "MPI_Test");
    if (together) return;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

}  // namespace mbirk::program
