// Errors that every rank throws: a rank that failed alone would leave the others waiting for it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "mbirk/distributed/communicator.hpp"

namespace mbirk::distributed {
namespace detail {

/// The errors that keep their type when another rank throws them.
enum class failure : std::int64_t { none, other, shape, parameter, index, io, allocation, thread, device };

struct failed { failure kind = failure::none; std::string what; };

/// The exception that f throws.
template <class F> failed failure_of(F const& f) {
  try {
    f();
    return {};
  } catch (shape_error const& e) {
    return {failure::shape, e.what()};
  } catch (parameter_error const& e) {
    return {failure::parameter, e.what()};
  } catch (index_error const& e) {
    return {failure::index, e.what()};
  } catch (io_error const& e) {
    return {failure::io, e.what()};
  } catch (allocation_error const& e) {
    return {failure::allocation, e.what()};
  } catch (thread_error const& e) {
    return {failure::thread, e.what()};
  } catch (device_error const& e) {
    return {failure::device, e.what()};
  } catch (communication_error const&) {
    throw;  // nothing can be agreed upon
  } catch (std::bad_alloc const&) {
    return {failure::allocation, "out of memory"};
  } catch (std::exception const& e) {
    return {failure::other, e.what()};
  } catch (...) {
    return {failure::other, "an exception of an unknown kind"};
  }
}

[[noreturn]] inline void throw_failure(failed const& f) {
  auto const here = source_location::current();
  switch (f.kind) {
    case failure::shape: throw shape_error(f.what, here);
    case failure::parameter: throw parameter_error(f.what, here);
    case failure::index: throw index_error(f.what, here);
    case failure::io: throw io_error(f.what, here);
    case failure::allocation: throw allocation_error(f.what, here);
    case failure::thread: throw thread_error(f.what, here);
    case failure::device: throw device_error(f.what, here);
    default: throw error(f.what, here);
  }
}

}  // namespace detail

/// Calls f on every rank. If it throws on some of them, every rank throws what the first of them did, with its type
/// where that is an error of mbirk; the text names that rank unless all have failed. Collective; f may not communicate.
template <communicator C, class F> void agree(C const& c, F const& f) {
  auto mine = detail::failure_of(f);
  bool const here = mine.kind != detail::failure::none;
  std::array<std::int64_t, 2> first_and_all{here ? c.rank() : c.size(), here ? 1 : 0};
  c.all_reduce("agreement", first_and_all, reduction::minimum);
  auto const [first, all] = first_and_all;
  if (first == c.size()) return;
  auto const root = static_cast<int>(first);
  auto kind = static_cast<std::int64_t>(mine.kind);
  c.broadcast("agreement", std::as_writable_bytes(std::span(&kind, 1)), root);
  auto what = broadcast_text(c, "agreement", std::move(mine.what), root);
  if (!all) what = mbirk::detail::message("rank ", root, ": ", what);
  detail::throw_failure({static_cast<detail::failure>(kind), std::move(what)});
}

/// A hash (FNV-1a) of values, by which ranks compare lists and sets of parameters.
class fingerprint {
 public:
  template <class... Values> explicit fingerprint(Values const&... values) { (add(values), ...); }

  /// @param value  a number, a flag, an optional one, or an array, list or text of them
  template <class T> fingerprint& add(T const& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      for (auto const byte : std::as_bytes(std::span(&value, 1)))
        hash_ = (hash_ ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3u;
    } else if constexpr (std::ranges::contiguous_range<T>) {
      add(std::ranges::size(value));
      for (auto const& element : value) add(element);
    } else {
      add(value.has_value());
      if (value) add(*value);
    }
    return *this;
  }
  std::int64_t value() const noexcept { return static_cast<std::int64_t>(hash_); }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325u;
};

/// A number that ranks must agree on, or the fingerprint of several, and its name in messages.
struct common_value {
  char const* name;
  std::int64_t value;
};

/// @throws parameter_error on every rank, which names the first value that is not the same on all. Collective; the
///         names and their order are the same on all ranks.
template <communicator C>
void require_same(C const& c, std::vector<common_value> const& values, std::string const& operation) {
  // The minimum of ~x is ~ the maximum of x, so that one reduction finds both.
  std::vector<std::int64_t> bounds;
  for (auto const& v : values) bounds.insert(bounds.end(), {v.value, ~v.value});
  c.all_reduce("agreement", bounds, reduction::minimum);
  for (std::size_t k = 0; k < values.size(); ++k)
    require(bounds[2 * k] == ~bounds[2 * k + 1], [&] {
      return mbirk::detail::message(operation, ": ranks differ in ", values[k].name, ", expected the same on all");
    });
}

/// @throws parameter_error on every rank unless all have the same number. @param message  what the ranks must agree on
template <communicator C> void require_same(C const& c, std::int64_t number, std::string const& message) {
  auto const low = all_reduce(c, "agreement", number, reduction::minimum),
             high = all_reduce(c, "agreement", number, reduction::maximum);
  require(low == high, [&] { return message; });
}

}  // namespace mbirk::distributed
