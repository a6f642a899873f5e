// Functions for numpy_test.py: mbirk's tensors for numpy, and numpy's for mbirk. The structs are the test's own; numpy
// reading them proves them right.
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "interop/dlpack_structs.hpp"
#include "mbirk/exec/host.hpp"
#include "mbirk/interop/dlpack.hpp"

namespace {

using namespace mbirk;
int alive = 0;
std::string last_message;

/// Elements that report their destruction.
struct owner {
  explicit owner(std::vector<float> d) : data(std::move(d)) { ++alive; }
  owner(owner&& other) noexcept : data(std::move(other.data)) { ++alive; }
  ~owner() { --alive; }
  std::vector<float> data;
};

/// 0, 1, 2 ... 23 in rows of 6, of which 4 are visible.
template <class Managed, class T> void* lend() {
  owner elements(std::vector<float>(24));
  std::iota(elements.data.begin(), elements.data.end(), 0.0f);
  view<T, 2> const v(elements.data.data(), {4, 4}, {6, 1});
  return to_dlpack<Managed>(exec::host{}, v, std::move(elements)).release();
}
template <class Managed> double take(void* tensor, bool write) {
  auto const t = from_dlpack(static_cast<Managed*>(tensor));
  auto const v = t.template as_view<float const, 2>(exec::host{});
  double sum = 0;
  for (index_t i = 0; i < v.extent(0); ++i)
    for (index_t j = 0; j < v.extent(1); ++j) sum += v(i, j);
  if (write) t.template as_view<float, 2>(exec::host{})(0, 1) = 42;
  return sum;
}

}  // namespace

extern "C" {
void* mbirk_lend() { return lend<test::dl_managed, float>(); }
void* mbirk_lend_versioned(int read_only) {
  return read_only ? lend<test::dl_managed_versioned, float const>() : lend<test::dl_managed_versioned, float>();
}
int mbirk_alive() { return alive; }
/// The sum of the tensor's elements; NaN if it was refused.
double mbirk_take(void* tensor, int versioned, int write) {
  try {
    return versioned ? take<test::dl_managed_versioned>(tensor, write != 0)
                     : take<test::dl_managed>(tensor, write != 0);
  } catch (error const& e) {
    last_message = e.what();
    return std::nan("");
  }
}
char const* mbirk_message() { return last_message.c_str(); }
}
