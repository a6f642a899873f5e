// What the tool of nvtx_tool.cpp has seen, as the test asks it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace mbirk::testing {

struct nvtx_tool_record {
  struct range {
    std::string name;
    bool registered;
    std::uint32_t category;
    int depth;                        ///< how many ranges it lies in
    std::vector<std::int64_t> payload;  ///< of our layout, or the one number
    bool extended;
  };
  std::vector<std::string> domains;
  std::map<std::uint32_t, std::string> categories;
  std::map<std::string, int> registrations;
  std::vector<std::string> fields;  ///< of the layout of payloads
  std::vector<range> ranges;        ///< in the order in which they were opened
  int open = 0;                     ///< of all threads; the test opens ranges on one
};

}  // namespace mbirk::testing
