// Tests that mpirun starts with 1 to 4 ranks: every rank runs all of them. Rank 0 prints; a failure of any rank fails.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>
#include <optional>

#include "world.hpp"

namespace {

std::optional<mbirk::distributed::mpi> all_ranks;

}  // namespace

namespace testing_ranks {

mbirk::distributed::mpi const& world() { return *all_ranks; }

}  // namespace testing_ranks

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  if (provided < MPI_THREAD_FUNNELED) {
    std::fprintf(stderr, "MPI supports no threads in a rank, expected MPI_THREAD_FUNNELED at least\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  testing::InitGoogleTest(&argc, argv);
  all_ranks.emplace(MPI_COMM_WORLD);
  if (testing_ranks::world().rank() > 0) {
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
  }
  int const failed = RUN_ALL_TESTS();
  using mbirk::distributed::reduction;
  auto const anywhere =
      mbirk::distributed::all_reduce(testing_ranks::world(), "result", failed, reduction::maximum);
  if (testing_ranks::world().rank() == 0 && anywhere != failed) std::fprintf(stderr, "another rank failed\n");
  all_ranks.reset();
  MPI_Finalize();
  return static_cast<int>(anywhere);
}
