// The pool behind exec::host: each task runs once, workers are distinct, callers run side by side and nested;
// exceptions, fork, and the limit on threads.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <new>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/messages.hpp"
#include "mbirk/context.hpp"
#include "mbirk/exec/emulation/sanitizer.hpp"
#include "mbirk/exec/host.hpp"
#include "mbirk/exec/processors.hpp"
#include "mbirk/exec/thread_pool.hpp"
#include "mbirk/instrument/none.hpp"
#include "mbirk/projector/parallel.hpp"

namespace {

using namespace mbirk;
using exec::available_processors;
using exec::task_ref;
using exec::thread_pool;

/// Runs f(task, worker) on the pool.
template <class F> void run(thread_pool& pool, index_t tasks, int workers, F const& f) {
  pool.run(tasks, workers, task_ref(f));
}

/// Number of calls of each of n tasks in one loop.
std::vector<int> calls_of_loop(thread_pool& pool, index_t n, int workers) {
  std::vector<std::atomic<int>> calls(static_cast<std::size_t>(n));
  run(pool, n, workers, [&](index_t i, int) { ++calls[static_cast<std::size_t>(i)]; });
  return {calls.begin(), calls.end()};
}

/// Number of tasks that ran, each of which has waited for all others.
int tasks_at_once(thread_pool& pool, int workers) {
  std::atomic<int> arrived{0};
  auto const task = [&](index_t, int) {
    ++arrived;
    while (arrived < workers) std::this_thread::yield();
  };
  pool.run_at_once(workers, task_ref(task));
  return arrived;
}

TEST(ThreadPool, CallsEachTaskOnce) {
  thread_pool pool(3);
  EXPECT_EQ(pool.threads(), 3);
  for (index_t n : {0, 1, 2, 3, 7, 1000})
    for (int workers : {1, 2, 3, 5})
      EXPECT_EQ(calls_of_loop(pool, n, workers), std::vector<int>(static_cast<std::size_t>(n), 1))
          << n << " by " << workers;
}

TEST(ThreadPool, WorkersAreInRangeAndNeverSharedAtOneTime) {
  thread_pool pool(4);
  for (int workers : {2, 3, 4, 7}) {
    std::vector<std::atomic<int>> inside(static_cast<std::size_t>(workers));
    std::atomic<int> wrong{0};
    for (int loop = 0; loop < 50; ++loop)
      run(pool, 64, workers, [&](index_t, int worker) {
        if (worker < 0 || worker >= workers) return void(++wrong);
        auto& mine = inside[static_cast<std::size_t>(worker)];
        if (mine.fetch_add(1) != 0) ++wrong;
        std::this_thread::yield();
        mine.fetch_sub(1);
      });
    EXPECT_EQ(wrong, 0) << workers;
  }
}

TEST(ThreadPool, RunsTasksAtOnce) {
  thread_pool pool(2);
  EXPECT_EQ(tasks_at_once(pool, 2), 2);
  EXPECT_EQ(tasks_at_once(pool, 5), 5);
  EXPECT_EQ(tasks_at_once(pool, 1), 1);
  EXPECT_EQ(tasks_at_once(pool, 0), 0);
}

TEST(ThreadPool, TasksAtOnceOfSeveralCallersAndTheirExceptions) {
  thread_pool pool(2);
  EXPECT_EQ(pool.limited_loops(), 0);
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int loop = 0; loop < 50; ++loop) EXPECT_EQ(tasks_at_once(pool, 3), 3);
    });
  for (auto& caller : callers) caller.join();
  auto const thrower = [](index_t i, int) {
    if (i == 1) throw std::bad_alloc();
  };
  EXPECT_THROW(pool.run_at_once(3, task_ref(thrower)), std::bad_alloc);
  EXPECT_EQ(tasks_at_once(pool, 3), 3);
}

