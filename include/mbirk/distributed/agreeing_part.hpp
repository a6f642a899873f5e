// Base of the parts of an iterative reconstruction by several ranks: agreement on errors and on when to stop. Not for
// users.
#pragma once

#include "mbirk/distributed/agreement.hpp"
#include "mbirk/prior/qggmrf.hpp"

namespace mbirk::distributed::detail {

using namespace mbirk::detail;

template <communicator Comm> class agreeing_part {
 public:
  explicit agreeing_part(Comm const& ranks) : ranks_(ranks) {}

  template <class F> void agree(F const& f) const { distributed::agree(ranks_, f); }
  bool go_on(bool mine) const {
    return all_reduce(ranks_, "whether to go on", mine ? 1 : 0, reduction::minimum) != 0;
  }
  /// distributed::recon refuses to compute it.
  template <class Context> double prior_loss(Context const&, view<float, 3>, qggmrf_parameters const&) const {
    return 0;
  }

 protected:
  Comm const& ranks_;
};

}  // namespace mbirk::distributed::detail
