// The binary tree by which ranks that share views add up. Its leaves are the ranges of views, and the bands of pixel
// rows. A rank adds the whole subtrees that it has, and hands over their sums; the rest is added by whoever needs it.
// Therefore the order of all additions is that of the tree, whichever rank makes them. Not for users.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include "mbirk/distributed/agreement.hpp"
#include "mbirk/distributed/value_messages.hpp"
#include "mbirk/distributed/views.hpp"
#include "mbirk/kernel/shared/error_sinogram.hpp"
#include "mbirk/kernel/shared/pixel_band.hpp"
#include "mbirk/launch.hpp"

namespace mbirk::distributed::detail {

/// A node of the tree is the range of its leaves.
inline constexpr index_range tree_root{0, view_ranges};
static_assert(view_ranges == row_bands && std::has_single_bit(unsigned{view_ranges}));

inline index_range left_of(index_range const& node) { return {node.first, node.count / 2}; }
inline index_range right_of(index_range const& node) { return {node.first + node.count / 2, node.count / 2}; }
inline bool is_within(index_range const& node, index_range const& leaves) {
  return leaves.first <= node.first && node.end() <= leaves.end();
}
/// The largest nodes that have only some of `leaves`, from left to right.
inline std::vector<index_range> subtrees_of(index_range const& leaves, index_range const& node = tree_root) {
  if (is_within(node, leaves)) return {node};
  if (node.count == 1) return {};
  auto all = subtrees_of(leaves, left_of(node));
  auto const right = subtrees_of(leaves, right_of(node));
  all.insert(all.end(), right.begin(), right.end());
  return all;
}

/// Sums of few numbers, which every rank needs.
template <communicator Comm> class tree_sums {
 public:
  explicit tree_sums(Comm const& ranks) : ranks_(ranks), mine_(part_of(view_ranges, ranks.rank(), ranks.size())) {
    for (int r = 0; r < ranks.size(); ++r) {
      auto const of_rank = subtrees_of(part_of(view_ranges, r, ranks.size()));
      nodes_.insert(nodes_.end(), of_rank.begin(), of_rank.end());
      counts_.push_back(std::ssize(of_rank));
    }
  }

  /// The sums over all leaves. @param leaves  (leaves of this rank, numbers)
  std::vector<double> sum(char const* what, std::vector<double> const& leaves, index_t numbers) const {
    std::vector<double> parts;
    for (auto const& subtree : subtrees_of(mine_)) {
      auto const part = add_up(subtree, numbers, [&](index_range const& node) {
        return node.count == 1 ? leaves.data() + (node.first - mine_.first) * numbers : nullptr;
      });
      parts.insert(parts.end(), part.begin(), part.end());
    }
    auto counts = counts_;
    for (auto& n : counts) n *= numbers;
    auto const all = gather(ranks_, what, parts, counts);
    return add_up(tree_root, numbers, [&](index_range const& node) -> double const* {
      auto const found = std::find_if(nodes_.begin(), nodes_.end(), [&](index_range const& n) {
        return n.first == node.first && n.count == node.count;
      });
      return found == nodes_.end() ? nullptr : all.data() + (found - nodes_.begin()) * numbers;
    });
  }

 private:
  /// @param known  the numbers of a node, or null
  template <class Known>
  static std::vector<double> add_up(index_range const& node, index_t numbers, Known const& known) {
    if (double const* values = known(node)) return {values, values + numbers};
    auto sums = add_up(left_of(node), numbers, known);
    auto const right = add_up(right_of(node), numbers, known);
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += right[k];
    return sums;
  }

  Comm const& ranks_;
  index_range mine_;
  std::vector<index_range> nodes_;  // the subtrees of all ranks
  std::vector<index_t> counts_;     // how many of them each rank has
};

/// Voxel columns that are added up together, in the order of the ranks that receive the sums.
struct tree_piece {
  index_range owners;         ///< ranks
  std::vector<index_t> cuts;  ///< columns [cuts[r], cuts[r + 1]) are those of rank r

