// The deblocking filter's arithmetic (H.264 clause 8.7.2.3 and 8.7.2.4), 16 samples along an edge.
#include <string.h>

#include "dispatch.h"
#include "encode_kernels.h"

typedef uint8_t u8x16 __attribute__((vector_size(16)));
typedef uint16_t u16x8 __attribute__((vector_size(16)));
typedef int16_t i16x16 __attribute__((vector_size(32)));

#define MIN(a, b) __builtin_elementwise_min(a, b)
#define MAX(a, b) __builtin_elementwise_max(a, b)

BODY i16x16 splat(int value) { return (i16x16){0} + (int16_t)value; }

BODY i16x16 distance(i16x16 a, i16x16 b) { return MAX(a, b) - MIN(a, b); }

BODY i16x16 within(i16x16 value, i16x16 bound) { return MAX(MIN(value, bound), -bound); }

BODY i16x16 either(i16x16 mask, i16x16 yes, i16x16 no) { return (mask & yes) | (~mask & no); }

BODY i16x16 wide(u8x16 bytes) { return __builtin_convertvector(bytes, i16x16); }

BODY u8x16 narrow(i16x16 words) {
  words = MIN(MAX(words, splat(0)), splat(255));
  return __builtin_convertvector(words, u8x16);
}

BODY u8x16 load16(const uint8_t *bytes) {
  u8x16 value;
  memcpy(&value, bytes, 16);
  return value;
}

BODY void store16(uint8_t *bytes, u8x16 value) { memcpy(bytes, &value, 16); }

BODY int any(i16x16 mask) {
  uint64_t words[4];
  memcpy(words, &mask, 32);
  return (words[0] | words[1] | words[2] | words[3]) != 0;
}

// What an edge allows each of 16 samples: the thresholds and tC0.
struct limits {
  i16x16 alpha, beta, bound;
};

BODY i16x16 bounds(const struct porthole_edge *edge) {
  i16x16 bound;
  for (int i = 0; i < 16; i++) bound[i] = edge->strength_bound[i >> 2];
  return bound;
}

BODY struct limits limits_of(const struct porthole_edge *edge) {
  return (struct limits){splat(edge->alpha), splat(edge->beta), bounds(edge)};
}

BODY i16x16 filtered(i16x16 p1, i16x16 p0, i16x16 q0, i16x16 q1, struct limits limits) {
  return (distance(p0, q0) < limits.alpha) & (distance(p1, p0) < limits.beta) &
         (distance(q1, q0) < limits.beta) & (limits.bound >= splat(0));
}

// Samples p3 to q3 across the edge; answers whether any changed.
BODY int luma_samples(u8x16 s[8], const struct porthole_edge *edge) {
  struct limits limits = limits_of(edge);
  i16x16 p2 = wide(s[1]), p1 = wide(s[2]), p0 = wide(s[3]);
  i16x16 q0 = wide(s[4]), q1 = wide(s[5]), q2 = wide(s[6]);
  i16x16 on = filtered(p1, p0, q0, q1, limits);
  if (!any(on)) return 0;
  i16x16 p_near = on & (distance(p2, p0) < limits.beta);
  i16x16 q_near = on & (distance(q2, q0) < limits.beta);
  if (edge->is_strong) {
    i16x16 p3 = wide(s[0]), q3 = wide(s[7]);
    i16x16 small = distance(p0, q0) < splat((edge->alpha >> 2) + 2);
    p_near &= small;
    q_near &= small;
    i16x16 p_weak = either(on, (2 * p1 + p0 + q1 + 2) >> 2, p0);
    i16x16 q_weak = either(on, (2 * q1 + q0 + p1 + 2) >> 2, q0);
    s[3] = narrow(either(p_near, (p2 + 2 * p1 + 2 * p0 + 2 * q0 + q1 + 4) >> 3, p_weak));
    s[4] = narrow(either(q_near, (q2 + 2 * q1 + 2 * q0 + 2 * p0 + p1 + 4) >> 3, q_weak));
    s[2] = narrow(either(p_near, (p2 + p1 + p0 + q0 + 2) >> 2, p1));
    s[5] = narrow(either(q_near, (q2 + q1 + q0 + p0 + 2) >> 2, q1));
    s[1] = narrow(either(p_near, (2 * p3 + 3 * p2 + p1 + p0 + q0 + 4) >> 3, p2));
    s[6] = narrow(either(q_near, (2 * q3 + 3 * q2 + q1 + q0 + p0 + 4) >> 3, q2));
    return 1;
  }
  i16x16 bound = limits.bound;
  i16x16 mean = (p0 + q0 + 1) >> 1;
  s[2] = narrow(p1 + (p_near & within((p2 + mean - 2 * p1) >> 1, bound)));
  s[5] = narrow(q1 + (q_near & within((q2 + mean - 2 * q1) >> 1, bound)));
  // The masks are -1 where they hold.
  i16x16 step = within((4 * (q0 - p0) + p1 - q1 + 4) >> 3, bound - p_near - q_near) & on;
  s[3] = narrow(p0 + step);
  s[4] = narrow(q0 - step);
  return 1;
}

