// Random scans of every geometry: the host's kernels and those of devices, which are emulated, against the
// definitions in double, and the back projection against the forward projection, whose transpose it is.
//
//   fuzz_geometry [--scans N] [--seconds S] [--seed K] [--only I]
//
// A failure prints the scan and the options that repeat it. Tolerances are those of projector/cases.hpp.
#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "definition/matrix.hpp"
#include "device/device_copy.hpp"
#include "emulated_instances.hpp"
#include "projector/cases.hpp"
#include "random_scan.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

using host_context = context<exec::host, instrument::none>;
using emulated_context = context<exec::emulated, instrument::none>;

array<3> project(host_context const& ctx, any_scan const& s, array<3> const& x) {
  array<3> y(sinogram_shape(s), -1);
  std::visit([&](auto const& scan) { forward_project(ctx, scan, x.all(), y.all()); }, s);
  return y;
}
array<3> back_project(host_context const& ctx, any_scan const& s, array<3> const& y) {
  array<3> x(recon_shape(s), -1);
  std::visit([&](auto const& scan) { mbirk::back_project(ctx, scan, y.all(), x.all()); }, s);
  return x;
}
array<2> sparse_back_project(host_context const& ctx, any_scan const& s, array<3> const& y, pixel_list const& pixels,
                             int power) {
  array<2> x({static_cast<index_t>(pixels.size()), slices_of(s)}, -1);
  std::visit([&](auto const& scan) {
    mbirk::sparse_back_project(ctx, scan, y.all(), as_view(pixels), x.all(), power);
  }, s);
  return x;
}
array<3> hessian_diagonal(host_context const& ctx, any_scan const& s) {
  array<3> h(recon_shape(s), -1);
  std::visit([&](auto const& scan) { mbirk::hessian_diagonal(ctx, scan, std::nullopt, h.all()); }, s);
  return h;
}
array<3> project(emulated_context const& ctx, any_scan const& s, array<3> const& x) {
  array<3> y(sinogram_shape(s), -1);
  auto const in = place(ctx.exec, x.all());
  auto const out = place(ctx.exec, y.all());
  std::visit([&](auto const& scan) { forward_project(ctx, scan, in.in(), out.all()); }, s);
  out.download(y.all());
  return y;
}
array<3> back_project(emulated_context const& ctx, any_scan const& s, array<3> const& y) {
  array<3> x(recon_shape(s), -1);
  auto const in = place(ctx.exec, y.all());
  auto const out = place(ctx.exec, x.all());
  std::visit([&](auto const& scan) { mbirk::back_project(ctx, scan, in.in(), out.all()); }, s);
  out.download(x.all());
  return x;
}

/// The largest weight of a footprint that lies on the detector as a whole. The roundings that tolerance() counts are
/// parts of such weights; where all that is seen are ends of footprints, the largest element may be smaller.
template <class Geometry> double largest_weight(scan<Geometry> const& s, pixel_list const& pixels) {
  auto const& g = s.geometry();
  double largest = 0;
  if constexpr (std::derived_from<Geometry, cone_geometry>) {
    for (index_t v = 0; v < g.views; ++v)
      for (auto const p : pixels) {
        auto const f = definition::cone_footprint_at<double>(s, v, index_t{p});
        largest = std::max(largest, f.channel.chord * std::min(1.0, f.channel.width) * std::min(1.0, f.row_width));
      }
  } else if constexpr (std::same_as<Geometry, general_geometry>) {
    definition::plain_interpreter<double> m;
    auto const footprints = definition::general_footprints(m, s);
    for (index_t v = 0; v < g.views; ++v)
      for (auto const p : pixels)
        for (index_t k = 0; k < g.slices; ++k) {
          auto const f = footprints(v, index_t{p}, k);
          largest = std::max(largest, f.amplitude * std::min(1.0, f.channel_width) * std::min(1.0, f.row_width));
        }
  } else {
    for (auto const& at : s.positions()) {
      auto const f = definition::parallel_footprint(g, at.cosine, at.sine, 0.0, 0.0);
      double weight = f.chord * std::min(1.0, f.width);
      if constexpr (requires { at.cos_elevation; }) {
        auto const b = definition::multiaxis_rows(g, at.cosine, at.sine, at.cos_elevation, at.sin_elevation, 0.0, 0.0);
        weight *= b.height * std::min(1.0, b.width);
      }
      largest = std::max(largest, weight);
    }
  }
  return largest;
}
double whole_weight(any_scan const& s) {
  return std::visit([&](auto const& scan) { return largest_weight(scan, every_pixel(s)); }, s);
}

