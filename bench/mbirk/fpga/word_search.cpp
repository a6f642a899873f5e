#include "fpga/word_search.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "mbirk/io/npy.hpp"

namespace mbirk::program {
namespace {

using record::named_arrays;

double largest_of(std::vector<double> const& values) {
  double most = 0;
  for (double const x : values) most = std::max(most, std::abs(x));
  return most;
}
/// Weights of transmission, exp(-x) times a factor in the exponent.
std::vector<double> transmission(std::vector<double> const& sinogram, double factor) {
  std::vector<double> weights;
  for (double const x : sinogram) weights.push_back(std::exp(-factor * std::max(0.0, x)));
  return weights;
}
bool is_weights(record::array const& a) { return a.name == "weights"; }

/// Inputs whose data are replaced by make(array, its values), and whose weights by those that are given.
template <class Make> named_arrays replaced(record::graph const& g, named_arrays inputs,
                                            std::vector<double> const& weights, Make const& make) {
  for (auto const& a : g.arrays) {
    if (a.use != record::array_use::input || a.element != record::type::f32 || !a.is_data()) continue;
    auto& values = inputs.at(a.name);
    if (!is_weights(a)) values = make(values);
    else if (weights.size() == values.size()) values = weights;
  }
  return inputs;
}

/// Values of the sample at evenly spaced places.
std::vector<double> resampled(sinogram_sample const& s, std::size_t count) {
  std::vector<double> out(count);
  for (std::size_t k = 0; k < count; ++k) out[k] = static_cast<double>(s.values[k * s.values.size() / count]);
  return out;
}

}  // namespace

sinogram_sample read_sinogram_sample(std::string const& file) {
  auto const array = read_npy<float>(file);
  require<io_error>(array.shape.size() == 3 && !array.data.empty(), [&] {
    return file + " has " + std::to_string(array.shape.size()) +
           " dimensions, expected a sinogram (views, rows, channels)";
  });
  for (float const x : array.data)
    require<io_error>(std::isfinite(x),
                      [&] { return file + " holds a value that is not finite, expected line integrals"; });
  return {file, {array.shape[0], array.shape[1], array.shape[2]}, {array.data.begin(), array.data.end()}};
}

double error_of_words(record::graph const& g, named_arrays const& inputs, record::fixed_format const& arithmetic,
                      record::fixed_format const& data) {
  return record::relative_error(record::evaluate(g, inputs, arithmetic, data), record::evaluate<double>(g, inputs));
}

found_words search_words(record::graph const& g, named_arrays const& inputs, std::vector<double> const& sinogram,
                         std::optional<sinogram_sample> const& users, double bound) {
  auto const same = [](std::vector<double> const& v) { return v; };
  std::mt19937 random(0);
  auto const noise = [&](std::vector<double> const& like) {
    double const most = largest_of(like);
    std::uniform_real_distribution<double> any(*std::min_element(like.begin(), like.end()) < 0 ? -most : 0, most);
    std::vector<double> out(like.size());
    for (auto& x : out) x = any(random);
    return out;
  };
  // Smooth, with a few steps: neither the phantom nor noise.
  auto const waves = [](std::vector<double> const& like) {
    double const most = largest_of(like);
    std::vector<double> out(like.size());
    for (std::size_t k = 0; k < out.size(); ++k) {
      auto const t = static_cast<double>(k);
      out[k] = most * (0.45 * (1 + std::sin(0.37 * t) * std::cos(0.011 * t)) + (k / 97 % 3 == 0 ? 0.1 : 0));
    }
    return out;
  };
  std::vector<double> uniform(sinogram.size());
  std::uniform_real_distribution<double> between(0.002, 1);
  for (auto& w : uniform) w = between(random);
  found_words found;
  std::vector<named_arrays> sets;
  auto const add = [&](std::string const& name, named_arrays set) {
    found.tried.push_back(name);
    sets.push_back(std::move(set));
  };
  add("phantom, weights exp(-x)", replaced(g, inputs, transmission(sinogram, 1), same));
  add("uniform noise, uniform weights", replaced(g, inputs, uniform, noise));
  if (users) {
    auto const own = resampled(*users, sinogram.size());
    add(users->name, replaced(g, inputs, transmission(own, 1),
                              [&](std::vector<double> const& like) { return like.size() == own.size() ? own : like; }));
  }
  found.lengths = record::find_word_lengths(g, sets, bound);
  // Its weights are smaller than those of the search, as behind a longer path.
  found.unseen = "waves and steps, weights exp(-1.5 x)";
  auto const unseen = replaced(g, inputs, transmission(sinogram, 1.5), waves);
  auto const reference = record::evaluate<double>(g, unseen);
  auto const error = [&] {
    return record::relative_error(record::evaluate(g, unseen, found.lengths.arithmetic, found.lengths.data), reference);
  };
  auto& w = found.lengths;
  auto const raise = [](record::fixed_format& f, double largest) {
    int const whole = static_cast<int>(std::ceil(std::log2(std::max(largest, 1.0)))) + 2, more = whole - f.whole;
    if (more <= 0 || f.width + more > 62) return;
    f.width += more;
    f.whole += more;
  };
  raise(w.arithmetic, reference.largest);
  for (auto const& a : g.arrays)
    if (a.is_data() && unseen.contains(a.name)) raise(w.data, largest_of(unseen.at(a.name)) / 2);
  for (found.unseen_error = error(); w.found && !(found.unseen_error <= bound);) {
    w.found = w.arithmetic.width < 62 && w.data.width < 62;
    if (!w.found) break;
    ++w.arithmetic.width;
    ++w.data.width;
    found.unseen_error = error();
  }
  return found;
}

}  // namespace mbirk::program
