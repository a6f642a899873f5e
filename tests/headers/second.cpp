#include <mbirk/mbirk.hpp>

#if defined(MBIRK_COMPILED)
#error "chains.py leaves out what headers include where MBIRK_COMPILED is defined"
#endif

int second();
int second() { return 0; }
