#include <mbirk/mbirk.hpp>

int second();

int main() { return second(); }
