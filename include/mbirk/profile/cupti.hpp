// Kernels, copies and graph nodes from CUPTI's activity records, for a traced run on CUDA. The library is loaded at run
// time: its headers provide types only and nothing is linked. Without the library or a device, the collector throws an
// error that says why; the marks in the stream (exec::cuda) are then the only source.
#pragma once

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <vector>

#include "mbirk/core/error.hpp"
#include "mbirk/profile/cupti_activity.hpp"

namespace mbirk::profile {

/// CUPTI cannot be used here; what() gives the reason.
struct cupti_unavailable : error { using error::error; };

/// The functions of CUPTI that are used. A test may substitute its own.
struct cupti_functions {
  decltype(&cuptiGetVersion) get_version = nullptr;
  decltype(&cuptiGetResultString) get_result_string = nullptr;
  decltype(&cuptiGetTimestamp) get_timestamp = nullptr;
  decltype(&cuptiGetCallbackName) get_callback_name = nullptr;
  decltype(&cuptiSubscribe_v2) subscribe = nullptr;
  decltype(&cuptiUnsubscribe) unsubscribe = nullptr;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityDisable) disable = nullptr;
  decltype(&cuptiActivityFlushAll) flush_all = nullptr;
  decltype(&cuptiActivityGetNextRecord) get_next_record = nullptr;
  decltype(&cuptiActivityGetNumDroppedRecords) get_num_dropped = nullptr;
  decltype(&cuptiActivityPushExternalCorrelationId) push_external = nullptr;
  decltype(&cuptiActivityPopExternalCorrelationId) pop_external = nullptr;

  /// @throws cupti_unavailable when the call failed.
  void check(CUptiResult status, char const* call, source_location w = source_location::current()) const {
    if (status == CUPTI_SUCCESS) return;
    char const* text = nullptr;
    bool const named = get_result_string(status, &text) == CUPTI_SUCCESS && text;
    throw cupti_unavailable(std::string(call) + ": " + (named ? text : "error") + " (" +
                                std::to_string(static_cast<int>(status)) + ')' +
                                (status == CUPTI_ERROR_UNKNOWN ? ", as where there is no device or driver" : ""),
                            w);
  }
};

/// Loads the library of the toolkit used for compilation, or a later one of the same major version. It stays loaded.
/// @throws cupti_unavailable when it is not found, too old, or lacks a function.
inline cupti_functions load_cupti() {
  std::string const major = "libcupti.so." + std::to_string(CUPTI_API_VERSION / 10000);
  void* library = nullptr;
  for (auto const& name : {major, std::string("libcupti.so"), "/usr/local/cuda/lib64/" + major,
                           "/usr/local/cuda/extras/CUPTI/lib64/" + major})
    if (!library) library = dlopen(name.c_str(), RTLD_NOW);
  require<cupti_unavailable>(library != nullptr, [&] {
    return major + " is not found; is the CUDA toolkit's library folder in LD_LIBRARY_PATH?";
  });
  cupti_functions f;
  auto const find = [&]<class F>(F& to, char const* name) {
    to = reinterpret_cast<F>(dlsym(library, name));
    require<cupti_unavailable>(to != nullptr, [&] { return "libcupti has no function " + std::string(name); });
  };
  find(f.get_version, "cuptiGetVersion");
  find(f.get_result_string, "cuptiGetResultString");
  find(f.get_timestamp, "cuptiGetTimestamp");
  find(f.get_callback_name, "cuptiGetCallbackName");
  find(f.subscribe, "cuptiSubscribe_v2");
  find(f.unsubscribe, "cuptiUnsubscribe");
  find(f.register_callbacks, "cuptiActivityRegisterCallbacks");
  find(f.enable, "cuptiActivityEnable");
  find(f.disable, "cuptiActivityDisable");
  find(f.flush_all, "cuptiActivityFlushAll");
  find(f.get_next_record, "cuptiActivityGetNextRecord");
  find(f.get_num_dropped, "cuptiActivityGetNumDroppedRecords");
  find(f.push_external, "cuptiActivityPushExternalCorrelationId");
  find(f.pop_external, "cuptiActivityPopExternalCorrelationId");
  std::uint32_t version = 0;
  f.check(f.get_version(&version), "cuptiGetVersion");
  require<cupti_unavailable>(version >= CUPTI_API_VERSION, [&] {
    return "libcupti has API version " + std::to_string(version) + ", expected at least " +
           std::to_string(CUPTI_API_VERSION);
  });
  return f;
}

