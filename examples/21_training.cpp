// A worked program outside tomography: training a small stack of dense and attention layers, profiled from the loading
// of data to the optimiser.
//
// The task: one of the eight tokens of a sequence is marked among noise, and gives the class of the sequence. Double
// precision, so that the gradients can be compared with finite differences.
//
//     21_training [folder [steps]]
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "mbirk/profile/profile.hpp"
#include "output_folder.hpp"

namespace {
using namespace mbirk;
using numbers = std::vector<double>;
constexpr int batch_size = 32, tokens = 8, features = 12, classes = 4, width = 16;

struct matrix {
  int rows = 0, cols = 0;
  numbers values;
  matrix() = default;
  matrix(int r, int c) : rows(r), cols(c), values(static_cast<std::size_t>(r) * static_cast<std::size_t>(c)) {}
  double* row(int r) { return values.data() + static_cast<std::ptrdiff_t>(r) * cols; }
  double const* row(int r) const { return values.data() + static_cast<std::ptrdiff_t>(r) * cols; }
};

/// c += a b, where a, or b, may be transposed.
enum class transposed { none, left, right };
void multiply(matrix const& a, matrix const& b, matrix& c, transposed which = transposed::none) {
  bool const left = which == transposed::left, right = which == transposed::right;
  for (int i = 0; i < c.rows; ++i)
    for (int k = 0; k < (left ? a.rows : a.cols); ++k) {
      double const factor = left ? a.row(k)[i] : a.row(i)[k];
      for (int j = 0; j < c.cols; ++j) c.row(i)[j] += factor * (right ? b.row(j)[k] : b.row(k)[j]);
    }
}
double dot(double const* a, double const* b, int n) { return std::inner_product(a, a + n, b, 0.0); }

struct parameter {
  matrix value, gradient;
  parameter(int rows, int cols, std::mt19937& random) : value(rows, cols), gradient(rows, cols) {
    std::normal_distribution<double> draw(0, 1 / std::sqrt(rows));
    for (auto& v : value.values) v = draw(random);
  }
};

/// backward() takes d loss / d output, adds to the gradients of the parameters, and returns d loss / d input.
struct layer {
  std::string name;
  explicit layer(std::string n) : name(std::move(n)) {}
  virtual ~layer() = default;
  virtual matrix forward(matrix const& x) = 0;
  virtual matrix backward(matrix const& dy) = 0;
  virtual std::vector<parameter*> parameters() { return {}; }
};

struct dense : layer {  // y = x w, or tanh of it
  parameter w;
  bool squash;
  matrix x, y;
  dense(std::string n, int in, int out, std::mt19937& random, bool tanh = false)
      : layer(std::move(n)), w(in, out, random), squash(tanh) {}
  std::vector<parameter*> parameters() override { return {&w}; }
  matrix forward(matrix const& in) override {
    x = in;
    y = matrix(x.rows, w.value.cols);
    multiply(x, w.value, y);
    for (auto& v : y.values) v = squash ? std::tanh(v) : v;
    return y;
  }
  matrix backward(matrix const& dy) override {
    matrix dx(x.rows, x.cols), d = dy;
    for (std::size_t k = 0; squash && k < d.values.size(); ++k) d.values[k] *= 1 - y.values[k] * y.values[k];
    multiply(x, d, w.gradient, transposed::left);
    multiply(d, w.value, dx, transposed::right);
    return dx;
  }
};

/// y = x + softmax(q k' / sqrt(width)) v within each sequence; q, k, v are x times one parameter matrix each.
struct attention : layer {
  dense q, k, v;
  matrix qs, ks, vs, weights;  // weights: row i has the attention weights of token i over its sequence
  attention(std::string n, std::mt19937& random)
      : layer(std::move(n)), q("q", width, width, random), k("k", width, width, random), v("v", width, width, random) {}
  std::vector<parameter*> parameters() override { return {&q.w, &k.w, &v.w}; }
  matrix forward(matrix const& x) override {
    qs = q.forward(x);
    ks = k.forward(x);
    vs = v.forward(x);
    weights = matrix(x.rows, tokens);
    matrix y = x;
    for (int i = 0; i < x.rows; ++i) {
      double *const w = weights.row(i), sum = 0;
      int const first = i / tokens * tokens;
      for (int t = 0; t < tokens; ++t) w[t] = dot(qs.row(i), ks.row(first + t), width) / std::sqrt(width);
      double const most = *std::max_element(w, w + tokens);
      for (int t = 0; t < tokens; ++t) sum += w[t] = std::exp(w[t] - most);
      for (int t = 0; t < tokens; ++t) {
        w[t] /= sum;
        for (int c = 0; c < width; ++c) y.row(i)[c] += w[t] * vs.row(first + t)[c];
      }
    }
    return y;
  }
  matrix backward(matrix const& dy) override {
    matrix dq(dy.rows, width), dk(dy.rows, width), dv(dy.rows, width), dx = dy;
    for (int i = 0; i < dy.rows; ++i) {
      double const* const w = weights.row(i);
      int const first = i / tokens * tokens;
      double dw[tokens], mean = 0;
      for (int t = 0; t < tokens; ++t) mean += w[t] * (dw[t] = dot(dy.row(i), vs.row(first + t), width));
      for (int t = 0; t < tokens; ++t) {
        double const ds = w[t] * (dw[t] - mean) / std::sqrt(width);
        for (int c = 0; c < width; ++c) {
          dv.row(first + t)[c] += w[t] * dy.row(i)[c];
          dq.row(i)[c] += ds * ks.row(first + t)[c];
          dk.row(first + t)[c] += ds * qs.row(i)[c];
        }
      }
    }
    for (auto const& part : {q.backward(dq), k.backward(dk), v.backward(dv)})
      for (std::size_t n = 0; n < dx.values.size(); ++n) dx.values[n] += part.values[n];
    return dx;
  }
};

struct mean_of_tokens : layer {
  using layer::layer;
  matrix forward(matrix const& x) override {
    matrix y(x.rows / tokens, width);
    for (int i = 0; i < x.rows; ++i)
      for (int c = 0; c < width; ++c) y.row(i / tokens)[c] += x.row(i)[c] / tokens;
    return y;
  }
  matrix backward(matrix const& dy) override {
    matrix dx(dy.rows * tokens, width);
    for (int i = 0; i < dx.rows; ++i)
      for (int c = 0; c < width; ++c) dx.row(i)[c] = dy.row(i / tokens)[c] / tokens;
    return dx;
  }
};

struct batch { matrix x{batch_size * tokens, features}; std::vector<int> labels = std::vector<int>(batch_size); };
/// Features of a token: a mark, a class, a constant, noise. The other tokens have a class too, but not that of the
/// sequence.
batch load(std::uint32_t seed, profile::sink trace) {
  profile::scope const timed(trace, "load", {.items = batch_size});
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0, 0.3);
  batch b;
  for (auto& v : b.x.values) v = noise(random);
  for (int s = 0; s < batch_size; ++s) {
    int const marked = static_cast<int>(random() % tokens);
    for (int t = 0; t < tokens; ++t) {
      int const says = static_cast<int>(random() % classes);
      double* const x = b.x.row(s * tokens + t);
      x[0] += t == marked;
      x[1 + says] += 1;
      x[1 + classes] = 1;
      if (t == marked) b.labels[static_cast<std::size_t>(s)] = says;
    }
  }
  return b;
}

