// Launches of projections with their changes of layout.
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "gpu/launches_projector.hpp"
#include "mbirk/projector/sorted_pixels.hpp"

namespace mbirk::program::gpu {
namespace {

/// From the layout of the interface to the internal one, or back.
launch_work layout_launch(char const* kernel, kernel::chunked_shape const& shape) {
  double const tiles = real(shape.views * shape.chunks * shape.packs * ceil_div(shape.channels, index_t{lanes}));
  return streaming_launch(kernel, real(shape.views), 2 * lanes * tiles,
                          4 * real(shape.views * shape.rows * shape.channels) + 4 * real(shape.size()));
}

/// Empty for a geometry whose launches are not described here.
template <class F> std::vector<launch_work> of_any(any_scan const& any, F const& f) {
  return std::visit([&](auto const& s) -> std::vector<launch_work> {
    if constexpr (requires { gather(s, std::vector<std::int32_t>()); }) return f(s);
    else return {};
  }, any);
}

}  // namespace

bool describes_projections(any_scan const& any) {
  return std::visit([](auto const& s) {
    if constexpr (requires { s.geometry(); }) return requires { gather(s, std::vector<std::int32_t>()); };
    else return true;
  }, any);
}

launch_work streaming_launch(std::string kernel, double tasks, double requests, double memory_bytes) {
  return {.kernel = std::move(kernel),
          .tasks = tasks,
          .units = {{"request", requests}},
          .l2_bytes = requests * bytes_of_pack,
          .memory_bytes = memory_bytes};
}

std::vector<launch_work> forward_launches(any_scan const& scan, std::vector<std::int32_t> const& listed) {
  return of_any(scan, [&](auto const& s) {
    auto all = gather(s, listed);
    all.push_back(layout_launch("from_channel_major", shape_of(s.geometry())));
    return all;
  });
}

std::vector<launch_work> back_launches(any_scan const& scan, std::vector<std::int32_t> const& listed, int power) {
  return of_any(scan, [&](auto const& s) {
    std::vector all{layout_launch("to_channel_major", shape_of(s.geometry())), scatter_back(s, listed, power)};
    if (listed.empty()) {
      auto const& g = s.geometry();
      double const outside = real(g.recon_rows * g.recon_cols) - real(s.full_indices().size());
      double const packs = real(ceil_div(g.slices, index_t{lanes}));
      if (outside > 0)
        all.push_back(streaming_launch("zero_columns", std::ceil(outside / 512), outside * packs,
                                       outside * real(g.slices) * 4));
    }
    return all;
  });
}

std::vector<launch_work> hessian_launches(any_scan const& scan) {
  return of_any(scan, [](auto const& s) { return std::vector{unweighted_hessian(s)}; });
}

subset_projections projections_of_subset(any_scan const& scan, std::vector<std::int32_t> const& pixels) {
  subset_projections both;
  both.back = of_any(scan, [&](auto const& s) {
    both.shape = shape_of(s.geometry());
    return std::vector{scatter_back(s, pixels, 1)};
  });
  both.forward = of_any(scan, [&](auto const& s) {
    if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(s)>, parallel_scan>) {
      return gather(s, pixels, list_epilogue::norm_kept);
    } else {
      if (!detail::sorts_pixels(both.shape, std::ssize(pixels))) return gather(s, pixels);
      both.update = {gather(s, pixels, list_epilogue::subtract).back()};  // in the order of the line search
      return gather(s, pixels, list_epilogue::norm);
    }
  });
  return both;
}

}  // namespace mbirk::program::gpu