// Samples p1 to q1 across the edge, Cb and Cr in turn.
BODY int chroma_samples(u8x16 s[4], const struct porthole_edge *edge) {
  struct limits limits = limits_of(edge);
  i16x16 p1 = wide(s[0]), p0 = wide(s[1]), q0 = wide(s[2]), q1 = wide(s[3]);
  i16x16 on = filtered(p1, p0, q0, q1, limits);
  if (!any(on)) return 0;
  if (edge->is_strong) {
    s[1] = narrow(either(on, (2 * p1 + p0 + q1 + 2) >> 2, p0));
    s[2] = narrow(either(on, (2 * q1 + q0 + p1 + 2) >> 2, q0));
    return 1;
  }
  i16x16 step = within((4 * (q0 - p0) + p1 - q1 + 4) >> 3, limits.bound + 1) & on;
  s[1] = narrow(p0 + step);
  s[2] = narrow(q0 - step);
  return 1;
}

#define LOW8(a, b) \
  __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH8(a, b) \
  __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define LOW16(a, b)                                                                          \
  __builtin_shufflevector(a, b, 0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 20, 21, 6, 7, 22, 23)
#define HIGH16(a, b)                                                                         \
  __builtin_shufflevector(a, b, 8, 9, 24, 25, 10, 11, 26, 27, 12, 13, 28, 29, 14, 15, 30, 31)
#define LOW32(a, b)                                                                          \
  __builtin_shufflevector(a, b, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23)
#define HIGH32(a, b)                                                                         \
  __builtin_shufflevector(a, b, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31)
#define LOW64(a, b)                                                                          \
  __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23)
#define HIGH64(a, b)                                                                         \
  __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31)

// 16 rows of 8 bytes become 8 columns of 16.
BODY void load_columns(const uint8_t *rows, ptrdiff_t stride, u8x16 column[8]) {
  u8x16 pair[8], a[8], b[8];
  for (int i = 0; i < 8; i++) {
    memcpy(&pair[i], rows + i * stride, 8);
    memcpy((uint8_t *)&pair[i] + 8, rows + (i + 8) * stride, 8);
  }
  for (int i = 0; i < 4; i++) {
    a[i] = LOW8(pair[i], pair[i + 4]);
    a[i + 4] = HIGH8(pair[i], pair[i + 4]);
  }
  for (int half = 0; half < 8; half += 4) {
    u8x16 even_left = LOW8(a[half], a[half + 2]), even_right = HIGH8(a[half], a[half + 2]);
    u8x16 odd_left = LOW8(a[half + 1], a[half + 3]), odd_right = HIGH8(a[half + 1], a[half + 3]);
    b[half] = LOW8(even_left, odd_left);
    b[half + 1] = HIGH8(even_left, odd_left);
    b[half + 2] = LOW8(even_right, odd_right);
    b[half + 3] = HIGH8(even_right, odd_right);
  }
  for (int i = 0; i < 4; i++) {
    column[2 * i] = LOW64(b[i], b[i + 4]);
    column[2 * i + 1] = HIGH64(b[i], b[i + 4]);
  }
}

