#define _GNU_SOURCE
#include "CMemoryGuard.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) \
  || __has_feature(memory_sanitizer)
#define IS_SANITIZED 1
#endif
#endif

int porthole_guard_limit_threads(size_t stack_bytes) {
  pthread_attr_t attributes;
  int error = pthread_attr_init(&attributes);
  if (error != 0) return error;
  error = pthread_attr_setstacksize(&attributes, stack_bytes);
  if (error == 0) error = pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
#ifndef IS_SANITIZED  // A sanitizer's allocator knows no arenas, and says no.
  if (error == 0 && mallopt(M_ARENA_MAX, 1) != 1) error = EINVAL;
  // glibc's own number, which stays only if it is said: otherwise the first large piece that is given back has
  // those after it stay in the heap, a converter of sound for instance.
  if (error == 0 && mallopt(M_MMAP_THRESHOLD, 128 << 10) != 1) error = EINVAL;
#endif
  return error;
}

void porthole_guard_trim(void) { malloc_trim(0); }

#ifdef IS_SANITIZED

int porthole_guard_arm(
  size_t reserve_bytes, const char *line, int record_fd, const void *record,
  size_t record_bytes) {
  return 0;
}

int porthole_guard_has_shed(void) { return 0; }

int porthole_guard_is_built(void) { return 0; }

void porthole_guard_give_reserve(void) {}

int porthole_guard_keep_reserve(void) { return 0; }

unsigned long porthole_guard_thread_allocations(void) { return 0; }

#ifdef DEBUG
void porthole_guard_fail(unsigned long nth, int for_good) {}
#endif

#else

// glibc's own allocator, which it exports for those who stand before it.
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

// Written by `porthole_guard_arm` while there is one thread, read by any thread later.
static size_t reserve_size;
static char last_line[PORTHOLE_GUARD_BYTES];
static size_t last_line_size;
static char last_record[PORTHOLE_GUARD_BYTES];
static size_t last_record_size;
static int last_record_fd = -1;

static _Atomic(void *) reserve;
static atomic_bool is_armed;
static atomic_bool has_shed;
static _Thread_local unsigned long allocation_count;

int porthole_guard_arm(
  size_t reserve_bytes, const char *line, int record_fd, const void *record,
  size_t record_bytes) {
  reserve_size = reserve_bytes;
  if (porthole_guard_keep_reserve() != 0) return -1;
  last_line_size = strnlen(line, sizeof last_line);
  memcpy(last_line, line, last_line_size);
  last_record_size = record_bytes < sizeof last_record ? record_bytes : sizeof last_record;
  memcpy(last_record, record, last_record_size);
  last_record_fd = record_fd;
  atomic_store(&is_armed, 1);
  return 0;
}

int porthole_guard_keep_reserve(void) {
  if (atomic_load(&reserve) != NULL) return 0;
  void *pages = mmap(
    NULL, reserve_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return -1;
  atomic_store(&reserve, pages);
  return 0;
}

void porthole_guard_give_reserve(void) {
  void *pages = atomic_exchange(&reserve, NULL);
  if (pages != NULL) munmap(pages, reserve_size);
}

unsigned long porthole_guard_thread_allocations(void) { return allocation_count; }

int porthole_guard_has_shed(void) { return atomic_load(&has_shed); }

int porthole_guard_is_built(void) { return 1; }

// Gives the reserve back; whether the allocation is worth another try is its caller's to see.
static void shed(void) {
  if (atomic_load(&reserve) == NULL) return;
  porthole_guard_give_reserve();
  atomic_store(&has_shed, 1);
}

#ifdef DEBUG
static atomic_long until_failure;
static atomic_bool fails_for_good;

void porthole_guard_fail(unsigned long nth, int for_good) {
  atomic_store(&fails_for_good, for_good);
  atomic_store(&until_failure, (long)nth);
}

static int must_fail(void) {
  long left = atomic_load(&until_failure);
  if (left == 0) return 0;
  if (left == 1) return atomic_load(&fails_for_good) || atomic_exchange(&until_failure, 0) == 1;
  return atomic_fetch_sub(&until_failure, 1) == 1;
}
#define TRIED(attempt) (must_fail() ? NULL : (attempt))
#else
#define TRIED(attempt) (attempt)
#endif

static void end(void) {
  ssize_t ignored = write(2, last_line, last_line_size);
  if (last_record_fd >= 0) ignored = pwrite(last_record_fd, last_record, last_record_size, 0);
  (void)ignored;
  _exit(PORTHOLE_GUARD_EXIT);
}

// `attempt` once more with the reserve given back; ends the process when that fails too.
#define GUARDED(attempt)                            \
  allocation_count++;                               \
  void *block = TRIED(attempt);                     \
  if (block == NULL && atomic_load(&is_armed)) {    \
    shed();                                         \
    block = TRIED(attempt);                         \
    if (block == NULL) end();                       \
  }

void *malloc(size_t size) {
  GUARDED(__libc_malloc(size))
  return block;
}

void *calloc(size_t count, size_t size) {
  GUARDED(__libc_calloc(count, size))
  return block;
}

void *realloc(void *old, size_t size) {
  // A size of 0 frees, and answers NULL without having failed.
  if (size == 0) return __libc_realloc(old, size);
  GUARDED(__libc_realloc(old, size))
  return block;
}

void *memalign(size_t alignment, size_t size) {
  GUARDED(__libc_memalign(alignment, size))
  return block;
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **result, size_t alignment, size_t size) {
  int is_power = alignment != 0 && (alignment & (alignment - 1)) == 0;
  if (!is_power || alignment % sizeof(void *) != 0) return EINVAL;
  GUARDED(__libc_memalign(alignment, size))
  if (block == NULL) return ENOMEM;
  *result = block;
  return 0;
}

#endif
