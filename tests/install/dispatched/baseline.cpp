#include "calls.hpp"

results call_from_baseline() { return call(); }
