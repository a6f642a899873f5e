/* Preloaded into the program by faults.py: makes one of its system calls or allocations fail, or kills it there.
 *
 * A seccomp filter sends chosen system calls to a signal handler, which counts them and lets them pass or fail. Unlike
 * wrappers of the C library's functions, it meets those that the C library makes by itself, for example for fwrite.
 * Allocations are counted by wrappers of malloc and its kin; those of libhdf5 are left alone, because it crashes when
 * one fails. Counting begins with the function main.
 *
 * MBIRK_FAULT=KIND:FIRST:LAST:ACTION  calls FIRST to LAST of KIND fail; ACTION is the number of an error, or "kill"
 * MBIRK_FAULT_COUNTS=FILE             takes the numbers of calls of each kind, and which one failed last: struct counts
 * MBIRK_FAULT_STACKS=FILE             takes the number of the first allocation of each call stack: uint64_t
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

/* print is a write to anything but a regular file; any is each system call of the others. */
enum kind { kind_write, kind_print, kind_open, kind_link, kind_rename, kind_sync, kind_remove, kind_folder, kind_memory, kind_any, kinds };
static char const* const kind_names[kinds] = {"write", "print", "open", "link", "rename", "sync", "remove", "folder", "memory", "any"};

struct counts {
  _Atomic uint64_t calls[kinds];
  _Atomic uint64_t failed;
};

static struct counts own_counts, *counts = &own_counts;
static int wanted = -1, error_number, kills, stacks = -1;
static uint64_t first, last;
static atomic_int armed;

/* The one place from where system calls pass the filter: the address after the instruction is what the filter sees. */
long mbirk_fault_call(long number, long a, long b, long c, long d, long e, long f);
extern char mbirk_fault_called[];
#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
__asm__(
    ".text\n.globl mbirk_fault_call\n.type mbirk_fault_call,@function\nmbirk_fault_call:\n"
    "mov %rdi,%rax\nmov %rsi,%rdi\nmov %rdx,%rsi\nmov %rcx,%rdx\nmov %r8,%r10\nmov %r9,%r8\nmov 8(%rsp),%r9\nsyscall\n"
    ".globl mbirk_fault_called\nmbirk_fault_called:\nret\n");
#define ARGUMENTS(context)                                                                                       \
  (context)->uc_mcontext.gregs[REG_RDI], (context)->uc_mcontext.gregs[REG_RSI],                                  \
      (context)->uc_mcontext.gregs[REG_RDX], (context)->uc_mcontext.gregs[REG_R10],                              \
      (context)->uc_mcontext.gregs[REG_R8], (context)->uc_mcontext.gregs[REG_R9]
#define FIRST_ARGUMENT(context) (context)->uc_mcontext.gregs[REG_RDI]
#define RESULT(context) (context)->uc_mcontext.gregs[REG_RAX]
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
__asm__(
    ".text\n.globl mbirk_fault_call\n.type mbirk_fault_call,%function\nmbirk_fault_call:\n"
    "mov x8,x0\nmov x0,x1\nmov x1,x2\nmov x2,x3\nmov x3,x4\nmov x4,x5\nmov x5,x6\nsvc #0\n"
    ".globl mbirk_fault_called\nmbirk_fault_called:\nret\n");
#define ARGUMENTS(context)                                                                                    \
  (context)->uc_mcontext.regs[0], (context)->uc_mcontext.regs[1], (context)->uc_mcontext.regs[2],             \
      (context)->uc_mcontext.regs[3], (context)->uc_mcontext.regs[4], (context)->uc_mcontext.regs[5]
#define FIRST_ARGUMENT(context) (context)->uc_mcontext.regs[0]
#define RESULT(context) (context)->uc_mcontext.regs[0]
#else
#error "faults.c knows x86-64 and aarch64"
#endif

static struct { int number; enum kind kind; } const trapped[] = {
    {SYS_write, kind_write}, {SYS_writev, kind_write}, {SYS_pwrite64, kind_write}, {SYS_ftruncate, kind_write},
    {SYS_openat, kind_open}, {SYS_linkat, kind_link}, {SYS_renameat, kind_rename}, {SYS_renameat2, kind_rename},
    {SYS_fsync, kind_sync}, {SYS_fdatasync, kind_sync}, {SYS_unlinkat, kind_remove}, {SYS_mkdirat, kind_folder},
#if defined(SYS_open)
    {SYS_open, kind_open}, {SYS_rename, kind_rename}, {SYS_unlink, kind_remove}, {SYS_mkdir, kind_folder},
#endif
};
enum { number_trapped = sizeof trapped / sizeof trapped[0] };

