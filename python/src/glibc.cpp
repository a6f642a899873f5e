// hypot, from where glibc 2.34 has it too. Version 2.35 has another symbol, which reports errors without errno; the
// results are the same. Linked with --wrap=hypot, see python/CMakeLists.txt.
extern "C" {

double oldest_hypot(double x, double y);
__asm__(".symver oldest_hypot, hypot@GLIBC_2.2.5");

double __wrap_hypot(double x, double y);  // NOLINT: the name that the linker wants
double __wrap_hypot(double x, double y) { return oldest_hypot(x, y); }
}
