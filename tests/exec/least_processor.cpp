#include "exec/own_lanes.hpp"

namespace mbirk::test {

int lanes_of_least_processor() { return lanes_that_run(exec::host{1}); }

}  // namespace mbirk::test
