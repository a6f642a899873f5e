// HloProtos, read back by field number (xla/service/hlo.proto): the fields that XProf's viewers and XLA's parser depend
// on.
#include "mbirk/profile/hlo.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "profile/wire_reader.hpp"

namespace {

using namespace mbirk;
using mbirk::testing::wire_message;

/// Two kernels: layout (sinogram -> inside), back (inside -> recon), a temporary that occurs twice.
profile::program example() {
  return {.name = "back_v2",
          .operation = "back",
          .kernels = {{.name = "to_channel_major", .stage = "layout", .reads = {0}, .writes = {2}},
                      {.name = "back",
                       .stage = "project",
                       .launches = 2,
                       .reads = {2},
                       .writes = {1},
                       .source_file = "back.hpp",
                       .source_line = 7}},
          .buffers = {{"sinogram", array_role::argument, 24, {2, 3}, "f32"},
                      {"recon", array_role::output, 16, {4}, "f32"},
                      {"inside sinogram", array_role::temporary, 24},
                      {"sums", array_role::temporary, 8, {1}, "f64"}},
          .heap = {{2, true, 0}, {3, true, 1}, {3, false, 1}, {3, true, 1}, {3, false, 1}, {2, false, 1}}};
}

struct Hlo : ::testing::Test {
  wire_message proto{profile::to_hlo_proto(example(), 5)};
  wire_message module = proto.message(1), computation = module.message(3);
  std::vector<wire_message> instructions = computation.messages(2);
  wire_message named(std::string const& name) const {
    for (auto const& i : instructions)
      if (i.text(1) == name) return i;
    throw std::runtime_error("no instruction " + name);
  }
};

TEST_F(Hlo, Module) {
  EXPECT_EQ(module.text(1), "back_v2");
  EXPECT_EQ(module.text(2), "main");
  EXPECT_EQ(module.number(5), 5);
  EXPECT_EQ(module.number(6), computation.number(5)) << "the entry computation";
  auto const shape = module.message(4);
  EXPECT_EQ(shape.texts(3), std::vector<std::string>{"sinogram"});
  EXPECT_EQ(shape.message(1).packed(3), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(shape.message(1).message(5).packed(1), (std::vector<std::int64_t>{1, 0})) << "row-major";
  EXPECT_EQ(shape.message(2).packed(3), std::vector<std::int64_t>{4});
  EXPECT_EQ(computation.number(6), named("recon").number(35)) << "the root is the result";
  EXPECT_EQ(module.message(7).message(1).message(2).packed(1).size(), instructions.size()) << "the schedule has all";
}

TEST_F(Hlo, OperandsComeBeforeTheirUsers) {
  std::set<std::int64_t> known;
  std::set<std::string> names;
  for (auto const& i : instructions) {
    for (auto const operand : i.packed(36)) EXPECT_TRUE(known.contains(operand)) << i.text(1);
    EXPECT_TRUE(known.insert(i.number(35)).second);
    EXPECT_TRUE(names.insert(i.text(1)).second) << i.text(1);
    EXPECT_EQ(i.text(1).find("::"), std::string::npos);
  }
}

TEST_F(Hlo, KernelsAreCustomCallsThatDependOnWhatTheyRead) {
  auto const layout = named("to_channel_major"), back = named("back"), sinogram = named("sinogram"),
             inside = named("inside_sinogram");
  EXPECT_EQ(sinogram.text(2), "parameter");
  EXPECT_EQ(inside.text(28), "AllocateBuffer");
  EXPECT_EQ(layout.text(2), "custom-call");
  EXPECT_EQ(layout.text(28), "mbirk.to_channel_major");
  EXPECT_EQ(layout.packed(36), (std::vector{sinogram.number(35), inside.number(35)}));
  EXPECT_EQ(back.packed(36), (std::vector{layout.number(35)})) << "the one that wrote it last";
  EXPECT_EQ(named("recon").packed(36), (std::vector{back.number(35)}));
  EXPECT_EQ(back.message(7).text(2), "mbirk/back/project/back");
  EXPECT_EQ(back.message(7).text(3), "back.hpp");
  EXPECT_EQ(back.message(7).number(4), 7);
  EXPECT_EQ(layout.message(3).number(2), 6) << "bytes: its shape is not known";
  EXPECT_EQ(layout.message(3).packed(3), std::vector<std::int64_t>{24});
}

TEST_F(Hlo, BuffersAndTheirTrace) {
  auto const assignment = proto.message(3);
  std::set<std::int64_t> instruction_ids;
  for (auto const& i : instructions) instruction_ids.insert(i.number(35));
  std::map<std::int64_t, std::int64_t> sizes;
  for (auto const& logical : assignment.messages(1)) {
    sizes[logical.number(1)] = logical.number(2);
    EXPECT_TRUE(instruction_ids.contains(logical.message(3).number(4))) << "an unknown one stops the viewer's server";
  }
  ASSERT_EQ(sizes.size(), 5u) << "argument, output, and each temporary as often as it came";
  auto const allocations = assignment.messages(3);
  ASSERT_EQ(allocations.size(), 3u);
  EXPECT_EQ(allocations[0].number(5), 1) << "a parameter";
  EXPECT_EQ(allocations[1].number(7), 1) << "a result";
  auto const arena = allocations[2];
  EXPECT_EQ(arena.number(2), 32) << "24 and 8 at once";
  for (auto const& a : arena.messages(9)) EXPECT_LE(a.number(2) + a.number(3), 32);
  auto const trace = assignment.message(4);
  EXPECT_EQ(trace.number(3), arena.number(1));
  std::set<std::int64_t> live;
  std::int64_t bytes = 0, most = 0;
  for (auto const& e : trace.messages(1)) {
    auto const id = e.number(2);
    EXPECT_EQ(e.number(1) == 0, !live.contains(id)) << "comes once, goes once";
    e.number(1) == 0 ? static_cast<void>(live.insert(id)) : static_cast<void>(live.erase(id));
    most = std::max(most, bytes += e.number(1) == 0 ? sizes.at(id) : -sizes.at(id));
    EXPECT_TRUE(e.text(4) == "to_channel_major" || e.text(4) == "back") << e.text(4);
  }
  EXPECT_EQ(most, 32);
  EXPECT_EQ(bytes, 0);
}

TEST(HloOf, SeveralOutputsAreATuple) {
  auto p = example();
  p.buffers.push_back({"record", array_role::output, 4, {1}, "i32"});
  wire_message const proto(profile::to_hlo_proto(p));
  auto const result = proto.message(1).message(4).message(2);
  EXPECT_EQ(result.number(2), 13);
  EXPECT_EQ(result.count(4), 2u);
  std::vector<std::int64_t> parts;
  for (auto const& logical : proto.message(3).messages(1))
    if (logical.message(3).has(3)) parts.push_back(logical.message(3).packed(3).at(0));
  EXPECT_EQ(parts, (std::vector<std::int64_t>{0, 1}));
}

TEST(HloOf, NothingAtAll) {
  wire_message const proto(profile::to_hlo_proto({.name = "empty", .operation = "empty"}));
  EXPECT_EQ(proto.message(1).message(3).count(2), 1u) << "the result";
  EXPECT_EQ(proto.message(3).message(4).count(1), 2u) << "a time line, of 0 bytes";
  EXPECT_THROW(profile::to_hlo_proto({.name = "a/b", .operation = "x"}), profile::description_error);
}

TEST(Arena, FillsGaps) {
  profile::detail::arena memory;
  auto const a = memory.place(10), b = memory.place(20), c = memory.place(5);
  EXPECT_EQ((std::vector{a, b, c}), (std::vector<std::int64_t>{0, 10, 30}));
  memory.release(b);
  EXPECT_EQ(memory.place(21), 35) << "the gap is too small";
  EXPECT_EQ(memory.place(20), 10);
  EXPECT_EQ(memory.size(), 56);
}

}  // namespace
