#include <mbirk/mbirk.hpp>

#if defined(MBIRK_COMPILED)
#error "The headers are tested without the instances of mbirk::compiled, which include more"
#endif

int second();
int second() { return 0; }