/// Multiplications that the definition needs: it runs through all taps of a footprint, seen or not.
double cost_of(any_scan const& s, std::size_t pixels) {
  auto const y = sinogram_shape(s);
  double const views = static_cast<double>(y[0]) * static_cast<double>(pixels), rows = static_cast<double>(y[1]),
               slices = static_cast<double>(slices_of(s));
  return views * std::visit([&]<class Geometry>(scan<Geometry> const& scan) {
    if constexpr (std::derived_from<Geometry, cone_geometry>) {
      auto const taps = definition::count_taps(scan);
      return rows * (static_cast<double>(taps.channels) + static_cast<double>(taps.slices)) +
             slices * static_cast<double>(taps.rows);
    } else if constexpr (std::same_as<Geometry, general_geometry>) {
      auto const taps = definition::count_taps(scan);
      return slices * static_cast<double>(taps.channels) * static_cast<double>(taps.rows);
    } else {
      double widest = 0;
      for (auto const& at : scan.positions())
        widest = std::max(widest,
                          definition::parallel_footprint(scan.geometry(), at.cosine, at.sine, 0.0, 0.0).width);
      double along = 0;
      if constexpr (std::same_as<Geometry, multiaxis_geometry>)
        along = slices * static_cast<double>(definition::multiaxis_row_taps(scan));
      return rows * (widest + 2) + along;
    }
  }, s);
}

/// The operators in double. Where footprints are so wide that the definition would take long, the matrix is written
/// out: the time of its elements does not depend on that.
struct oracle {
  any_parameters const& parameters;
  any_scan const& s;
  bool by_matrix;

  template <class F> void each_element(pixel_list const& pixels, F const& f) const {
    auto const y = sinogram_shape(s), x = recon_shape(s);
    std::visit([&](auto const& p) {
      for (std::size_t q = 0; q < pixels.size(); ++q) {
        index_t const i = pixels[q] / x[1], j = pixels[q] % x[1];
        for (index_t v = 0; v < y[0]; ++v) {
          if (auto const* cone = std::get_if<cone_scan>(&s))
            if (definition::cone_footprint_at<double>(*cone, v, index_t{pixels[q]}).channel.chord == 0) continue;
          for (index_t m = 0; m < y[1]; ++m)
            for (index_t n = 0; n < y[2]; ++n)
              for (index_t k = 0; k < x[2]; ++k)
                f(static_cast<std::size_t>((v * y[1] + m) * y[2] + n),
                  q * static_cast<std::size_t>(x[2]) + static_cast<std::size_t>(k),
                  matrix_element(p, v, m, n, i, j, k));
        }
      }
    }, parameters);
  }
  std::vector<double> forward(array<2> const& x, pixel_list const& pixels) const {
    if (!by_matrix) return std::visit([&](auto const& scan) { return define_forward(scan, x.data, pixels); }, s);
    std::vector<double> y(count_of(sinogram_shape(s)));
    each_element(pixels,
                 [&](std::size_t at, std::size_t voxel, double a) { y[at] += a * static_cast<double>(x.data[voxel]); });
    return y;
  }
  std::vector<double> back(array<3> const& y, pixel_list const& pixels, int power) const {
    if (!by_matrix) return std::visit([&](auto const& scan) { return define_back(scan, y.data, pixels, power); }, s);
    std::vector<double> x(pixels.size() * static_cast<std::size_t>(slices_of(s)));
    each_element(pixels, [&](std::size_t at, std::size_t voxel, double a) {
      x[voxel] += (power == 2 ? a * a : a) * static_cast<double>(y.data[at]);
    });
    return x;
  }
};

struct totals {
  index_t scans = 0, invalid = 0, costly = 0, by_matrix = 0, emulated = 0, unseen = 0, failures = 0;
  double worst = 0, worst_adjoint = 0;  ///< parts of what is allowed
};

