#include "input/hdf5_child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <new>
#include <optional>
#include <system_error>

#include "mbirk/core/error.hpp"
#include "mbirk/io/array_size.hpp"
#include "mbirk/io/printable.hpp"

namespace mbirk::program {
namespace {

using std::chrono::steady_clock;
using text_list = std::vector<std::pair<std::string, std::string>>;

enum class request_kind : std::int64_t { open, has, shape, type, attributes, floats, doubles };
enum class answer_kind : std::int64_t { value, io_failure, out_of_memory };

struct request_head {
  request_kind what;
  std::int64_t name_bytes, first, count;
  std::int64_t bytes;  ///< of the data, from which the limit on time follows
};
struct answer_head {
  answer_kind what;
  std::int64_t bytes;  ///< of the value or the message, which follows
};

constexpr std::int64_t longest_text = std::int64_t{1} << 26;  ///< of an answer that is not data

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

// Lists as bytes.

void put(std::string& to, std::string const& text) {
  auto const bytes = static_cast<std::int64_t>(text.size());
  to.append(reinterpret_cast<char const*>(&bytes), sizeof bytes).append(text);
}
std::optional<std::string> take(std::string_view& from) {
  std::int64_t bytes = 0;
  if (from.size() < sizeof bytes) return std::nullopt;
  std::memcpy(&bytes, from.data(), sizeof bytes);
  from.remove_prefix(sizeof bytes);
  if (bytes < 0 || static_cast<std::uint64_t>(bytes) > from.size()) return std::nullopt;
  std::string text(from.substr(0, static_cast<std::size_t>(bytes)));
  from.remove_prefix(text.size());
  return text;
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

double seconds_for(hdf5_trust const& trust, std::int64_t bytes) {
  return std::chrono::duration<double>(trust.time).count() + static_cast<double>(bytes) / trust.bytes_per_second;
}

class server {
 public:
  server(int socket, hdf5_trust const& trust) : socket_(socket), trust_(trust) {}

  void serve(std::function<std::unique_ptr<hdf5_source>()> const& open) {
    request_head head{};
    while (receive_all(socket_, &head, sizeof head)) {
      std::string name(static_cast<std::size_t>(head.name_bytes), '\0');
      if (!receive_all(socket_, name.data(), name.size())) return;
      limit(RLIMIT_CPU, processor_time() + 1 + static_cast<rlim_t>(seconds_for(trust_, head.bytes)), RLIM_INFINITY);
      if (!answer(open, head, name)) return;
    }
  }

 private:
  bool answer(std::function<std::unique_ptr<hdf5_source>()> const& open, request_head const& head,
              std::string const& name) {
    try {
      switch (head.what) {
        case request_kind::open: source_ = open(); return reply(answer_kind::value, {});
        case request_kind::has: return reply(answer_kind::value, source_->has(name) ? "1" : "0");
        case request_kind::shape: {
          auto const shape = source_->shape(name);
          return reply(answer_kind::value,
                       {reinterpret_cast<char const*>(shape.data()), shape.size() * sizeof(index_t)});
        }
        case request_kind::type: return reply(answer_kind::value, source_->type(name));
        case request_kind::attributes: {
          std::string bytes;
          for (auto const& [key, text] : source_->attributes(name)) {
            put(bytes, key);
            put(bytes, text);
          }
          return reply(answer_kind::value, bytes);
        }
        case request_kind::floats: return reply_data<float>(head, name);
        case request_kind::doubles: return reply_data<double>(head, name);
      }
      return false;
    } catch (std::bad_alloc const&) {
      return reply(answer_kind::out_of_memory, "out of memory");
    } catch (allocation_error const& e) {
      return reply(answer_kind::out_of_memory, e.what());
    } catch (std::exception const& e) {
      return reply(answer_kind::io_failure, e.what());
    }
  }
  bool reply(answer_kind what, std::string_view bytes) const {
    answer_head const head{what, static_cast<std::int64_t>(bytes.size())};
    return send_all(socket_, &head, sizeof head) && send_all(socket_, bytes.data(), bytes.size());
  }
  template <class T> bool reply_data(request_head const& head, std::string const& name) {
    auto shape = source_->shape(name);
    if (!shape.empty()) shape[0] = head.count;
    auto const elements = array_elements(shape, sizeof(T));
    if (!elements) throw std::bad_alloc();
    std::vector<T> data(static_cast<std::size_t>(*elements));
    source_->read(name, head.first, head.count, data.data());
    return reply(answer_kind::value, {reinterpret_cast<char const*>(data.data()), data.size() * sizeof(T)});
  }

  int socket_;
  hdf5_trust const& trust_;
  std::unique_ptr<hdf5_source> source_;
};

[[noreturn]] void be_the_child(int socket, hdf5_trust const& trust,
                               std::function<std::unique_ptr<hdf5_source>()> const& open) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int const signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);  // the parent decides
  for (int const signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU}) std::signal(signal, SIG_DFL);
  // Messages of libhdf5 go nowhere, those included that it prints whatever it is told.
  if (int const null = ::open("/dev/null", O_RDWR | O_CLOEXEC); null >= 0)
    for (int const standard : {0, 1, 2})
      if (standard != socket) ::dup2(null, standard);
  limit(RLIMIT_CORE, 0, 0);
  limit(RLIMIT_FSIZE, 0, 0);
  rlimit address{};
  ::getrlimit(RLIMIT_AS, &address);
  rlim_t const memory = std::min<rlim_t>(address.rlim_cur, address_space() + trust.memory);
  limit(RLIMIT_AS, memory, memory);
  server(socket, trust).serve(open);
  ::_exit(0);  // destructors belong to the parent
}

