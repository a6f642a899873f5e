// mbirk top: shows what running mbirk processes do and how much memory they use, by allocation site.
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "commands/command.hpp"
#include "machine/memory.hpp"
#include "machine/nvml.hpp"
#include "machine/process_status.hpp"
#include "mbirk/profile/live_memory.hpp"
#include "process/streams.hpp"

namespace mbirk::program {
namespace {

using json = nlohmann::json;
using instrument::live_sites;

struct top_options : common_options {
  std::optional<std::int64_t> process;
  double interval = 1;
  int count = 0;  ///< 0: unlimited on a terminal, otherwise once
  bool as_json = false;
};

/// A process at one moment, with its activity since the previous look.
struct shown_process {
  profile::live_report live;
  process_status system;
  double busy = 0;                     ///< busy threads: processor time over elapsed time
  std::vector<double> share = {};      ///< share of a processor, by thread
  std::vector<device_status> devices;  ///< status of the devices, with this process's use of them
};

/// Looks repeatedly and keeps the previous state, to compute what happened in between.
class observer {
 public:
  explicit observer(std::optional<std::int64_t> process) : process_(process) {}

  /// @throws io_error when a requested process does not exist or publishes nothing.
  std::vector<shown_process> look() {
    std::vector<profile::live_report> reports;
    if (process_) {
      require<io_error>(read_process(*process_).has_value(),
                        [&] { return fmt::format("there is no process {}", *process_); });
      try {
        reports.push_back(profile::live_process(*process_));
      } catch (io_error const& e) {
        throw io_error(
            fmt::format("process {} is not an mbirk process that this user may read: {}", *process_, e.what()),
            e.where);
      }
    } else reports = profile::live_processes();
    auto const now = live_sites::now();
    std::vector<shown_process> all;
    std::map<std::int64_t, moment> moments;
    for (auto& report : reports) {
      auto system = read_process(report.process);
      if (!system) continue;  // it has just ended
      auto& p = all.emplace_back(
          shown_process{std::move(report), std::move(*system), 0, {}, devices_.devices(report.process)});
      auto& mine = moments[p.live.process] = {now, p.system.seconds, {}};
      auto const before = before_.find(p.live.process);
      double const elapsed = before == before_.end() ? 0 : 1e-9 * static_cast<double>(now - before->second.time);
      auto const rate = [&](double seconds, double seconds_before) {
        return elapsed > 0 ? (seconds - seconds_before) / elapsed : 0;
      };
      p.busy = rate(p.system.seconds, elapsed > 0 ? before->second.seconds : 0);
      for (auto const& t : p.system.threads) {
        mine.threads[t.id] = t.seconds;
        p.share.push_back(rate(
            t.seconds, elapsed > 0 && before->second.threads.contains(t.id) ? before->second.threads.at(t.id) : 0));
      }
    }
    before_ = std::move(moments);
    return all;
  }
  nvml const& devices() const noexcept { return devices_; }

