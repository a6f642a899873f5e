// Every operation of the table, without memory at each of its allocations in turn and with callbacks that throw:
// afterwards the pool and the context are usable, and the next call has its bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory_resource>
#include <new>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "mbirk/exec/default_pool.hpp"
#include "mbirk/io/folder.hpp"
#include "operations/operations.hpp"
#include "operations/profile_problem.hpp"
#include "operations/recon_run.hpp"

namespace {

std::atomic<bool> counting_allocations{false};
std::atomic<long> allocations{0}, failing_allocation{0};

bool fails_now() {
  return counting_allocations.load(std::memory_order_relaxed) &&
         allocations.fetch_add(1, std::memory_order_relaxed) + 1 == failing_allocation;
}

}  // namespace

void* operator new(std::size_t bytes) {
  void* const p = fails_now() ? nullptr : std::malloc(std::max<std::size_t>(bytes, 1));
  if (!p) throw std::bad_alloc();
  return p;
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  auto const unit = static_cast<std::size_t>(alignment);
  auto const units = std::max((bytes + unit - 1) / unit, std::size_t{1});
  void* const p = fails_now() ? nullptr : std::aligned_alloc(unit, units * unit);
  if (!p) throw std::bad_alloc();
  return p;
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace {

using namespace mbirk;
using namespace mbirk::program;

constexpr index_t size = 8;
constexpr int threads = 2;  // so that some allocations fail in another thread than the caller's

std::string bits_of(operands const& x) {
  return std::visit(
      [](auto const& array) {
        return std::string(reinterpret_cast<char const*>(array.data.data()), array.data.size() * sizeof array.data[0]);
      },
      x.output);
}

/// Fails at one allocation with an exception of its own.
struct own_failure : std::runtime_error {
  own_failure() : std::runtime_error("of the user") {}
};
class failing_resource final : public std::pmr::memory_resource {
 public:
  long fails_at = 0, calls = 0;
  bool own_exception = false;
  std::atomic<long> live{0};

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (++calls == fails_at) {
      if (own_exception) throw own_failure();
      throw std::bad_alloc();
    }
    ++live;
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override {
    --live;
    std::pmr::new_delete_resource()->deallocate(p, bytes, alignment);
  }
  bool do_is_equal(memory_resource const& other) const noexcept override { return this == &other; }
};

/// A pool whose n-th loop fails before it begins.
class failing_runner final : public exec::task_runner {
 public:
  long fails_at = 0, calls = 0;
  int threads() const noexcept override { return exec::default_pool().threads(); }
  void run(index_t tasks, int workers, exec::task_ref task) override {
    if (++calls == fails_at) throw own_failure();
    exec::default_pool().run(tasks, workers, task);
  }
};

class LibraryFaults : public ::testing::TestWithParam<profile_entry const*> {
 protected:
  profile_entry const& entry = *GetParam();
  long reported = 0;  ///< faults that ended a call
  profile_problem problem{entry.geometry, size, threads, true};
  operands x = problem.make_operands(*entry.op, entry.arguments);

  void call(exec::host const& host) {
    entry.op->run(any_context(context<exec::host, instrument::any>{host, {}}), problem.scan(), x);
  }
  std::string result(exec::host const& host) {
    call(host);
    return bits_of(x);
  }
  /// Calls with one fault, which may be survived; then the call has its bits, by the same pool and the same policy.
  template <class... Expected, class Disarm>
  void expect_usable_after(exec::host const& host, std::string const& bits, long place, Disarm const& disarm) {
    bool thrown = false;
    try {
      call(host);
    } catch (std::exception const& e) {
      thrown = true;
      ++reported;
      disarm();
      EXPECT_TRUE((dynamic_cast<Expected const*>(&e) || ...)) << entry.name << ", place " << place << ": " << e.what();
    }
    disarm();
    EXPECT_TRUE(thrown || bits_of(x) == bits) << entry.name << " has other bits with a fault at place " << place;
    EXPECT_TRUE(result(host) == bits) << entry.name << " has other bits after place " << place;
  }
};

TEST_P(LibraryFaults, WithoutMemoryAtEachAllocation) {
  exec::host const host(threads);
  auto const bits = result(host);
  allocations = 0;
  failing_allocation = 0;
  counting_allocations = true;
  call(host);
  counting_allocations = false;
  long const count = allocations;
  RecordProperty("places", std::to_string(count));
  for (long n = 1; n <= count; ++n) {
    allocations = 0;
    failing_allocation = n;
    counting_allocations = true;
    expect_usable_after<std::bad_alloc, allocation_error>(host, bits, n, [] { counting_allocations = false; });
  }
  EXPECT_GT(reported, count / 2) << "most of what is taken is needed";
}

TEST_P(LibraryFaults, WithAResourceThatFails) {
  failing_resource memory;
  exec::host const host(threads, &memory);
  auto const bits = result(host);
  memory.calls = 0;
  call(host);
  long const count = memory.calls;
  for (bool const own : {false, true})
    for (long n = 1; n <= count; ++n) {
      memory.calls = 0;
      memory.fails_at = n;
      memory.own_exception = own;
      expect_usable_after<std::bad_alloc, allocation_error, own_failure>(host, bits, n, [&] { memory.fails_at = 0; });
      EXPECT_EQ(memory.live, 0) << entry.name << " keeps memory after place " << n;
    }
  EXPECT_EQ(reported, 2 * count);
}

TEST_P(LibraryFaults, WithARunnerThatFails) {
  failing_runner runner;
  exec::host const host(runner, threads);
  auto const bits = result(host);
  runner.calls = 0;
  call(host);
  long const count = runner.calls;
  for (long n = 1; n <= count; ++n) {
    runner.calls = 0;
    runner.fails_at = n;
    expect_usable_after<own_failure>(host, bits, n, [&] { runner.fails_at = 0; });
  }
  EXPECT_EQ(reported, count);
}

std::vector<profile_entry const*> all_entries() {
  std::vector<profile_entry const*> all;
  for (auto const& entry : profile_entries()) all.push_back(&entry);
  return all;
}
INSTANTIATE_TEST_SUITE_P(Operations, LibraryFaults, ::testing::ValuesIn(all_entries()), [](auto const& entry) {
  std::string name = entry.param->name;
  std::replace_if(name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
});

/// Without memory for its records counting fails where they are asked for, not in the destructors of its guards; and
/// what it has then is whole.
TEST(CountingFaults, WithoutMemoryAtEachAllocation) {
  for (char const* const name : {"gen_weights_transmission", "parallel_forward_project"}) {
    auto const& entry = *matching_entries(name).front();
    profile_problem problem(entry.geometry, size, 1, true);
    operands x = problem.make_operands(*entry.op, entry.arguments);
    instrument::ledger counts;
    context<exec::host, counting> const ctx{exec::host{1}, counting(counts)};
    auto const call = [&] {
      counts.clear();
      entry.op->run(any_context(ctx), problem.scan(), x);
      return counts.last().operations;
    };
    auto const expected = call();
    long n = 0, failed = 0;
    for (bool ended = false; !ended; ++n) {
      allocations = 0;
      failing_allocation = n + 1;
      counting_allocations = true;
      try {
        EXPECT_TRUE(call() == expected) << name << ", place " << n;
        ended = allocations <= n;
      } catch (std::bad_alloc const&) {
        ++failed;
      } catch (allocation_error const&) {
        ++failed;
      }
      counting_allocations = false;
      EXPECT_EQ(counts.open, nullptr);
      EXPECT_TRUE(call() == expected) << name << ", after place " << n;
    }
    EXPECT_GT(failed, n / 2) << name;
  }
}

TEST(FolderFaults, WithoutMemoryAtEachAllocation) {
  // The folder of this process's threads has folders and files.
  std::filesystem::path const folder = "/proc/self/task";
  auto const count_of = [&] { return mbirk::detail::paths_below(folder, std::filesystem::file_type::regular).size(); };
  long n = 0;
  for (bool ended = false; !ended; ++n) {
    allocations = 0;
    failing_allocation = n + 1;
    counting_allocations = true;
    try {
      ended = count_of() > 0;
    } catch (std::bad_alloc const&) {
    }
    counting_allocations = false;
  }
  EXPECT_GT(n, 100) << "every entry needs memory";
}

TEST(LibraryFaults, CallbacksThatThrow) {
  for (char const* geometry : {"parallel", "cone"}) {
    profile_problem const problem(geometry, size, threads, true);
    auto const scan = std::visit(
        []<class Scan>(Scan const& s) -> recon_scan {
          if constexpr (std::is_same_v<Scan, std::monostate>) throw std::logic_error("no scan");
          else return s;
        },
        problem.scan());
    auto const* const project = find_operation("back_project");
    auto const inputs = problem.make_operands(*project);
    recon_context const ctx{exec::host(threads), {}};
    auto const shape = std::visit([](auto const& s) { return s.recon_shape(); }, scan);
    auto const run = [&](recon_options const& options) {
      npy_array<float> out{{shape[0], shape[1], shape[2]}, {}};
      out.data.resize(static_cast<std::size_t>(shape[0] * shape[1] * shape[2]));
      vcd_recon(ctx, scan, inputs.volume("sinogram"), {}, {out.data.data(), shape}, options);
      return out.data;
    };
    recon_options plain;
    plain.max_iterations = 4;
    plain.stop_threshold_change_pct = 0;
    auto const expected = run(plain);
    for (int at = 1; at <= 4; ++at)
      for (bool const in_checkpoint : {false, true}) {
        auto options = plain;
        int calls = 0;
        recon_state kept;
        options.checkpoint = [&](recon_state const& state) {
          if (in_checkpoint && ++calls == at) throw own_failure();
          kept = state;
        };
        options.progress = [&](iteration_report const&) {
          if (!in_checkpoint && ++calls == at) throw own_failure();
          return true;
        };
        EXPECT_THROW(run(options), own_failure) << geometry << ", call " << at;
        EXPECT_EQ(run(plain), expected) << geometry << ", after an exception in call " << at;
        if (kept.record.num_iterations == 0) continue;
        auto resumed = plain;
        resumed.resume = &kept;
        EXPECT_EQ(run(resumed), expected) << geometry << ", resumed after an exception in call " << at;
      }
  }
}

}  // namespace