// The parent.

class child_source final : public hdf5_source {
 public:
  child_source(std::filesystem::path const& path, hdf5_trust const& trust,
               std::function<std::unique_ptr<hdf5_source>()> const& open)
      : path_(path.string()), trust_(trust) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) fail_to_start();
    child_ = ::fork();
    if (child_ == 0) {
      ::close(ends[0]);
      be_the_child(ends[1], trust_, open);
    }
    int const failure = errno;
    ::close(ends[1]);
    socket_ = ends[0];
    if (child_ < 0) {
      stop();
      errno = failure;
      fail_to_start();
    }
    try {
      text(request_kind::open, {});
    } catch (...) {
      stop();
      throw;
    }
  }
  ~child_source() override { stop(); }
  child_source(child_source const&) = delete;
  child_source& operator=(child_source const&) = delete;

  bool has(std::string const& set) override { return text(request_kind::has, set) == "1"; }
  std::vector<index_t> shape(std::string const& set) override {
    auto const bytes = text(request_kind::shape, set);
    std::vector<index_t> shape(bytes.size() / sizeof(index_t));
    std::memcpy(shape.data(), bytes.data(), shape.size() * sizeof(index_t));
    if (!array_elements(shape, 8)) fail("has an array of a shape that is not possible");
    return shape;
  }
  std::string type(std::string const& set) override { return printable(text(request_kind::type, set), 40); }
  text_list attributes(std::string const& object) override {
    auto const bytes = text(request_kind::attributes, object);
    text_list list;
    for (std::string_view rest = bytes; !rest.empty();) {
      auto key = take(rest), value = take(rest);
      if (!key || !value) fail("has attributes that cannot be read");
      list.emplace_back(std::move(*key), std::move(*value));
    }
    return list;
  }
  void read(std::string const& set, index_t first, index_t count, float* to) override {
    data(request_kind::floats, set, first, count, to);
  }
  void read(std::string const& set, index_t first, index_t count, double* to) override {
    data(request_kind::doubles, set, first, count, to);
  }

 private:
  [[noreturn]] void fail(std::string const& what, source_location w = source_location::current()) const {
    throw io_error(path_ + ": " + what, w);
  }
  [[noreturn]] void fail_to_start() const {
    fail("cannot be read in a process of its own: " + std::error_code(errno, std::generic_category()).message());
  }
  void stop() noexcept {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {}
    child_ = -1;
  }
  /// The child ended by itself: says why.
  [[noreturn]] void fail_by_end() {
    int status = 0;
    while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {}
    child_ = -1;
    stop();
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
      fail("takes too long to read: the process that read it was out of processor time");
    fail("cannot be read: the process that read it ended " +
         (WIFSIGNALED(status) ? std::string("by signal ") + std::to_string(WTERMSIG(status)) + " (" +
                                    ::strsignal(WTERMSIG(status)) + ')'
                              : "with code " + std::to_string(WEXITSTATUS(status))));
  }

  /// Reads all bytes before `until`.
  void receive_in_time(void* to, std::size_t bytes, steady_clock::time_point until) {
    auto* p = static_cast<char*>(to);
    while (bytes > 0) {
      auto const left = std::chrono::ceil<std::chrono::milliseconds>(until - steady_clock::now()).count();
      pollfd wait{socket_, POLLIN, 0};
      int const ready = left > 0 ? ::poll(&wait, 1, static_cast<int>(std::min<std::int64_t>(left, 1'000'000))) : 0;
      if (ready < 0 && errno == EINTR) continue;
      if (ready == 0 && steady_clock::now() < until) continue;
      if (ready <= 0) {
        stop();
        fail("takes too long to read: no answer in " + std::to_string(trust_.time.count() / 1000) +
             " s and the time that its data take");
      }
      auto const n = ::read(socket_, p, bytes);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) fail_by_end();
      p += n;
      bytes -= static_cast<std::size_t>(n);
    }
  }
  /// Sends a request and reads the head of the answer. Failures are thrown.
  answer_head ask(request_head head, std::string const& name, std::int64_t bytes, steady_clock::time_point until) {
    if (child_ <= 0) fail("cannot be read: the process that read it has ended");
    head.name_bytes = static_cast<std::int64_t>(name.size());
    if (!send_all(socket_, &head, sizeof head) || !send_all(socket_, name.data(), name.size())) fail_by_end();
    answer_head answer{};
    receive_in_time(&answer, sizeof answer, until);
    bool const is_value = answer.what == answer_kind::value;
    if (answer.bytes < 0 || answer.bytes > (is_value ? bytes : longest_text)) {
      stop();
      fail("cannot be read: the process that read it gave an answer of " + std::to_string(answer.bytes) + " bytes");
    }
    if (is_value) return answer;
    std::string what(static_cast<std::size_t>(answer.bytes), '\0');
    receive_in_time(what.data(), what.size(), until);
    what = printable(what);
    if (!what.starts_with(path_)) what = path_ + ": " + what;
    if (answer.what == answer_kind::out_of_memory) throw allocation_error(what, source_location::current());
    throw io_error(what, source_location::current());
  }
  steady_clock::time_point deadline(std::int64_t bytes) const {
    return steady_clock::now() +
           std::chrono::milliseconds(static_cast<std::int64_t>(1000 * seconds_for(trust_, bytes)));
  }
  std::string text(request_kind what, std::string const& name) {
    auto const until = deadline(0);
    auto const answer = ask({what, 0, 0, 0, 0}, name, longest_text, until);
    std::string bytes(static_cast<std::size_t>(answer.bytes), '\0');
    receive_in_time(bytes.data(), bytes.size(), until);
    return bytes;
  }
  template <class T> void data(request_kind what, std::string const& set, index_t first, index_t count, T* to) {
    auto block = shape(set);
    if (block.empty() || first < 0 || count < 0 || count > block[0] - first)
      fail(set + " has no block of " + std::to_string(count) + " from " + std::to_string(first));
    block[0] = count;
    auto const bytes = array_elements(block, sizeof(T)).value_or(0) * static_cast<index_t>(sizeof(T));
    auto const until = deadline(bytes);
    auto const answer = ask({what, 0, first, count, bytes}, set, bytes, until);
    if (answer.bytes != bytes) {
      stop();
      fail(set + " has other values than its shape says");
    }
    receive_in_time(to, static_cast<std::size_t>(bytes), until);
  }

  std::string path_;
  hdf5_trust trust_;
  pid_t child_ = -1;
  int socket_ = -1;
};

}  // namespace

std::shared_ptr<hdf5_source> read_in_child(std::filesystem::path const& path, hdf5_trust const& trust,
                                           std::function<std::unique_ptr<hdf5_source>()> const& open) {
  return std::make_shared<child_source>(path, trust, open);
}

}  // namespace mbirk::program