  /// Columns of one rank only.
  static tree_piece of_one(int owner, index_t columns, int ranks) {
    tree_piece piece{{owner, 1}, std::vector<index_t>(static_cast<std::size_t>(ranks) + 1, columns)};
    std::fill_n(piece.cuts.begin(), owner + 1, index_t{0});
    return piece;
  }
  index_t columns() const { return cuts.back(); }
  index_t first_of(int rank) const { return cuts[static_cast<std::size_t>(rank)]; }
  index_t columns_of(int rank) const { return cuts[static_cast<std::size_t>(rank) + 1] - first_of(rank); }
};

/// to = from, of `count` floats.
template <class Context>
void copy_floats(Context const& ctx, typename Context::backend::template cursor<float const> from,
                 typename Context::backend::template cursor<float> to, index_t count) {
  launch(ctx, ceil_div(count, kernel::voxel_block),
         kernel::copy_values<typename Context::backend>{from, to, count});
}

/// Voxel columns in one of the arrays of a view_tree.
template <class Context> struct summed_columns {
  temporary<float, Context> const* array = nullptr;
  index_t first = 0, floats = 0;

  auto observe_in(Context const& ctx) const { return observe(ctx, *array) + first; }
  float const* data() const noexcept { return array->data() + first; }
};

/// Sums of voxel columns, which the ranks that have the pixels need.
template <class Context, communicator Comm> class view_tree {
  using B = typename Context::backend;

 public:
  /// @param columns  of the largest piece
  /// @throws allocation_error
  view_tree(Context const& ctx, Comm const& ranks, cone_views const& part, index_t columns, index_t slices)
      : ctx_(ctx),
        ranks_(ranks),
        part_(part),
        slices_(slices),
        messages_(ctx, ranks, ranks.size() > 1 ? columns * slices : 0),
        mine_(subtrees_of(part.ranges(ranks.rank()))) {
    for (index_t n = 0; n < arrays(part, ranks.rank()); ++n)
      memory_.emplace_back(ctx, "part of the image", columns * slices);
    for (auto const& m : memory_) (subtrees_.size() < mine_.size() ? subtrees_ : levels_).push_back(&m);
  }
  view_tree(view_tree const&) = delete;
  view_tree& operator=(view_tree const&) = delete;

  /// Arrays of the largest piece that a rank allocates.
  static index_t arrays(cone_views const& part, int rank) {
    auto const mine = subtrees_of(part.ranges(rank));
    index_t levels = most_levels(part, tree_root, 1);
    for (auto const& node : mine) levels = std::max<index_t>(levels, std::bit_width(static_cast<unsigned>(node.count)));
    return std::ssize(mine) + levels;
  }

  /// Adds up the columns of a piece over all ranges. @param leaf  (range, array) computes those of a range of this rank
  /// @return the columns of this rank, until the next call; nothing if it is none of the owners
  template <class Leaf> summed_columns<Context> add(char const* what, tree_piece const& piece, Leaf const& leaf) {
    pixels_ = piece.columns();
    for (std::size_t n = 0; n < mine_.size(); ++n) {
      add_up(mine_[n], 0, leaf);
      std::swap(subtrees_[n], levels_[0]);
    }
    summed_columns<Context> found;
    for (auto r = static_cast<int>(piece.owners.first); r < static_cast<int>(piece.owners.end()); ++r) {
      auto const of_owner = [&](temporary<float, Context> const& array) -> summed_columns<Context> {
        return {&array, piece.first_of(r) * slices_, piece.columns_of(r) * slices_};
      };
      if (r == ranks_.rank()) {
        pixels_ = piece.columns_of(r);
        found = collect(what, tree_root, 0, of_owner);
      } else {
        for (auto const* sum : subtrees_) messages_.send(what, of_owner(*sum).data(), of_owner(*sum).floats, r);
      }
    }
    return found;
  }

 private:
  static bool has(cone_views const& part, int rank, index_range const& node) {
    return is_within(node, part.ranges(rank));
  }
  static index_t most_levels(cone_views const& part, index_range const& node, index_t level) {
    for (int r = 0; r < part.ranks(); ++r)
      if (has(part, r, node)) return level;
    return std::max(most_levels(part, left_of(node), level), most_levels(part, right_of(node), level + 1));
  }
  temporary<float, Context> const& level_array(std::size_t level) const { return *levels_[level]; }

  /// Computes the sum of a node that this rank has.
  template <class Leaf> void add_up(index_range const& node, std::size_t level, Leaf const& leaf) {
    if (node.count == 1) return leaf(node.first, level_array(level));
    add_up(left_of(node), level, leaf);
    add_up(right_of(node), level + 1, leaf);
    add(level);
  }
  /// Computes the sum of a node, of which other ranks may have parts, for the columns of this rank.
  template <class OfOwner>
  summed_columns<Context> collect(char const* what, index_range const& node, std::size_t level, OfOwner const& mine) {
    summed_columns<Context> const sum{&level_array(level), 0, pixels_ * slices_};
    for (int r = 0; r < ranks_.size(); ++r) {
      if (!has(part_, r, node)) continue;
      if (r != ranks_.rank()) {
        messages_.receive(what, sum.array->data(), sum.floats, r);
        return sum;
      }
      auto const own = std::find_if(mine_.begin(), mine_.end(), [&](auto const& n) { return n.first == node.first; });
      auto const here = mine(*subtrees_[static_cast<std::size_t>(own - mine_.begin())]);
      if (node.count == view_ranges) return here;  // nothing is to be added
      copy_floats(ctx_, here.observe_in(ctx_), sum.observe_in(ctx_), sum.floats);
      return sum;
    }
    collect(what, left_of(node), level, mine);
    collect(what, right_of(node), level + 1, mine);
    add(level);
    return sum;
  }
  /// Adds the array of the next level to that of `level`.
  void add(std::size_t level) {
    launch(ctx_, ceil_div(pixels_, kernel::band_batch),
           kernel::add_columns<B>{observe(ctx_, level_array(level)), observe(ctx_, level_array(level + 1)), slices_,
                                  pixels_});
  }

  Context const& ctx_;
  Comm const& ranks_;
  cone_views const& part_;
  index_t slices_, pixels_ = 0;
  value_messages<Context, Comm> messages_;
  std::vector<index_range> mine_;
  std::deque<temporary<float, Context>> memory_;
  std::vector<temporary<float, Context> const*> subtrees_, levels_;
};

}  // namespace mbirk::distributed::detail
