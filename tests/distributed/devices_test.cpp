// Reconstructions of ranks that each have an emulated device, in parallel beam: the result of one device, to the
// rounding of its sums. Run by mpirun with 1 to 3 ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "device/device_copy.hpp"
#include "emulated_instances.hpp"
#include "mbirk/distributed/counted.hpp"
#include "mbirk/distributed/recon.hpp"
#include "mbirk/distributed/recon_in_slabs.hpp"
#include "mbirk/distributed/slab_state.hpp"
#include "slices_case.hpp"

namespace {

using namespace mbirk;
using namespace testing_ranks;

/// Arrays of slices in the memory of an emulated device.
struct device_arrays {
  exec::emulated device;
  std::array<index_t, 3> y_shape, x_shape;
  floats image;
  test::device_copy<float, 3, exec::emulated> y, w, v, x;

  device_arrays(exec::emulated const& where, distributed::index_range slices,
                std::array<index_t, 3> const& sinogram_shape, std::array<index_t, 3> const& recon_shape)
      : device(where),
        y_shape(sinogram_shape),
        x_shape(recon_shape),
        image(array(recon_shape)),
        y(device, reading(part(data().sinogram, data().scan.sinogram_shape(), 1, slices), y_shape)),
        w(device, reading(part(data().weights, data().scan.sinogram_shape(), 1, slices), y_shape)),
        v(device, reading(part(data().image, data().scan.recon_shape(), 2, slices), x_shape)),
        x(device, reading(image, x_shape)) {}

