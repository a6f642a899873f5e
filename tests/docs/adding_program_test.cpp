// The operation of docs/adding_an_operation.md in the program: adding_test.py compiles this with the files of that
// page.
#include <gtest/gtest.h>

#include <algorithm>

#include "instrument/same_counts.hpp"
#include "mbirk/exec/emulated.hpp"
#include "operations/operations_image.hpp"
#include "operations/policy.hpp"
#include "operations/profile_problem.hpp"
#include "operations/run_body_instances.hpp"

namespace mbirk::program {
namespace {

constexpr problem_shape shape{5, 7, 9};
std::map<std::string, nlohmann::json> const arguments{{"amount", 1e-3}};

profile_entry const& entry() { return *matching_entries("shrink").at(0); }
any_array result_under(any_context const& ctx) {
  profile_problem const problem(entry().geometry, shape, 1, true);
  auto x = problem.make_operands(*entry().op, arguments);
  entry().op->run(ctx, problem.scan(), x);
  return x.output;
}
std::vector<float> const& data(any_array const& array) { return std::get<npy_array<float>>(array).data; }

TEST(AddedOperation, IsInTheTable) {
  auto const* op = find_operation("shrink");
  ASSERT_NE(op, nullptr);
  EXPECT_FALSE(op->needs_scan);
  EXPECT_FALSE(op->only_on_host);
  EXPECT_EQ(op->geometries, anything);
  EXPECT_EQ(std::ranges::count(operations(), "shrink", &operation::name), 1);
}
TEST(AddedOperation, IsCountedAsModelled) {
  instrument::ledger counted;
  auto const plain = result_under(context{exec::host{1}, instrument::any()});
  EXPECT_EQ(data(plain), data(result_under(context{exec::host{1}, counting{counted}})));
  EXPECT_TRUE(std::ranges::any_of(data(plain), [](float x) { return x != 0; }));
  auto const [modelled, minimal] = model_operation(entry(), shape);
  test::expect_same_counts(counted.last(), modelled);
  EXPECT_EQ(minimal, 3u * 9 * 9 * 7);
  instrument::size_record size;
  result_under(context{exec::host{1}, instrument::sizing{size}});
  EXPECT_EQ(size.items, 9 * 9 * 7);
}
TEST(AddedOperation, RunsOnTheEmulatedDevice) {
  profile_problem const problem(entry().geometry, shape, 1, true);
  auto x = problem.make_operands(*entry().op, arguments);
  run_body<bodies::shrink>(context{exec::emulated(), instrument::any()}, problem.scan(), x,
                           [](std::function<call_cost()> const& call) { call(); });
  EXPECT_EQ(data(x.output), data(result_under(context{exec::host{1}, instrument::any()})));
}

}  // namespace
}  // namespace mbirk::program
