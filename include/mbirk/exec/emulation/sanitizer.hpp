// Sanitizer annotations for stacks that take turns on one OS thread. Everything here is empty in an ordinary build.
#pragma once

#include <cstddef>

namespace mbirk::exec::emulation {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool address_sanitizer = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool address_sanitizer = true;
#else
inline constexpr bool address_sanitizer = false;
#endif
#else
inline constexpr bool address_sanitizer = false;
#endif

#if defined(__SANITIZE_THREAD__)
inline constexpr bool thread_sanitizer = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool thread_sanitizer = true;
#else
inline constexpr bool thread_sanitizer = false;
#endif
#else
inline constexpr bool thread_sanitizer = false;
#endif

// The sanitizers' interfaces; other builds do not refer to them.
extern "C" {
void __sanitizer_start_switch_fiber(void** fake_stack, void const* bottom, std::size_t size);
void __sanitizer_finish_switch_fiber(void* fake_stack, void const** old_bottom, std::size_t* old_size);
void __asan_unpoison_memory_region(void const volatile* address, std::size_t size);
void __asan_handle_no_return();
void* __tsan_get_current_fiber();
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
void __tsan_acquire(void* address);
void __tsan_release(void* address);
void AnnotateIgnoreReadsBegin(char const* file, int line);
void AnnotateIgnoreReadsEnd(char const* file, int line);
void AnnotateIgnoreWritesBegin(char const* file, int line);
void AnnotateIgnoreWritesEnd(char const* file, int line);
}

/// Establishes a happens-before edge: everything before the release of `token` is ordered before everything after the
/// acquire.
inline void tsan_release([[maybe_unused]] void* token) {
  if constexpr (thread_sanitizer) __tsan_release(token);
}
inline void tsan_acquire([[maybe_unused]] void* token) {
  if constexpr (thread_sanitizer) __tsan_acquire(token);
}

/// Between hide and show, ThreadSanitizer ignores memory accesses: the fibers of a worker share the emulator on
/// purpose. A fiber that is suspended or ends while hidden would end the program, so the emulator calls show before
/// every switch.
inline void tsan_hide() {
  if constexpr (thread_sanitizer) {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
}
inline void tsan_show() {
  if constexpr (thread_sanitizer) {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
}

/// Hides the memory accesses of a scope from ThreadSanitizer.
struct tsan_hidden {
  tsan_hidden() { tsan_hide(); }
  tsan_hidden(tsan_hidden const&) = delete;
  tsan_hidden& operator=(tsan_hidden const&) = delete;
  ~tsan_hidden() { tsan_show(); }
};

}  // namespace mbirk::exec::emulation
