// NVTX ranges as a tool receives them: the tool is a test library that NVTX loads into this process. Without a tool
// nothing is registered or opened.
#include "mbirk/instrument/nvtx.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <numbers>

#include "instrument/nvtx_tool.hpp"
#include "mbirk/exec/host.hpp"
#include "mbirk/instrument/both.hpp"
#include "mbirk/instrument/none.hpp"
#include "mbirk/instrument/tracing.hpp"
#include "mbirk/projector/parallel.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::testing;
using instrument::nvtx_category;
using instrument::nvtx_group;

// NVTX looks for its tool at the first call of the process.
char const* const alone = "MBIRK_NVTX_TEST_ALONE";
[[maybe_unused]] int const chosen = std::getenv(alone) ? 0 : setenv("NVTX_INJECTION64_PATH", MBIRK_NVTX_TOOL, 1);

struct Nvtx : ::testing::Test {
  nvtx_tool_record* tool = nullptr;
  void SetUp() override {
    auto const library = dlopen(MBIRK_NVTX_TOOL, RTLD_NOW);
    ASSERT_NE(library, nullptr) << dlerror();
    tool = reinterpret_cast<nvtx_tool_record* (*)()>(dlsym(library, "mbirk_nvtx_tool_record"))();
    tool->ranges.clear(), tool->registrations.clear(), tool->categories.clear();
  }
  std::vector<nvtx_tool_record::range> of(nvtx_category c) const {
    std::vector<nvtx_tool_record::range> found;
    std::ranges::copy_if(tool->ranges, std::back_inserter(found),
                         [&](auto const& r) { return r.category == static_cast<std::uint32_t>(c); });
    return found;
  }
};

parallel_scan scan() {
  parallel_parameters p{.sinogram_shape = {8, 16, 16}, .angles = {}};
  for (int v = 0; v < 8; ++v) p.angles.push_back(static_cast<float>(std::numbers::pi * v / 8));
  return parallel_scan(p);
}
/// The only operation of these tests: they are about ranges, and others take minutes to compile with sanitizers.
template <class Context> std::vector<float> back(Context const& ctx) {
  std::vector<float> const sinogram(8 * 16 * 16, 0.5f);
  std::vector<float> recon(16 * 16 * 16);
  back_project(ctx, scan(), view<float const, 3>(sinogram.data(), {8, 16, 16}),
               view<float, 3>(recon.data(), {16, 16, 16}));
  return recon;
}

static_assert(std::is_same_v<context<exec::host, instrument::nvtx>::backend, exec::host::backend>,
              "nvtx runs the kernels of none");

TEST_F(Nvtx, AnOperationItsStagesAndKernelsAreRangesOfOurDomain) {
  auto const marked = back(context{exec::host{2}, instrument::nvtx{}});
  EXPECT_EQ(marked, back(context{exec::host{2}, instrument::none{}}));

  EXPECT_EQ(tool->domains, std::vector<std::string>{"mbirk"});
  EXPECT_EQ(tool->categories.size(), instrument::nvtx_category_names.size());
  EXPECT_EQ(tool->categories.at(1), "projector");
  EXPECT_EQ(tool->categories.at(9), "kernel");
  EXPECT_EQ(tool->open, 0) << "what was opened was closed";

  auto const operations = of(nvtx_category::projector), stages = of(nvtx_category::stage),
             kernels = of(nvtx_category::kernel);
  ASSERT_EQ(operations.size(), 1u);
  EXPECT_EQ(operations[0].name, "parallel_back_project");
  EXPECT_EQ(operations[0].depth, 0);
  EXPECT_EQ(operations[0].payload,
            (std::vector<std::int64_t>{8 * static_cast<index_t>(scan().full_indices().size()) * 16, 0, 0}));
  EXPECT_TRUE(operations[0].extended);
  EXPECT_EQ(tool->fields, (std::vector<std::string>{"items", "bytes", "flops"}));
  EXPECT_EQ(stages.size(), 3u);
  EXPECT_FALSE(kernels.empty());
  for (auto const& s : stages) EXPECT_EQ(s.depth, 1) << s.name;
  for (auto const& s : stages) EXPECT_TRUE(s.payload.empty()) << s.name;
  for (auto const& k : kernels) EXPECT_GE(k.depth, 1) << k.name;
  for (auto const& k : kernels) EXPECT_GT(k.payload.at(0), 0) << k.name;
  EXPECT_TRUE(std::ranges::any_of(kernels, [](auto const& k) { return k.name == "parallel_back"; }));
}

