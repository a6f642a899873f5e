// Renders a graph as one HTML page that works offline: stages and arrays to explore, with the arithmetic of each stage,
// before and after fusion.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "mbirk/record/cost.hpp"
#include "mbirk/record/graph.hpp"
#include "mbirk/record/html_assets.hpp"
#include "mbirk/record/html_text.hpp"
#include "mbirk/record/rewrite.hpp"
#include "mbirk/record/text.hpp"

namespace mbirk::record {

namespace detail {

/// JSON inside a script element, which must not contain "<".
class page_data {
 public:
  std::string text;

  void key(char const* name) {
    separate();
    quote(name);
    text += ':';
    fresh_ = true;
  }
  void string(std::string_view s) {
    separate();
    quote(s);
  }
  template <class Number> void number(Number n) {
    char buffer[40];
    separate();
    text.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, n).ptr);
  }
  void flag(bool b) {
    separate();
    text += b ? "true" : "false";
  }
  template <class F> void object(F const& members) { inside('{', '}', members); }
  template <class List, class F> void list(List const& all, F const& one) {
    inside('[', ']', [&] {
      for (auto const& x : all) one(x);
    });
  }
  void numbers(std::vector<int> const& all) {
    list(all, [&](int x) { number(x); });
  }

 private:
  void separate() {
    if (!fresh_) text += ',';
    fresh_ = false;
  }
  template <class F> void inside(char open, char close, F const& f) {
    separate();
    text += open;
    fresh_ = true;
    f();
    text += close;
    fresh_ = false;
  }
  void quote(std::string_view s) {
    static constexpr char digits[] = "0123456789abcdef";
    text += '"';
    for (char const c : s) {
      auto const code = static_cast<unsigned char>(c);
      if (code < 0x20 || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&')
        text += std::string("\\u00") + digits[code >> 4] + digits[code & 15];
      else
        text += c;
    }
    text += '"';
  }
  bool fresh_ = true;
};

/// One form of a graph for the script, with the values that only C++ computes: how often each node runs and what each
/// stage costs. Node numbers are those of to_text().
class page_form {
 public:
  page_form(page_data& to, fusion_form const& form)
      : to_(to), g_(form.g), name_(form.g), costs_(costs_by_stage(form.g)) {
    auto const cost = cost_of(g_);
    to_.object([&] {
      member("form", form.name);
      cost_members(cost);
      member("compulsory", cost.bytes_compulsory);
      member("between", cost.bytes_between);
      axes();
      arrays(cost);
      nodes();
      stages();
    });
  }

 private:
  template <class Value> void member(char const* key, Value const& value) {
    to_.key(key);
    if constexpr (std::is_arithmetic_v<Value>)
      to_.number(value);
    else
      to_.string(value);
  }
  void cost_members(graph_cost const& c) {
    member("flops", c.flops());
    member("transcendentals", c.transcendentals());
  }
  void numbers_of(char const* key, std::vector<int> const& nodes) {
    to_.key(key);
    to_.list(nodes, [&](int id) { to_.number(name_.number(id)); });
  }

  void axes() {
    int next = 0;
    to_.key("axes");
    to_.list(g_.axes, [&](axis const& a) {
      to_.object([&] {
        member("name", a.name);
        member("id", name_.axis(next++));
        member("extent", a.extent);
        member("kind", kind_name(a.kind));
      });
    });
  }
  void arrays(graph_cost const& cost) {
    auto accesses = cost.arrays.begin();
    to_.key("arrays");
    to_.list(g_.arrays, [&](array const& a) {
      to_.object([&] {
        member("name", a.name);
        member("type", type_name(a.element));
        member("use", use_name(a.use));
        member("bytes", a.bytes());
        to_.key("shape");
        to_.list(a.shape, [&](index_t n) { to_.number(n); });
        to_.key("varies");
        to_.numbers(a.varies.members());
        member("loads", accesses->loads);
        member("stores", accesses->stores);
        ++accesses;
      });
    });
  }
  void nodes() {
    auto const first = g_.first_stages();
    std::vector<int> live;
    for (std::size_t k = 0; k < first.size(); ++k)
      if (first[k] >= 0) live.push_back(static_cast<int>(k));
    to_.key("nodes");
    to_.list(live, [&](int id) {
      auto const& n = g_.at(id);
      to_.object([&] {
        member("op", op_name(n.what));
        member("type", type_name(n.of));
        if (n.what == op::literal) member("value", literal_text(n));
        if (n.which >= 0) member("which", n.which);
        if (n.clamped) {
          to_.key("clamped");
          to_.flag(true);
        }
        if (!n.label.empty()) member("label", n.label);
        numbers_of("in", n.in);
        to_.key("free");
        to_.numbers(n.free.members());
        member("times", g_.points(n.free));
        member("stage", first[static_cast<std::size_t>(id)]);
      });
    });
  }
  void stages() {
    auto cost = costs_.begin();
    to_.key("stages");
    to_.list(g_.stages, [&](stage const& s) {
      to_.object([&] {
        member("name", s.name);
        member("file", s.file);
        member("line", s.line);
        to_.key("outer");
        to_.numbers(s.outer);
        to_.key("axes");
        to_.numbers(s.axes);
        cost_members(*cost);
        to_.key("accesses");
        to_.list(cost->arrays, [&](array_cost const& a) {
          to_.object([&] {
            member("loads", a.loads);
            member("stores", a.stores);
          });
        });
        to_.key("statements");
        to_.list(s.statements, [&](statement const& st) {
          to_.object([&] {
            member("array", st.array);
            to_.key("adds");
            to_.flag(st.adds);
            numbers_of("index", st.index);
            member("value", name_.number(st.value));
            to_.key("loops");
            to_.numbers(st.loops);
          });
        });
      });
      ++cost;
    });
  }

  page_data& to_;
  graph const& g_;
  names name_;
  std::vector<graph_cost> costs_;
};

}  // namespace detail

/// The page of an operation, for example from to_html(g.name, fusion_forms(g)). It makes no request and needs no
/// library. Names are always inserted as text.
inline std::string to_html(std::string const& title, std::vector<fusion_form> const& forms) {
  detail::page_data data;
  data.object([&] {
    data.key("graph");
    data.string(title);
    data.key("forms");
    data.list(forms, [&](fusion_form const& form) { detail::page_form(data, form); });
  });
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\">"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'\"><title>";
  page += detail::html_text(title);
  page += ", graph</title><style>";
  page.append(detail::graph_page_style).append("</style></head>\n<body>").append(detail::graph_page_body);
  page += "<script type=\"application/json\" id=\"data\">" + data.text + "</script>\n<script>";
  // The script consists of five files. Names are inserted into the page as text, never as markup.
  for (auto const part : {detail::graph_page_layout, detail::graph_page_model, detail::graph_page_drawing,
                          detail::graph_page_detail, detail::graph_page_events})
    page += part;
  return page + "</script></body></html>\n";
}

}  // namespace mbirk::record
