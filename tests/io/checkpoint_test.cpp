// Checkpoints: loading restores every bit; an incomplete or damaged file is refused, wherever the damage is.
#include "mbirk/io/checkpoint.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/messages.hpp"
#include "io/scratch_folder.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

/// Bits, because NaN differs from itself and -0 does not differ from 0.
template <class T> std::vector<std::uint64_t> bits(std::vector<T> const& values) {
  std::vector<std::uint64_t> all;
  for (auto const v : values) all.push_back(std::bit_cast<std::uint64_t>(static_cast<double>(v)));
  return all;
}
void expect_same(recon_state const& a, recon_state const& b) {
  EXPECT_EQ(a.sinogram_shape, b.sinogram_shape);
  EXPECT_EQ(a.recon_shape, b.recon_shape);
  EXPECT_EQ(a.seed, b.seed);
  EXPECT_EQ(bits(a.recon), bits(b.recon));
  EXPECT_EQ(bits(a.weighted_error), bits(b.weighted_error));
  EXPECT_EQ(bits(a.hessian), bits(b.hessian));
  auto const &r = a.record, &t = b.record;
  EXPECT_EQ(r.num_iterations, t.num_iterations);
  EXPECT_EQ(r.granularity, t.granularity);
  EXPECT_EQ(r.partition_sequence, t.partition_sequence);
  EXPECT_EQ(bits(r.fm_rmse), bits(t.fm_rmse));
  EXPECT_EQ(bits(r.prior_loss), bits(t.prior_loss));
  EXPECT_EQ(bits(std::vector{r.sigma_y, r.sigma_x, r.sigma_prox}),
            bits(std::vector{t.sigma_y, t.sigma_x, t.sigma_prox}));
  EXPECT_EQ(bits(r.stop_threshold_change_pct), bits(t.stop_threshold_change_pct));
  EXPECT_EQ(bits(r.alpha_values), bits(t.alpha_values));
  ASSERT_EQ(r.delta_norm_per_slice.size(), t.delta_norm_per_slice.size());
  for (std::size_t i = 0; i < r.delta_norm_per_slice.size(); ++i)
    EXPECT_EQ(bits(r.delta_norm_per_slice[i]), bits(t.delta_norm_per_slice[i])) << i;
  EXPECT_EQ(r.warnings, t.warnings);
  EXPECT_EQ(r.cancelled, t.cancelled);
}

/// Every field differs from its default, and every kind of number occurs.
recon_state rich_state() {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  recon_state s;
  s.sinogram_shape = {2, 3, 5}, s.recon_shape = {3, 1, 7}, s.seed = 4294967295u;
  for (int k = 0; k < 30; ++k) s.weighted_error.push_back(std::sin(static_cast<float>(k)) * 1e-30f);
  for (int k = 0; k < 21; ++k)
    s.recon.push_back(std::ldexp(1.1f, k - 10)), s.hessian.push_back(1 / (1 + static_cast<float>(k)));
  s.recon[0] = -0.0f, s.recon[1] = std::numeric_limits<float>::denorm_min(),
  s.recon[2] = std::numeric_limits<float>::max();
  s.recon[3] = std::numeric_limits<float>::infinity();
  auto& r = s.record;
  r.num_iterations = 3, r.granularity = {1, 2, 4294967296}, r.partition_sequence = {2, 0, 1};
  r.fm_rmse = {0.1, 1.0 / 3, std::numeric_limits<double>::denorm_min()}, r.prior_loss = {0.0, -0.0, 1e300};
  r.sigma_y = std::nextafter(1.0, 2.0), r.sigma_x = 0.1f, r.sigma_prox = std::numeric_limits<double>::max();
  r.stop_threshold_change_pct = {nan, inf, -inf}, r.alpha_values = {0x1p-23, 1.5, 1};
  r.delta_norm_per_slice = {{1, 2, 3, 4, 5, 6, 0x1p-1074}, std::vector<double>(7, nan), {0.1, -inf, 0, 0, 0, 0, 0}};
  r.warnings = {"", "two\nlines and a \\n that is none", "\ndata", " blank ", "not ASCII: \xc3\xa9 \x01"};
  r.cancelled = true;
  return s;
}

/// The message of the io_error that loading gives.
std::string refusal(std::filesystem::path const& path) {
  return message_of<io_error>([&] { load_checkpoint(path); });
}

struct Checkpoint : testing::Test {
  scratch_folder folder;
  std::filesystem::path const path = folder / "state.ckpt";
};

TEST_F(Checkpoint, IsReadBackToTheBit) {
  auto const s = rich_state();
  save_checkpoint(path, s);
  expect_same(load_checkpoint(path), s);
  EXPECT_EQ(file_count(folder.path()), 1) << "temporary files are left";
}