TEST_F(Nvtx, NamesAreRegisteredOnce) {
  context const ctx{exec::host{1}, instrument::nvtx{}};
  for (int repeat = 0; repeat < 3; ++repeat) back(context(ctx));
  EXPECT_EQ(of(nvtx_category::projector).size(), 3u);
  ASSERT_FALSE(tool->registrations.empty());
  EXPECT_EQ(tool->registrations.at("parallel_back_project"), 1);
  for (auto const& r : tool->ranges) EXPECT_TRUE(r.registered) << r.name;
}

TEST_F(Nvtx, WhatTheAuthorSaysIsThePayload) {
  instrument::nvtx const marks;
  { auto const guard = marks.scope({"step", 12, 340, 5600}); }
  ASSERT_EQ(tool->ranges.size(), 1u);
  EXPECT_EQ(tool->ranges[0].payload, (std::vector<std::int64_t>{12, 340, 5600}));
}

TEST_F(Nvtx, BesideTracing) {
  instrument::trace_buffer buffer(1000);
  back(context{exec::host{1}, instrument::both{instrument::nvtx{}, instrument::tracing{buffer}}});
  auto const traced = [&](instrument::event_kind kind) {
    return std::ranges::count_if(buffer.events(), [&](auto const& e) { return e.kind == kind; });
  };
  EXPECT_EQ(std::ssize(of(nvtx_category::kernel)), traced(instrument::event_kind::kernel));
  EXPECT_EQ(std::ssize(of(nvtx_category::stage)), traced(instrument::event_kind::stage));
  EXPECT_EQ(tool->open, 0);
}

TEST(NvtxCategories, GroupsByName) {
  for (auto const& [name, group] : {std::pair{"parallel_forward_project", nvtx_category::projector},
                                    {"cone_sparse_back_project", nvtx_category::projector},
                                    {"parallel_hessian_diagonal", nvtx_category::projector},
                                    {"fdk_filter", nvtx_category::filter},
                                    {"parallel_fbp_recon", nvtx_category::reconstruction},
                                    {"cone_prox_map", nvtx_category::reconstruction},
                                    {"qggmrf_denoise", nvtx_category::denoising},
                                    {"qggmrf_gradient_and_hessian_at_indices", nvtx_category::denoising},
                                    {"gen_weights_mar", nvtx_category::weights},
                                    {"gen_pixel_partition", nvtx_category::partition},
                                    {"median_filter3d", nvtx_category::utility},
                                    {"step", nvtx_category::utility}})
    EXPECT_EQ(nvtx_group(name), group) << name;
}

// The test without a tool runs in a separate process, because NVTX decides once.
TEST(NvtxAlone, NothingIsMarkedWithoutATool) {
  if (std::getenv(alone)) {
    ASSERT_EQ(std::getenv("NVTX_INJECTION64_PATH"), nullptr);
    EXPECT_FALSE(static_cast<nvtxDomainHandle_t>(nvtx3::domain::get<instrument::nvtx::domain>()));
    EXPECT_EQ(back(context{exec::host{1}, instrument::nvtx{}}), back(context{exec::host{1}, instrument::none{}}));
    return;
  }
  std::string const again = std::string("env -u NVTX_INJECTION64_PATH ") + alone + "=1 /proc/" +
                            std::to_string(getpid()) +
                            "/exe --gtest_filter=NvtxAlone.NothingIsMarkedWithoutATool >/dev/null";
  EXPECT_EQ(std::system(again.c_str()), 0);
}

}  // namespace
