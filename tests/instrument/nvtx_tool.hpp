// Calls recorded by the tool of nvtx_tool.cpp, for queries by the test.
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
    int depth;                        ///< number of enclosing ranges
    std::vector<std::int64_t> payload;  ///< in our layout, or a single number
    bool extended;
  };
  std::vector<std::string> domains;
  std::map<std::uint32_t, std::string> categories;
  std::map<std::string, int> registrations;
  std::vector<std::string> fields;  ///< fields of the payload layout
  std::vector<range> ranges;        ///< in the order in which they were opened
  int open = 0;                     ///< open ranges of all threads; the test opens ranges on one
};

}  // namespace mbirk::testing
