// What Swift cannot import of libpipewire: method-call macros, variadic builders, and reads that
// must happen once. Each is wrapped as it stands; what to ask for is decided in Swift.
#pragma once
#include <pipewire/pipewire.h>
#include <pipewire/impl-module.h>
#include <spa/buffer/meta.h>
#include <spa/param/audio/format-utils.h>
#include <spa/param/buffers.h>
#include <spa/param/video/format-utils.h>
#include <spa/pod/builder.h>

static inline void ph_loop_enter(struct pw_loop *loop) { pw_loop_enter(loop); }
static inline void ph_loop_leave(struct pw_loop *loop) { pw_loop_leave(loop); }
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

static inline int ph_core_add_listener(
    struct pw_core *core, struct spa_hook *hook, const struct pw_core_events *events, void *data) {
  return pw_core_add_listener(core, hook, events, data);
}
static inline int ph_core_sync(struct pw_core *core) { return pw_core_sync(core, PW_ID_CORE, 0); }
static inline int ph_registry_add_listener(
    struct pw_registry *registry, struct spa_hook *hook, const struct pw_registry_events *events,
    void *data) {
  return pw_registry_add_listener(registry, hook, events, data);
}
static inline void ph_registry_destroy(struct pw_registry *registry) {
  pw_proxy_destroy((struct pw_proxy *)registry);
}
static inline bool ph_is_node(const char *type) {
  return spa_streq(type, PW_TYPE_INTERFACE_Node);
}

static inline struct pw_node *ph_registry_bind_node(struct pw_registry *registry, uint32_t id) {
  return (struct pw_node *)pw_registry_bind(
      registry, id, PW_TYPE_INTERFACE_Node, PW_VERSION_NODE, 0);
}
static inline int ph_node_add_listener(
    struct pw_node *node, struct spa_hook *hook, const struct pw_node_events *events, void *data) {
  return pw_node_add_listener(node, hook, events, data);
}
static inline int ph_node_enum_formats(struct pw_node *node) {
  return pw_node_enum_params(node, 0, SPA_PARAM_EnumFormat, 0, UINT32_MAX, NULL);
}
static inline void ph_node_destroy(struct pw_node *node) {
  pw_proxy_destroy((struct pw_proxy *)node);
}

// A property of a format: what may be chosen among, the default first where there is a choice. The
// values lie in the pod.
struct ph_values {
  uint32_t choice; // enum spa_choice_type
  uint32_t type;   // SPA_TYPE_*
  uint32_t count;
  const void *first;
};
static inline bool ph_read_property(
    const struct spa_pod *format, uint32_t key, struct ph_values *values) {
  const struct spa_pod_prop *prop = spa_pod_find_prop(format, NULL, key);
  if (prop == NULL) return false;
  struct spa_pod *value = spa_pod_get_values(&prop->value, &values->count, &values->choice);
  values->type = value->type;
  values->first = SPA_POD_BODY_CONST(value);
  uint32_t size = value->type == SPA_TYPE_Id ? 4 : 8;
  return values->count > 0 && value->size >= size;
}

// Parameters of a stream. The pods lie in the caller's buffer and live as long.