TEST(ThreadPool, TasksAtOnceNeedASlot) {
  thread_pool pool(2);
  constexpr int slots = 16;
  std::atomic<int> inside{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> callers;
  for (int c = 0; c < slots; ++c)
    callers.emplace_back([&] {
      run(pool, 2, 2, [&](index_t, int worker) {
        if (worker == 0) ++inside;
        while (!stop) std::this_thread::yield();
      });
    });
  while (inside < slots) std::this_thread::yield();
  std::string const message = test::message_of<thread_error>([&] { tasks_at_once(pool, 2); });
  stop = true;
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(message, "cannot run 2 tasks at once beside 16 other loops, expected fewer loops");
  EXPECT_EQ(tasks_at_once(pool, 2), 2);
}

TEST(HelperLimit, LeavesAThreadOutForSomeTimeAfterALongWait) {
  constexpr std::int64_t us = 1000, ms = 1000 * us;
  exec::detail::helper_limit limit;
  auto const terms_are = [&](int wanted, std::int64_t now, int workers, std::int64_t nanoseconds) {
    auto const t = limit.of(wanted, now);
    EXPECT_EQ(t.workers, workers) << now;
    EXPECT_EQ(t.nanoseconds, nanoseconds) << now;
  };
  terms_are(4, 5 * ms, 4, 0);
  limit.learn(4, 4, 10 * us, 499 * us, 0, 5 * ms);         // short
  limit.learn(4, 4, 3 * ms, 5999 * us, 0, 5 * ms);         // not long for its loop
  limit.learn(4, 4, 100 * us, 4 * ms, 2101 * us, 5 * ms);  // for a long task
  terms_are(4, 5 * ms, 4, 0);
  EXPECT_EQ(limit.limited_loops(), 0);
  limit.learn(4, 4, 100 * us, 4 * ms, 2100 * us, 5 * ms);
  terms_are(4, 6 * ms, 3, 4 * ms);
  terms_are(64, 6 * ms, 63, 4 * ms);
  terms_are(2, 6 * ms, 1, 4 * ms);
  EXPECT_EQ(limit.limited_loops(), 3);
  limit.learn(4, 3, 100 * us, 3 * ms, 0, 20 * ms);
  terms_are(4, 20 * ms, 2, 3 * ms);
  terms_are(2, 20 * ms, 1, 3 * ms);
  terms_are(4, 44 * ms - 1, 2, 3 * ms);
  terms_are(4, 44 * ms, 4, 0);
  limit.learn(2, 2, 100 * us, 1000 * ms, 0, 50 * ms);  // such as a debugger
  terms_are(2, 50 * ms, 1, 10 * ms);
  terms_are(2, 130 * ms, 2, 0);
}

using steady = std::chrono::steady_clock;

/// A loop in which the caller waits for a helper far longer than it has worked.
void wait_long(thread_pool& pool) {
  constexpr int tasks = 8;
  std::atomic<bool> joined{false};
  std::atomic<int> done{0};
  auto const begin = steady::now();
  run(pool, tasks, 2, [&](index_t, int worker) {
    if (worker == 0) {
      while (!joined) std::this_thread::yield();
      ++done;
    } else {
      joined = true;
      while (done < tasks - 1) std::this_thread::yield();
      std::this_thread::sleep_for(3 * (steady::now() - begin) + std::chrono::milliseconds(20));
    }
  });
}

/// How many of a hundred tasks of 20 microseconds others did than the caller.
int tasks_of_others(thread_pool& pool) {
  std::atomic<int> others{0};
  run(pool, 100, 2, [&](index_t, int worker) {
    others += worker != 0;
    for (auto const end = steady::now() + std::chrono::microseconds(20); steady::now() < end;) {}
  });
  return others;
}

/// On a machine that stops the caller at the wrong moment, a wait is not long: then once more.
TEST(ThreadPool, AfterALongWaitShortLoopsAreTheCallers) {
  int others = -1;
  std::int64_t limited = 0;
  for (int k = 0; k < 20 && others != 0; ++k) {
    thread_pool pool(2);
    wait_long(pool);
    others = tasks_of_others(pool);
    limited = pool.limited_loops();
    EXPECT_EQ(calls_of_loop(pool, 1000, 2), std::vector<int>(1000, 1));
  }
  EXPECT_EQ(others, 0);
  EXPECT_EQ(limited, 1);
}

/// A limit is learned from the processor time of a helper, which here computes or sleeps in its task.
TEST(ThreadTeam, MeasuresHowLongAHelperComputes) {
  using exec::detail::read_thread_clock;
  constexpr std::int64_t ms = 1'000'000;
  for (bool const computes : {true, false}) {
    exec::detail::thread_team team(exec::detail::fork_generation::current());  // not limited by an earlier loop
    team.grow(1);
    std::atomic<bool> joined{false};
    std::int64_t computed = 0;
    auto const task = [&](index_t, int worker) {
      if (worker == 0) {
        while (!joined) std::this_thread::yield();
        return;
      }
      auto const had = read_thread_clock();
      joined = true;
      while (computes && read_thread_clock() < had + 10 * ms) {}
      if (!computes) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      computed += read_thread_clock() - had;  // of both tasks, if the caller was late
    };
    exec::detail::loop_job job{task_ref(task), 2, 2, false};
    team.run(job);
    EXPECT_GE(job.computed.load(), computed);
    EXPECT_LT(job.computed.load(), computed + 5 * ms);
  }
}

/// Loops of the caller are joined once they have taken as long as the last wait, tasks at once from the beginning.
TEST(ThreadPool, AfterALongWaitLongLoopsAreShared) {
  thread_pool pool(2);
  wait_long(pool);
  EXPECT_EQ(tasks_at_once(pool, 2), 2);
  std::atomic<bool> shared{false};
  run(pool, 1000000, 2, [&](index_t, int worker) {  // ends soon after a second thread has joined
    if (worker != 0) shared = true;
    if (!shared) std::this_thread::sleep_for(std::chrono::microseconds(100));
  });
  EXPECT_TRUE(shared);
}

TEST(ThreadPool, NestedLoopsFinish) {
  thread_pool pool(3);
  std::atomic<index_t> sum{0};
  for (int loop = 0; loop < 20; ++loop)
    run(pool, 8, 3, [&](index_t i, int) {
      run(pool, 8, 3, [&](index_t j, int) {
        run(pool, 4, 2, [&](index_t k, int) { sum += 100 * i + 10 * j + k; });
      });
    });
  EXPECT_EQ(sum, 20 * (100 * 28 * 32 + 10 * 28 * 32 + 6 * 64));
}

TEST(ThreadPool, ServesMoreCallersThanItHasSlots) {
  thread_pool pool(3);
  std::vector<index_t> sums(20);
  std::vector<std::thread> callers;
  for (std::size_t c = 0; c < sums.size(); ++c)
    callers.emplace_back([&pool, &sum = sums[c], c] {
      for (int loop = 0; loop < 200; ++loop) {
        std::vector<index_t> part(50);
        run(pool, 50, 3, [&](index_t i, int) { part[static_cast<std::size_t>(i)] = i + static_cast<index_t>(c); });
        sum += std::accumulate(part.begin(), part.end(), index_t{0});
      }
    });
  for (auto& caller : callers) caller.join();
  for (std::size_t c = 0; c < sums.size(); ++c) EXPECT_EQ(sums[c], 200 * (1225 + 50 * static_cast<index_t>(c)));
}

TEST(ThreadPool, RethrowsToTheCallerAndStaysUsable) {
  thread_pool pool(3);
  for (int workers : {1, 2, 3})
    for (index_t bad : {0, 1, 50, 99}) {
      auto const loop = [&] {
        run(pool, 100, workers, [&](index_t i, int) {
          if (i == bad) throw std::runtime_error("task " + std::to_string(i));
        });
      };
      try {
        loop();
        FAIL() << "no exception";
      } catch (std::runtime_error const& e) {
        EXPECT_EQ(std::string(e.what()), "task " + std::to_string(bad));
      }
      EXPECT_THROW(run(pool, 10, workers, [](index_t, int) { throw std::bad_alloc(); }), std::bad_alloc);
      EXPECT_EQ(calls_of_loop(pool, 30, workers), std::vector<int>(30, 1));
    }
}

TEST(ThreadPool, AnExceptionReachesOnlyItsOwnCaller) {
  thread_pool pool(2);
  std::atomic<bool> stop{false};
  std::thread thrower([&] {
    while (!stop) EXPECT_THROW(run(pool, 8, 2, [](index_t, int) { throw 7; }), int);
  });
  for (int loop = 0; loop < 300; ++loop) EXPECT_EQ(calls_of_loop(pool, 8, 2), std::vector<int>(8, 1));
  stop = true;
  thrower.join();
}

TEST(ThreadPool, SleepsBetweenLoops) {
  thread_pool pool(2);
  run(pool, 64, 2, [](index_t, int) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the helper is asleep by now
  timespec before{}, after{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  double const seconds =
      static_cast<double>(after.tv_sec - before.tv_sec) + 1e-9 * static_cast<double>(after.tv_nsec - before.tv_nsec);
  EXPECT_LT(seconds, 0.1);  // a spinning thread would have taken 0.2 s
}

TEST(ThreadPool, AChildOfForkHasThreadsOfItsOwn) {
  if (exec::emulation::thread_sanitizer) GTEST_SKIP() << "the sanitizer does not follow threads that start after fork";
  thread_pool pool(2);
  EXPECT_EQ(calls_of_loop(pool, 100, 2), std::vector<int>(100, 1));
  pid_t const child = fork();
  if (child == 0) {
    bool const good = calls_of_loop(pool, 100, 2) == std::vector<int>(100, 1) && exec::default_pool().threads() >= 1;
    _exit(good ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(calls_of_loop(pool, 100, 2), std::vector<int>(100, 1));
}

TEST(ThreadPool, IsOneAndHasTheThreadsOfThisProcess) {
  EXPECT_EQ(&exec::default_pool(), &exec::default_pool());
  EXPECT_EQ(exec::default_pool().threads(), available_processors());
  EXPECT_EQ(exec::host{}.threads(), available_processors());
  EXPECT_EQ(exec::host{5}.threads(), 5);
  EXPECT_EQ(&exec::host{}.runner(), &exec::default_pool());
}

/// A user-defined scheduler: std::thread for every worker.
struct own_runner final : exec::task_runner {
  int loops = 0;
  int threads() const noexcept override { return 3; }
  void run(index_t tasks, int workers, task_ref task) override {
    ++loops;
    std::atomic<index_t> next{0};
    std::vector<std::thread> team;
    for (int w = 0; w < workers; ++w)
      team.emplace_back([&, w] {
        for (index_t i; (i = next++) < tasks;) task(i, w);
      });
    for (auto& t : team) t.join();
  }
};

TEST(Host, RunsOnARunnerOfTheUsers) {
  own_runner runner;
  exec::host const host(runner);
  EXPECT_EQ(host.threads(), 3);
  EXPECT_EQ(&host.runner(), &runner);
  std::vector<std::atomic<int>> calls(10);
  host.for_each(10, host.workers(10), [&](index_t i, int) { ++calls[static_cast<std::size_t>(i)]; });
  EXPECT_EQ(runner.loops, 1);
  for (auto const& c : calls) EXPECT_EQ(c, 1);
}

/// The projections of one scan on a context, as bits that can be compared.
std::vector<float> projections(exec::host const& host) {
  parallel_parameters p{.sinogram_shape = {20, 9, 17}, .angles = {}};
  for (int v = 0; v < 20; ++v) p.angles.push_back(0.15f * static_cast<float>(v));
  parallel_scan const scan(p);
  auto const [rows, cols, slices] = scan.recon_shape();
  std::vector<float> x(static_cast<std::size_t>(rows * cols * slices)), y(20 * 9 * 17);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = static_cast<float>(k % 23) * 0.1f;
  context const ctx{host, instrument::none{}};
  forward_project(ctx, scan, view<float const, 3>(x.data(), scan.recon_shape()),
                  view<float, 3>(y.data(), scan.sinogram_shape()));
  return y;
}

TEST(Host, BitsDoNotDependOnThreadsOrRunner) {
  auto const expected = projections(exec::host{1});
  for (int threads : {2, 3, 7}) EXPECT_EQ(projections(exec::host{threads}), expected) << threads;
  own_runner runner;
  EXPECT_EQ(projections(exec::host{runner}), expected);
}

TEST(Host, CallersOnSeveralThreadsShareTheDefaultPool) {
  auto const expected = projections(exec::host{1});
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int loop = 0; loop < 5; ++loop) wrong += projections(exec::host{3}) != expected;
    });
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
