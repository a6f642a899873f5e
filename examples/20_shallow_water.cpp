// A worked program outside tomography: the shallow-water equations on a rotating cubed sphere, profiled piece by piece.
//
// Six equiangular gnomonic panels (C. Ronchi, R. Iacono, P. Paolucci, J. Comput. Phys. 124 (1996) 93) with nodes on
// their edges; vector-invariant form and covariant velocity. Derivatives are summation-by-parts differences of order 4
// inside and 2 at edges (B. Strand, J. Comput. Phys. 110 (1994) 47). Panels are coupled by penalty terms with centred
// fluxes, which conserve mass and energy; after each RK4 step a projection equalises the nodes that panels share.
//
//     20_shallow_water [folder [nodes-per-edge [steps]]]
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <numbers>
#include <string>
#include <vector>

#include "mbirk/profile/profile.hpp"
#include "output_folder.hpp"

namespace {
using namespace mbirk;
using vec3 = std::array<double, 3>;
using field = std::vector<double>;  // [panel][j][i], i along alpha, j along beta
constexpr double radius = 6.37122e6, gravity = 9.80616, rotation = 7.292e-5, quarter = std::numbers::pi / 4;
double dot(vec3 const& a, vec3 const& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
struct state { field h, u1, u2; };  // height, covariant velocity

class shallow_water {
 public:
  shallow_water(int nodes, profile::sink trace)
      : n_(nodes), count_(6 * nodes * nodes), spacing_(2 * quarter / (nodes - 1)), trace_(trace) {
    // Radial, alpha and beta axes of each panel, right-handed.
    constexpr vec3 x{1, 0, 0}, y{0, 1, 0}, z{0, 0, 1}, mx{-1, 0, 0}, my{0, -1, 0}, mz{0, 0, -1};
    std::array<std::array<vec3, 3>, 6> const axes{
        {{x, y, z}, {y, mx, z}, {mx, my, z}, {my, x, z}, {z, y, mx}, {mz, y, x}}};
    for (auto* vectors : {&place_, &e1_, &e2_}) vectors->resize(size());
    for (auto* f :
         {&jacobian_, &g11_, &g12_, &g22_, &coriolis_, &c1_, &c2_, &phi_, &curl_, &work_, &d_.h, &d_.u1, &d_.u2})
      f->resize(size());
    for (int p = 0; p < 6; ++p)
      for (int j = 0; j < n_; ++j)
        for (int i = 0; i < n_; ++i) {
          auto const k = at(p, i, j);
          double const a = std::tan(i * spacing_ - quarter), b = std::tan(j * spacing_ - quarter);
          double const r2 = 1 + a * a + b * b, r = std::sqrt(r2);
          for (std::size_t c = 0; c < 3; ++c) {
            double const v = axes[p][0][c] + a * axes[p][1][c] + b * axes[p][2][c];
            place_[k][c] = v / r;
            e1_[k][c] = radius * (1 + a * a) / r * (axes[p][1][c] - v * a / r2);  // d place / d alpha
            e2_[k][c] = radius * (1 + b * b) / r * (axes[p][2][c] - v * b / r2);
          }
          double const m11 = dot(e1_[k], e1_[k]), m12 = dot(e1_[k], e2_[k]), m22 = dot(e2_[k], e2_[k]);
          double const det = m11 * m22 - m12 * m12;
          jacobian_[k] = std::sqrt(det);
          g11_[k] = m22 / det;
          g12_[k] = -m12 / det;
          g22_[k] = m11 / det;
        }
    join_edges();
  }

  std::size_t size() const { return static_cast<std::size_t>(count_); }
  vec3 const& place(std::size_t k) const { return place_[k]; }
  void rotate_about(vec3 const& axis) {
    for (std::size_t k = 0; k < size(); ++k) coriolis_[k] = 2 * rotation * dot(axis, place_[k]);
  }
  void set_velocity(state& s, std::size_t k, vec3 const& v) const {
    s.u1[k] = dot(v, e1_[k]);
    s.u2[k] = dot(v, e2_[k]);
  }

  /// Sums over nodes with the weights of the differences and the area.
  template <class F> double integral(F const& f) const {
    double sum = 0;
    for (int p = 0; p < 6; ++p)
      for (int j = 0; j < n_; ++j)
        for (int i = 0; i < n_; ++i) sum += weight(i) * weight(j) * jacobian_[at(p, i, j)] * f(at(p, i, j));
    return sum;
  }
  double mass(state const& s) const { return integral([&](std::size_t k) { return s.h[k]; }); }
  /// Total vorticity of the last tendency over that of its absolute values: 0 on a closed surface.
  double circulation() const {
    auto const total = integral([&](std::size_t k) { return curl_[k] / jacobian_[k]; });
    return total / integral([&](std::size_t k) { return std::abs(curl_[k]) / jacobian_[k]; });
  }
  double energy(state const& s) const {
    return integral([&](std::size_t k) {
      return s.h[k] / 2 * (s.u1[k] * up1(s, k) + s.u2[k] * up2(s, k) + gravity * s.h[k]);
    });
  }

  /// The time derivatives of s; each piece is timed under its own name.
  void tendency(state const& s, state& d) {
    profile::scope const whole(trace_, "tendency", {.items = count_});
    timed("contravariant velocity", [&] {
      for (std::size_t k = 0; k < size(); ++k) {
        c1_[k] = up1(s, k);
        c2_[k] = up2(s, k);
        phi_[k] = 0.5 * (s.u1[k] * c1_[k] + s.u2[k] * c2_[k]) + gravity * s.h[k];  // kinetic and potential
      }
    });
    timed("curl", [&] {
      derive(0, s.u2, curl_);
      derive(1, s.u1, work_);
      for (std::size_t k = 0; k < size(); ++k) curl_[k] -= work_[k];
    });
    penalty("edge penalty of the curl", [&](edge_node const& a, edge_node const& b, double w) {
      double const mine = a.axis == 0 ? s.u2[a.k] : s.u1[a.k], other = b.axis == 0 ? s.u2[b.k] : s.u1[b.k];
      curl_[a.k] += (a.axis == 0 ? 1 : -1) * a.sign * w * (a.reversed ? -other - mine : other - mine);
    });
    timed("gradient", [&] {
      derive(0, phi_, d.u1);
      derive(1, phi_, d.u2);
    });
    penalty("edge penalty of the gradient", [&](edge_node const& a, edge_node const& b, double w) {
      (a.axis == 0 ? d.u1 : d.u2)[a.k] += a.sign * w * (phi_[b.k] - phi_[a.k]);
    });
    timed("momentum", [&] {
      for (std::size_t k = 0; k < size(); ++k) {
        double const vorticity = curl_[k] + jacobian_[k] * coriolis_[k];  // absolute, times the area
        d.u1[k] = vorticity * c2_[k] - d.u1[k];
        d.u2[k] = -vorticity * c1_[k] - d.u2[k];
        c1_[k] *= jacobian_[k] * s.h[k];  // fluxes from here on
        c2_[k] *= jacobian_[k] * s.h[k];
      }
    });
    timed("divergence", [&] {
      derive(0, c1_, d.h);
      derive(1, c2_, work_);
      for (std::size_t k = 0; k < size(); ++k) d.h[k] += work_[k];
    });
    penalty("edge penalty of the divergence", [&](edge_node const& a, edge_node const& b, double w) {
      auto const outward = [&](edge_node const& n) { return n.sign * (n.axis == 0 ? c1_ : c2_)[n.k]; };
      d.h[a.k] += w * (-outward(b) - outward(a));
    });
    for (std::size_t k = 0; k < size(); ++k) d.h[k] /= -jacobian_[k];
  }

  /// Replaces the values of nodes that two panels (edges) or three (corners) share by their mean, which conserves mass.
  void project(state& s) {
    profile::scope const timed(trace_, "edge and corner projection", {.items = static_cast<index_t>(shared_.size())});
    for (auto const& group : shared_) {
      double const first = s.h[group[0]], share = 1 / static_cast<double>(group.size());
      double h = first;
      vec3 v{};
      for (auto const k : group) {
        h += share * (s.h[k] - first);  // equal values stay unchanged
        for (std::size_t c = 0; c < 3; ++c) v[c] += share * (up1(s, k) * e1_[k][c] + up2(s, k) * e2_[k][c]);
      }
      for (auto const k : group) {
        s.h[k] = h;
        set_velocity(s, k, v);
      }
    }
  }

  /// One step of the classical Runge-Kutta method.
  void step(state& s, double dt) {
    profile::scope const timed(trace_, "step");
    auto const axpy = [](field& y, double a, field const& x) {
      for (std::size_t k = 0; k < y.size(); ++k) y[k] += a * x[k];
    };
    start_ = stage_ = s;
    constexpr double stages[4][2] = {{0.5, 1}, {0.5, 2}, {1, 2}, {0, 1}};  // factor to the next stage, share of the sum
    for (auto const [ahead, share] : stages) {
      tendency(stage_, d_);
      profile::scope const update(trace_, "update");
      stage_ = start_;
      for (auto const part : {&state::h, &state::u1, &state::u2}) {
        axpy(s.*part, dt * share / 6, d_.*part);
        axpy(stage_.*part, dt * ahead, d_.*part);
      }
    }
    project(s);
  }

 private:
  struct edge_node {
    std::size_t k;
    int axis;       // 0 for edges of constant alpha
    int sign;       // outward: +1 at the upper end
    bool reversed;  // the neighbour counts its nodes along the edge the other way
  };

  double up1(state const& s, std::size_t k) const { return g11_[k] * s.u1[k] + g12_[k] * s.u2[k]; }
  double up2(state const& s, std::size_t k) const { return g12_[k] * s.u1[k] + g22_[k] * s.u2[k]; }
  std::size_t at(int p, int i, int j) const { return static_cast<std::size_t>((p * n_ + j) * n_ + i); }
  double weight(int i) const {
    constexpr double edge[] = {17.0 / 48, 59.0 / 48, 43.0 / 48, 49.0 / 48, 1};
    return spacing_ * edge[std::min({i, n_ - 1 - i, 4})];
  }
  /// Differences of neighbours, so that a constant has a derivative of exactly 0.
  void derive(int axis, field const& f, field& d) const {
    static constexpr double edge[4][6] = {{0, 59.0 / 34, -4.0 / 17, -3.0 / 34, 0, 0},
                                          {-0.5, 0, 0.5, 0, 0, 0},
                                          {4.0 / 43, -59.0 / 86, 0, 59.0 / 86, -4.0 / 43, 0},
                                          {3.0 / 98, 0, -59.0 / 98, 0, 32.0 / 49, -4.0 / 49}};
    std::ptrdiff_t const stride = axis == 0 ? 1 : n_, across = axis == 0 ? n_ : 1;
    for (int line = 0; line < 6 * n_; ++line) {
      auto const first = (line / n_) * std::ptrdiff_t{n_} * n_ + line % n_ * across;
      double const* const x = f.data() + first;
      double* const y = d.data() + first;
      auto const difference = [&](int i, int d) { return x[(i + d) * stride] - x[(i - d) * stride]; };
      for (int i = 4; i < n_ - 4; ++i)
        y[i * stride] = (2.0 / 3 * difference(i, 1) - difference(i, 2) / 12) / spacing_;
      for (int i = 0; i < 4; ++i) {
        auto const far = (n_ - 1) * stride;
        double near = 0, end = 0;
        for (int k = 0; k < 6; ++k) {
          near += edge[i][k] * (x[k * stride] - x[i * stride]);
          end -= edge[i][k] * (x[far - k * stride] - x[far - i * stride]);
        }
        y[i * stride] = near / spacing_;
        y[far - i * stride] = end / spacing_;
      }
    }
  }
  template <class F> void timed(char const* name, F const& piece) const {
    profile::scope const span(trace_, name, {.items = count_});
    piece();
  }
  /// @param add  (node, its neighbour, half the inverse weight of the edge)
  template <class Add> void penalty(char const* name, Add const& add) const {
    profile::scope const timed(trace_, name, {.items = static_cast<index_t>(edges_.size())});
    for (auto const& [mine, other] : edges_) add(mine, other, 0.5 / weight(0));
  }

  /// Finds coincident nodes: shared nodes, and pairs of nodes along the 12 edges, in both directions.
  void join_edges() {
    std::vector<std::vector<edge_node>> sides;
    for (int p = 0; p < 6; ++p)
      for (int const side : {0, 1, 2, 3}) {
        auto& nodes = sides.emplace_back();
        int const axis = side / 2, fixed = side % 2 * (n_ - 1);
        for (int t = 0; t < n_; ++t)
          nodes.push_back({axis == 0 ? at(p, fixed, t) : at(p, t, fixed), axis, fixed ? 1 : -1, false});
      }
    auto const same = [&](edge_node const& a, edge_node const& b) { return dot(place_[a.k], place_[b.k]) > 1 - 1e-12; };
    std::vector<bool> grouped(size());
    for (auto& a : sides)
      for (auto& b : sides) {
        bool const along = same(a.front(), b.front()) && same(a.back(), b.back());
        bool const against = same(a.front(), b.back()) && same(a.back(), b.front());
        if (&a == &b || (!along && !against)) continue;
        for (std::size_t t = 0; t < a.size(); ++t) {
          auto mine = a[t];
          mine.reversed = against;
          edges_.emplace_back(mine, b[against ? a.size() - 1 - t : t]);
        }
      }
    for (auto const& [a, b] : edges_) {
      if (grouped[a.k]) continue;
      auto& group = shared_.emplace_back();
      for (auto const& [c, d] : edges_) {
        if (grouped[c.k] || !same(a, c)) continue;
        grouped[c.k] = true;
        group.push_back(c.k);
      }
    }
  }

  int n_;
  index_t count_;
  double spacing_;
  profile::sink trace_;
  std::vector<vec3> place_, e1_, e2_;
  field jacobian_, g11_, g12_, g22_, coriolis_, c1_, c2_, phi_, curl_, work_;
  state start_, stage_, d_;
  std::vector<std::pair<edge_node, edge_node>> edges_;
  std::vector<std::vector<std::size_t>> shared_;
};

/// Steady flow about a tilted axis, over edges and corners (D. Williamson et al., J. Comput. Phys. 102 (1992) 211,
/// case 2).
state steady_flow(shallow_water& model) {
  constexpr double u0 = 2 * std::numbers::pi * radius / (12 * 86400), h0 = 2.94e4 / gravity;
  vec3 const axis{0.6, 0.48, 0.64};
  model.rotate_about(axis);
  state s{field(model.size()), field(model.size()), field(model.size())};
  for (std::size_t k = 0; k < model.size(); ++k) {
    auto const& r = model.place(k);
    double const sine = dot(axis, r);
    s.h[k] = h0 - (radius * rotation * u0 + u0 * u0 / 2) * sine * sine / gravity;
    model.set_velocity(s, k,
                       {u0 * (axis[1] * r[2] - axis[2] * r[1]), u0 * (axis[2] * r[0] - axis[0] * r[2]),
                        u0 * (axis[0] * r[1] - axis[1] * r[0])});
  }
  return s;
}
/// Waves and flow together move at 210 m/s.
double time_step(int nodes) { return 0.4 * radius * 2 * quarter / (nodes - 1) / 210; }
/// Relative errors; joined: shared nodes are equal.
struct outcome { double error, mass_change, energy_change; bool joined; };
/// Errors of the steady flow after six hours; the exact solution does not change.
outcome six_hours(int nodes) {
  shallow_water model(nodes, {});
  auto s = steady_flow(model);
  auto const start = s;
  int const steps = static_cast<int>(std::ceil(6 * 3600 / time_step(nodes)));
  for (int k = 0; k < steps; ++k) model.step(s, 6.0 * 3600 / steps);
  double const error = model.integral([&](std::size_t k) { return std::pow(s.h[k] / start.h[k] - 1, 2); });
  double const area = model.integral([](std::size_t) { return 1.0; });
  auto again = s;
  model.project(again);
  return {std::sqrt(error / area), model.mass(s) / model.mass(start) - 1, model.energy(s) / model.energy(start) - 1,
          again.h == s.h};
}

bool check() {
  shallow_water model(12, {});
  model.rotate_about({0, 0, 1});
  state rest{field(model.size(), 3000.0), field(model.size()), field(model.size())};
  for (int k = 0; k < 10; ++k) model.step(rest, time_step(12));
  bool const stays = rest.h == field(model.size(), 3000.0);  // differences of equal numbers: no rounding
  state torn = rest, rate = rest;  // discontinuous across panels
  for (std::size_t k = 0; k < model.size(); ++k) {
    torn.u1[k] = 1e6 * std::sin(static_cast<double>(k));
    torn.u2[k] = 1e6 * std::cos(static_cast<double>(k));
  }
  model.tendency(torn, rate);
  double const circulation = model.circulation();
  auto const coarse = six_hours(16), fine = six_hours(31);
  std::printf(
      "rest stays at rest: %s; error %.2g, half the spacing %.2g; mass %.1g, energy %.1g, %.1g, circulation %.1g\n",
      stays ? "yes" : "NO", coarse.error, fine.error, fine.mass_change, coarse.energy_change, fine.energy_change,
      circulation);
  // Global order 3 (2 at edges, plus one); energy dissipation by Runge-Kutta of order 5; mass and circulation exact
  // to the rounding of sums of some 1e4 numbers.
  return stays && fine.joined && coarse.error > 6 * fine.error &&
         std::abs(fine.mass_change) + std::abs(circulation) < 1e4 * 2.2e-16 && fine.energy_change < 0 &&
         coarse.energy_change < 16 * fine.energy_change;
}

}  // namespace

int main(int argc, char** argv) {
  output_folder const folder(argc, argv);
  int const nodes = argc > 2 ? std::atoi(argv[2]) : 24, steps = argc > 3 ? std::atoi(argv[3]) : 10;
  if (nodes < 10 || steps < 1) {
    std::fputs("expected 10 nodes or more, 1 step or more\n", stderr);
    return 2;
  }
  double const dt = time_step(nodes);
  profile::session session(folder.path(), "shallow_water", {.events = 50'000});
  shallow_water traced(nodes, session), plain(nodes, {});
  auto s = steady_flow(traced);
  steady_flow(plain);
  profile::note_allocation(session, "state", static_cast<index_t>(3 * sizeof(double) * traced.size()));
  for (int k = 0; k < steps; ++k) {
    traced.step(s, dt);
    profile::sample(session, "energy", traced.energy(s));
  }
  std::fputs(profile::component_table(session.trace()).text().c_str(), stdout);
  auto const many = [&](std::int64_t n) {
    auto const steps_of_a_thread = [&] {
      for (; n > 0; --n) plain.step(s, dt);
    };
    std::async(std::launch::async, steps_of_a_thread).get();
  };
  auto const launches = profile::loop_against_steps(many, [&] { many(1); }, steps, {.rounds = 8});
  std::printf("\n%s\n", launches.text().c_str());
  auto const cost = profile::compare_variants(
      {{"plain step", [&] { plain.step(s, dt); }}, {"traced step", [&] { traced.step(s, dt); }}});
  std::fputs(cost.text().c_str(), stdout);

  for (auto const& file : session.close().files) std::printf("wrote %s\n", file.filename().string().c_str());
  return check() && session.warnings().empty() ? 0 : 1;
}
