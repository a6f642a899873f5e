// Implementation for the program mbirk, which has no device policies of its own.
#include "operations/device_factories.hpp"

namespace mbirk::program {

device_factories const& devices_of_this_program() {
  static device_factories const none;
  return none;
}

}  // namespace mbirk::program
