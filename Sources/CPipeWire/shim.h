// What Swift cannot import of libpipewire: method-call macros, each wrapped as it stands.
#pragma once
#include <pipewire/pipewire.h>

static inline struct spa_source *ph_loop_add_io(
    struct pw_loop *loop, int fd, uint32_t mask, spa_source_io_func_t func, void *data) {
  return pw_loop_add_io(loop, fd, mask, false, func, data);
}
static inline int ph_loop_update_io(
    struct pw_loop *loop, struct spa_source *source, uint32_t mask) {
  return pw_loop_update_io(loop, source, mask);
}
static inline struct spa_source *ph_loop_add_timer(
    struct pw_loop *loop, spa_source_timer_func_t func, void *data) {
  return pw_loop_add_timer(loop, func, data);
}
static inline int ph_loop_update_timer(
    struct pw_loop *loop, struct spa_source *source, struct timespec *value,
    struct timespec *interval) {
  return pw_loop_update_timer(loop, source, value, interval, false);
}
static inline struct spa_source *ph_loop_add_signal(
    struct pw_loop *loop, int number, spa_source_signal_func_t func, void *data) {
  return pw_loop_add_signal(loop, number, func, data);
}
static inline struct spa_source *ph_loop_add_event(
    struct pw_loop *loop, spa_source_event_func_t func, void *data) {
  return pw_loop_add_event(loop, func, data);
}
static inline int ph_loop_signal_event(struct pw_loop *loop, struct spa_source *source) {
  return pw_loop_signal_event(loop, source);
}
static inline void ph_loop_destroy_source(struct pw_loop *loop, struct spa_source *source) {
  pw_loop_destroy_source(loop, source);
}
