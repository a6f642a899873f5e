// The program while it runs, to be looked at, interrupted or killed.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "program.hpp"

namespace mbirk::test {

/// The program in the background, its output in files; killed at the end if it is still running.
class background {
 public:
  background(std::vector<std::string> words, fs::path const& out) {
    words.insert(words.begin(), MBIRK_PROGRAM);
    pid_ = ::fork();
    if (pid_ == 0) {
      int const to = ::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      ::dup2(to, STDOUT_FILENO), ::dup2(to, STDERR_FILENO);
      std::vector<char*> arguments;
      for (auto& word : words) arguments.push_back(word.data());
      arguments.push_back(nullptr);
      ::execv(MBIRK_PROGRAM, arguments.data());
      ::_exit(127);
    }
  }
  ~background() { end(SIGKILL); }
  background(background const&) = delete;
  background& operator=(background const&) = delete;

  /// Waits until a condition holds, which the program may make true while it ends. @return whether it did within two
  /// minutes, which is generous for a busy machine
  bool brings_about(std::function<bool()> const& condition) const {
    auto const end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    for (bool more = true; more;) {
      more = runs() && std::chrono::steady_clock::now() < end;
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  std::string pid() const { return std::to_string(pid_); }
  int end(int signal) {
    if (pid_ <= 0) return -1;
    ::kill(pid_, signal);
    int status = 0;
    ::waitpid(std::exchange(pid_, 0), &status, 0);
    return status;
  }

 private:
  bool runs() const {
    siginfo_t ended{};
    return ::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == 0;
  }

  pid_t pid_;
};

}  // namespace mbirk::test