/* Counts a call; returns whether it shall fail. */
static int counted(enum kind kind) {
  uint64_t const n = atomic_fetch_add(&counts->calls[kind], 1) + 1;
  if (kind != (enum kind)wanted || n < first || n > last) return 0;
  atomic_store(&counts->failed, n);
  if (kills) mbirk_fault_call(SYS_kill, getpid(), SIGKILL, 0, 0, 0, 0);
  return 1;
}

static void on_call(int signal, siginfo_t* info, void* data) {
  (void)signal;
  ucontext_t* const context = data;
  int const before = errno;
  int fails = 0;
  for (int k = 0; k < number_trapped; ++k) {
    if (trapped[k].number != info->si_syscall) continue;
    enum kind kind = trapped[k].kind;
    struct stat there;
    if (kind == kind_write && fstat((int)FIRST_ARGUMENT(context), &there) == 0 && !S_ISREG(there.st_mode)) kind = kind_print;
    fails = counted(kind);
    fails |= counted(kind_any);
    break;
  }
  RESULT(context) = fails ? -error_number : mbirk_fault_call(info->si_syscall, ARGUMENTS(context));
  errno = before;
}

static void stop(char const* why) {
  fprintf(stderr, "faults: %s\n", why);
  _exit(99);
}

static void install_filter(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_call;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  if (sigaction(SIGSYS, &action, NULL) != 0) stop("the signal handler cannot be set");

  uint64_t const passes = (uint64_t)(uintptr_t)mbirk_fault_called;
  struct sock_filter filter[10 + number_trapped];
  int n = 0;
#define ADD(...) filter[n++] = (struct sock_filter)__VA_ARGS__
  ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)));
  ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0));
  ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer)));
  ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)passes, 0, 2));
  ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer) + 4));
  ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(passes >> 32), number_trapped + 1, 0));
  ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
  for (int k = 0; k < number_trapped; ++k)
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)trapped[k].number, (unsigned char)(number_trapped - k), 0));
  ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP));
  struct sock_fprog program = {(unsigned short)n, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    stop("system calls cannot be filtered here");
}

