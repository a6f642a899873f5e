// Operations under the policies that only `mbirk bench --overhead` measures: the cheapest level of counting, and NVTX on the host where the CUDA toolkit
// has its headers.
#include "operations/operation_bodies.hpp"
#include "operations/overhead.hpp"
#include "operations/run_body.hpp"

#if __has_include(<nvtx3/nvtx3.hpp>)
#include "mbirk/instrument/nvtx.hpp"
#endif

namespace mbirk::program {
namespace {

/// Runs that of the bodies which has the name.
template <class... Bodies, class Instr>
bool run_one_of(std::string_view name, context<exec::host, Instr> const& ctx, any_scan const& scan, operands& x, caller const& calls) {
  return ((name == Bodies::name && (run_body<Bodies>(ctx, scan, x, calls), true)) || ...);
}

}  // namespace

bool run_under(std::string_view policy, operation const& op, exec::host const& host, any_scan const& scan, operands& x, caller const& calls) {
  using namespace body;
  instrument::ledger counts;
  if (policy == "operations") {
    context const ctx{host, instrument::counting<instrument::level::operations>{counts}};
    return run_one_of<forward_project, back_project, median_filter3d>(op.name, ctx, scan, x, calls);
  }
#if __has_include(<nvtx3/nvtx3.hpp>)
  if (policy == "nvtx") {
    context const ctx{host, instrument::nvtx{}};
    return run_one_of<forward_project, back_project, direct_filter, recon, qggmrf_denoise, median_filter3d>(op.name, ctx, scan, x, calls);
  }
#endif
  return false;
}

}  // namespace mbirk::program
