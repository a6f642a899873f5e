// A source in a child process: its values, and its end by every fault that a file could cause.
#include "input/hdf5_child.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <numeric>

#include "core/messages.hpp"
#include "mbirk/core/error.hpp"

namespace mbirk::test {
namespace {

using namespace program;

std::atomic<bool> never{false};

/// Stands for libhdf5: the name of a data set says how reading it goes wrong.
struct faulty final : hdf5_source {
  static void fault(std::string const& set) {
    if (set == "crash") ::raise(SIGSEGV);
    if (set == "hang")
      while (!never) {
      }
    if (set == "exit") ::_exit(7);
    if (set == "allocate") {
      std::vector<char> const large(std::size_t{1} << 30, 'x');
      std::fputc(large.back(), stderr);
    }
    if (set == "print") std::fputs("HDF5-DIAG: Error detected\n", stderr);
    if (set == "throw") throw io_error("file.h5: data set throw cannot be read", source_location::current());
  }
  bool has(std::string const& set) override {
    fault(set);
    return set == "set";
  }
  std::vector<index_t> shape(std::string const& set) override {
    if (set == "wrapped") return {3, 6148914691236517206};
    return {4, 3};
  }
  std::string type(std::string const&) override { return "float32"; }
  std::vector<std::pair<std::string, std::string>> attributes(std::string const&) override {
    return {{"units", "deg"}, {"", std::string("\0x", 2)}};
  }
  void read(std::string const& set, index_t first, index_t count, float* to) override {
    fault(set);
    std::iota(to, to + 3 * count, static_cast<float>(3 * first));
  }
  void read(std::string const&, index_t first, index_t count, double* to) override {
    std::iota(to, to + 3 * count, static_cast<double>(3 * first));
  }
};

std::shared_ptr<hdf5_source> source(hdf5_trust const& trust = {}) {
  return read_in_child("file.h5", trust, [] { return std::make_unique<faulty>(); });
}
std::string refusal(std::string const& set, hdf5_trust const& trust = {}) {
  auto const s = source(trust);
  std::vector<float> y(12);
  return message_of<error>([&] { s->read(set, 0, 4, y.data()); });
}

TEST(Hdf5Child, PassesValuesOn) {
  auto const s = source();
  EXPECT_TRUE(s->has("set"));
  EXPECT_FALSE(s->has("other"));
  EXPECT_EQ(s->shape("set"), (std::vector<index_t>{4, 3}));
  EXPECT_EQ(s->type("set"), "float32");
  EXPECT_EQ(s->attributes("set"), faulty().attributes("set"));
  std::vector<float> y(6);
  s->read("set", 1, 2, y.data());
  EXPECT_EQ(y, (std::vector<float>{3, 4, 5, 6, 7, 8}));
  std::vector<double> z(3);
  s->read("set", 3, 1, z.data());
  EXPECT_EQ(z, (std::vector<double>{9, 10, 11}));
  EXPECT_NE(message_of<io_error>([&] { s->read("set", 3, 2, y.data()); }).find("has no block of 2 from 3"),
            std::string::npos);
}

TEST(Hdf5Child, ItsEndIsAnError) {
  EXPECT_EQ(refusal("crash"),
            "file.h5: cannot be read: the process that read it ended by signal 11 (Segmentation fault)");
  EXPECT_EQ(refusal("exit"), "file.h5: cannot be read: the process that read it ended with code 7");
  EXPECT_EQ(refusal("throw"), "file.h5: data set throw cannot be read");
  auto const s = source();
  std::vector<float> y(12);
  EXPECT_THROW(s->read("crash", 0, 4, y.data()), io_error);
  EXPECT_EQ(message_of<io_error>([&] { s->has("set"); }),
            "file.h5: cannot be read: the process that read it has ended");
}

TEST(Hdf5Child, IsLimited) {
  hdf5_trust small;
  small.time = std::chrono::milliseconds(200);
  EXPECT_NE(refusal("hang", small).find("file.h5: takes too long to read"), std::string::npos);
#if !defined(__SANITIZE_ADDRESS__)  // which reserves terabytes of addresses
  small.memory = std::size_t{1} << 28;
  EXPECT_EQ(refusal("allocate", small), "file.h5: out of memory");
#endif
  EXPECT_NE(refusal("wrapped").find("has an array of a shape that is not possible"), std::string::npos);
}

TEST(Hdf5Child, PrintsNothing) {
  testing::internal::CaptureStderr();
  source()->has("print");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Hdf5Child, AFileThatCannotBeOpened) {
  auto const open = []() -> std::unique_ptr<hdf5_source> {
    throw io_error("file.h5: no such file", source_location::current());
  };
  EXPECT_EQ(message_of<io_error>([&] { read_in_child("file.h5", {}, open); }), "file.h5: no such file");
}

}  // namespace
}  // namespace mbirk::test
