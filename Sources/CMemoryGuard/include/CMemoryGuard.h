#pragma once

#include <stddef.h>

// Turns an allocation that fails, in whatever library, into an end that says so. Linking this
// target replaces the C library's allocator by one that asks it and looks at the answer.
//
// Once, a failed allocation gets back a reserve that was kept for it, and is tried again. Then
// `line` goes to descriptor 2, `record` to `record_fd`, and the process exits with code 86 and
// nothing else: no handler runs, for it could not allocate.
//
// `line` and `record` are copied, up to PORTHOLE_GUARD_BYTES each; `record_fd` may be -1. Returns 0,
// or -1 when the reserve could not be mapped. Call it once, while there is one thread.
enum { PORTHOLE_GUARD_BYTES = 128, PORTHOLE_GUARD_EXIT = 86 };
int porthole_guard_arm(
  size_t reserve_bytes, const char *line, int record_fd, const void *record,
  size_t record_bytes);

// Whether the reserve is gone: the limit has been met once.
int porthole_guard_has_shed(void);

// Gives the reserve back before anything has failed, or maps it again (0, or -1 when that fails).
void porthole_guard_give_reserve(void);
int porthole_guard_keep_reserve(void);

// Gives the kernel what the allocator holds and nobody uses.
void porthole_guard_trim(void);

// How often the calling thread has asked the allocator for memory.
unsigned long porthole_guard_thread_allocations(void);

// In a debug build alone, for tests: the `nth` allocation of the process from now on fails, once, or it
// and all after it. 0 ends it.
void porthole_guard_fail(unsigned long nth, int for_good);

// 0 in a sanitizer's build, whose allocator is its own and whose memory fits no limit.
int porthole_guard_is_built(void);

// Gives every thread made from now on, libraries' threads included, a stack of `stack_bytes`, and
// the process one arena to allocate from: each further arena would reserve 64 MiB of addresses.
// Returns 0 or an errno.
int porthole_guard_limit_threads(size_t stack_bytes);
