// Corrections of sinograms without a model: stripes, and the search for the rotation axis.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <span>

#include "array.hpp"
#include "groups.hpp"
#include "mbirk/util/rotation_axis.hpp"
#include "mbirk/util/stripes.hpp"
#include "values.hpp"

namespace mbirk::python {

void bind_corrections(nb::module_& m) {
  m.def(
      "remove_stripes",
      [](volume const& sinogram, std::string const& method, index_t size, double snr, double sigma,
         std::optional<volume_out> out, int threads) {
        call c("remove_stripes");
        auto const from = c.read(sinogram, "sino", sinogram_axes, call::sharing::with_output);
        auto const to = c.write(out, from.extents(), "out", sinogram_axes);
        c.run(threads, [&](auto const& ctx) {
          if (from.data() != to.data()) std::copy(from.data(), from.data() + from.size(), to.data());
          if (method == "sorting") remove_stripes(ctx, to, sorted_stripes{size});
          else if (method == "large") remove_stripes(ctx, to, large_stripes{size, snr});
          else if (method == "dead") remove_stripes(ctx, to, dead_stripes{size, snr});
          else if (method == "wavelet") remove_stripes(ctx, to, wavelet_stripes{.sigma = sigma});
          else
            throw parameter_error(
                "remove_stripes: method is \"" + method + "\", expected sorting, large, dead or wavelet",
                source_location::current());
        });
        return *out;
      },
      "sino"_a, "method"_a, "size"_a = 21, "snr"_a = 3.0, "sigma"_a = 2.0, nb::kw_only(), "out"_a = nb::none(),
      "threads"_a = 0,
      "A sinogram (views, rows, channels) without stripes, which are rings in the image.\n\n"
      "method: sorting (small stripes), large, dead (dead and fluctuating channels; Vo, Atwood, Drakopoulos 2018), or "
      "wavelet (Muench 2009).\n"
      "size: channels of the median, wider than the stripes. snr: how far a channel must differ, for large and dead. "
      "sigma: how many low frequencies along the views are damped, for wavelet.");
  m.def(
      "find_rotation_axis",
      [](input<float, 2> const& sinogram, input<float, 1> const& angles) {
        call c("find_rotation_axis");
        auto const y = c.read(sinogram, "sino", "(views, channels)");
        auto const theta = c.read(angles, "angles", "(views)");
        auto const axis = c.run(1, [&](auto const&) {
          return find_rotation_axis(y, std::span(theta.data(), static_cast<std::size_t>(theta.size())));
        });
        return nb::typed<nb::tuple, double, double>(nb::make_tuple(axis.centre, axis.offset));
      },
      "sino"_a, "angles"_a,
      "The channel onto which the rotation axis projects.\n\n"
      "sino: one detector row (views, channels) of line integrals, in parallel beam, or the middle row of a cone beam, "
      "for which the result is an approximation.\n"
      "angles: (views) in radians, equally spaced, over at least half a turn. Returns (centre, offset): the channel, "
      "counted from 0, and det_channel_offset in channels.");
}

}  // namespace mbirk::python
