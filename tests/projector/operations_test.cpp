// The operations themselves, compiled once for this folder, and their errors: arrays of the wrong shape, invalid pixel
// indices.
#include "projector/operations.hpp"

#include <limits>
#include <memory_resource>

#include "mbirk/exec/host.hpp"
#include "mbirk/instrument/none.hpp"
#include "mbirk/projector/cone.hpp"
#include "mbirk/projector/parallel.hpp"
#include "projector/planned.hpp"

namespace mbirk::test {

using host_context = context<exec::host, instrument::none>;
host_context host(int threads) { return {exec::host{threads}, {}}; }

void run_forward(any_scan const& s, view<float const, 3> recon, view<float, 3> sinogram, int threads) {
  std::visit([&](auto const& x) { forward_project(host(threads), x, recon, sinogram); }, s);
}
void run_back(any_scan const& s, view<float const, 3> sinogram, view<float, 3> recon, int threads) {
  std::visit([&](auto const& x) { back_project(host(threads), x, sinogram, recon); }, s);
}
void run_sparse_forward(any_scan const& s, view<float const, 2> values, view<std::int32_t const, 1> pixels,
                        view<float, 3> sinogram, int threads) {
  std::visit([&](auto const& x) { sparse_forward_project(host(threads), x, values, pixels, sinogram); }, s);
}
void run_sparse_back(any_scan const& s, view<float const, 3> sinogram, view<std::int32_t const, 1> pixels,
                     view<float, 2> values, int power, int threads) {
  std::visit([&](auto const& x) { sparse_back_project(host(threads), x, sinogram, pixels, values, power); }, s);
}
void run_hessian(any_scan const& s, std::optional<view<float const, 3>> weights, view<float, 3> hessian, int threads) {
  std::visit([&](auto const& x) { hessian_diagonal(host(threads), x, weights, hessian); }, s);
}
planned_results run_planned(any_scan const& s, array<3> const& recon, array<3> const& sinogram,
                            pixel_list const& pixels, int threads) {
  return std::visit([&](auto const& x) { return run_planned(host(threads), x, recon, sinogram, pixels); }, s);
}

}  // namespace mbirk::test

