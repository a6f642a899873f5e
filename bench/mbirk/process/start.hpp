// What is set up before anything else: files and signals that would end or spoil long work.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <new>

#include "process/streams.hpp"

namespace mbirk::program {

/// Memory may run out where nothing can be thrown: nlohmann::json takes some when it destroys an object. The program
/// then ends like for any other lack of memory, with exit code 2. Files without a name go with it.
inline void end_without_memory() noexcept {
  try {
    if (auto const failure = std::current_exception()) std::rethrow_exception(failure);
  } catch (std::bad_alloc const&) {
    print_failure("out of memory");
    ::_exit(2);
  } catch (std::exception const& e) {
    print_failure(e.what());
  } catch (...) {
    print_failure("an exception of an unknown kind");
  }
  std::abort();
}

/// Opens missing descriptors 0 to 2 on /dev/null, so that no output gets their number and with it what is meant for the
/// standard streams. Writing into a pipe without a reader, and beyond the limit of a file's size, become errors.
inline void prepare_process() noexcept {
  for (int descriptor = 0; descriptor <= 2; ++descriptor)
    if (::fcntl(descriptor, F_GETFD) == -1) ::open("/dev/null", descriptor == 0 ? O_RDONLY : O_WRONLY);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  std::set_terminate(end_without_memory);
}

}  // namespace mbirk::program