/// Collects up to `capacity` records between start() and stop(): kernels of every thread and library of the process.
/// CUPTI allows one client per process, so there is one collector at a time.
class cupti_collector {
 public:
  /// @param clock  trace to whose clock times are converted; must outlive the collector.
  /// @throws cupti_unavailable without a library or device, or when another client is active, which the message names
  /// (Nsight Systems, Nsight Compute, a debugger, ...).
  explicit cupti_collector(instrument::trace_buffer& clock, std::size_t capacity = std::size_t{1} << 16,
                           cupti_functions const& functions = load_cupti())
      : clock_(clock), f_(functions), capacity_(capacity) {
    cupti_collector* nobody = nullptr;
    require<cupti_unavailable>(active().compare_exchange_strong(nobody, this),
                               [] { return std::string("another collector of this program is in use"); });
    try {
      subscribe();
      f_.check(f_.register_callbacks(&buffer_requested, &buffer_completed), "cuptiActivityRegisterCallbacks");
      enable();  // fail here on a machine without a device
      disable();
    } catch (...) {
      leave();
      throw;
    }
  }
  ~cupti_collector() {
    if (running_) disable();
    leave();
  }
  cupti_collector(cupti_collector const&) = delete;
  cupti_collector& operator=(cupti_collector const&) = delete;

  /// Starts collecting; may be called again after stop(), which keeps the records.
  /// @throws cupti_unavailable
  void start() {
    if (times_.first.cupti == 0) times_.first = reading();
    enable();
    running_ = true;
  }
  /// The device must be idle: synchronise the stream first.
  void stop() {
    if (!running_) return;
    running_ = false;
    times_.last = reading();
    disable();
  }

  /// During its lifetime, device work requested by this thread belongs to the named range. Ranges nest.
  class range_guard {
   public:
    range_guard(cupti_functions const& f, bool open) noexcept : f_(f), open_(open) {}
    ~range_guard() {
      std::uint64_t last = 0;
      if (open_) f_.pop_external(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last);
    }
    range_guard(range_guard const&) = delete;
    range_guard& operator=(range_guard const&) = delete;

   private:
    cupti_functions const& f_;
    bool open_;
  };
  [[nodiscard]] range_guard range(std::string name) {
    auto const id = clock_.new_id();
    {
      std::lock_guard const lock(mutex_);
      ranges_.ranges[id] = {std::move(name), clock_.track()};
    }
    return {f_, f_.push_external(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, id) == CUPTI_SUCCESS};
  }

  /// Merges the records with merge_cupti; call after stop(). Records that did not fit are counted as dropped events of
  /// `into`.
  void merge(instrument::trace_buffer const& marked, instrument::trace_buffer& into) const {
    std::lock_guard const lock(mutex_);
    merge_cupti(marked, found_, ranges_, times_, into);
    for (std::uint64_t k = 0; k < dropped_; ++k) into.lost();
  }
  std::size_t records() const {
    std::lock_guard const lock(mutex_);
    return found_.size();
  }

 private:
  // Without GRAPH_TRACE each node of a graph is a separate kernel record. KERNEL instead of CONCURRENT_KERNEL would
  // serialise kernels.
  static constexpr std::array kinds{CUPTI_ACTIVITY_KIND_DEVICE,  CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                    CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                    CUPTI_ACTIVITY_KIND_MEMCPY,  CUPTI_ACTIVITY_KIND_MEMSET,
                                    CUPTI_ACTIVITY_KIND_MEMORY2};

  /// The current collector; CUPTI's buffer callbacks take no user argument.
  static std::atomic<cupti_collector*>& active() noexcept {
    static std::atomic<cupti_collector*> one{nullptr};
    return one;
  }
  void leave() noexcept {
    if (subscriber_) f_.unsubscribe(subscriber_);
    active() = nullptr;
  }

