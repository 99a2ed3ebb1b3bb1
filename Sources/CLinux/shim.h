// What Glibc's module lacks. Functions that the C library declares for _GNU_SOURCE alone are
// declared here again, since a module's header cannot define it.
#pragma once
// What Glibc has is taken from there. Read here again, a type such as timespec would belong to either
// module, as the order of files has it, and its users would lack an import.
#pragma clang module import SwiftGlibc
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/dma-buf.h>
#include <linux/inet_diag.h>
#include <linux/memfd.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

extern int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);
extern int dup3(int from, int to, int flags);
extern int pthread_setname_np(pthread_t thread, const char *name);
extern int memfd_create(const char *name, unsigned int flags);
extern int pipe2(int ends[2], int flags);
extern const char *sigabbrev_np(int number);

// The RLIMIT_ constants are of another type than setrlimit's parameter.
static inline int linux_setrlimit(int resource, uint64_t soft_and_hard) {
  struct rlimit limit = {soft_and_hard, soft_and_hard};
  return setrlimit((__rlimit_resource_t)resource, &limit);
}
static inline int linux_getrlimit(int resource, uint64_t *soft, uint64_t *hard) {
  struct rlimit limit;
  int result = getrlimit((__rlimit_resource_t)resource, &limit);
  *soft = limit.rlim_cur;
  *hard = limit.rlim_max;
  return result;
}
static inline int linux_prctl(int option, unsigned long argument) {
  return prctl(option, argument, 0, 0, 0);
}
static inline int linux_capget(cap_user_header_t header, cap_user_data_t sets) {
  return (int)syscall(SYS_capget, header, sets);
}
static inline int linux_capset(cap_user_header_t header, cap_user_data_t sets) {
  return (int)syscall(SYS_capset, header, sets);
}
// Bytes that were written into a pipe and not read yet, or -1.
static inline int linux_unread_bytes(int fd) {
  int count = -1;
  return ioctl(fd, FIONREAD, &count) == 0 ? count : -1;
}
// Keeps a memfd from getting shorter for good; false where its owner did not allow that. The numbers are
// those that glibc shows with _GNU_SOURCE only.
static inline bool linux_seal_against_shrinking(int fd) {
  const int add_seals = 1033, seal_shrink = 2;
  return fcntl(fd, add_seals, seal_shrink) == 0;
}

// Whether a descriptor is a memfd, or another file of shared memory; a device's buffer is none.
static inline bool linux_is_shared_memory(int fd) {
  const int get_seals = 1034;  // F_GET_SEALS, which glibc shows with _GNU_SOURCE only.
  return fcntl(fd, get_seals) >= 0;
}
// Tells the kernel that the processor reads and writes a dma-buf: `end` is 0 before, 1 after.
static inline int linux_dma_buf_sync(int fd, int end) {
  struct dma_buf_sync sync = {DMA_BUF_SYNC_RW | (end ? DMA_BUF_SYNC_END : DMA_BUF_SYNC_START)};
  return ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync);
}
