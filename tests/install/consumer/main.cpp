#include <cstdio>
#include <mbirk/mbirk.hpp>
#include <mbirk/version.hpp>

int main() { std::printf("%.*s\n", static_cast<int>(mbirk::version_string.size()), mbirk::version_string.data()); }
