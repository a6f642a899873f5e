// References to shared memory that check every access.
#pragma once

#include <atomic>
#include <cstddef>
#include <type_traits>

#include "mbirk/exec/emulation/block_emulator.hpp"

namespace mbirk::exec::emulation {

/// Proxy for T& into shared memory. Read its value into a named scalar: `float const y = t(i, j);`.
template <class T> class element {
 public:
  element(T* at, source_location where) noexcept : at_(at), where_(where) {}
  element(element const&) = default;

  operator T() const { return get(); }
  element const& operator=(T const& x) const {
    set(x);
    return *this;
  }
  element const& operator=(element const& other) const {  // assigns the referenced value
    set(other.get());
    return *this;
  }
  element& operator=(element const& other) {
    set(other.get());
    return *this;
  }
  element const& operator+=(T const& x) const { return *this = static_cast<T>(get() + x); }
  element const& operator-=(T const& x) const { return *this = static_cast<T>(get() - x); }
  element const& operator*=(T const& x) const { return *this = static_cast<T>(get() * x); }
  element const& operator/=(T const& x) const { return *this = static_cast<T>(get() / x); }
  element const& operator|=(T const& x) const { return *this = static_cast<T>(get() | x); }
  element const& operator&=(T const& x) const { return *this = static_cast<T>(get() & x); }
  element const& operator^=(T const& x) const { return *this = static_cast<T>(get() ^ x); }
  element const& operator++() const { return *this = static_cast<T>(get() + 1); }
  element const& operator--() const { return *this = static_cast<T>(get() - 1); }
  /// Adds 1; several threads may do so without a barrier.
  void count() const {
    running->touch(at_, sizeof(T), access::count, where_);
    std::atomic_ref(*at_).fetch_add(1, std::memory_order_relaxed);
  }

 private:
  T get() const {
    running->touch(at_, sizeof(T), access::read, where_);
    if constexpr (thread_sanitizer) {
      if (running->checks_races()) return unseen_load(at_);
    }
    return *at_;
  }
  void set(T const& x) const {
    running->touch(at_, sizeof(T), access::write, where_);
    if constexpr (thread_sanitizer) {
      if (running->checks_races()) return unseen_store(at_, x);
    }
    *at_ = x;
  }
  // Otherwise the emulator and ThreadSanitizer would both report the race, and ThreadSanitizer's report ends a test
  // that expects the emulator's.
  static T unseen_load(T const* at) {
    tsan_hidden const h;
    return *at;
  }
  static void unseen_store(T* at, T const& x) {
    tsan_hidden const h;
    *at = x;
  }

  T* at_;
  source_location where_;
};

/// Target of an asynchronous copy: an element of a tile and the number of elements from it to the end.
template <class T> struct place {
  T* at;
  std::size_t room;
};

/// Shared memory with constant extents; the last index varies fastest. Each index is checked against its own extent.
template <class T, int... N> class tile {
  static constexpr int dimensions = sizeof...(N);
  static constexpr int extents[] = {N...};
  static constexpr std::size_t elements = (static_cast<std::size_t>(N) * ... * 1);
  static_assert(dimensions >= 1 && dimensions <= 4, "a tile has one to four dimensions");
  static_assert(((N > 0) && ...), "extents are positive");
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>,
                "shared memory holds plain values");

 public:
  using value_type = T;

  element<T> operator()(int i, source_location where = source_location::current()) requires(dimensions == 1) {
    return {at(where, i), where};
  }
  element<T> operator()(int i, int j, source_location where = source_location::current()) requires(dimensions == 2) {
    return {at(where, i, j), where};
  }
  element<T> operator()(int i, int j, int k,
                        source_location where = source_location::current()) requires(dimensions == 3) {
    return {at(where, i, j, k), where};
  }
  element<T> operator()(int i, int j, int k, int l,
                        source_location where = source_location::current()) requires(dimensions == 4) {
    return {at(where, i, j, k, l), where};
  }

  /// Start of a copy.
  place<T> from(int i, source_location where = source_location::current()) requires(dimensions == 1) {
    return to_end(at(where, i));
  }
  place<T> from(int i, int j, source_location where = source_location::current()) requires(dimensions == 2) {
    return to_end(at(where, i, j));
  }
  place<T> from(int i, int j, int k, source_location where = source_location::current()) requires(dimensions == 3) {
    return to_end(at(where, i, j, k));
  }
  place<T> from(int i, int j, int k, int l,
                source_location where = source_location::current()) requires(dimensions == 4) {
    return to_end(at(where, i, j, k, l));
  }

 private:
  template <class... I> T* at(source_location where, I... index) {
    std::size_t offset = 0;
    int d = 0;
    auto const add = [&](int i) {
      if (static_cast<unsigned>(i) >= static_cast<unsigned>(extents[d])) [[unlikely]] {
        running->fail(where, "index %d of dimension %d lies outside 0 .. %d of a tile", i, d, extents[d] - 1);
      }
      offset = offset * static_cast<std::size_t>(extents[d]) + static_cast<std::size_t>(i);
      ++d;
    };
    (add(index), ...);
    return elements_ + offset;
  }
  place<T> to_end(T* p) noexcept { return {p, static_cast<std::size_t>(elements_ + elements - p)}; }

  T elements_[elements];
};

}  // namespace mbirk::exec::emulation