struct ph_format_wish {
  const uint32_t *formats;  // the first is liked best
  uint32_t format_count;
  uint32_t max_size;   // pixels, each way
  uint32_t frame_rate; // frames a second, at most
  // Of dma-bufs; none asks for memory that anyone can map. A producer that knows no modifiers passes
  // over a format that has them, and goes on to the next.
  const uint64_t *modifiers;
  uint32_t modifier_count;
};
static inline const struct spa_pod *ph_build_format(
    struct spa_pod_builder *b, const struct ph_format_wish *wish) {
  struct spa_pod_frame object, choice;
  spa_pod_builder_push_object(b, &object, SPA_TYPE_OBJECT_Format, SPA_PARAM_EnumFormat);
  spa_pod_builder_add(
      b, SPA_FORMAT_mediaType, SPA_POD_Id(SPA_MEDIA_TYPE_video), SPA_FORMAT_mediaSubtype,
      SPA_POD_Id(SPA_MEDIA_SUBTYPE_raw), 0);
  spa_pod_builder_prop(b, SPA_FORMAT_VIDEO_format, 0);
  spa_pod_builder_push_choice(b, &choice, SPA_CHOICE_Enum, 0);
  spa_pod_builder_id(b, wish->formats[0]);
  for (uint32_t i = 0; i < wish->format_count; i++) spa_pod_builder_id(b, wish->formats[i]);
  spa_pod_builder_pop(b, &choice);
  if (wish->modifier_count > 0) {
    spa_pod_builder_prop(
        b, SPA_FORMAT_VIDEO_modifier, SPA_POD_PROP_FLAG_MANDATORY | SPA_POD_PROP_FLAG_DONT_FIXATE);
    spa_pod_builder_push_choice(b, &choice, SPA_CHOICE_Enum, 0);
    spa_pod_builder_long(b, (int64_t)wish->modifiers[0]);
    for (uint32_t i = 0; i < wish->modifier_count; i++)
      spa_pod_builder_long(b, (int64_t)wish->modifiers[i]);
    spa_pod_builder_pop(b, &choice);
  }
  spa_pod_builder_add(
      b, SPA_FORMAT_VIDEO_size,
      SPA_POD_CHOICE_RANGE_Rectangle(
          &SPA_RECTANGLE(1920, 1080), &SPA_RECTANGLE(1, 1),
          &SPA_RECTANGLE(wish->max_size, wish->max_size)),
      SPA_FORMAT_VIDEO_framerate,
      SPA_POD_CHOICE_RANGE_Fraction(
          &SPA_FRACTION(wish->frame_rate, 1), &SPA_FRACTION(0, 1), &SPA_FRACTION(1000, 1)),
      SPA_FORMAT_VIDEO_maxFramerate,
      SPA_POD_CHOICE_RANGE_Fraction(
          &SPA_FRACTION(wish->frame_rate, 1), &SPA_FRACTION(0, 1),
          &SPA_FRACTION(wish->frame_rate, 1)),
      0);
  return (const struct spa_pod *)spa_pod_builder_pop(b, &object);
}

// Exactly one way of a camera: one of `spa_format`, or of MJPEG where that is SPA_VIDEO_FORMAT_ENCODED. A
// rate of 0/1 leaves it open.
static inline const struct spa_pod *ph_build_camera_format(
    struct spa_pod_builder *b, uint32_t spa_format, struct spa_rectangle size,
    struct spa_fraction rate) {
  struct spa_pod_frame object;
  bool is_raw = spa_format != SPA_VIDEO_FORMAT_ENCODED;
  spa_pod_builder_push_object(b, &object, SPA_TYPE_OBJECT_Format, SPA_PARAM_EnumFormat);
  spa_pod_builder_add(
      b, SPA_FORMAT_mediaType, SPA_POD_Id(SPA_MEDIA_TYPE_video), SPA_FORMAT_mediaSubtype,
      SPA_POD_Id(is_raw ? SPA_MEDIA_SUBTYPE_raw : SPA_MEDIA_SUBTYPE_mjpg), 0);
  if (is_raw) spa_pod_builder_add(b, SPA_FORMAT_VIDEO_format, SPA_POD_Id(spa_format), 0);
  spa_pod_builder_add(b, SPA_FORMAT_VIDEO_size, SPA_POD_Rectangle(&size), 0);
  if (rate.num > 0) spa_pod_builder_add(b, SPA_FORMAT_VIDEO_framerate, SPA_POD_Fraction(&rate), 0);
  return (const struct spa_pod *)spa_pod_builder_pop(b, &object);
}

static inline bool ph_has_modifier(const struct spa_pod *format) {
  return spa_pod_find_prop(format, NULL, SPA_FORMAT_VIDEO_modifier) != NULL;
}

// Left and right, as `enum spa_audio_format` says.
static inline const struct spa_pod *ph_build_sound_format(
    struct spa_pod_builder *b, uint32_t spa_format, uint32_t samples_per_second) {
  struct spa_audio_info_raw info = {
      .format = (enum spa_audio_format)spa_format, .rate = samples_per_second, .channels = 2,
      .position = {SPA_AUDIO_CHANNEL_FL, SPA_AUDIO_CHANNEL_FR}};
  return spa_format_audio_raw_build(b, SPA_PARAM_EnumFormat, &info);
}

