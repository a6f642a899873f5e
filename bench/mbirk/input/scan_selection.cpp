// Ranges on the command line.
#include "input/scan_selection.hpp"

#include "mbirk/core/error.hpp"
#include "mbirk/io/scan_raw.hpp"

namespace mbirk::program {

index_range parse_range(std::string const& text, std::string const& option, bool may_step) {
  auto const parts = mbirk::detail::split_text(text, ':');
  if (parts.size() < 2 || parts.size() > (may_step ? 3u : 2u))
    mbirk::detail::scan_fail(option, "'" + text.substr(0, 40) + "', expected " + (may_step ? "A:B or A:B:S" : "A:B"));
  index_range range;
  if (!parts[0].empty()) range.first = mbirk::detail::whole_number(parts[0], option);
  if (!parts[1].empty()) range.last = mbirk::detail::whole_number(parts[1], option);
  if (parts.size() == 3) range.step = mbirk::detail::whole_number(parts[2], option);
  if (range.step < 1) mbirk::detail::scan_fail(option, "has the step 0, expected at least 1");
  return range;
}

selection select(selection_options const& options, std::array<index_t, 3> const& whole) {
  selection s;
  s.whole = whole;
  s.bin = options.bin;
  s.step = options.views.step;
  constexpr char const* names[] = {"--views", "--rows", "--channels"};
  index_range const* const ranges[] = {&options.views, &options.rows, &options.channels};
  for (std::size_t d = 0; d < 3; ++d) {
    index_t const first = ranges[d]->first, last = ranges[d]->last.value_or(whole[d]);
    if (first >= last || last > whole[d])
      mbirk::detail::scan_fail(names[d], std::to_string(first) + ":" + std::to_string(last) +
                                             " is not a part of the scan, expected 0 <= A < B <= " +
                                             std::to_string(whole[d]));
    s.first[d] = first;
    s.shape[d] = d == 0 ? (last - first + s.step - 1) / s.step : (last - first) / s.bin;
    if (s.shape[d] < 1)
      mbirk::detail::scan_fail("--bin", std::to_string(s.bin) + " is more than the " + std::to_string(last - first) +
                                            " pixels of " + names[d]);
  }
  return s;
}

}  // namespace mbirk::program