/// Mean cross entropy of softmax(y); y becomes its gradient.
double loss_of(matrix& y, std::vector<int> const& labels) {
  double loss = 0;
  for (int i = 0; i < y.rows; ++i) {
    double *const p = y.row(i), most = *std::max_element(p, p + classes), sum = 0;
    for (int c = 0; c < classes; ++c) sum += p[c] = std::exp(p[c] - most);
    for (int c = 0; c < classes; ++c) p[c] /= sum * y.rows;
    double& right = p[labels[static_cast<std::size_t>(i)]];
    loss -= std::log(right * y.rows) / y.rows;
    right -= 1.0 / y.rows;
  }
  return loss;
}

/// Momentum (B. Polyak, 1964), Adam (D. Kingma and J. Ba, arXiv 1412.6980), AdamW (I. Loshchilov and F. Hutter, arXiv
/// 1711.05101).
struct optimiser {
  char const* name;
  double rate, decay;
  bool adaptive;
  std::vector<numbers> first = {}, second = {};  // moments of the gradients
  int steps = 0;

  void update(std::vector<parameter*> const& parameters) {
    ++steps;
    first.resize(parameters.size());
    second.resize(parameters.size());
    double const a = 1 / (1 - std::pow(0.9, steps)), b = 1 / (1 - std::pow(0.999, steps));
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      auto &w = parameters[p]->value.values, &g = parameters[p]->gradient.values, &m = first[p], &v = second[p];
      m.resize(w.size());
      v.resize(w.size());
      for (std::size_t k = 0; k < w.size(); ++k) {
        m[k] = 0.9 * m[k] + (adaptive ? 0.1 : 1) * g[k];
        v[k] = 0.999 * v[k] + 0.001 * g[k] * g[k];
        w[k] -= rate * (adaptive ? a * m[k] / (std::sqrt(b * v[k]) + 1e-8) : m[k]) + rate * decay * w[k];
      }
    }
  }
};
struct network {
  std::vector<std::unique_ptr<layer>> layers;
  std::vector<parameter*> parameters;
  batch here;  // stands in for the device's copy