TEST_F(Checkpoint, KeepsTheNote) {
  for (std::string const note : {"", "{\"seed\": 3}", "two\nlines, \\n and \ndata"}) {
    save_checkpoint(path, rich_state(), note);
    std::string back = "something";
    expect_same(load_checkpoint(path, &back), rich_state());
    EXPECT_EQ(back, note);
  }
}

TEST_F(Checkpoint, EmptyStateAndEmptyArrays) {
  save_checkpoint(path, {});
  expect_same(load_checkpoint(path), {});
  recon_state s;
  s.sinogram_shape = {0, 1 << 20, 1 << 20}, s.recon_shape = {1, 1, 1}, s.recon = {1}, s.hessian = {2};
  save_checkpoint(path, s);
  expect_same(load_checkpoint(path), s);
}

TEST_F(Checkpoint, ReplacesAFile) {
  auto s = rich_state();
  save_checkpoint(path, s);
  s.record.sigma_x = 4, s.recon[5] = 7;
  save_checkpoint(path, s);
  expect_same(load_checkpoint(path), s);
}

/// Header of many pieces: it is read in parts, and a part may end inside "\ndata".
TEST_F(Checkpoint, HeadersOfAnyLength) {
  recon_state s;
  s.recon_shape = {1, 1, 1}, s.recon = {1}, s.hessian = {2};
  for (std::size_t length = 3300; length < 3900; length += 7) {
    s.record.warnings = {std::string(length, 'x')};
    save_checkpoint(path, s);
    expect_same(load_checkpoint(path), s);
  }
  auto& r = s.record;
  r.num_iterations = 9999;
  r.partition_sequence.assign(9999, 7);
  for (auto* const list : {&r.fm_rmse, &r.prior_loss, &r.stop_threshold_change_pct, &r.alpha_values})
    list->assign(9999, 0.1);
  r.delta_norm_per_slice.assign(9999, {0.1});
  save_checkpoint(path, s);
  expect_same(load_checkpoint(path), s);
}

/// Other programs can read it: the arrays begin at a multiple of 64 bytes behind the text, and the checksum is zlib's.
TEST_F(Checkpoint, HasTheFormatItSays) {
  auto const s = rich_state();
  save_checkpoint(path, s);
  auto const file = file_text(path);
  EXPECT_TRUE(
      file.starts_with("mbirk checkpoint\nversion 1\nbyte_order little\nnote 1\n \nsinogram_shape 3 2 3 5\nrecon_shape "
                       "3 3 1 7\nseed 4294967295\n"))
      << file.substr(0, 200);
  auto const data = file.find("\ndata"), first = file.find('\n', data + 1) + 1;
  EXPECT_EQ(first % 64, 0u);
  ASSERT_EQ(file.size(), first + 4 * (21 + 30 + 21) + 15);
  float x;
  std::memcpy(&x, file.data() + first + 4 * 20, 4);
  EXPECT_EQ(x, s.recon[20]);

  std::uint32_t c = ~0u;  // bit by bit, from the definition
  for (char const byte : file.substr(0, file.size() - 15)) {
    c ^= static_cast<unsigned char>(byte);
    for (int k = 0; k < 8; ++k) c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
  }
  char line[16];
  std::snprintf(line, sizeof line, "crc32 %08x\n", static_cast<unsigned>(~c));
  EXPECT_EQ(file.substr(file.size() - 15), line);
  detail::crc32 known;
  known.add("123456789", 9);
  EXPECT_EQ(known.value(), 0xcbf43926u);  // the check value of the catalogues
}

TEST_F(Checkpoint, EveryTruncationIsRefused) {
  save_checkpoint(path, rich_state());
  auto const whole = file_text(path);
  for (std::size_t n = 0; n < whole.size(); ++n) {
    write_text(path, whole.substr(0, n));
    auto const said = refusal(path);
    ASSERT_NE(said.find("truncated"), said.npos) << n << " of " << whole.size() << " bytes: " << said;
    ASSERT_TRUE(said.starts_with(path.string() + ": ")) << said;
  }
}

TEST_F(Checkpoint, EveryFlippedByteIsRefused) {
  save_checkpoint(path, rich_state());
  auto const whole = file_text(path);
  for (int const flip : {0x01, 0x80})
    for (std::size_t n = 0; n < whole.size(); ++n) {
      auto hurt = whole;
      hurt[n] = static_cast<char>(hurt[n] ^ flip);
      write_text(path, hurt);
      auto const said = refusal(path);
      ASSERT_NE(said, "nothing was thrown") << "byte " << n << " of " << whole.size();
      ASSERT_TRUE(said.find("damaged") != said.npos || said.ends_with("is not a checkpoint of mbirk"))
          << n << ": " << said;
      ASSERT_EQ(std::count(said.begin(), said.end(), '\n'), 0) << said;
    }
}

