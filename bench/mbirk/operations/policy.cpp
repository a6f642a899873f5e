#include "operations/policy.hpp"

#include <fstream>
#include <string>

#include "mbirk/instrument/tracing.hpp"
#include "mbirk/version.hpp"
#if defined(MBIRK_WITH_NVTX)
#include "mbirk/instrument/nvtx.hpp"
#endif

namespace mbirk::program {
namespace {

#if defined(MBIRK_WITH_CUDA)
constexpr bool with_cuda = true;
#else
constexpr bool with_cuda = false;
#endif

#if defined(MBIRK_WITH_NVTX)
constexpr bool with_nvtx = true;
/// Encloses each call in a range.
caller marked(std::string const& name, caller const& calls) {
  return [name, &calls, marks = instrument::nvtx()](std::function<call_cost()> const& call) {
    calls([&] {
      auto const range = marks.scope({name.c_str()});
      return call();
    });
  };
}
#else
constexpr bool with_nvtx = false;
caller marked(std::string const&, caller const& calls) { return calls; }
#endif

}  // namespace

chosen_policy::chosen_policy(common_options const& options, exec::emulation_options emulation)
    : name_(options.policy), threads_(options.threads), host_(threads_) {
  if (name_ == "emulated") {
    require<unavailable_error>(devices_of_this_program().emulated, [] {
      return std::string(
          "policy emulated is not available here: there is no program mbirk-devices next to mbirk (./mbirk.sh build "
          "devices builds it)");
    });
    emulation.workers = host_.threads();
    device_ = devices_of_this_program().emulated(emulation);
  } else if (name_ == "cuda") {
    require<unavailable_error>(with_cuda, [] {
      return std::string("policy cuda is not available here: this program was built without CUDA");
    });
    require<unavailable_error>(devices_of_this_program().cuda, [] {
      return std::string(
          "policy cuda is not available here: there is no program mbirk-devices next to mbirk (./mbirk.sh build "
          "devices builds it)");
    });
    try {
      device_ = devices_of_this_program().cuda();
    } catch (device_error const& e) {
      throw unavailable_error("policy cuda is not available here: no device can be used: " + std::string(e.what()),
                              e.where);
    }
  }
}

void chosen_policy::check(instrumentation const& what) const {
  require<unavailable_error>(!what.nvtx || with_nvtx, [] {
    return std::string(
        "instrument nvtx is not available here: this program was built without NVTX, which comes with the CUDA "
        "toolkit");
  });
  require<unavailable_error>(!what.profiler_range || name_ == "cuda", [&] {
    return "--cuda-profiler-range is not available under policy " + name_ +
           ": it calls cudaProfilerStart, expected --policy cuda";
  });
  require<unavailable_error>(!what.counts || name_ != "cuda", [&] {
    return std::string(
        "instrument counting is not available under policy cuda, expected --policy emulated, which counts the same "
        "kernels");
  });
}

void chosen_policy::run(operation const& op, any_scan const& scan, operands& x, instrumentation const& what,
                        caller const& calls) const {
  check(what);
  if (device_ && !op.only_on_host) {
    auto const called = what.nvtx && !(device() && what.range.empty())
                            ? marked(what.range.empty() ? op.name : what.range, calls)
                            : calls;
    return device_->run(op, scan, x, {.trace = what.trace, .counts = what.counts, .nvtx = what.nvtx},
                        [&](std::function<call_cost()> const& call) {
                          auto const range = what.profiler_range ? device_->profiler_range() : nullptr;
                          called(call);
                        });
  }
  auto const called = what.nvtx ? marked(what.range.empty() ? op.name : what.range, calls) : calls;
  if (what.counts) op.execute(context{host_, counting(*what.counts)}, scan, x, called);
  else if (what.trace)
    op.execute(context{host_, instrument::any(host_, instrument::tracing(*what.trace))}, scan, x, called);
  else op.execute(context{host_, instrument::any()}, scan, x, called);
}

std::unique_ptr<reconstructor> chosen_policy::recon(recon_context const& on_host,
                                                    instrument::live_sites& memory) const {
  return device_ ? device_->recon(memory) : host_reconstructor(on_host);
}

cuda_description const* chosen_policy::device() const noexcept {
  return device_ ? device_->description() : nullptr;
}

nlohmann::json chosen_policy::environment() const {
  nlohmann::json j{{"backend", name_},
                   {"devices", nlohmann::json::array({cpu_name()})},
                   {"cuda_version", nullptr},
                   {"mbirk_version", version_string},
                   {"compiler",
#if defined(__clang__)
                    "clang " __clang_version__
#else
                    "g++ " __VERSION__
#endif
                   },
                   {"threads", host_.threads()},
                   {"cpu", cpu_name()},
                   {"vector_lanes", simd::native_lanes}};
  if (device()) {
    auto const& d = *device();
    j["devices"] = nlohmann::json::array({d.device});
    j["cuda_version"] = d.runtime;
    j["driver_version"] = d.driver;
    j["compute_capability"] = d.capability;
  }
  return j;
}

std::vector<std::string> policies_of(operation const& op) {
  std::vector<std::string> names{"host"};
  if (op.only_on_host) return names;
  names.push_back("emulated");
  if (with_cuda) names.push_back("cuda");
  return names;
}

std::string cpu_name() {
  std::string line;
  for (std::ifstream info("/proc/cpuinfo"); std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

}  // namespace mbirk::program
