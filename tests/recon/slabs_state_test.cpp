// Reconstructions in slabs that go on from a state: to the bits of an uninterrupted one; states that do not fit.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "io/scratch_folder.hpp"
#include "mbirk/io/slabs_checkpoint.hpp"
#include "recon/slab_problem.hpp"

namespace in_slabs {
namespace {

struct kept_state {
  distributed::slabs_state state;
  array<3> image;
};

/// All states of a reconstruction, as they are read from files, and its result.
std::pair<std::vector<kept_state>, vcd_outcome> all_states(slab_problem const& p, recon_options const& o,
                                                           distributed::slab_division const& division) {
  scratch_folder const folder;
  std::vector<kept_state> kept;
  auto out = p.in_slabs(o, division, 1, [&](distributed::slabs_state const& state, array<3> const& image) {
    std::string note;
    save_slabs_checkpoint(folder / "state", state, "the note\nof it");
    EXPECT_TRUE(is_slabs_checkpoint(folder / "state"));
    kept.push_back({load_slabs_checkpoint(folder / "state", &note), image});
    EXPECT_EQ(note, "the note\nof it");
  });
  return {std::move(kept), std::move(out)};
}

void expect_same_from_all(slab_problem const& p, recon_options const& o, distributed::slab_division const& division,
                          std::size_t states) {
  auto const [kept, whole] = all_states(p, o, division);
  ASSERT_EQ(kept.size(), states);
  for (std::size_t k = 0; k < kept.size(); ++k) {
    EXPECT_EQ(kept[k].state.visits, static_cast<index_t>(k));
    auto const resumed = p.in_slabs(o, division, 2, {}, &kept[k].state, &kept[k].image);
    EXPECT_TRUE(same_bits(resumed.image.data, whole.image.data)) << k;
    expect_same_record(resumed.record, whole.record);
  }
}

TEST(SlabsState, EveryStateLeadsToTheSameBits) {
  for (bool const weighted : {false, true}) expect_same_from_all(small_phantom(weighted), iterations(5), {8, 2}, 7);
  auto o = iterations(4);
  o.init_recon = 0.2;
  o.first_iteration = 1;
  expect_same_from_all(small_phantom(), o, {8, 3}, 10);
  expect_same_from_all(small_phantom(), iterations(0), {8, 1}, 4);
  o = iterations(4);
  o.stop_threshold_change_pct = 100;  // reached after the first sweep
  expect_same_from_all(small_phantom(), o, {16, 2}, 3);
}

TEST(SlabsState, OfAProximalMap) {
  auto p = small_phantom(true);
  p.prox_input = random_array<3>(p.scan.recon_shape(), 4);
  expect_same_from_all(p, iterations(3), {8}, 4);
}

/// The state of one slab is that of the end.
TEST(SlabsState, OfASingleSlab) {
  auto const p = small_phantom();
  auto const [kept, whole] = all_states(p, iterations(3), {32, 2});
  ASSERT_EQ(kept.size(), 1u);
  auto const resumed = p.in_slabs(iterations(3), {32, 2}, 1, {}, &kept[0].state, &kept[0].image);
  EXPECT_TRUE(same_bits(resumed.image.data, whole.image.data));
  expect_same_record(resumed.record, whole.record);
}

TEST(SlabsState, AVisitThatWasCancelledIsNotInTheState) {
  auto const p = small_phantom();
  auto o = iterations(6);
  auto const whole = p.in_slabs(o, {8, 2});
  std::vector<kept_state> kept;
  o.progress = [](iteration_report const& r) { return r.iteration < 11; };  // in the first slab of the second sweep
  auto const stopped = p.in_slabs(o, {8, 2}, 1, [&](distributed::slabs_state const& state, array<3> const& image) {
    kept.push_back({state, image});
  });
  EXPECT_TRUE(stopped.record.cancelled);
  ASSERT_EQ(kept.size(), 4u);
  o.progress = [last = 9](iteration_report const& r) mutable { return r.iteration == ++last; };
  auto const resumed = p.in_slabs(o, {8, 2}, 1, {}, &kept.back().state, &kept.back().image);
  EXPECT_TRUE(same_bits(resumed.image.data, whole.image.data));
  EXPECT_FALSE(resumed.record.cancelled);
}

TEST(SlabsState, ThatDoesNotFitIsRefused) {
  auto const p = small_phantom();
  auto const kept = all_states(p, iterations(4), {8, 2}).first;
  auto const refused = [&](std::function<void(distributed::slabs_state&)> const& change) {
    auto state = kept[4].state;
    change(state);
    try {
      p.in_slabs(iterations(4), {8, 2}, 1, {}, &state, &kept[4].image);
    } catch (error const& e) {
      std::string const text = e.what();
      auto const at = text.find("the ");
      return text.substr(at == text.npos ? 0 : at);
    }
    return std::string("nothing was thrown");
  };
  std::string const has = "the state to resume has ";
  EXPECT_EQ(refused([](auto& s) { s.recon_shape[0] = 5; }),
            "the state to resume is of a sinogram (12, 21, 14) and a recon (5, 14, 21), expected (12, 21, 14) and "
            "(14, 14, 21)");
  EXPECT_EQ(refused([](auto& s) { s.division.slices = 10; }), has + "slices of a slab = 10, expected 8");
  EXPECT_EQ(refused([](auto& s) { s.division.sweeps = 4; }), has + "sweeps = 4, expected 2");
  EXPECT_EQ(refused([](auto& s) { s.seed = 9; }), has + "seed = 9, expected 3");
  EXPECT_EQ(refused([](auto& s) { s.slabs.pop_back(); }), has + "slabs = 2, expected 3");
  EXPECT_EQ(refused([](auto& s) { s.visits = 7; }), has + "7 visits, expected 0 to 6");
  EXPECT_EQ(refused([](auto& s) { s.visits = -1; }), has + "-1 visits, expected 0 to 6");
  EXPECT_EQ(refused([](auto& s) { s.visits = 5; }), has + "iterations = 2, expected 4");
  EXPECT_EQ(refused([](auto& s) { s.slabs[2].norms.clear(); }), has + "norms = 0, expected 2");
  EXPECT_EQ(refused([](auto& s) { s.slabs[1].log.fm_rmse.clear(); }),
            "the log of slab 1 in the state to resume is inconsistent: fm_rmse has 0 entries, expected one per "
            "iteration, num_iterations = 2");
  EXPECT_NE(refused([](auto& s) { s.slabs[1].log.sigma_x = 0; }).find("sigma_x 0"), std::string::npos);
}

TEST(SlabsState, DamagedFilesAreRefused) {
  scratch_folder const folder;
  auto const path = folder / "state";
  save_slabs_checkpoint(path, all_states(small_phantom(), iterations(2), {8, 2}).first[3].state, "note");
  auto const text = detail::read_text(path);
  auto const refused = [&](std::string const& damaged) {
    output_file file(path);
    file.write(damaged);
    file.commit();
    try {
      load_slabs_checkpoint(path);
    } catch (io_error const& e) {
      std::string const what = e.what();
      EXPECT_EQ(what.find(path.string() + ": "), 0u) << what;
      return what.substr(path.string().size() + 2);
    }
    return std::string("nothing was thrown");
  };
  EXPECT_EQ(refused(text), "nothing was thrown");
  auto const damaged = "is truncated or damaged: it does not have the checksum at its end";
  for (std::size_t const n : {text.size() - 1, text.size() / 2, std::size_t{40}})
    EXPECT_EQ(refused(text.substr(0, n)), damaged);
  EXPECT_EQ(refused(text.substr(0, 14)), "is truncated");
  EXPECT_EQ(refused("mbirk checkpoint\n"), "is not the state of a reconstruction in slabs");
  EXPECT_EQ(refused(""), "is not the state of a reconstruction in slabs");
  // With a checksum that is right.
  auto const changed = [&](std::string const& from, std::string const& to) {
    auto all = text.substr(0, text.size() - detail::checkpoint_tail);
    auto const at = all.find(from);
    EXPECT_NE(at, all.npos) << from;
    all.replace(at, from.size(), to);
    detail::crc32 sum;
    sum.add(all.data(), all.size());
    return refused(all + sum.line());
  };
  EXPECT_EQ(changed("version 1", "version 2"), "has 'version 2', expected 'version 1': it is from a newer mbirk");
  EXPECT_EQ(changed("note 1", "note 0"), "is damaged: it has 0 notes, expected 1");
  EXPECT_EQ(changed("slabs 3", "slabs 99999999"), "is damaged: it has 99999999 slabs");
  EXPECT_EQ(changed("slabs 3", "slabs 4"), "is damaged: the field num_iterations cannot be read");
  EXPECT_EQ(changed("visits ", "visits x"), "is damaged: the field visits cannot be read");
  EXPECT_EQ(changed("scale ", "scale 1p+200\nscale "), "is damaged: the field scale cannot be read");
  EXPECT_EQ(changed("slabs 3", "slabs 2"), "is damaged: it has more than its fields");
}

}  // namespace
}  // namespace in_slabs
