#include "output/device_trace.hpp"

#if defined(MBIRK_WITH_CUPTI)
#include "mbirk/profile/cupti.hpp"
#endif

namespace mbirk::program {

#if defined(MBIRK_WITH_CUPTI)
struct device_trace::collector : profile::cupti_collector {
  using cupti_collector::cupti_collector;
};
#else
struct device_trace::collector {};
#endif

device_trace::device_trace(std::size_t capacity, bool cupti) : marks_(capacity), merged_(cupti ? capacity : 0) {
  if (!cupti) return;
#if defined(MBIRK_WITH_CUPTI)
  try {
    collector_ = std::make_unique<collector>(marks_, capacity);
  } catch (profile::cupti_unavailable const& e) {
    note_ = e.what();
  }
#else
  note_ = "this program was built without CUPTI, which comes with the CUDA toolkit";
#endif
}
device_trace::~device_trace() = default;

call_cost device_trace::traced([[maybe_unused]] std::string const& name, std::function<call_cost()> const& call) {
#if defined(MBIRK_WITH_CUPTI)
  if (collector_) {
    collector_->start();
    call_cost cost;
    {
      auto const range = collector_->range(name);
      cost = call();  // waits for the queued work
    }
    collector_->stop();
    return cost;
  }
#endif
  return call();
}

instrument::trace_buffer const& device_trace::finished() {
  marks_.finish();
#if defined(MBIRK_WITH_CUPTI)
  if (collector_) {
    merged_.clear();
    collector_->merge(marks_, merged_);
    return merged_;
  }
#endif
  return marks_;
}

}  // namespace mbirk::program