  void subscribe() {
    std::array<char, 2 * CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN> other{};
    CUpti_SubscriberParams params{};
    params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
    params.subscriberName = "mbirk";
    params.oldSubscriberName = other.data();
    params.oldSubscriberSize = other.size() - 1;
    auto const status = f_.subscribe(
        &subscriber_, [](void*, CUpti_CallbackDomain, CUpti_CallbackId, void const*) {}, nullptr, &params);
    if (status != CUPTI_SUCCESS) subscriber_ = nullptr;
    require<cupti_unavailable>(status != CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, [&] {
      return "another tool uses CUPTI: " + std::string(other[0] ? other.data() : "its name is not known");
    });
    f_.check(status, "cuptiSubscribe_v2");
  }
  void enable() {
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      auto const status = f_.enable(kinds[k]);
      if (status == CUPTI_SUCCESS) continue;
      while (k-- > 0) f_.disable(kinds[k]);
      f_.check(status, "cuptiActivityEnable");
    }
  }
  void disable() noexcept {
    f_.flush_all(0);
    for (auto const kind : kinds) f_.disable(kind);
    f_.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  }
  /// The closest of several pairs of readings, because the thread may be interrupted between two readings.
  cupti_clock::pair reading() const {
    cupti_clock::pair best;
    std::int64_t width = 0;
    for (int k = 0; k < 9; ++k) {
      std::uint64_t cupti = 0;
      auto const before = clock_.now();
      f_.check(f_.get_timestamp(&cupti), "cuptiGetTimestamp");
      auto const after = clock_.now();
      if (k == 0 || after - before < width) {
        best = {cupti, before + (after - before) / 2};
        width = after - before;
      }
    }
    return best;
  }

  static void CUPTIAPI buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
    constexpr std::size_t bytes = std::size_t{1} << 20, alignment = 8;
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(alignment, bytes));
    // No limit on the number of records.
    *size = *buffer ? bytes : 0;
    *max_records = 0;
  }
  static void CUPTIAPI buffer_completed(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                                        std::size_t valid) {
    if (auto* const to = active().load()) to->read(context, stream, buffer, valid);
    std::free(buffer);
  }
  void read(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t valid) noexcept {
    std::lock_guard const lock(mutex_);
    std::size_t lost = 0;
    if (f_.get_num_dropped(context, stream, &lost) == CUPTI_SUCCESS) dropped_ += lost;
    for (CUpti_Activity* record = nullptr; valid > 0 && f_.get_next_record(buffer, valid, &record) == CUPTI_SUCCESS;)
      try {
        note(*record);
      } catch (std::exception const&) { ++dropped_; }
  }
  template <class Record> static Record const& as(CUpti_Activity const& record) noexcept {
    return reinterpret_cast<Record const&>(record);
  }
  void note(CUpti_Activity const& record) {
    switch (record.kind) {
      case CUPTI_ACTIVITY_KIND_DEVICE: {
        auto const& d = as<CUpti_ActivityDevice5>(record);
        devices_[d.id] = d;
        break;
      }
      case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
        auto const& e = as<CUpti_ActivityExternalCorrelation>(record);
        if (e.externalKind == CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0) ranges_.of_call[e.correlationId] = e.externalId;
        break;
      }
      case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      case CUPTI_ACTIVITY_KIND_KERNEL: {
        auto const& k = as<CUpti_ActivityKernel10>(record);
        auto const device = devices_.find(k.deviceId);
        keep(activity_of(k, device == devices_.end() ? nullptr : &device->second));
        break;
      }
      case CUPTI_ACTIVITY_KIND_MEMCPY: keep(activity_of(as<CUpti_ActivityMemcpy6>(record))); break;
      case CUPTI_ACTIVITY_KIND_MEMSET: keep(activity_of(as<CUpti_ActivityMemset4>(record))); break;
      case CUPTI_ACTIVITY_KIND_MEMORY2: keep(activity_of(as<CUpti_ActivityMemory4>(record))); break;
      case CUPTI_ACTIVITY_KIND_RUNTIME: {
        auto const& call = as<CUpti_ActivityAPI>(record);
        char const* name = nullptr;
        bool const named = f_.get_callback_name(CUPTI_CB_DOMAIN_RUNTIME_API, call.cbid, &name) == CUPTI_SUCCESS && name;
        keep(activity_of(call, named ? name : "CUDA runtime"));
        break;
      }
      default: break;
    }
  }
  void keep(cupti_activity&& a) {
    if (found_.size() < capacity_) found_.push_back(std::move(a));
    else ++dropped_;
  }

  instrument::trace_buffer& clock_;
  cupti_functions const f_;
  std::size_t const capacity_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  bool running_ = false;
  cupti_clock times_;
  mutable std::mutex mutex_;
  std::vector<cupti_activity> found_;
  cupti_ranges ranges_;
  std::map<std::uint32_t, CUpti_ActivityDevice5> devices_;
  std::uint64_t dropped_ = 0;
};

}  // namespace mbirk::profile
