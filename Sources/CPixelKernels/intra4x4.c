// Intra_4x4 prediction (H.264 clause 8.3.1.2), and the choice among its modes.
#include <string.h>

#include "dispatch.h"
#include "encode_kernels.h"

typedef int16_t i16x8 __attribute__((vector_size(16)));
typedef uint8_t u8x8 __attribute__((vector_size(8)));

enum { MODES = 9 };

// The samples around a block as one line, from the lower left to the upper right, each end once
// more: 0 and 1 are L, 5 is the corner M, 6 to 13 are A to H.
struct edge {
  uint8_t sample[16];
  uint8_t two[16];    // (sample[i] + sample[i + 1] + 1) >> 1
  uint8_t three[16];  // (sample[i - 1] + 2 * sample[i] + sample[i + 1] + 2) >> 2
};

BODY struct edge edge_of(const uint8_t *target, ptrdiff_t stride, int available) {
  struct edge e;
  memset(e.sample, 128, 16);
  if (available & PORTHOLE_LEFT)
    for (int i = 0; i < 4; i++) e.sample[4 - i] = target[i * stride - 1];
  e.sample[0] = e.sample[1];
  if (available & PORTHOLE_CORNER) e.sample[5] = target[-stride - 1];
  if (available & PORTHOLE_ABOVE) {
    memcpy(e.sample + 6, target - stride, 4);
    if (available & PORTHOLE_ABOVE_RIGHT)
      memcpy(e.sample + 10, target - stride + 4, 4);
    else
      memset(e.sample + 10, e.sample[9], 4);
  }
  e.sample[14] = e.sample[15] = e.sample[13];
  for (int i = 1; i < 15; i++) {
    e.two[i] = (uint8_t)((e.sample[i] + e.sample[i + 1] + 1) >> 1);
    e.three[i] = (uint8_t)((e.sample[i - 1] + 2 * e.sample[i] + e.sample[i + 1] + 2) >> 2);
  }
  return e;
}

BODY int mean(const struct edge *e, int available) {
  int left = e->sample[1] + e->sample[2] + e->sample[3] + e->sample[4];
  int above = e->sample[6] + e->sample[7] + e->sample[8] + e->sample[9];
  switch (available & (PORTHOLE_LEFT | PORTHOLE_ABOVE)) {
    case PORTHOLE_LEFT | PORTHOLE_ABOVE: return (left + above + 4) >> 3;
    case PORTHOLE_LEFT: return (left + 2) >> 2;
    case PORTHOLE_ABOVE: return (above + 2) >> 2;
    default: return 128;
  }
}

// The prediction of each mode, 16 bytes in raster order; those that lack a neighbour are not made.
// Answers a bit for each that is.
BODY uint32_t predict(const struct edge *e, int available, uint8_t to[MODES + 1][16]) {
  const uint8_t *two = e->two, *three = e->three;
  uint32_t made = 1 << 2;
  memset(to[2], mean(e, available), 16);
  if (available & PORTHOLE_ABOVE) {
    for (int y = 0; y < 4; y++) {
      memcpy(to[0] + 4 * y, e->sample + 6, 4);
      memcpy(to[3] + 4 * y, three + 7 + y, 4);
      memcpy(to[7] + 4 * y, (y & 1 ? three + 7 : two + 6) + y / 2, 4);
    }
    made |= 1 << 0 | 1 << 3 | 1 << 7;
  }
  if (available & PORTHOLE_LEFT) {
    for (int y = 0; y < 4; y++) {
      memset(to[1] + 4 * y, e->sample[4 - y], 4);
      for (int x = 0; x < 4; x++) {
        int at = 3 - y - x / 2;
        to[8][4 * y + x] = at < 1 ? e->sample[1] : x & 1 ? three[at] : two[at];
      }
    }
    made |= 1 << 1 | 1 << 8;
  }
  if (!(~available & (PORTHOLE_LEFT | PORTHOLE_ABOVE | PORTHOLE_CORNER))) {
    for (int y = 0; y < 4; y++) memcpy(to[4] + 4 * y, three + 5 - y, 4);
    memcpy(to[5], two + 5, 4);
    memcpy(to[5] + 4, three + 5, 4);
    to[5][8] = three[4];
    memcpy(to[5] + 9, two + 5, 3);
    to[5][12] = three[3];
    memcpy(to[5] + 13, three + 5, 3);
    for (int y = 0; y < 4; y++) {
      to[6][4 * y] = two[4 - y];
      to[6][4 * y + 1] = three[5 - y];
      to[6][4 * y + 2] = y == 0 ? three[6] : two[5 - y];
      to[6][4 * y + 3] = y == 0 ? three[7] : three[6 - y];
    }
    made |= 1 << 4 | 1 << 5 | 1 << 6;
  }
  return made;
}