/// Compares all results of one scan.
class comparison {
 public:
  comparison(any_parameters const& parameters, std::string repeat, totals& all)
      : parameters_(parameters), repeat_(std::move(repeat)), all_(all) {}

  /// @param least  errors are relative to the largest element, or to this if all are smaller
  template <class A, class B>
  void close(char const* what, A const& found, B const& expected, double allowed, double least) {
    if (found.size() != expected.size()) return fail(what, INFINITY, allowed);
    double worst = 0, largest = least;
    for (std::size_t k = 0; k < expected.size(); ++k) {
      double const difference = std::abs(static_cast<double>(found[k]) - static_cast<double>(expected[k]));
      worst = std::isfinite(difference) ? std::max(worst, difference) : INFINITY;
      largest = std::max(largest, std::abs(static_cast<double>(expected[k])));
    }
    double const error = worst == 0 ? 0 : worst / largest;
    all_.worst = std::max(all_.worst, error / allowed);
    if (!(error <= allowed)) fail(what, error, allowed);
  }
  void adjoint(double left, double right, double allowed) {
    double const error = std::abs(left - right);
    if (allowed > 0) all_.worst_adjoint = std::max(all_.worst_adjoint, error / allowed);
    if (!(error <= allowed)) fail("<Ax, y> - <x, A'y>", error, allowed);
  }
  void require(bool ok, char const* what) {
    if (!ok) fail(what, 1, 0);
  }

 private:
  void fail(char const* what, double error, double allowed) {
    std::printf("%s: %s is off by %.3g, %.3g allowed: %s\n", repeat_.c_str(), what, error, allowed,
                text_of(parameters_).c_str());
    ++all_.failures;
  }
  any_parameters const& parameters_;
  std::string repeat_;
  totals& all_;
};

void compare(any_parameters const& parameters, any_scan const& s, random_numbers& r, comparison& c, totals& all,
             bool emulate) {
  auto const pixels = masked_in(s);
  auto const listed = some_pixels(s, 5, static_cast<unsigned>(r.whole(1, 1000000)));
  oracle const defined{parameters, s, cost_of(s, pixels.size() + listed.size()) > 3e5};
  all.by_matrix += defined.by_matrix;
  auto const x = random_array<3>(recon_shape(s), static_cast<unsigned>(r.whole(1, 1000000)));
  auto const y = random_array<3>(sinogram_shape(s), static_cast<unsigned>(r.whole(1, 1000000)));
  double const there = tolerance(s, true, 1), back = tolerance(s, false, 1), squared = tolerance(s, false, 2);
  double const whole = whole_weight(s);

  static host_context const one{exec::host{1}, {}}, three{exec::host{3}, {}};
  auto const ax = project(one, s, x), aty = back_project(one, s, y);
  auto const expected_ax = defined.forward(cylinders_of(x, pixels), pixels);
  auto const expected_aty = defined.back(y, pixels, 1);
  c.close("forward projection", ax.data, expected_ax, there, whole);
  c.close("back projection", cylinders_of(aty, pixels).data, expected_aty, back, whole);
  c.close("squared back projection", sparse_back_project(one, s, y, listed, 2).data, defined.back(y, listed, 2),
          squared, whole * whole);
  if (r.once_in(3)) {
    array<3> const ones(sinogram_shape(s), 1);
    c.close("hessian", cylinders_of(hessian_diagonal(one, s), listed).data, defined.back(ones, listed, 2), squared,
            whole * whole);
  }
  c.require(same_bits(project(three, s, x).data, ax.data) && same_bits(back_project(three, s, y).data, aty.data),
            "a result depends on the number of threads");

  // Each element is off by at most its tolerance times the largest one, and is weighted by a number in [0, 1).
  double const largest_ax = std::max(whole, *std::max_element(expected_ax.begin(), expected_ax.end()));
  double const largest_aty =
      expected_aty.empty() ? 0 : std::max(whole, *std::max_element(expected_aty.begin(), expected_aty.end()));
  double sum_y = 0, sum_x = 0;
  for (auto const value : y.data) sum_y += static_cast<double>(value);
  for (auto const value : cylinders_of(x, pixels).data) sum_x += static_cast<double>(value);
  c.adjoint(dot(ax.data, y.data), dot(x.data, aty.data), there * largest_ax * sum_y + back * largest_aty * sum_x);
  all.unseen += std::all_of(expected_ax.begin(), expected_ax.end(), [](double x) { return x == 0; });

  if (!emulate) return;
  ++all.emulated;
  exec::emulation_options const o{.seed = static_cast<std::uint64_t>(r.whole(1, 1000000))};
  emulated_context const device{exec::emulated(o), {}};
  // Kernels of devices do not cut wide footprints at the ends of the detector.
  c.close("forward projection on a device", project(device, s, x).data, expected_ax, tolerance(s, true, 1, false),
          whole);
  c.close("back projection on a device", cylinders_of(back_project(device, s, y), pixels).data, expected_aty,
          tolerance(s, false, 1, false), whole);
}

