// Checks by type: without instrumentation a context is its execution policy, and a kernel reads and writes through
// plain pointers.
#include <utility>

#include "mbirk/launch.hpp"
#include "mbirk/exec/host.hpp"
#include "mbirk/instrument/none.hpp"
#include "mbirk/instrument/tracing.hpp"

namespace {

using namespace mbirk;
using plain = context<exec::host, instrument::none>;
using traced = context<exec::host, instrument::tracing>;

static_assert(std::is_empty_v<instrument::none> && std::is_trivially_copyable_v<instrument::none>);
static_assert(std::is_empty_v<instrument::none::guard> && std::is_trivially_destructible_v<instrument::none::guard>);
static_assert(sizeof(plain) == sizeof(exec::host), "the policy takes no room");
static_assert(std::is_trivially_copyable_v<plain>);

static_assert(std::is_same_v<plain::backend, simd::native_backend>, "kernels are those of the machine");
static_assert(std::is_same_v<traced::backend, plain::backend>, "and tracing does not add a second copy of them");
static_assert(std::is_same_v<plain::backend::cursor<float>, float*>);
static_assert(std::is_same_v<plain::backend::cursor<float const>, float const*>);

template <class Context> using cursor_of =
    decltype(observe(std::declval<Context const&>(), view<float, 3>{}, "", array_role::output));
static_assert(std::is_same_v<cursor_of<plain>, float*>);
static_assert(std::is_same_v<cursor_of<traced>, float*>);

}  // namespace