namespace {

using namespace mbirk;
using namespace mbirk::test;

/// f throws Error with all the words, and has not touched the output.
template <class Error, class F> void expect_refused(F const& f, std::initializer_list<std::string> words) {
  try {
    f();
    ADD_FAILURE() << "accepted";
  } catch (Error const& e) {
    for (auto const& word : words)
      EXPECT_NE(std::string(e.what()).find(word), std::string::npos) << "no '" << word << "' in: " << e.what();
  }
}

any_parameters small(std::string const& kind) {
  if (kind == "parallel")
    return parallel_parameters{.sinogram_shape = {3, 4, 5}, .angles = {0, 1, 2}, .recon_shape = shape_3{6, 7, 4}};
  return cone_parameters{.sinogram_shape = {3, 4, 5},
                         .angles = {0, 1, 2},
                         .source_detector_dist = 40,
                         .source_iso_dist = 20,
                         .recon_shape = shape_3{6, 7, 4}};
}

struct Arrays : ::testing::TestWithParam<std::string> {
  any_scan const s = make_scan(small(GetParam()));
  array<3> recon{{6, 7, 4}, 7}, sinogram{{3, 4, 5}, 7};
  array<2> values{{3, 4}, 7};
  pixel_list const pixels{0, 41, 20};
};

TEST_P(Arrays, GoodOnesAreAccepted) {
  EXPECT_NO_THROW(run_forward(s, recon.all(), sinogram.all()));
  EXPECT_NO_THROW(run_back(s, sinogram.all(), recon.all()));
  EXPECT_NO_THROW(run_sparse_forward(s, values.all(), as_view(pixels), sinogram.all()));
  EXPECT_NO_THROW(run_sparse_back(s, sinogram.all(), as_view(pixels), values.all(), 2));
  EXPECT_NO_THROW(run_hessian(s, sinogram.all(), recon.all()));
}

TEST_P(Arrays, EveryAxisOfTheReconstruction) {
  for (shape_3 const& wrong : {shape_3{5, 7, 4}, shape_3{6, 8, 4}, shape_3{6, 7, 3}}) {
    array<3> bad(wrong);
    auto const found = detail::shape_text(wrong), expected = std::string("(rows, cols, slices) = (6, 7, 4)");
    expect_refused<shape_error>([&] { run_forward(s, bad.all(), sinogram.all()); },
                                {"forward_project", "recon", found, expected});
    expect_refused<shape_error>([&] { run_back(s, sinogram.all(), bad.all()); },
                                {"back_project", "recon", found, expected});
    expect_refused<shape_error>([&] { run_hessian(s, {}, bad.all()); },
                                {"hessian_diagonal", "hessian", found, expected});
  }
}

TEST_P(Arrays, EveryAxisOfTheSinogram) {
  for (shape_3 const& wrong : {shape_3{2, 4, 5}, shape_3{3, 5, 5}, shape_3{3, 4, 6}}) {
    array<3> bad(wrong);
    auto const found = detail::shape_text(wrong), expected = std::string("(views, rows, channels) = (3, 4, 5)");
    expect_refused<shape_error>([&] { run_forward(s, recon.all(), bad.all()); },
                                {"forward_project", "sinogram", found, expected});
    expect_refused<shape_error>([&] { run_back(s, bad.all(), recon.all()); },
                                {"back_project", "sinogram", found, expected});
    expect_refused<shape_error>([&] { run_hessian(s, bad.all(), recon.all()); },
                                {"hessian_diagonal", "weights", found, expected});
    expect_refused<shape_error>([&] { run_sparse_forward(s, values.all(), as_view(pixels), bad.all()); },
                                {"sparse_forward_project", "sinogram", found, expected});
    expect_refused<shape_error>([&] { run_sparse_back(s, bad.all(), as_view(pixels), values.all(), 1); },
                                {"sparse_back_project", "sinogram", found, expected});
  }
}

TEST_P(Arrays, CylindersOfTheListedPixels) {
  for (std::array<index_t, 2> const& wrong : {std::array<index_t, 2>{2, 4}, std::array<index_t, 2>{3, 5}}) {
    array<2> bad(wrong);
    auto const found = detail::shape_text(wrong);
    expect_refused<shape_error>([&] { run_sparse_forward(s, bad.all(), as_view(pixels), sinogram.all()); },
                                {"sparse_forward_project", "voxel_values", found, "(pixels, slices) = (3, 4)"});
    expect_refused<shape_error>([&] { run_sparse_back(s, sinogram.all(), as_view(pixels), bad.all(), 1); },
                                {"sparse_back_project", "voxel_values", found, "(pixels, slices) = (3, 4)"});
  }
}

TEST_P(Arrays, PixelsExist) {
  for (std::int32_t const wrong :
       {-1, 42, std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min()}) {
    pixel_list const bad{0, wrong, 20};
    std::initializer_list<std::string> const words{"pixel_indices[1]", std::to_string(wrong), "0 to 41"};
    expect_refused<index_error>([&] { run_sparse_forward(s, values.all(), as_view(bad), sinogram.all()); }, words);
    expect_refused<index_error>([&] { run_sparse_back(s, sinogram.all(), as_view(bad), values.all(), 1); }, words);
  }
}

TEST_P(Arrays, PixelListsAreContiguousAndHaveData) {
  pixel_list const spread{0, -1, 41, -1, 20};
  view<std::int32_t const, 1> const strided(spread.data(), {3}, {2}), without(nullptr, {3});
  for (auto const& bad : {strided, without}) {
    expect_refused<shape_error>([&] { run_sparse_forward(s, values.all(), bad, sinogram.all()); },
                                {"sparse_forward_project", "pixel_indices"});
    expect_refused<shape_error>([&] { run_sparse_back(s, sinogram.all(), bad, values.all(), 1); },
                                {"sparse_back_project", "pixel_indices"});
  }
}

TEST_P(Arrays, PowerIsOneOrTwo) {
  for (int const power : {0, 3, -1})
    expect_refused<parameter_error>([&] { run_sparse_back(s, sinogram.all(), as_view(pixels), values.all(), power); },
                                    {"coeff_power", std::to_string(power), "1 or 2"});
}

TEST_P(Arrays, HaveDataAndAContiguousLastAxis) {
  view<float, 3> const none(nullptr, {6, 7, 4});
  expect_refused<shape_error>([&] { run_forward(s, none, sinogram.all()); }, {"recon", "no data"});
  std::vector<float> many(500);
  view<float, 3> const spread(many.data(), {6, 7, 4}, {56, 8, 2});
  expect_refused<shape_error>([&] { run_forward(s, spread, sinogram.all()); }, {"recon", "stride 2", "contiguous"});
  expect_refused<shape_error>([&] { run_back(s, sinogram.all(), spread); }, {"recon", "stride 2", "contiguous"});
}

TEST_P(Arrays, ARefusedCallWritesNothing) {
  array<3> bad({5, 7, 4});
  EXPECT_THROW(run_forward(s, bad.all(), sinogram.all()), shape_error);
  pixel_list const beyond{0, 42, 20};
  EXPECT_THROW(run_sparse_back(s, sinogram.all(), as_view(beyond), values.all(), 1), index_error);
  EXPECT_TRUE(same_bits(sinogram.data, std::vector<float>(60, 7.0f)));
  EXPECT_TRUE(same_bits(values.data, std::vector<float>(12, 7.0f)));
}

/// Provides `budget` bytes and no more; tracks memory that was not returned.
class small_memory : public std::pmr::memory_resource {
 public:
  explicit small_memory(std::size_t budget) : budget_(budget) {}
  std::size_t live = 0, highest = 0;

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (live + bytes > budget_) throw std::bad_alloc();
    highest = std::max(highest, live += bytes);
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override {
    live -= bytes;
    std::pmr::new_delete_resource()->deallocate(p, bytes, alignment);
  }
  bool do_is_equal(memory_resource const& other) const noexcept override { return this == &other; }
  std::size_t budget_;
};

TEST_P(Arrays, TemporariesComeFromTheResourceAndGoBack) {
  small_memory ample(1 << 24);
  host_context const ctx{exec::host{2, &ample}, {}};
  std::visit([&](auto const& x) { forward_project(ctx, x, recon.all(), sinogram.all()); }, s);
  EXPECT_GT(ample.highest, 0u);
  EXPECT_EQ(ample.live, 0u);
}

TEST_P(Arrays, MemoryThatRunsOutSaysWhatWasAskedFor) {
  small_memory ample(1 << 24);
  std::visit(
      [&](auto const& x) {
        back_project(host_context{exec::host{1, &ample}, {}}, x, sinogram.all(), recon.all());
      },
      s);
  for (std::size_t const budget : {std::size_t{0}, ample.highest - 1}) {  // the first temporary, the last
    small_memory scarce(budget);
    host_context const ctx{exec::host{1, &scarce}, {}};
    expect_refused<allocation_error>(
        [&] { std::visit([&](auto const& x) { back_project(ctx, x, sinogram.all(), recon.all()); }, s); },
        {"out of memory", "bytes for the temporary '"});
    EXPECT_EQ(scarce.live, 0u) << "what was taken before came back";
  }
}

INSTANTIATE_TEST_SUITE_P(Projector, Arrays, ::testing::Values("parallel", "cone"),
                         [](auto const& info) { return info.param; });

}  // namespace
