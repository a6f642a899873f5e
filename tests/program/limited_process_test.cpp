// A child process with limits: what it answers, and its end by every fault that a file could cause.
#include "input/limited_process.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <vector>

#include "core/messages.hpp"

namespace mbirk::test {
namespace {

using namespace program;

/// Stands for a library that reads a file: the request says how that goes wrong.
void serve(std::string const& request, limited_process::reply_function const& reply) {
  if (request == "crash") ::raise(SIGSEGV);
  if (request == "hang")
    while (std::chrono::steady_clock::now().time_since_epoch().count() >= 0) {
    }
  if (request == "sleep") ::sleep(60);
  if (request == "exit") ::_exit(7);
  if (request == "allocate") {
    std::vector<char> const large(std::size_t{1} << 30, 'x');
    std::fputc(large.back(), stderr);
  }
  if (request == "write") {
    FILE* const file = std::tmpfile();
    std::fputs("text", file);
    std::fflush(file);
  }
  if (request == "print") std::fputs("HDF5-DIAG: Error detected\n", stderr);
  if (request == "throw") throw io_error("file.h5: data set x\ncannot be read", source_location::current());
  reply(request.data(), request.size());
}

std::string refusal(std::string const& request, process_limits const& limits = {}) {
  limited_process child("file.h5", limits, serve);
  return message_of<error>([&] { child.ask(request, 100); });
}

TEST(LimitedProcess, Answers) {
  limited_process child("file.h5", {}, serve);
  EXPECT_EQ(child.ask("one", 100), "one");
  EXPECT_EQ(child.ask("", 100), "");
  std::string two = "???";
  child.ask("two", two.data(), two.size());
  EXPECT_EQ(two, "two");
  EXPECT_EQ(message_of<io_error>([&] { child.ask("throw", 100); }), "file.h5: data set x cannot be read");
  EXPECT_EQ(child.ask("three", 100), "three");  // a refusal is not its end
}

TEST(LimitedProcess, ItsEndIsAnError) {
  EXPECT_EQ(refusal("crash"),
            "file.h5: cannot be read: the process that read it ended by signal 11 (Segmentation fault)");
  EXPECT_EQ(refusal("exit"), "file.h5: cannot be read: the process that read it ended with code 7");
  EXPECT_EQ(refusal("write"),
            "file.h5: cannot be read: the process that read it ended by signal 25 (File size limit exceeded)");
  limited_process child("file.h5", {}, serve);
  EXPECT_THROW(child.ask("crash", 100), io_error);
  EXPECT_EQ(message_of<io_error>([&] { child.ask("one", 100); }),
            "file.h5: cannot be read: the process that read it has ended");
}

TEST(LimitedProcess, AnswersOfAnotherSize) {
  EXPECT_NE(refusal(std::string(101, 'x')).find("gave an answer of 101 bytes"), std::string::npos);
  limited_process child("file.h5", {}, serve);
  std::string four = "????";
  EXPECT_EQ(message_of<io_error>([&] { child.ask("two", four.data(), four.size()); }),
            "file.h5: has other values than its shape says");
}

TEST(LimitedProcess, IsLimited) {
  process_limits small;
  small.time = std::chrono::milliseconds(200);
  for (char const* const request : {"hang", "sleep"})
    EXPECT_EQ(refusal(request, small), "file.h5: takes too long to read: the process that read it did not answer in time");
#if !defined(__SANITIZE_ADDRESS__)  // which reserves terabytes of addresses
  small.memory = std::size_t{1} << 28;
  EXPECT_EQ(refusal("allocate", small), "file.h5: out of memory in the process that reads it");
#endif
}

TEST(LimitedProcess, PrintsNothing) {
  testing::internal::CaptureStderr();
  {
    limited_process child("file.h5", {}, serve);
    EXPECT_EQ(child.ask("print", 100), "print");
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace mbirk::test
