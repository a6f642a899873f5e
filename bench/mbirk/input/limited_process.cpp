#include "input/limited_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <new>
#include <system_error>
#include <utility>

#include "mbirk/io/printable.hpp"

namespace mbirk::program {
namespace {

using std::chrono::steady_clock;

struct request_head {
  std::uint64_t bytes;  ///< of the request, which follows
  std::uint64_t data;   ///< bytes of data in the answer, from which the limit on time follows
};
enum class answer_kind : std::uint64_t { value, io_failure, out_of_memory };
struct answer_head {
  answer_kind what;
  std::uint64_t bytes;  ///< of the value or the message, which follows
};

constexpr std::size_t longest_message = 1 << 16;

/// Sends all bytes; false when the other side is gone.
bool send_all(int to, void const* data, std::size_t bytes) {
  auto const* p = static_cast<char const*>(data);
  while (bytes > 0) {
    auto const n = ::send(to, p, bytes, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    p += n;
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}
/// Reads all bytes without a time limit; false when the other side is gone.
bool receive_all(int from, void* data, std::size_t bytes) {
  auto* p = static_cast<char*>(data);
  while (bytes > 0) {
    auto const n = ::read(from, p, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    p += n;
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

double seconds_for(process_limits const& limits, std::size_t data) {
  return std::chrono::duration<double>(limits.time).count() + static_cast<double>(data) / limits.bytes_per_second;
}

// The child.

void limit(__rlimit_resource what, rlim_t soft, rlim_t hard) {
  rlimit const both{soft, hard};
  ::setrlimit(what, &both);
}

/// Bytes of address space in use.
rlim_t address_space() {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

/// Processor time up to now, in seconds.
rlim_t processor_time() {
  rusage use{};
  ::getrusage(RUSAGE_SELF, &use);
  return static_cast<rlim_t>(use.ru_utime.tv_sec + use.ru_stime.tv_sec);
}

/// Answers requests until the parent is gone.
void serve_all(int socket, process_limits const& limits, limited_process::serve_function const& serve) {
  auto const answer = [&](answer_kind what, void const* data, std::size_t bytes) {
    answer_head const head{what, bytes};
    if (!send_all(socket, &head, sizeof head) || !send_all(socket, data, bytes)) ::_exit(0);
  };
  auto const refuse = [&](answer_kind what, std::string const& text) {
    answer(what, text.data(), std::min(text.size(), longest_message));
  };
  request_head head{};
  while (receive_all(socket, &head, sizeof head)) {
    std::string request(head.bytes, '\0');
    if (!receive_all(socket, request.data(), request.size())) return;
    limit(RLIMIT_CPU, processor_time() + 1 + static_cast<rlim_t>(seconds_for(limits, head.data)), RLIM_INFINITY);
    try {
      serve(request, [&](void const* data, std::size_t bytes) { answer(answer_kind::value, data, bytes); });
    } catch (std::bad_alloc const&) {
      refuse(answer_kind::out_of_memory, "");
    } catch (allocation_error const& e) {
      refuse(answer_kind::out_of_memory, e.what());
    } catch (std::exception const& e) {
      refuse(answer_kind::io_failure, e.what());
    }
  }
}

[[noreturn]] void be_the_child(int socket, process_limits const& limits,
                               limited_process::serve_function const& serve) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  for (int const signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);  // the parent decides
  for (int const signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU}) std::signal(signal, SIG_DFL);
  // Messages of libraries go nowhere.
  if (int const null = ::open("/dev/null", O_RDWR | O_CLOEXEC); null >= 0)
    for (int const standard : {0, 1, 2})
      if (standard != socket) ::dup2(null, standard);
  limit(RLIMIT_CORE, 0, 0);
  limit(RLIMIT_FSIZE, 0, 0);
  rlimit address{};
  ::getrlimit(RLIMIT_AS, &address);
  rlim_t const memory = std::min<rlim_t>(address.rlim_cur, address_space() + limits.memory);
  limit(RLIMIT_AS, memory, memory);
  serve_all(socket, limits, serve);
  ::_exit(0);  // destructors belong to the parent
}

}  // namespace

// The parent.

limited_process::limited_process(std::string name, process_limits const& limits, serve_function const& serve)
    : name_(std::move(name)), limits_(limits) {
  auto const require_started = [&](bool started) {
    require<io_error>(started, [&] {
      return name_ + ": cannot be read in a process of its own: " +
             std::error_code(errno, std::generic_category()).message();
    });
  };
  std::array<int, 2> ends{};
  require_started(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  child_ = ::fork();
  if (child_ == 0) {
    ::close(ends[0]);
    be_the_child(ends[1], limits_, serve);
  }
  int const failure = errno;
  ::close(ends[1]);
  socket_ = ends[0];
  if (child_ > 0) return;
  stop();
  errno = failure;
  require_started(false);
}

void limited_process::stop() noexcept {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  if (child_ <= 0) return;
  ::kill(child_, SIGKILL);
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {}
  child_ = -1;
}

void limited_process::fail(std::string const& what, source_location w) {
  stop();
  throw io_error(name_ + ": " + what, w);
}

/// The child ended by itself: says why.
void limited_process::fail_by_end() {
  int status = 0;
  while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {}
  child_ = -1;
  if (!WIFSIGNALED(status))
    fail("cannot be read: the process that read it ended with code " + std::to_string(WEXITSTATUS(status)));
  int const signal = WTERMSIG(status);
  if (signal == SIGXCPU) fail("takes too long to read: the process that read it was out of processor time");
  fail("cannot be read: the process that read it ended by signal " + std::to_string(signal) + " (" +
       ::strsignal(signal) + ')');
}

limited_process::time_point limited_process::deadline(std::size_t data) const {
  return steady_clock::now() +
         std::chrono::milliseconds(static_cast<std::int64_t>(1000 * seconds_for(limits_, data)));
}

/// Reads all bytes before `until`.
void limited_process::receive(void* to, std::size_t bytes, time_point until) {
  auto* p = static_cast<char*>(to);
  while (bytes > 0) {
    auto const left = std::chrono::ceil<std::chrono::milliseconds>(until - steady_clock::now()).count();
    pollfd wait{socket_, POLLIN, 0};
    int const ready = left > 0 ? ::poll(&wait, 1, static_cast<int>(std::min<std::int64_t>(left, 1'000'000))) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0 && steady_clock::now() < until) continue;
    if (ready <= 0) fail("takes too long to read: the process that read it did not answer in time");
    auto const n = ::read(socket_, p, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail_by_end();
    p += n;
    bytes -= static_cast<std::size_t>(n);
  }
}

/// Sends a request and reads the head of the answer, whose size is returned. Failures are thrown.
std::size_t limited_process::ask_head(std::string const& request, std::size_t most, std::size_t data,
                                      time_point until) {
  if (child_ <= 0) fail("cannot be read: the process that read it has ended");
  request_head const head{request.size(), data};
  if (!send_all(socket_, &head, sizeof head) || !send_all(socket_, request.data(), request.size())) fail_by_end();
  answer_head answer{};
  receive(&answer, sizeof answer, until);
  bool const is_value = answer.what == answer_kind::value;
  if (answer.bytes > (is_value ? most : longest_message))
    fail("cannot be read: the process that read it gave an answer of " + std::to_string(answer.bytes) + " bytes");
  if (is_value) return answer.bytes;
  std::string what(answer.bytes, '\0');
  receive(what.data(), what.size(), until);
  what = printable(what);
  if (answer.what != answer_kind::out_of_memory) throw io_error(what, source_location::current());
  if (what.empty()) what = name_ + ": out of memory in the process that reads it";
  throw allocation_error(what, source_location::current());
}

std::string limited_process::ask(std::string const& request, std::size_t most) {
  auto const until = deadline(0);
  std::string answer(ask_head(request, most, 0, until), '\0');
  receive(answer.data(), answer.size(), until);
  return answer;
}

void limited_process::ask(std::string const& request, void* to, std::size_t bytes) {
  auto const until = deadline(bytes);
  if (ask_head(request, bytes, bytes, until) != bytes) fail("has other values than its shape says");
  receive(to, bytes, until);
}

}  // namespace mbirk::program
