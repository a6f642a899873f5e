// What is set up before anything else: files and signals that would end or spoil long work.
#pragma once

#include <fcntl.h>
#include <signal.h>

namespace mbirk::program {

/// Opens missing descriptors 0 to 2 on /dev/null, so that no output gets their number and with it what is meant for the
/// standard streams. Writing into a pipe without a reader, and beyond the limit of a file's size, become errors.
inline void prepare_process() noexcept {
  for (int descriptor = 0; descriptor <= 2; ++descriptor)
    if (::fcntl(descriptor, F_GETFD) == -1) ::open("/dev/null", descriptor == 0 ? O_RDONLY : O_WRONLY);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace mbirk::program