static void read_request(void) {
  char const* const file = getenv("MBIRK_FAULT_COUNTS");
  if (file) {
    int const descriptor = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (descriptor < 0 || ftruncate(descriptor, sizeof(struct counts)) != 0) stop("the counts cannot be written");
    void* const shared = mmap(NULL, sizeof(struct counts), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (shared == MAP_FAILED) stop("the counts cannot be mapped");
    close(descriptor);
    counts = shared;
  }
  char const* const places = getenv("MBIRK_FAULT_STACKS");
  if (places) {
    stacks = open(places, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (stacks < 0) stop("the call stacks cannot be written");
  }
  char const* const request = getenv("MBIRK_FAULT");
  if (!request || !*request) return;
  char name[16], action[16];
  unsigned long long from = 0, to = 0;
  if (sscanf(request, "%15[a-z]:%llu:%llu:%15s", name, &from, &to, action) != 4) stop("MBIRK_FAULT is KIND:FIRST:LAST:ACTION");
  for (int k = 0; k < kinds; ++k)
    if (strcmp(name, kind_names[k]) == 0) wanted = k;
  if (wanted < 0) stop("MBIRK_FAULT names no kind");
  first = from;
  last = to;
  kills = strcmp(action, "kill") == 0;
  error_number = atoi(action);
}

/* The code of libraries whose allocations are left alone. */
static struct { uintptr_t begin, end; } spared[8];
static int number_spared;

static int add_spared(struct dl_phdr_info* library, size_t size, void* data) {
  (void)size;
  (void)data;
  if (!library->dlpi_name || !strstr(library->dlpi_name, "libhdf5")) return 0;
  for (int k = 0; k < library->dlpi_phnum; ++k) {
    ElfW(Phdr) const* const part = &library->dlpi_phdr[k];
    if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
    if (number_spared == sizeof spared / sizeof spared[0]) stop("there are too many libraries of HDF5");
    spared[number_spared].begin = library->dlpi_addr + part->p_vaddr;
    spared[number_spared].end = spared[number_spared].begin + part->p_memsz;
    ++number_spared;
  }
  return 0;
}

static int is_spared(void const* caller) {
  for (int k = 0; k < number_spared; ++k)
    if (spared[k].begin <= (uintptr_t)caller && (uintptr_t)caller < spared[k].end) return 1;
  return 0;
}

typedef int main_function(int, char**, char**);
static main_function* program_main;

static int counted_main(int argc, char** argv, char** environment) {
  read_request();
  install_filter();
  dl_iterate_phdr(add_spared, NULL);
  atomic_store(&armed, 1);
  return program_main(argc, argv, environment);
}

int __libc_start_main(main_function* main, int argc, char** argv, void (*init)(void), void (*end)(void), void (*loader_end)(void), void* stack) {
  typedef int start_function(main_function*, int, char**, void (*)(void), void (*)(void), void (*)(void), void*);
  start_function* start;
  void* const found = dlsym(RTLD_NEXT, "__libc_start_main");
  memcpy(&start, &found, sizeof start);
  program_main = main;
  return start(counted_main, argc, argv, init, end, loader_end, stack);
}

/* Clocks run a hundred times as fast, so that what measures for a time ends soon. */
int clock_gettime(clockid_t clock, struct timespec* now) {
  static struct timespec begin[CLOCK_THREAD_CPUTIME_ID + 1];
  int const result = (int)mbirk_fault_call(SYS_clock_gettime, clock, (long)now, 0, 0, 0, 0);
  if (result < 0) {
    errno = -result;
    return -1;
  }
  if (clock != CLOCK_MONOTONIC && clock != CLOCK_THREAD_CPUTIME_ID) return 0;
  struct timespec* const from = &begin[clock];
  if (!from->tv_sec && !from->tv_nsec) *from = *now;
  int64_t const passed = (now->tv_sec - from->tv_sec) * INT64_C(1000000000) + (now->tv_nsec - from->tv_nsec);
  int64_t const nanoseconds = from->tv_nsec + 100 * passed;
  now->tv_sec = from->tv_sec + nanoseconds / 1000000000;
  now->tv_nsec = nanoseconds % 1000000000;
  return 0;
}

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

static _Unwind_Reason_Code add_frame(struct _Unwind_Context* frame, void* hash) {
  *(uint64_t*)hash = (*(uint64_t*)hash ^ _Unwind_GetIP(frame)) * 0x100000001b3u;
  return _URC_NO_REASON;
}

/* Writes the number of the allocation if none before it had the same call stack. */
static void note_stack(uint64_t number) {
  enum { slots = 1 << 18 };
  static uint64_t seen[slots];
  static atomic_flag busy = ATOMIC_FLAG_INIT;
  if (atomic_flag_test_and_set(&busy)) return; /* the unwinder allocates itself */
  uint64_t hash = 0xcbf29ce484222325u;
  _Unwind_Backtrace(add_frame, &hash);
  hash |= 1; /* 0 is a free slot */
  size_t slot = hash >> 40 & (slots - 1);
  size_t full = 0;
  while (seen[slot] && seen[slot] != hash && ++full < slots) slot = (slot + 1) & (slots - 1);
  if (full == slots) stop("there are too many call stacks");
  if (!seen[slot]) {
    seen[slot] = hash;
    uint64_t const place[2] = {number, hash};
    if (mbirk_fault_call(SYS_write, stacks, (long)place, sizeof place, 0, 0, 0) != sizeof place)
      stop("the call stacks cannot be written");
  }
  atomic_flag_clear(&busy);
}

static int no_memory(void const* caller) {
  if (!atomic_load(&armed) || is_spared(caller)) return 0;
  if (stacks >= 0) note_stack(atomic_load(&counts->calls[kind_memory]) + 1);
  if (!counted(kind_memory)) return 0;
  errno = ENOMEM;
  return 1;
}
#define CALLER __builtin_return_address(0)
void* malloc(size_t bytes) { return no_memory(CALLER) ? NULL : __libc_malloc(bytes); }
void* calloc(size_t n, size_t bytes) { return no_memory(CALLER) ? NULL : __libc_calloc(n, bytes); }
void* realloc(void* old, size_t bytes) { return no_memory(CALLER) ? NULL : __libc_realloc(old, bytes); }
void* memalign(size_t alignment, size_t bytes) { return no_memory(CALLER) ? NULL : __libc_memalign(alignment, bytes); }
void* aligned_alloc(size_t alignment, size_t bytes) {
  return no_memory(CALLER) ? NULL : __libc_memalign(alignment, bytes);
}
/* Wrapped, so that the caller is the one of strdup and not the C library. */
char* strdup(char const* text) {
  size_t const bytes = strlen(text) + 1;
  char* const copy = no_memory(CALLER) ? NULL : __libc_malloc(bytes);
  return copy ? memcpy(copy, text, bytes) : NULL;
}
int posix_memalign(void** to, size_t alignment, size_t bytes) {
  void* const memory = no_memory(CALLER) ? NULL : __libc_memalign(alignment, bytes);
  if (memory) *to = memory;
  return memory ? 0 : ENOMEM;
}