 private:
  struct moment {
    std::int64_t time;
    double seconds;
    std::map<std::int64_t, double> threads;
  };
  std::optional<std::int64_t> process_;
  std::map<std::int64_t, moment> before_;
  nvml devices_;
};

double seconds_since(std::int64_t time) {
  return 1e-9 * static_cast<double>(std::max<std::int64_t>(live_sites::now() - time, 0));
}
std::string size_text(std::int64_t bytes) { return bytes_text(static_cast<double>(bytes)); }

/// Sites ordered by live bytes, then by peak.
std::vector<instrument::live_site const*> sorted_sites(instrument::live_state const& s) {
  std::vector<instrument::live_site const*> sites;
  for (std::int64_t k = 0; k < s.sites; ++k) sites.push_back(&s.site[k]);
  std::sort(sites.begin(), sites.end(), [](auto const* a, auto const* b) {
    return a->live_bytes != b->live_bytes ? a->live_bytes > b->live_bytes : a->peak_bytes > b->peak_bytes;
  });
  return sites;
}

json optional_json(auto const& value) { return value ? json(*value) : json(); }

json to_json(std::vector<shown_process> const& all, nvml const& devices) {
  json list = json::array();
  for (auto const& p : all) {
    auto const& s = p.live.state;
    json j{{"process", p.live.process},
           {"command", p.live.command},
           {"mbirk_version", p.live.program_version},
           {"command_line", p.system.command_line},
           {"elapsed_seconds", seconds_since(p.live.started)},
           {"step", s.step},
           {"scope", s.current},
           {"unchanged_seconds", seconds_since(s.changed)},
           {"consistent", p.live.consistent},
           {"resident_bytes", p.system.resident},
           {"resident_peak_bytes", p.system.resident_peak},
           {"threads_busy", p.busy},
           {"live_bytes", s.live_bytes},
           {"peak_bytes", s.peak_bytes},
           {"allocations_without_site", s.crowded},
           {"threads", json::array()},
           {"sites", json::array()},
           {"devices", json::array()}};
    for (std::size_t k = 0; k < p.share.size(); ++k) {
      auto const& t = p.system.threads[k];
      j["threads"].push_back({{"thread", t.id}, {"name", t.name}, {"busy", p.share[k]}, {"seconds", t.seconds}});
    }
    for (auto const* site : sorted_sites(s))
      j["sites"].push_back({{"scope", site->where},
                            {"array", site->array},
                            {"live_bytes", site->live_bytes},
                            {"live_arrays", site->live_arrays},
                            {"peak_bytes", site->peak_bytes},
                            {"all_bytes", site->all_bytes},
                            {"all_arrays", site->all_arrays}});
    for (auto const& d : p.devices)
      j["devices"].push_back({{"name", d.name},
                              {"process_bytes", optional_json(d.memory_of_process)},
                              {"used_bytes", optional_json(d.memory_used)},
                              {"total_bytes", optional_json(d.memory_total)},
                              {"utilisation_percent", optional_json(d.utilisation)},
                              {"memory_utilisation_percent", optional_json(d.memory_utilisation)},
                              {"clock_mhz", optional_json(d.clock)},
                              {"memory_clock_mhz", optional_json(d.memory_clock)},
                              {"power_w", optional_json(d.power)},
                              {"temperature_c", optional_json(d.temperature)}});
    list.push_back(std::move(j));
  }
  return {{"processes", list}, {"nvml", devices.problem().empty() ? "present" : devices.problem()}};
}

std::string line_of(device_status const& d) {
  std::string line = d.name;
  auto const add = [&](auto const& value, auto const& format) {
    if (value) line += ", " + format(*value);
  };
  add(d.memory_of_process, [](auto bytes) { return size_text(bytes) + " used by this process"; });
  add(d.memory_used, [&](auto bytes) {
    return size_text(bytes) + " by all" + (d.memory_total ? " of " + size_text(*d.memory_total) : "");
  });
  add(d.utilisation, [](double v) { return fmt::format("{:.0f} % busy", v); });
  add(d.memory_utilisation, [](double v) { return fmt::format("memory {:.0f} % busy", v); });
  add(d.clock, [](double v) { return fmt::format("{:.0f} MHz", v); });
  add(d.memory_clock, [](double v) { return fmt::format("memory {:.0f} MHz", v); });
  add(d.power, [](double v) { return fmt::format("{:.1f} W", v); });
  add(d.temperature, [](double v) { return fmt::format("{:.0f} C", v); });
  return line;
}

std::vector<std::string> page_of(shown_process const& p, nvml const& devices) {
  auto const& s = p.live.state;
  std::vector<std::string> lines;
  auto const line = [&](std::string text) { lines.push_back(std::move(text)); };
  line(fmt::format("process {}: mbirk {}, {:.1f} s", p.live.process, p.live.command, seconds_since(p.live.started)));
  line("  " + p.system.command_line);
  if (*s.step || *s.current)
    line(fmt::format("  at {}{}{}, unchanged for {:.1f} s", s.step, *s.step && *s.current ? ": " : "", s.current,
                     seconds_since(s.changed)));
  line(fmt::format("  resident {}, at most {}; {:.2f} threads busy", size_text(p.system.resident),
                   size_text(p.system.resident_peak), p.busy));
  std::string threads;
  for (std::size_t k = 0; k < p.share.size() && k < 16; ++k)
    threads += fmt::format("{}{} {:.0f} %", k ? ", " : "", p.system.threads[k].name, 100 * p.share[k]);
  line("  threads: " + threads + (p.share.size() > 16 ? fmt::format(", and {} more", p.share.size() - 16) : ""));
  for (auto const& d : p.devices) line("  " + line_of(d));
  if (!devices.problem().empty()) line("  " + devices.problem());
  line(fmt::format("live memory {}, at most {}{}", size_text(s.live_bytes), size_text(s.peak_bytes),
                   p.live.consistent ? "" : " (changed while it was read, so sums may not agree)"));
  line(fmt::format("{:>11} {:>11} {:>7}  {}", "live", "at most", "arrays", "allocated by"));
  for (auto const* site : sorted_sites(s))
    line(fmt::format("{:>11} {:>11} {:>7}  {}{}{}", size_text(site->live_bytes), size_text(site->peak_bytes),
                     site->live_arrays, site->where, *site->where && *site->array ? ": " : "", site->array));
  if (s.crowded > 0)
    line(fmt::format("{} allocations had no site of their own and are with the other sites", s.crowded));
  return lines;
}

std::vector<std::string> list_of(std::vector<shown_process> const& all) {
  std::vector<std::string> lines{fmt::format("{:>9}  {:<8} {:>9} {:>11} {:>11} {:>11} {:>6}  {}", "process", "command",
                                             "seconds", "resident", "live", "at most", "busy", "at")};
  for (auto const& p : all) {
    auto const& s = p.live.state;
    lines.push_back(fmt::format("{:>9}  {:<8} {:>9.1f} {:>11} {:>11} {:>11} {:>6.2f}  {}", p.live.process,
                                p.live.command, seconds_since(p.live.started), size_text(p.system.resident),
                                size_text(s.live_bytes), size_text(s.peak_bytes), p.busy, s.step));
  }
  return lines;
}
std::vector<std::string> lines_of(std::vector<shown_process> const& all, nvml const& devices) {
  auto lines = all.size() == 1 ? page_of(all.front(), devices) : list_of(all);
  // The texts come from other processes, so control characters are replaced.
  for (auto& line : lines)
    std::replace_if(
        line.begin(), line.end(), [](unsigned char c) { return c < ' ' || c == 127; }, ' ');
  return lines;
}

std::atomic<bool> stop_asked{false};
static_assert(std::atomic<bool>::is_always_lock_free);

/// During its lifetime, keys are delivered at once without echo, and ctrl-C ends the display but not the program, so
/// that the terminal is restored.
class display {
 public:
  display() : keys_(tcgetattr(STDIN_FILENO, &before_) == 0) {
    if (keys_) {
      auto raw = before_;
      raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    struct sigaction action = {};
    action.sa_handler = [](int) { stop_asked = true; };
    for (int const signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
  }
  ~display() {
    if (keys_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  display(display const&) = delete;
  display& operator=(display const&) = delete;

  static void show(std::vector<std::string> const& lines) {
    winsize size{};
    bool const known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 1 && size.ws_col > 0;
    std::string frame = "\x1b[H";
    for (std::size_t k = 0; k < lines.size() && (!known || k + 1 < size.ws_row); ++k)
      frame += (known ? lines[k].substr(0, size.ws_col) : lines[k]) + "\x1b[K\n";
    program::show("{}\x1b[J", frame);
    std::fflush(stdout);
  }
  /// Waits until q, a signal, or the timeout; returns whether to continue.
  bool wait(double seconds) const {
    auto const end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (!stop_asked) {
      auto const left =
          std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
      if (left <= 0) return true;
      pollfd input{keys_ ? STDIN_FILENO : -1, POLLIN, 0};
      char key = 0;
      if (poll(&input, 1, static_cast<int>(std::min<std::int64_t>(left, 1000))) <= 0) continue;
      if (read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q') return false;
    }
    return false;
  }

 private:
  struct termios before_ = {};
  bool keys_;
};

/// Returns nothing when all observed processes have ended.
std::vector<shown_process> try_to_look(observer& look) {
  try {
    return look.look();
  } catch (io_error const&) {
    return {};
  }
}

int top(top_options const& o) {
  observer look(o.process);
  auto all = look.look();
  require<io_error>(!all.empty(), [] {
    return "no mbirk process that this user may read is running: expected mbirk profile, recon, run or bench";
  });
  bool const terminal = isatty(STDOUT_FILENO) != 0 && !o.as_json;
  // The activity of threads needs two looks, so the second one follows soon.
  constexpr double first_wait = 0.2;
  std::optional<display> screen;
  if (terminal) {
    screen.emplace();
    show("\x1b[2J");
  }
  int const count = o.count > 0 || terminal ? o.count : 1;
  for (int shown = 0; count == 0 || shown < count; ++shown) {
    double const wait = shown == 0 ? std::min(first_wait, o.interval) : o.interval;
    if (terminal) {
      if (!screen->wait(wait)) break;
    } else std::this_thread::sleep_for(std::chrono::duration<double>(wait));
    auto next = try_to_look(look);
    bool const ended = next.empty();
    if (!ended) all = std::move(next);
    else if (shown > 0) break;
    // JSON must be UTF-8, but names of threads and files may not be.
    if (o.as_json) show("{}\n", to_json(all, look.devices()).dump(-1, ' ', false, json::error_handler_t::replace));
    else if (terminal) display::show(lines_of(all, look.devices()));
    else show("{}\n", fmt::join(lines_of(all, look.devices()), "\n"));
    std::fflush(stdout);
    if (ended) break;
  }
  return done;
}

}  // namespace

void add_top_command(CLI::App& app, chosen_command& chosen) {
  auto* const command = app.add_subcommand(
      "top", "Show live memory of running mbirk processes by allocation site, their threads and devices");
  auto const o = std::make_shared<top_options>();
  command->add_option("PID", o->process, "Process to show (default: the only one running, or a list of all)")
      ->check(positive_number());
  command->add_option("--interval", o->interval, "Seconds between refreshes")
      ->check(number_between(0.01, 3600))
      ->type_name("S")
      ->capture_default_str();
  command->add_option("--count", o->count, "Number of refreshes (default: one; on a terminal, until q)")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N");
  command->add_flag("--json", o->as_json, "Print JSON");
  add_common_options(*command, *o, true);
  command->callback([o, &chosen] { chosen = [o] { return top(*o); }; });
}

}  // namespace mbirk::program