// Buffers of so many bytes, neither more nor fewer.
static inline const struct spa_pod *ph_build_sound_buffers(
    struct spa_pod_builder *b, int32_t bytes) {
  return (const struct spa_pod *)spa_pod_builder_add_object(
      b, SPA_TYPE_OBJECT_ParamBuffers, SPA_PARAM_Buffers, SPA_PARAM_BUFFERS_size,
      SPA_POD_Int(bytes));
}

struct ph_buffer_wish {
  int32_t count, min_count, max_count;
  int32_t data_types; // bits of 1 << enum spa_data_type
  int32_t blocks;     // of memory in each; 0 leaves it to the other side
  int32_t byte_count; // of a block; 0 leaves it to the format
};
static inline const struct spa_pod *ph_build_buffers(
    struct spa_pod_builder *b, const struct ph_buffer_wish *wish) {
  struct spa_pod_frame object;
  spa_pod_builder_push_object(b, &object, SPA_TYPE_OBJECT_ParamBuffers, SPA_PARAM_Buffers);
  spa_pod_builder_add(
      b, SPA_PARAM_BUFFERS_buffers,
      SPA_POD_CHOICE_RANGE_Int(wish->count, wish->min_count, wish->max_count),
      SPA_PARAM_BUFFERS_dataType, SPA_POD_CHOICE_FLAGS_Int(wish->data_types), 0);
  if (wish->blocks > 0)
    spa_pod_builder_add(b, SPA_PARAM_BUFFERS_blocks, SPA_POD_Int(wish->blocks), 0);
  if (wish->byte_count > 0)
    spa_pod_builder_add(
        b, SPA_PARAM_BUFFERS_size, SPA_POD_CHOICE_RANGE_Int(wish->byte_count, 1, INT32_MAX), 0);
  return (const struct spa_pod *)spa_pod_builder_pop(b, &object);
}
static inline const struct spa_pod *ph_build_meta(
    struct spa_pod_builder *b, uint32_t type, int32_t size, int32_t min_size, int32_t max_size) {
  return (const struct spa_pod *)spa_pod_builder_add_object(
      b, SPA_TYPE_OBJECT_ParamMeta, SPA_PARAM_Meta, SPA_PARAM_META_type, SPA_POD_Id(type),
      SPA_PARAM_META_size, SPA_POD_CHOICE_RANGE_Int(size, min_size, max_size));
}

// What the producer may write at any time: each field is read once, into a copy of ours.

static inline struct spa_chunk ph_read_chunk(const struct spa_data *data) {
  const volatile struct spa_chunk *chunk = data->chunk;
  struct spa_chunk copy = {
      .offset = chunk->offset, .size = chunk->size, .stride = chunk->stride, .flags = chunk->flags};
  return copy;
}
static inline struct spa_meta_header ph_read_header(const struct spa_meta_header *shared) {
  const volatile struct spa_meta_header *header = shared;
  struct spa_meta_header copy = {
      .flags = header->flags, .pts = header->pts, .seq = header->seq};
  return copy;
}
static inline struct spa_region ph_read_region(const struct spa_meta_region *shared) {
  const volatile struct spa_region *region = &shared->region;
  struct spa_region copy = {
      .position = {.x = region->position.x, .y = region->position.y},
      .size = {.width = region->size.width, .height = region->size.height}};
  return copy;
}
static inline struct spa_meta_cursor ph_read_cursor(const struct spa_meta_cursor *shared) {
  const volatile struct spa_meta_cursor *cursor = shared;
  struct spa_meta_cursor copy = {
      .id = cursor->id, .position = {.x = cursor->position.x, .y = cursor->position.y},
      .hotspot = {.x = cursor->hotspot.x, .y = cursor->hotspot.y},
      .bitmap_offset = cursor->bitmap_offset};
  return copy;
}
static inline struct spa_meta_bitmap ph_read_bitmap(const struct spa_meta_bitmap *shared) {
  const volatile struct spa_meta_bitmap *bitmap = shared;
  struct spa_meta_bitmap copy = {
      .format = bitmap->format,
      .size = {.width = bitmap->size.width, .height = bitmap->size.height},
      .stride = bitmap->stride, .offset = bitmap->offset};
  return copy;
}
static inline uint32_t ph_read_transform(const struct spa_meta_videotransform *shared) {
  return *(const volatile uint32_t *)&shared->transform;
}
