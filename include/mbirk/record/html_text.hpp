// Escaping of text for HTML.
#pragma once

#include <string>
#include <string_view>

namespace mbirk::record::detail {

/// Escapes text for use in an element or a quoted attribute.
inline std::string html_text(std::string_view s) {
  std::string text;
  for (char const c : s) {
    if (c == '&') text += "&amp;";
    else if (c == '<') text += "&lt;";
    else if (c == '>') text += "&gt;";
    else if (c == '"') text += "&quot;";
    else if (c == '\'') text += "&#39;";
    else text += c;
  }
  return text;
}

}  // namespace mbirk::record::detail