  network() {
    std::mt19937 random(1);
    layers.push_back(std::make_unique<dense>("embed", features, width, random));
    for (char const* n : {"1", "2"}) {
      layers.push_back(std::make_unique<attention>(std::string("attention ") + n, random));
      layers.push_back(std::make_unique<dense>(std::string("dense ") + n, width, width, random, true));
    }
    layers.push_back(std::make_unique<mean_of_tokens>("mean"));
    layers.push_back(std::make_unique<dense>("classify", width, classes, random));
    for (auto& l : layers)
      for (auto* p : l->parameters()) parameters.push_back(p);
  }
  /// The loss, and its gradient in the parameters.
  double loss(batch const& b, profile::sink trace) {
    profile::scope const timed(trace, "compute", {.items = batch_size});
    {
      profile::scope const copy(trace, "to device",
                                {.bytes = static_cast<index_t>(b.x.values.size() * sizeof(double))});
      here = b;
    }
    matrix y = here.x;
    {
      profile::scope const pass(trace, "forward");
      for (auto& l : layers) {
        profile::scope const part(trace, l->name);
        y = l->forward(y);
      }
    }
    auto const loss = [&] {
      profile::scope const part(trace, "loss");
      return loss_of(y, here.labels);
    }();
    profile::scope const pass(trace, "backward");
    for (auto* p : parameters) std::fill(p->gradient.values.begin(), p->gradient.values.end(), 0.0);
    for (auto l = layers.rbegin(); l != layers.rend(); ++l) {
      profile::scope const part(trace, (*l)->name);
      y = (*l)->backward(y);
    }
    return loss;
  }
};

/// A thread loads data while the previous step computes. Returns the mean loss of the last ten steps.
double train(
    network& net, optimiser& by, int steps, profile::sink trace, std::function<void()> const& at_step = [] {}) {
  batch next = load(0, trace);
  double late = 0;
  for (int k = 0; k < steps; ++k) {
    at_step();  // nothing is loading now
    batch const now = std::move(next);
    auto loading = std::async(std::launch::async, load, static_cast<std::uint32_t>(k + 1), trace);
    double const loss = net.loss(now, trace);
    profile::sample(trace, "loss", loss);
    {
      profile::scope const part(trace, "optimiser");
      by.update(net.parameters);
    }
    if (k >= steps - 10) late += loss / std::min(steps, 10);
    next = loading.get();
  }
  return late;
}

/// Backward against central differences: with h = 1e-5 both truncation, h^2 / 6 times a third derivative, and rounding,
/// 1e-16 / h, are near 1e-11.
bool gradients_are_right() {
  network net;
  batch const b = load(7, {});
  net.loss(b, {});
  std::vector<numbers> exact;
  for (auto* p : net.parameters) exact.push_back(p->gradient.values);
  double worst = 0;
  for (std::size_t p = 0; p < exact.size(); ++p)
    for (std::size_t k = 0; k < exact[p].size(); k += 37) {
      double& w = net.parameters[p]->value.values[k];
      double const old = w, h = 1e-5;
      w = old + h;
      double const up = net.loss(b, {});
      w = old - h;
      double const down = net.loss(b, {});
      w = old;
      worst = std::max(worst, std::abs((up - down) / (2 * h) - exact[p][k]));
    }
  std::printf("gradients differ from finite differences by %.1g at most\n", worst);
  return worst < 1e-9;
}

}  // namespace

int main(int argc, char** argv) {
  output_folder const folder(argc, argv);
  int const steps = argc > 2 ? std::max(std::atoi(argv[2]), 100) : 200;
  bool good = gradients_are_right();
  {  // a few steps, all of them recorded
    profile::session session(folder.path(), "training", {.events = 20'000});
    network net;
    optimiser adam{"Adam", 0.01, 0, true};
    train(net, adam, 10, session);
    std::printf("%s\n", profile::component_table(session.trace()).text().c_str());
    std::printf("%s\n", profile::times_of_pipeline(session.trace(), "load", "compute").text().c_str());
    for (auto const& warning : session.close().warnings) std::puts(warning.c_str());
  }
  std::vector<optimiser> const kinds{
      {"momentum", 0.05, 0, false}, {"Adam", 0.01, 0, true}, {"AdamW", 0.01, 0.01, true}};
  std::vector<profile::variant> variants;
  std::vector<network> nets(kinds.size());
  auto trained = kinds;
  for (std::size_t k = 0; k < kinds.size(); ++k) {  // a long loop, recorded periodically
    profile::periodic_capture capture(folder.path(), kinds[k].name, {.every = steps / 3, .steps = 2, .keep_last = 1});
    double const loss = train(nets[k], trained[k], steps, capture, [&] { capture.step(); });
    std::printf("%-8s loss %.3f after %d steps; kept %zu capture\n", kinds[k].name, loss, steps,
                capture.captures().size());
    good = good && loss < 0.5 * std::log(classes);  // half the loss of guessing
    variants.push_back({kinds[k].name, [&, k] { trained[k].update(nets[k].parameters); }});
  }
  std::fputs(profile::compare_variants(variants).text().c_str(), stdout);
  auto const step = profile::benchmark([&, b = load(1, {})] { return nets[0].loss(b, {}); }, {.runs = 15});
  std::printf("forward and backward, %s\n", step.text().c_str());
  return good ? 0 : 1;
}
