#include <mbirk/mbirk.hpp>
