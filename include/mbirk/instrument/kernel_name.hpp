// Derives the name of a kernel from its type: mbirk::kernel::cone_back<...> is "cone_back".
#pragma once

#include <array>
#include <string_view>

namespace mbirk::instrument {

namespace detail {

template <class T> constexpr std::string_view signature_of() noexcept { return __PRETTY_FUNCTION__; }

/// The last component of a qualified name without its brackets: "a::b<c::d>::e" gives "e". For a lambda it is the name
/// of the enclosing function.
constexpr std::string_view last_part(std::string_view qualified) noexcept {
  std::size_t begin = 0, end = qualified.size();
  int depth = 0;
  for (std::size_t k = 0; k < qualified.size(); ++k) {
    char const c = qualified[k];
    if (depth == 0 && (c == '<' || c == '(') && k > begin && end == qualified.size()) end = k;
    if (c == '<' || c == '(' || c == '[' || c == '{') ++depth;
    else if (c == '>' || c == ')' || c == ']' || c == '}') --depth;
    else if (depth == 0 && c == ':' && k + 1 < qualified.size() && qualified[k + 1] != ':' && qualified[k + 1] != '<' &&
             qualified[k + 1] != '(') {
      begin = k + 1;
      end = qualified.size();
    }
  }
  return qualified.substr(begin, end - begin);
}

/// The type inside the compiler's text of signature_of<T>: "[with T = x; ...]" or "[T = x]".
constexpr std::string_view type_in(std::string_view signature) noexcept {
  auto const from = signature.find("T = ") + 4;
  int depth = 0;
  for (auto k = from; k < signature.size(); ++k) {
    char const c = signature[k];
    if (depth == 0 && (c == ';' || c == ']')) return signature.substr(from, k - from);
    if (c == '<' || c == '(' || c == '[' || c == '{') ++depth;
    else if (c == '>' || c == ')' || c == ']' || c == '}') --depth;
  }
  return signature.substr(from);
}

template <class Kernel> constexpr auto name_storage() noexcept {
  constexpr auto name = last_part(type_in(signature_of<Kernel>()));
  std::array<char, name.size() + 1> text{};
  for (std::size_t k = 0; k < name.size(); ++k) text[k] = name[k];
  return text;
}
template <class Kernel> inline constexpr auto stored_name = name_storage<Kernel>();

}  // namespace detail

/// Name of the kernel as a null-terminated string with static storage.
template <class Kernel> constexpr char const* kernel_name() noexcept { return detail::stored_name<Kernel>.data(); }

}  // namespace mbirk::instrument