/// One of the scans of a seed; returns false where its parameters are no scan, or one whose definition takes long.
bool try_scan(std::uint64_t seed, index_t number, totals& all) {
  random_numbers r(seed * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(number));
  bool const emulate = r.once_in(4);
  size_limits const most = emulate         ? size_limits{2, 9, 9, 6, 9}
                           : r.once_in(8) ? size_limits{6, 140, 60, 24, 140}
                                          : size_limits{4, 40, 24, 14, 40};
  any_parameters parameters;
  std::optional<any_scan> s;
  try {
    parameters = random_parameters(r, most);
    s = make_scan(parameters);
  } catch (parameter_error const&) {
    ++all.invalid;
    return false;
  }
  auto const y = sinogram_shape(*s);
  double const pixels = static_cast<double>(masked_in(*s).size());
  double const elements = pixels * static_cast<double>(slices_of(*s) * y[0]) * static_cast<double>(y[1] * y[2]);
  if (cost_of(*s, masked_in(*s).size() + 5) > 3e5 && elements > 3e5) {
    ++all.costly;
    return false;
  }
  comparison c(parameters, "--seed " + std::to_string(seed) + " --only " + std::to_string(number), all);
  compare(parameters, *s, r, c, all, emulate);
  ++all.scans;
  return true;
}

long number_of(char const* text, char const* name) {
  char* end = nullptr;
  long const n = std::strtol(text, &end, 10);
  if (end != text && *end == 0 && n >= 0) return n;
  std::fprintf(stderr, "fuzz_geometry: %s is %s, expected a whole number >= 0\n", name, text);
  std::exit(2);
}

}  // namespace

int main(int count, char** arguments) {
  long scans = 500, seconds = 0, seed = 1, only = -1;
  for (int k = 1; k < count; ++k) {
    std::string const name = arguments[k];
    long* const to = name == "--scans"     ? &scans
                     : name == "--seconds" ? &seconds
                     : name == "--seed"    ? &seed
                     : name == "--only"    ? &only
                                           : nullptr;
    if (!to || k + 1 == count) {
      std::fprintf(stderr,
                   "fuzz_geometry: %s is not known or lacks a number, expected --scans, --seconds, --seed, --only\n",
                   name.c_str());
      return 2;
    }
    *to = number_of(arguments[++k], name.c_str());
  }
  totals all;
  auto const start = std::chrono::steady_clock::now();
  auto const elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  if (only >= 0) {
    try_scan(static_cast<std::uint64_t>(seed), only, all);
  } else {
    for (index_t number = 0;
         all.scans < scans && all.failures < 20 && (seconds == 0 || elapsed() < static_cast<double>(seconds)); ++number)
      try_scan(static_cast<std::uint64_t>(seed), number, all);
  }
  std::printf(
      "seed %ld: %lld scans in %.1f s (%lld by the matrix, %lld emulated too, %lld that see nothing; besides %lld no "
      "scans, %lld too costly); worst error %.2f of its tolerance, adjoint %.2f; %lld failures\n",
      seed, static_cast<long long>(all.scans), elapsed(), static_cast<long long>(all.by_matrix),
      static_cast<long long>(all.emulated), static_cast<long long>(all.unseen), static_cast<long long>(all.invalid),
      static_cast<long long>(all.costly), all.worst, all.worst_adjoint, static_cast<long long>(all.failures));
  return all.failures || (only < 0 && seconds == 0 && all.scans < scans) ? 1 : 0;
}