  /// @param call  recon(context, y, weights, x, options) or prox_map, of some ranks or of one memory
  template <class Call> outcome run(run_case const& c, recon_options o, Call const& call) {
    if (c.first == run_case::given) o.init_recon = v.in();
    outcome out{{},
                call(context{device, instrument::none{}}, y.in(), c.weighted ? std::optional(w.in()) : std::nullopt,
                     x.all(), o)};
    x.download(writing(image, x_shape));
    out.image = image;
    return out;
  }
};

struct nothing_to_change {
  void operator()(recon_options&, parallel_slab const&) const {}
};
template <class Comm, class More = nothing_to_change>
outcome run_on_devices(Comm const& ranks, run_case const& c, More const& more = {}) {
  parallel_slab const slab(data().parameters, ranks.rank(), ranks.size());
  device_arrays arrays(exec::emulated(), slab.range(), slab.scan().sinogram_shape(), slab.scan().recon_shape());
  auto o = options_of(c);
  more(o, slab);
  return arrays.run(c, o, [&](auto const& here, auto y, auto w, auto x, recon_options const& options) {
    return c.proximal ? distributed::prox_map(here, ranks, slab, arrays.v.in(), y, w, x, options)
                      : distributed::recon(here, ranks, slab, y, w, x, options);
  });
}
outcome run_on_one_device(run_case const& c) {
  auto const& scan = data().scan;
  device_arrays arrays(exec::emulated(), {0, scan.recon_shape()[2]}, scan.sinogram_shape(), scan.recon_shape());
  return arrays.run(c, options_of(c), [&](auto const& here, auto y, auto w, auto x, recon_options const& options) {
    return c.proximal ? prox_map(here, scan, arrays.v.in(), y, w, x, options) : recon(here, scan, y, w, x, options);
  });
}

/// Step lengths of ranks differ by the rounding of sums in double precision, 1e-16, which rounds some of them to other
/// floats, 6e-8: an iteration then moves voxels by that share of their change, and a voxel is a float of the image.
inline constexpr float of_peak = 1e-6f;

TEST(devices, reconstructions_are_those_of_one_device) {
  for (std::size_t const number : {0, 1, 3, 4}) {  // the others differ in what is uploaded first
    auto const c = cases()[number];
    SCOPED_TRACE(c.name);
    auto const expected = run_on_one_device(c);
    auto const mine = run_on_devices(world(), c);
    parallel_slab const slab(data().parameters, world().rank(), world().size());
    expect_close(mine.image, part(expected.image, data().scan.recon_shape(), 2, slab.range()), of_peak);
    ASSERT_EQ(mine.log.alpha_values.size(), expected.log.alpha_values.size());
    for (std::size_t k = 0; k < mine.log.alpha_values.size(); ++k) {
      EXPECT_NEAR(mine.log.alpha_values[k], expected.log.alpha_values[k], 1e-5 * expected.log.alpha_values[k]);
      EXPECT_NEAR(mine.log.fm_rmse[k], expected.log.fm_rmse[k], 1e-5 * expected.log.fm_rmse[k]);
      EXPECT_NEAR(mine.log.stop_threshold_change_pct[k], expected.log.stop_threshold_change_pct[k],
                  1e-5 * expected.log.stop_threshold_change_pct[k]);
      EXPECT_EQ(std::ssize(mine.log.delta_norm_per_slice[k]), data().scan.recon_shape()[2]);
    }
    EXPECT_EQ(mine.log.sigma_y, expected.log.sigma_y);
    EXPECT_EQ(mine.log.sigma_x, expected.log.sigma_x);
  }
}

/// Boundary values are fetched from the device: a rank that did not send them would be wrong by far more than rounding.
TEST(devices, traffic_is_one_sum_of_a_rank_and_the_boundaries) {
  auto const c = cases()[2];  // weights; 4 and 64 subsets
  distributed::traffic_ledger ledger;
  run_on_devices(distributed::counted(world(), ledger), c);
  index_t const pixels = std::ssize(data().scan.full_indices()),
                neighbours = (world().rank() > 0 ? 1 : 0) + (distributed::is_last(world()) ? 0 : 1);
  index_t subsets = 0, listed = 0;
  for (auto const k : c.sequence) {
    subsets += index_t{1} << k;
    listed += (index_t{1} << k) * ceil_div(pixels, index_t{1} << k);
  }
  EXPECT_EQ(ledger["line search"].messages, subsets);
  EXPECT_EQ(ledger["line search"].bytes, 24 * subsets);
  EXPECT_EQ(ledger["boundaries of a subset"].bytes, 4 * listed * neighbours);
  EXPECT_EQ(ledger["boundary slices"].bytes, 4 * neighbours * 20 * 20);
}

/// The host goes on where devices stopped, and devices where the host stopped.
TEST(devices, states_pass_between_devices_and_the_host) {
  auto c = cases()[2];
  std::optional<recon_state> of_devices, of_host;
  auto const save_to = [](std::optional<recon_state>& to) {
    return [&to](recon_options& o, parallel_slab const&) {
      o.checkpoint = [&to](recon_state const& state) {
        if (!to) to = state;
      };
    };
  };
  auto const whole = run_on_devices(world(), c, save_to(of_devices));
  run(world(), c, exec::host{1}, save_to(of_host));
  ASSERT_EQ(of_devices.has_value(), world().rank() == 0);
  auto const& ranks = world();
  parallel_slab const slab(data().parameters, ranks.rank(), ranks.size());
  if (ranks.size() > 1) return;  // only rank 0 has the state of all; a_state_is_resumed_by_any_number_of_ranks goes on
  recon_state const mine = distributed::state_of_slab(*of_devices, slab),
                    other = distributed::state_of_slab(*of_host, slab);
  auto const resume = [](recon_state const& state) {
    return [&state](recon_options& o, parallel_slab const&) { o.resume = &state; };
  };
  EXPECT_TRUE(same_bits(run_on_devices(ranks, c, resume(mine)).image, whole.image));
  expect_close(run(ranks, c, exec::host{1}, resume(mine)).image, whole.image, of_peak);
  expect_close(run_on_devices(ranks, c, resume(other)).image, whole.image, of_peak);
}

TEST(devices, ranks_on_the_host_and_on_devices_do_not_mix) {
  if (world().size() == 1) return;
  auto const c = cases()[0];
  EXPECT_EQ(message_of<parameter_error>([&] {
              if (world().rank() == 0) run_on_devices(world(), c);
              else run(world(), c);
            }),
            "recon: ranks differ in having the slab on a device, expected the same on all");
}

/// A volume that is larger than a device: slabs are copied there one after the other.
TEST(devices, slabs_in_turn_have_the_result_of_slabs_on_the_host) {
  if (world().size() > 1) return;  // one process has all slabs
  auto const& d = data();
  auto const y_shape = d.scan.sinogram_shape(), x_shape = d.scan.recon_shape();
  auto const run = [&](auto const& here, bool proximal, floats& x) {
    /// Rows or slices of an array from number `first` on, to `to`.
    auto const read = [](floats const& all, std::array<index_t, 3> const& shape, int axis, index_t first,
                         view<float, 3> to) {
      auto const some = part(all, shape, axis, {first, to.extent(axis)});
      std::copy(some.begin(), some.end(), to.data());
    };
    distributed::slab_arrays arrays;
    arrays.weighted = true;
    arrays.read_data = [&](index_t first, view<float, 3> y, std::optional<view<float, 3>> w) {
      read(d.sinogram, y_shape, 1, first, y);
      read(d.weights, y_shape, 1, first, *w);
    };
    arrays.read_image = [&](index_t first, view<float, 3> to) { read(x, x_shape, 2, first, to); };
    arrays.read_prox_input = [&](index_t first, view<float, 3> to) { read(d.image, x_shape, 2, first, to); };
    arrays.write_image = [&](index_t first, view<float const, 3> from) {
      for (index_t p = 0; p < x_shape[0] * x_shape[1]; ++p)
        std::copy_n(from.data() + p * from.extent(2), from.extent(2), x.begin() + p * x_shape[2] + first);
    };
    auto o = options_of(cases()[2]);
    o.max_iterations = 2;
    return proximal ? distributed::prox_map_in_slabs(here, d.parameters, {48, 2}, arrays, o)
                    : distributed::recon_in_slabs(here, d.parameters, {48, 2}, arrays, o);
  };
  for (bool const proximal : {false, true}) {
    SCOPED_TRACE(proximal ? "prox_map" : "recon");
    auto of_host = array(x_shape), of_device = array(x_shape);
    auto const expected = run(ctx, proximal, of_host);
    auto const found = run(context{exec::emulated(), instrument::none{}}, proximal, of_device);
    // Each of two iterations adds up the products of a voxel, at most three a view, in another order, which rounds each
    // of them once.
    expect_close(of_device, of_host, static_cast<float>(2 * 3 * y_shape[0]) * 0x1p-24f);
    EXPECT_EQ(found.num_iterations, expected.num_iterations);
    for (std::size_t k = 0; k < found.stop_threshold_change_pct.size(); ++k)
      EXPECT_NEAR(found.stop_threshold_change_pct[k], expected.stop_threshold_change_pct[k],
                  1e-5 * expected.stop_threshold_change_pct[k]);
    EXPECT_FLOAT_EQ(static_cast<float>(found.sigma_y), static_cast<float>(expected.sigma_y));
  }
}

}  // namespace
