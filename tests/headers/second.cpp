#include <mbirk/mbirk.hpp>

int second();
int second() { return 0; }
