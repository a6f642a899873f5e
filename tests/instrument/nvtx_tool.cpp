// A tool that NVTX loads when NVTX_INJECTION64_PATH names it: it stores all calls for nvtx_test.cpp, and writes its
// ranges to MBIRK_NVTX_TOOL_LOG when the process ends. A shared module of its own.
#include "instrument/nvtx_tool.hpp"

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>

namespace {

mbirk::testing::nvtx_tool_record record;
std::deque<std::string> texts;  // their addresses are the handles
constexpr std::uint64_t our_schema = 4711;

struct log_at_end {
  ~log_at_end() {
    auto const* const file = std::getenv("MBIRK_NVTX_TOOL_LOG");
    if (!file) return;
    std::ofstream out(file);
    for (auto const& r : record.ranges) out << record.categories[r.category] << ' ' << r.name << '\n';
  }
} const log;

nvtxDomainHandle_t domain_create(char const* name) {
  record.domains.emplace_back(name);
  return reinterpret_cast<nvtxDomainHandle_t>(&record);
}
void name_category(nvtxDomainHandle_t, std::uint32_t id, char const* name) { record.categories[id] = name; }
nvtxStringHandle_t register_string(nvtxDomainHandle_t, char const* text) {
  ++record.registrations[text];
  return reinterpret_cast<nvtxStringHandle_t>(&texts.emplace_back(text));
}
int push(nvtxDomainHandle_t, nvtxEventAttributes_t const* e) {
  bool const registered = e->messageType == NVTX_MESSAGE_TYPE_REGISTERED;
  mbirk::testing::nvtx_tool_record::range r{
      registered ? *reinterpret_cast<std::string const*>(e->message.registered) : e->message.ascii,
      registered,
      e->category,
      record.open++,
      {},
      false};
  if (e->payloadType == NVTX_PAYLOAD_TYPE_INT64) r.payload = {e->payload.llValue};
  if (static_cast<std::uint32_t>(e->payloadType) == static_cast<std::uint32_t>(NVTX_PAYLOAD_TYPE_EXT) &&
      e->reserved0 == 1) {
    auto const* const data =
        reinterpret_cast<nvtxPayloadData_t const*>(static_cast<std::uintptr_t>(e->payload.ullValue));
    r.extended = data->schemaId == our_schema;
    r.payload.resize(data->size / sizeof(std::int64_t));
    std::memcpy(r.payload.data(), data->payload, r.payload.size() * sizeof(std::int64_t));
  }
  record.ranges.push_back(r);
  return r.depth;
}
int pop(nvtxDomainHandle_t) { return --record.open; }
std::uint64_t register_schema(nvtxDomainHandle_t, nvtxPayloadSchemaAttr_t const* schema) {
  record.fields.clear();
  for (std::size_t k = 0; k < schema->numEntries; ++k) record.fields.emplace_back(schema->entries[k].name);
  return our_schema;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) mbirk::testing::nvtx_tool_record* mbirk_nvtx_tool_record() { return &record; }

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t tables) {
  auto const* const callbacks = static_cast<NvtxExportTableCallbacks const*>(tables(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) ||
      size <= NVTX_CBID_CORE2_DomainCreateA)
    return 0;
  auto const set = [&](int id, auto function) { *table[id] = reinterpret_cast<NvtxFunctionPointer>(function); };
  set(NVTX_CBID_CORE2_DomainCreateA, &domain_create);
  set(NVTX_CBID_CORE2_DomainNameCategoryA, &name_category);
  set(NVTX_CBID_CORE2_DomainRegisterStringA, &register_string);
  set(NVTX_CBID_CORE2_DomainRangePushEx, &push);
  set(NVTX_CBID_CORE2_DomainRangePop, &pop);
  return 1;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t* module) {
  if (module->moduleId != NVTX_EXT_PAYLOAD_MODULEID) return 0;
  module->segments[0].functionSlots[NVTX3EXT_CBID_nvtxPayloadSchemaRegister] =
      reinterpret_cast<std::intptr_t>(&register_schema);
  return 1;
}
}
