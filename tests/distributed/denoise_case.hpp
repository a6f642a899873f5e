// A noisy image, shared out in pixel rows, and what the denoiser makes of it by ranks and in one memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/device_copy.hpp"
#include "mbirk/distributed/denoise.hpp"
#include "slices_case.hpp"

namespace testing_ranks {

using distributed::image_rows;

inline constexpr std::array<index_t, 3> image_shape{45, 37, 19};

inline floats const& noisy_image() {
  static floats const image = [] {
    floats v = array(image_shape);
    std::uint32_t state = 1;
    for (index_t n = 0; n < std::ssize(v); ++n) {
      state = state * 1664525u + 1013904223u;
      index_t const i = n / (image_shape[1] * image_shape[2]), j = n / image_shape[2] % image_shape[1];
      float const inside = (i - 20) * (i - 20) + (j - 18) * (j - 18) < 150 ? 1.0f : 0.1f;
      v[static_cast<std::size_t>(n)] = inside + 0.1f * (static_cast<float>(state >> 8) / 0x1p24f - 0.5f);
    }
    return v;
  }();
  return image;
}

struct denoise_case {
  char const* name;
  denoise_options options;
  bool start = false;
};
inline std::vector<denoise_case> denoise_cases() {
  denoise_options masked{{.max_iterations = 3, .stop_threshold_change_pct = 0}, {.sharpness = 0.5, .granularity = 4}};
  masked.use_ror_mask = true;
  denoise_options given{{.max_iterations = 2, .stop_threshold_change_pct = 0, .seed = 5}, {.granularity = 64}};
  given.sigma_noise = 0.05;
  given.sigma_x = 0.2;
  return {{"automatic", {{.max_iterations = 3, .stop_threshold_change_pct = 0}}},
          {"masked", masked},
          {"given, many subsets", given},
          {"a first image", {{.max_iterations = 1}}, true}};
}

struct denoised { floats image; denoise_record record; };
template <class Comm, class Exec = exec::host>
denoised denoise_in_ranks(Comm const& ranks, denoise_case const& c, Exec const& where = exec::host{1}) {
  context const here{where, instrument::none{}};
  image_rows const mine(image_shape, ranks.rank(), ranks.size());
  denoised out{floats(element_count(mine.shape()), -1.0f), {}};
  auto const rows = part(noisy_image(), image_shape, 0, mine.rows());
  auto const constant = floats(rows.size(), 0.3f);
  auto const image = test::place(where, reading(rows, mine.shape())),
             start = test::place(where, reading(constant, mine.shape())),
             output = test::place(where, reading(out.image, mine.shape()));
  auto o = c.options;
  if (c.start) o.init_image = start.in();
  out.record = distributed::qggmrf_denoise(here, ranks, mine, image.in(), o, output.all());
  output.download(writing(out.image, mine.shape()));
  return out;
}
inline denoised denoise_in_one_memory(denoise_case const& c) {
  auto const start = floats(noisy_image().size(), 0.3f);
  auto o = c.options;
  if (c.start) o.init_image = reading(start, image_shape);
  denoised out{array(image_shape), {}};
  out.record = qggmrf_denoise(ctx, reading(noisy_image(), image_shape), o, writing(out.image, image_shape));
  return out;
}

}  // namespace testing_ranks