BODY void butterflies(i16x8 row[4]) {
  i16x8 a = row[0] + row[1], b = row[0] - row[1], c = row[2] + row[3], d = row[2] - row[3];
  row[0] = a + c;
  row[1] = b + d;
  row[2] = a - c;
  row[3] = b - d;
}

BODY i16x8 magnitude(i16x8 value) { return __builtin_elementwise_max(value, -value); }

// Half the sum of absolute transformed differences of two predictions.
BODY void two_costs(const uint8_t source[16], const uint8_t *a, const uint8_t *b, uint32_t cost[2]) {
  i16x8 row[4];
  for (int y = 0; y < 4; y++) {
    u8x8 both, twice;
    memcpy(&both, a + 4 * y, 4);
    memcpy((uint8_t *)&both + 4, b + 4 * y, 4);
    memcpy(&twice, source + 4 * y, 4);
    memcpy((uint8_t *)&twice + 4, source + 4 * y, 4);
    row[y] = __builtin_convertvector(twice, i16x8) - __builtin_convertvector(both, i16x8);
  }
  butterflies(row);
  i16x8 p = __builtin_shufflevector(row[0], row[1], 0, 8, 1, 9, 4, 12, 5, 13);
  i16x8 q = __builtin_shufflevector(row[2], row[3], 0, 8, 1, 9, 4, 12, 5, 13);
  i16x8 r = __builtin_shufflevector(row[0], row[1], 2, 10, 3, 11, 6, 14, 7, 15);
  i16x8 s = __builtin_shufflevector(row[2], row[3], 2, 10, 3, 11, 6, 14, 7, 15);
  i16x8 turned[4] = {
      __builtin_shufflevector(p, q, 0, 1, 8, 9, 4, 5, 12, 13),
      __builtin_shufflevector(p, q, 2, 3, 10, 11, 6, 7, 14, 15),
      __builtin_shufflevector(r, s, 0, 1, 8, 9, 4, 5, 12, 13),
      __builtin_shufflevector(r, s, 2, 3, 10, 11, 6, 7, 14, 15),
  };
  butterflies(turned);
  i16x8 sum = magnitude(turned[0]) + magnitude(turned[1]) + magnitude(turned[2]) +
              magnitude(turned[3]);
  cost[0] = (uint32_t)(sum[0] + sum[1] + sum[2] + sum[3]) / 2;
  cost[1] = (uint32_t)(sum[4] + sum[5] + sum[6] + sum[7]) / 2;
}

BODY uint32_t porthole_choose_intra_4x4_body(const uint8_t *source, ptrdiff_t stride,
                                             const uint8_t *target, ptrdiff_t target_stride,
                                             int available, int likely, uint32_t bit_cost,
                                             uint8_t prediction[16], int *mode) {
  uint8_t predicted[MODES + 1][16], block[16];
  struct edge edge = edge_of(target, target_stride, available);
  uint32_t made = predict(&edge, available, predicted), best = UINT32_MAX;
  memcpy(predicted[MODES], predicted[2], 16);
  for (int y = 0; y < 4; y++) memcpy(block + 4 * y, source + y * stride, 4);
  for (int first = 0; first < MODES; first += 2) {
    uint32_t cost[2];
    if (!(made >> first & 3)) continue;
    two_costs(block, predicted[first], predicted[first + 1], cost);
    for (int i = first; i < first + 2; i++) {
      if (!(made >> i & 1)) continue;
      uint32_t all = cost[i - first] + bit_cost * (i == likely ? 1 : 4);
      if (all >= best) continue;
      best = all;
      *mode = i;
    }
  }
  memcpy(prediction, predicted[*mode], 16);
  return best;
}
KERNEL(uint32_t, porthole_choose_intra_4x4,
       (const uint8_t *source, ptrdiff_t stride, const uint8_t *target, ptrdiff_t target_stride,
        int available, int likely, uint32_t bit_cost, uint8_t prediction[16], int *mode),
       (source, stride, target, target_stride, available, likely, bit_cost, prediction, mode))