BODY void store_columns(uint8_t *rows, ptrdiff_t stride, const u8x16 column[8]) {
  u8x16 pairs[4][2], quads[2][4];
  for (int i = 0; i < 4; i++) {
    pairs[i][0] = LOW8(column[2 * i], column[2 * i + 1]);
    pairs[i][1] = HIGH8(column[2 * i], column[2 * i + 1]);
  }
  for (int i = 0; i < 2; i++) {
    for (int half = 0; half < 2; half++) {
      quads[i][2 * half] = LOW16(pairs[2 * i][half], pairs[2 * i + 1][half]);
      quads[i][2 * half + 1] = HIGH16(pairs[2 * i][half], pairs[2 * i + 1][half]);
    }
  }
  for (int i = 0; i < 4; i++) {
    u8x16 two[2] = {LOW32(quads[0][i], quads[1][i]), HIGH32(quads[0][i], quads[1][i])};
    for (int j = 0; j < 2; j++) {
      memcpy(rows + (4 * i + 2 * j) * stride, &two[j], 8);
      memcpy(rows + (4 * i + 2 * j + 1) * stride, (uint8_t *)&two[j] + 8, 8);
    }
  }
}

BODY int porthole_deblock_luma_body(uint8_t *target, ptrdiff_t stride, int is_vertical,
                                     const struct porthole_edge *edge) {
  u8x16 s[8];
  if (is_vertical) {
    load_columns(target - 4, stride, s);
    if (!luma_samples(s, edge)) return 0;
    store_columns(target - 4, stride, s);
    return 1;
  }
  for (int i = 0; i < 8; i++) s[i] = load16(target + (i - 4) * stride);
  if (!luma_samples(s, edge)) return 0;
  for (int i = 1; i < 7; i++) store16(target + (i - 4) * stride, s[i]);
  return 1;
}
KERNEL(int, porthole_deblock_luma,
       (uint8_t *target, ptrdiff_t stride, int is_vertical, const struct porthole_edge *edge),
       (target, stride, is_vertical, edge))

// Eight rows of four Cb and Cr pairs become four columns of eight pairs.
BODY void load_chroma_columns(const uint8_t *rows, ptrdiff_t stride, u8x16 column[4]) {
  u8x16 pair[4];
  for (int i = 0; i < 4; i++) {
    memcpy(&pair[i], rows + i * stride, 8);
    memcpy((uint8_t *)&pair[i] + 8, rows + (i + 4) * stride, 8);
  }
  u8x16 a0 = LOW16(pair[0], pair[2]), a1 = LOW16(pair[1], pair[3]);
  u8x16 a2 = HIGH16(pair[0], pair[2]), a3 = HIGH16(pair[1], pair[3]);
  u8x16 top01 = LOW16(a0, a1), top23 = HIGH16(a0, a1);
  u8x16 bottom01 = LOW16(a2, a3), bottom23 = HIGH16(a2, a3);
  column[0] = LOW64(top01, bottom01);
  column[1] = HIGH64(top01, bottom01);
  column[2] = LOW64(top23, bottom23);
  column[3] = HIGH64(top23, bottom23);
}

BODY void store_chroma_columns(uint8_t *rows, ptrdiff_t stride, const u8x16 column[4]) {
  u8x16 p[2] = {LOW16(column[0], column[1]), HIGH16(column[0], column[1])};
  u8x16 q[2] = {LOW16(column[2], column[3]), HIGH16(column[2], column[3])};
  for (int half = 0; half < 2; half++) {
    u8x16 two[2] = {LOW32(p[half], q[half]), HIGH32(p[half], q[half])};
    for (int j = 0; j < 2; j++) {
      memcpy(rows + (4 * half + 2 * j) * stride, &two[j], 8);
      memcpy(rows + (4 * half + 2 * j + 1) * stride, (uint8_t *)&two[j] + 8, 8);
    }
  }
}

BODY int porthole_deblock_chroma_body(uint8_t *target, ptrdiff_t stride, int is_vertical,
                                      const struct porthole_edge *edge) {
  u8x16 s[4];
  if (is_vertical) {
    load_chroma_columns(target - 4, stride, s);
    if (!chroma_samples(s, edge)) return 0;
    store_chroma_columns(target - 4, stride, s);
    return 1;
  }
  for (int i = 0; i < 4; i++) s[i] = load16(target + (i - 2) * stride);
  if (!chroma_samples(s, edge)) return 0;
  store16(target - stride, s[1]);
  store16(target, s[2]);
  return 1;
}
KERNEL(int, porthole_deblock_chroma,
       (uint8_t *target, ptrdiff_t stride, int is_vertical, const struct porthole_edge *edge),
       (target, stride, is_vertical, edge))
