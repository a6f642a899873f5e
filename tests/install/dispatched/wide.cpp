#include "calls.hpp"

results call_from_wide() { return call(); }
