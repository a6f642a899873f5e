// The NVTX policy: a range for every operation, stage and kernel in mbirk's own domain, with a category for each group
// of operations and the work as payload. Requires the header-only nvtx3 of the CUDA toolkit, on any host. Without an
// attached tool, a range costs one pointer test.
#pragma once

#include <nvtx3/nvToolsExtPayload.h>

#include <array>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <nvtx3/nvtx3.hpp>
#include <string_view>
#include <unordered_map>

#include "mbirk/instrument/concepts.hpp"

namespace mbirk::instrument {

/// Categories of ranges; tools can filter by their numbers.
enum class nvtx_category : std::uint32_t {
  projector = 1, filter, reconstruction, denoising, weights, partition, utility, stage, kernel
};

inline constexpr std::array<char const*, 9> nvtx_category_names{
    "projector", "filter", "reconstruction", "denoising", "weights", "partition", "utility", "stage", "kernel"};

/// Group of an operation, derived from its name; `utility` when the name has none of the known parts.
constexpr nvtx_category nvtx_group(std::string_view operation) noexcept {
  struct word { std::string_view part; nvtx_category group; };
  using enum nvtx_category;
  // The first match counts: "gen_weights_mar" comes before "recon", "qggmrf_gradient_and_hessian_at_indices" before
  // "hessian".
  for (auto const& [part, group] :
       {word{"partition", partition}, {"weights", weights}, {"denoise", denoising}, {"qggmrf", denoising},
        {"recon", reconstruction}, {"prox_map", reconstruction}, {"vcd", reconstruction}, {"median", utility},
        {"filter", filter}, {"project", projector}, {"hessian", projector}})
    if (operation.find(part) != std::string_view::npos) return group;
  return utility;
}

class nvtx {
 public:
  /// Domain name as tools use it in their filters. For your own ranges beside mbirk's:
  /// nvtx3::scoped_range_in<instrument::nvtx::domain>.
  struct domain { static constexpr char const* name = "mbirk"; };
  /// Payload of a range, under these names: an operation's author supplies its values; a kernel has its number of tasks
  /// as items.
  struct payload { std::int64_t items, bytes, flops; };

  using policy_category = instrumentation_policy_tag;
  static constexpr std::string_view name = "nvtx";
  static constexpr instrumentation_traits traits{.observes_kernels = true};
  template <class Native> using backend = Native;  // uses the kernels of `none`

  /// Asks NVTX whether a tool is attached, which is decided once per process at its first use. Copies share their
  /// registered names.
  nvtx()
      : names_(nvtx3::domain::get<domain>() ? std::make_shared<registered>(nvtx3::domain::get<domain>()) : nullptr) {}

  /// Range of the thread that opens it; on a device it covers the queuing of work. Tools relate it to the execution on
  /// the device.
  class guard : public no_guard {
   public:
    explicit guard(nvtxDomainHandle_t in) noexcept : in_(in) {}
    ~guard() {
      if (in_) nvtxDomainRangePop(in_);
    }
    guard(guard const&) = delete;
    guard& operator=(guard const&) = delete;

   private:
    nvtxDomainHandle_t in_;
  };
  [[nodiscard]] guard scope(op_info op) const noexcept {
    return names_ ? names_->open(op.name, nvtx_group(op.name), {op.items, op.bytes, op.flops}) : guard(nullptr);
  }
  [[nodiscard]] guard stage(char const* what) const noexcept {
    return names_ ? names_->open(what, nvtx_category::stage, {}) : guard(nullptr);
  }
  template <class Exec> [[nodiscard]] guard kernel(Exec const&, kernel_info const& k) const noexcept {
    return names_ ? names_->open(k.name, nvtx_category::kernel, {k.tasks, 0, 0}) : guard(nullptr);
  }
  void allocated(char const*, index_t) const noexcept {}
  void released(char const*, index_t) const noexcept {}

 private:
  /// Names, categories and the payload schema registered with the tool.
  class registered {
   public:
    explicit registered(nvtxDomainHandle_t in) : in_(in) {
      for (std::uint32_t k = 0; k < nvtx_category_names.size(); ++k)
        nvtxDomainNameCategoryA(in, k + 1, nvtx_category_names[k]);
      std::array<nvtxPayloadSchemaEntry_t, 3> entries{};
      for (std::size_t k = 0; auto const* const field : {"items", "bytes", "flops"}) {
        entries[k].type = NVTX_PAYLOAD_ENTRY_TYPE_INT64;
        entries[k++].name = field;
      }
      nvtxPayloadSchemaAttr_t schema{};
      schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                         NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                         NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
      schema.name = "work";
      schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
      schema.entries = entries.data();
      schema.numEntries = entries.size();
      schema.payloadStaticSize = sizeof(payload);
      schema_ = nvtxPayloadSchemaRegister(in, &schema);
    }

    guard open(char const* name, nvtx_category category, payload const& work) noexcept {
      nvtxEventAttributes_t e{};
      e.version = NVTX_VERSION;
      e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
      e.category = static_cast<std::uint32_t>(category);
      if (auto const known = handle(name)) {
        e.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
        e.message.registered = known;
      } else {
        e.messageType = NVTX_MESSAGE_TYPE_ASCII;
        e.message.ascii = name;
      }
      nvtxPayloadData_t const data{schema_, sizeof work, &work};
      if (work.items != 0 || work.bytes != 0 || work.flops != 0) {
        if (schema_ == 0) {  // the tool does not support payload schemas
          e.payloadType = NVTX_PAYLOAD_TYPE_INT64;
          e.payload.llValue = work.items;
        } else {
          e.payloadType = static_cast<std::int32_t>(NVTX_PAYLOAD_TYPE_EXT);
          e.reserved0 = 1;
          e.payload.ullValue = reinterpret_cast<std::uintptr_t>(&data);
        }
      }
      nvtxDomainRangePushEx(in_, &e);
      return guard(in_);
    }

   private:
    /// Registered name, cached by address because names are literals. Null if the cache cannot allocate.
    nvtxStringHandle_t handle(char const* name) noexcept {
      try {
        std::lock_guard const lock(mutex_);
        auto const [at, fresh] = handles_.try_emplace(name, nullptr);
        if (fresh) at->second = nvtxDomainRegisterStringA(in_, name);
        return at->second;
      } catch (std::exception const&) {
        return nullptr;
      }
    }

    nvtxDomainHandle_t in_;
    std::uint64_t schema_ = 0;
    std::mutex mutex_;
    std::unordered_map<char const*, nvtxStringHandle_t> handles_;
  };

  std::shared_ptr<registered> names_;
};

static_assert(instrumentation_policy<nvtx>);

}  // namespace mbirk::instrument
