#include "input/scan_child.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "mbirk/io/printable.hpp"

namespace mbirk::program {
namespace {

/// Calls field(member) for everything of a description but the functions that read.
template <class Field> void each_field(Field& field, frame_stack& stack) {
  field(stack.name);
  for (auto& n : stack.shape) field(n);
  field(stack.type);
  field(stack.files);
  field(stack.memory);
}
template <class Field> void each_field(Field& field, scan_fact& fact) {
  field(fact.name);
  field(fact.value);
  field(fact.source);
}
template <class Field> void each_field(Field& field, scan_description& scan) {
  field(scan.format);
  field(scan.data);
  field(scan.white);
  field(scan.dark);
  field(scan.white_at);
  field(scan.dark_at);
  field(scan.white_level);
  field(scan.angles);
  field(scan.unit);
  for (auto* const length : {&scan.source_detector_dist, &scan.source_iso_dist, &scan.delta_det_channel,
                             &scan.delta_det_row, &scan.det_channel_offset, &scan.det_row_offset})
    field(*length);
  field(scan.facts);
  field(scan.warnings);
}

/// Appends values to a text.
struct packer {
  std::string bytes;

  template <class T> void operator()(T& value) {
    if constexpr (std::is_arithmetic_v<T>) bytes.append(reinterpret_cast<char const*>(&value), sizeof value);
    else each_field(*this, value);
  }
  void operator()(std::string& text) {
    put_count(text.size());
    bytes += text;
  }
  template <class T> void operator()(std::optional<T>& value) {
    put_count(value ? 1 : 0);
    if (value) (*this)(*value);
  }
  template <class T> void operator()(std::vector<T>& list) {
    put_count(list.size());
    for (auto& element : list) (*this)(element);
  }

 private:
  void put_count(std::uint64_t n) { (*this)(n); }
};

/// Takes values from a text that may be anything.
struct unpacker {
  std::string_view rest;
  bool ok = true;

  template <class T> void operator()(T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      ok = ok && rest.size() >= sizeof value;
      if (!ok) return;
      std::memcpy(&value, rest.data(), sizeof value);
      rest.remove_prefix(sizeof value);
    } else {
      each_field(*this, value);
    }
  }
  void operator()(std::string& text) {
    auto const bytes = count();
    text = rest.substr(0, bytes);
    rest.remove_prefix(bytes);
  }
  template <class T> void operator()(std::optional<T>& value) {
    if (count() > 0) (*this)(value.emplace());
  }
  template <class T> void operator()(std::vector<T>& list) {
    auto const elements = count();  // which have at least a byte each
    for (std::size_t k = 0; k < elements && ok; ++k) (*this)(list.emplace_back());
  }

 private:
  /// A number that is not more than the bytes that are left.
  std::size_t count() {
    std::uint64_t n = 0;
    (*this)(n);
    ok = ok && n <= rest.size();
    return ok ? static_cast<std::size_t>(n) : 0;
  }
};

/// Replaces what is not printable; names of files remain as they are, because they are opened.
struct text_cleaner {
  template <class T> void operator()(T& value) {
    if constexpr (!std::is_arithmetic_v<T>) each_field(*this, value);
  }
  void operator()(std::string& text) { text = printable(text); }
  void operator()(std::vector<std::string>& files) { static_cast<void>(files); }
  template <class T> void operator()(std::optional<T>& value) {
    if (value) (*this)(*value);
  }
  template <class T> void operator()(std::vector<T>& list) {
    for (auto& element : list) (*this)(element);
  }
};

constexpr std::size_t longest_description = std::size_t{1} << 26;

/// A request for a window of a stack: 0 for the data, 1 for the white and 2 for the dark field.
struct window_request {
  std::int64_t stack;
  frame_window window;
};
static_assert(std::is_trivially_copyable_v<window_request>);

/// Answers requests in the child: the first opens the scan.
class scan_server {
 public:
  explicit scan_server(std::function<scan_description()> open) : open_(std::move(open)) {}

  void serve(std::string const& request, limited_process::reply_function const& reply) {
    if (!scan_) {
      scan_ = std::make_shared<scan_description>(open_());
      packer text;
      text(*scan_);
      return reply(text.bytes.data(), text.bytes.size());
    }
    window_request wanted{};
    std::memcpy(&wanted, request.data(), std::min(request.size(), sizeof wanted));
    auto const& field = wanted.stack == 1 ? scan_->white : scan_->dark;
    auto const& stack = wanted.stack == 0 ? scan_->data : field.value();
    auto const& w = wanted.window;
    std::vector<float> values(static_cast<std::size_t>(w.count * w.rows * stack.shape[2]));
    stack.read(w, values.data());
    reply(values.data(), values.size() * sizeof(float));
  }

 private:
  std::function<scan_description()> open_;
  std::shared_ptr<scan_description> scan_;
};

/// Checks what open_scan promises of a description: the child may have been taken over by the file that it reads.
void check(scan_description const& scan) {
  auto const require_that = [](bool ok, frame_stack const& stack, char const* what) {
    if (!ok) mbirk::detail::scan_fail(stack.name, what);
  };
  auto const check_stack = [&](frame_stack const& stack) {
    mbirk::detail::frame_bytes(stack.name, stack.shape, 8);
    require_that(stack.memory >= 0, stack, "takes memory of no size");
  };
  auto const check_field = [&](std::optional<frame_stack> const& field, std::vector<index_t> const& at) {
    if (!field) return;
    check_stack(*field);
    bool const fits = field->shape[1] == scan.data.shape[1] && field->shape[2] == scan.data.shape[2];
    require_that(fits, *field, "has frames of another size than the data");
    require_that(at.empty() || std::ssize(at) == field->shape[0], *field, "has other places than frames");
  };
  check_stack(scan.data);
  check_field(scan.white, scan.white_at);
  check_field(scan.dark, scan.dark_at);
  bool const one_per_view = std::ssize(scan.angles) == scan.data.shape[0];
  require_that(scan.angles.empty() || one_per_view, scan.data, "has other angles than views");
  for (auto const angle : scan.angles) require_that(std::isfinite(angle), scan.data, "has angles that are not finite");
}

}  // namespace

scan_description open_scan_in_child(std::string const& name, process_limits const& limits,
                                    std::function<scan_description()> const& open) {
  auto const server = std::make_shared<scan_server>(open);  // the child's copy is the one that answers
  auto const child = std::make_shared<limited_process>(
      name, limits,
      [server](std::string const& request, auto const& reply) { server->serve(request, reply); });
  auto const text = child->ask("", longest_description);
  scan_description scan;
  unpacker from{text};
  from(scan);
  if (!from.ok || !from.rest.empty()) child->fail("has a description that cannot be read");
  text_cleaner clean;
  clean(scan);
  for (auto& warning : scan.warnings) warning = printable(warning);
  check(scan);
  auto const read_by_child = [&](frame_stack& stack, std::int64_t number) {
    stack.read_window = [child, number, channels = stack.shape[2]](frame_window const& w, float* to) {
      window_request const wanted{number, w};
      child->ask(std::string(reinterpret_cast<char const*>(&wanted), sizeof wanted), to,
                 static_cast<std::size_t>(w.count * w.rows * channels) * sizeof(float));
    };
  };
  read_by_child(scan.data, 0);
  if (scan.white) read_by_child(*scan.white, 1);
  if (scan.dark) read_by_child(*scan.dark, 2);
  return scan;
}

}  // namespace mbirk::program
