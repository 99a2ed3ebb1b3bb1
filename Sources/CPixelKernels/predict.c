// Intra and inter prediction (H.264 clauses 8.3.3, 8.3.4 and 8.4.2.2.2).
#include <string.h>

#include "dispatch.h"
#include "encode_kernels.h"

typedef uint8_t u8x16 __attribute__((vector_size(16)));
typedef uint16_t u16x16 __attribute__((vector_size(32)));
typedef int16_t i16x16 __attribute__((vector_size(32)));

static uint8_t clip255(int value) { return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value); }

BODY void luma_dc(const uint8_t *target, ptrdiff_t stride, int available, uint8_t *prediction) {
  int sum = 0, sides = 0;
  if (available & PORTHOLE_ABOVE) {
    for (int x = 0; x < 16; x++) sum += target[x - stride];
    sides++;
  }
  if (available & PORTHOLE_LEFT) {
    for (int y = 0; y < 16; y++) sum += target[y * stride - 1];
    sides++;
  }
  int mean = sides == 0 ? 128 : (sum + 8 * sides) >> (3 + sides);
  memset(prediction, mean, 256);
}

BODY void luma_plane(const uint8_t *target, ptrdiff_t stride, uint8_t *prediction) {
  const uint8_t *above = target - stride, *left = target - 1;
  int h = 0, v = 0;
  for (int i = 0; i < 8; i++) {
    h += (i + 1) * (above[8 + i] - above[6 - i]);
    v += (i + 1) * (left[(8 + i) * stride] - left[(6 - i) * stride]);
  }
  int b = (5 * h + 32) >> 6, c = (5 * v + 32) >> 6;
  int a = 16 * (left[15 * stride] + above[15]);
  const i16x16 steps = {-7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8};
  const i16x16 least = {0}, most = least + 255;
  for (int y = 0; y < 16; y++) {
    i16x16 value = (steps * (int16_t)b + (int16_t)(a + c * (y - 7) + 16)) >> 5;
    value = __builtin_elementwise_min(__builtin_elementwise_max(value, least), most);
    u8x16 row = __builtin_convertvector(value, u8x16);
    memcpy(prediction + 16 * y, &row, 16);
  }
}

BODY void porthole_intra_luma_body(const uint8_t *target, ptrdiff_t stride, int mode, int available,
                                   uint8_t prediction[256]) {
  switch (mode) {
    case 0:
      for (int y = 0; y < 16; y++) memcpy(prediction + 16 * y, target - stride, 16);
      break;
    case 1:
      for (int y = 0; y < 16; y++) memset(prediction + 16 * y, target[y * stride - 1], 16);
      break;
    case 2:
      luma_dc(target, stride, available, prediction);
      break;
    default:
      luma_plane(target, stride, prediction);
  }
}
KERNEL(void, porthole_intra_luma,
       (const uint8_t *target, ptrdiff_t stride, int mode, int available, uint8_t prediction[256]),
       (target, stride, mode, available, prediction))

// One 4x4 block of one component; which sides count depends on the block's place.
static int chroma_mean(const uint8_t *target, ptrdiff_t stride, int x, int y, int available) {
  int use = available & (PORTHOLE_LEFT | PORTHOLE_ABOVE);
  if (use == (PORTHOLE_LEFT | PORTHOLE_ABOVE) && (x > 0) != (y > 0))
    use = x > 0 ? PORTHOLE_ABOVE : PORTHOLE_LEFT;
  int sum = 0, sides = 0;
  if (use & PORTHOLE_ABOVE) {
    for (int i = 0; i < 4; i++) sum += target[2 * (x + i) - stride];
    sides++;
  }
  if (use & PORTHOLE_LEFT) {
    for (int i = 0; i < 4; i++) sum += target[(y + i) * stride - 2];
    sides++;
  }
  return sides == 0 ? 128 : (sum + 2 * sides) >> (1 + sides);
}

static void chroma_dc(const uint8_t *target, ptrdiff_t stride, int available, uint8_t *prediction) {
  for (int y = 0; y < 8; y += 4) {
    for (int x = 0; x < 8; x += 4) {
      uint8_t cb = (uint8_t)chroma_mean(target, stride, x, y, available);
      uint8_t cr = (uint8_t)chroma_mean(target + 1, stride, x, y, available);
      for (int row = 0; row < 4; row++) {
        uint8_t *to = prediction + 16 * (y + row) + 2 * x;
        for (int i = 0; i < 4; i++) {
          to[2 * i] = cb;
          to[2 * i + 1] = cr;
        }
      }
    }
  }
}

static void chroma_plane(const uint8_t *target, ptrdiff_t stride, uint8_t *prediction) {
  const uint8_t *above = target - stride, *left = target - 2;
  int h = 0, v = 0;
  for (int i = 0; i < 4; i++) {
    h += (i + 1) * (above[2 * (4 + i)] - above[2 * (2 - i)]);
    v += (i + 1) * (left[(4 + i) * stride] - left[(2 - i) * stride]);
  }
  int b = (34 * h + 32) >> 6, c = (34 * v + 32) >> 6;
  int a = 16 * (left[7 * stride] + above[14]);
  for (int y = 0; y < 8; y++)
    for (int x = 0; x < 8; x++)
      prediction[16 * y + 2 * x] = clip255((a + b * (x - 3) + c * (y - 3) + 16) >> 5);
}

void porthole_intra_chroma(const uint8_t *target, ptrdiff_t stride, int mode, int available,
                           uint8_t prediction[128]) {
  switch (mode) {
    case 0:
      chroma_dc(target, stride, available, prediction);
      break;
    case 1:
      for (int y = 0; y < 8; y++)
        for (int x = 0; x < 8; x++)
          memcpy(prediction + 16 * y + 2 * x, target + y * stride - 2, 2);
      break;
    case 2:
      for (int y = 0; y < 8; y++) memcpy(prediction + 16 * y, target - stride, 16);
      break;
    default:
      chroma_plane(target, stride, prediction);
      chroma_plane(target + 1, stride, prediction + 1);
  }
}

BODY u16x16 wide(const uint8_t *bytes) {
  u8x16 value;
  memcpy(&value, bytes, 16);
  return __builtin_convertvector(value, u16x16);
}

BODY void porthole_inter_chroma_body(const uint8_t *reference, ptrdiff_t stride, int half_x,
                                     int half_y, uint8_t prediction[128]) {
  const ptrdiff_t right = half_x ? 2 : 0, below = half_y ? stride : 0;
  for (int y = 0; y < 8; y++, reference += stride) {
    // Where one of the two is not halved each sample counts twice, which rounds as one half does.
    u16x16 sum = wide(reference) + wide(reference + right) + wide(reference + below) +
                 wide(reference + right + below);
    u8x16 mean = __builtin_convertvector((sum + 2) >> 2, u8x16);
    memcpy(prediction + 16 * y, &mean, 16);
  }
}
KERNEL(void, porthole_inter_chroma,
       (const uint8_t *reference, ptrdiff_t stride, int half_x, int half_y,
        uint8_t prediction[128]),
       (reference, stride, half_x, half_y, prediction))