TEST_F(Checkpoint, MoreThanTheFileIsRefused) {
  save_checkpoint(path, rich_state());
  auto const whole = file_text(path);
  write_text(path, whole + "x");
  EXPECT_NE(refusal(path).find("damaged"), std::string::npos);
  auto const at = whole.find("sinogram_shape 3 2 3 5");  // sizes whose product overflows, and one that no memory holds
  for (std::string const sizes :
       {"4294967296 4294967296 2", "9223372036854775807 3 5", "-2 3 5", "99999999 9999999 9"}) {
    auto huge = whole;
    write_text(path, huge.replace(at, 22, "sinogram_shape 3 " + sizes));
    EXPECT_NE(refusal(path).find("damaged"), std::string::npos) << sizes;
  }
  auto long_list = whole;
  write_text(path, long_list.replace(whole.find("fm_rmse 3"), 9, "fm_rmse 888888888888888888"));
  EXPECT_NE(refusal(path).find("fm_rmse"), std::string::npos);
}

/// A file with another text but the checksum that belongs to it.
std::string with_checksum(std::string file) {
  detail::crc32 sum;
  file.resize(file.size() - detail::checkpoint_tail);
  sum.add(file.data(), file.size());
  return file + sum.line();
}

TEST_F(Checkpoint, ListsOfUnequalLengthsAreRefused) {
  save_checkpoint(path, rich_state());
  auto const whole = file_text(path);
  for (std::string const name : {"partition_sequence", "fm_rmse", "prior_loss", "stop_threshold_change_pct",
                                 "alpha_values", "delta_norm_per_slice"}) {
    auto const at = whole.find('\n' + name + " 3") + 1, end = whole.find('\n', at);
    auto fewer = whole;
    if (name == "delta_norm_per_slice") fewer.erase(end, whole.find('\n', end + 1) - end);
    else fewer.erase(whole.rfind(' ', end), end - whole.rfind(' ', end));
    fewer[at + name.size() + 1] = '2';
    write_text(path, with_checksum(fewer));
    EXPECT_EQ(refusal(path), path.string() + ": is damaged: " + name +
                                 " has 2 entries, expected one per iteration, num_iterations = 3");
  }
  auto other = whole;
  write_text(path, with_checksum(other.replace(whole.find("num_iterations 3"), 16, "num_iterations 9")));
  EXPECT_NE(refusal(path).find("expected one per iteration, num_iterations = 9"), std::string::npos);
  write_text(path, with_checksum(whole));
  EXPECT_NO_THROW(load_checkpoint(path));
}

TEST_F(Checkpoint, IsCheckedByTheCallerBeforeItsArraysAreRead) {
  save_checkpoint(path, rich_state(), "the note");
  EXPECT_THROW(load_checkpoint(path, nullptr, [](recon_state const& header, std::string const& note) {
    EXPECT_EQ(header.recon_shape, rich_state().recon_shape);
    EXPECT_TRUE(header.recon.empty());
    EXPECT_EQ(note, "the note");
    throw shape_error("too large", source_location::current());
  }), shape_error);
}

TEST_F(Checkpoint, SaysWhatIsNotOne) {
  EXPECT_EQ(refusal(folder / "none"), (folder / "none").string() + ": no such file");
  EXPECT_EQ(refusal(folder.path()), folder.path().string() + ": is not a file");
  write_text(path, "something else");
  EXPECT_EQ(refusal(path), path.string() + ": is not a checkpoint of mbirk");
  save_checkpoint(path, rich_state());
  auto later = file_text(path);
  write_text(path, later.replace(later.find("version 1"), 9, "version 2"));
  EXPECT_NE(refusal(path).find("'version 2', expected 'version 1'"), std::string::npos) << refusal(path);
  write_text(path, later.replace(later.find("version 2"), 9, "ver\x1b\xff\ron"));
  EXPECT_NE(refusal(path).find("'ver?? on', expected"), std::string::npos) << refusal(path);
}

TEST_F(Checkpoint, RefusesToSaveWhatDoesNotFit) {
  auto s = rich_state();
  s.hessian.pop_back();
  EXPECT_THROW(save_checkpoint(path, s), shape_error);
  s = rich_state();
  s.record.num_iterations = 4;
  EXPECT_THROW(save_checkpoint(path, s), shape_error);
  s = rich_state(), s.sinogram_shape[2] = -5;
  EXPECT_THROW(save_checkpoint(path, s), shape_error);
  EXPECT_EQ(file_count(folder.path()), 0);
  EXPECT_THROW(save_checkpoint(folder / "no/such/folder.ckpt", rich_state()), io_error);
}

}  // namespace
