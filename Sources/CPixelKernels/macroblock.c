// Whole macroblocks: hashing, copying, comparing.
#include <string.h>

#include "dispatch.h"
#include "encode_kernels.h"

typedef uint64_t u64x4 __attribute__((vector_size(32)));
typedef uint8_t u8x16 __attribute__((vector_size(16)));
typedef int16_t i16x16 __attribute__((vector_size(32)));
typedef int32_t i32x8 __attribute__((vector_size(32)));

// Odd constants without structure: the first hexadecimal digits of pi.
static const u64x4 key_start = {0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0,
                                0x082efa98ec4e6c89};
static const u64x4 key_step = {0x452821e638d01377, 0xbe5466cf34e90c6c, 0xc0ac29b7c97c50dd,
                               0x3f84d5b5b5470917};

BODY u64x4 two_rows(const uint8_t *row, ptrdiff_t stride) {
  u64x4 rows;
  memcpy(&rows, row, 16);
  memcpy((uint8_t *)&rows + 16, row + stride, 16);
  return rows;
}

// Each 64-bit word is added to its neighbour's sum and, keyed, multiplied half by half into its own.
BODY u64x4 absorb(u64x4 sum, u64x4 words, u64x4 key) {
  u64x4 keyed = words ^ key;
  sum += __builtin_shufflevector(words, words, 1, 0, 3, 2);
  return sum + (keyed & 0xffffffff) * (keyed >> 32);
}

BODY uint64_t fold(uint64_t a, uint64_t b) {
  unsigned __int128 product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

BODY uint64_t hash_one(const uint8_t *luma, const uint8_t *chroma, ptrdiff_t stride) {
  u64x4 key = key_start, even = key_step, odd = key_start;
  for (int row = 0; row < 16; row += 4) {
    even = absorb(even, two_rows(luma + row * stride, stride), key);
    odd = absorb(odd, two_rows(luma + (row + 2) * stride, stride), key + key_step);
    key += key_step + key_step;
  }
  for (int row = 0; row < 8; row += 4) {
    even = absorb(even, two_rows(chroma + row * stride, stride), key);
    odd = absorb(odd, two_rows(chroma + (row + 2) * stride, stride), key + key_step);
    key += key_step + key_step;
  }
  uint64_t hash = fold(even[0] ^ key_step[0], even[1] ^ key_step[1]);
  hash += fold(even[2] ^ key_step[2], even[3] ^ key_step[3]);
  hash += fold(odd[0] ^ key_start[0], odd[1] ^ key_start[1]);
  hash += fold(odd[2] ^ key_start[2], odd[3] ^ key_start[3]);
  return fold(hash ^ key_start[0], key_step[1]);
}

BODY void porthole_hash_macroblocks_body(const uint8_t *luma, const uint8_t *chroma,
                                         ptrdiff_t stride, int count, uint64_t *hashes) {
  for (int i = 0; i < count; i++) hashes[i] = hash_one(luma + 16 * i, chroma + 16 * i, stride);
}
KERNEL(void, porthole_hash_macroblocks,
       (const uint8_t *luma, const uint8_t *chroma, ptrdiff_t stride, int count, uint64_t *hashes),
       (luma, chroma, stride, count, hashes))

void porthole_copy_macroblock(const uint8_t *luma, const uint8_t *chroma, ptrdiff_t stride,
                              uint8_t *to_luma, uint8_t *to_chroma, ptrdiff_t to_stride) {
  for (int row = 0; row < 16; row++) memcpy(to_luma + row * to_stride, luma + row * stride, 16);
  for (int row = 0; row < 8; row++) memcpy(to_chroma + row * to_stride, chroma + row * stride, 16);
}

void porthole_copy_16x8(const uint8_t *from, ptrdiff_t stride, uint8_t *to, ptrdiff_t to_stride) {
  for (int row = 0; row < 8; row++) memcpy(to + row * to_stride, from + row * stride, 16);
}

BODY i32x8 squares(const uint8_t *a, const uint8_t *b) {
  u8x16 left, right;
  memcpy(&left, a, 16);
  memcpy(&right, b, 16);
  i16x16 difference =
      __builtin_convertvector(left, i16x16) - __builtin_convertvector(right, i16x16);
  i16x16 low = __builtin_shufflevector(difference, difference, 0, 2, 4, 6, 8, 10, 12, 14, 0, 2, 4,
                                       6, 8, 10, 12, 14);
  i16x16 high = __builtin_shufflevector(difference, difference, 1, 3, 5, 7, 9, 11, 13, 15, 1, 3, 5,
                                        7, 9, 11, 13, 15);
  i32x8 even = __builtin_convertvector(
      __builtin_shufflevector(low, low, 0, 1, 2, 3, 4, 5, 6, 7), i32x8);
  i32x8 odd = __builtin_convertvector(
      __builtin_shufflevector(high, high, 0, 1, 2, 3, 4, 5, 6, 7), i32x8);
  return even * even + odd * odd;
}

BODY uint32_t porthole_macroblock_ssd_body(const uint8_t *luma, const uint8_t *chroma,
                                           ptrdiff_t stride, const uint8_t *luma2,
                                           const uint8_t *chroma2, ptrdiff_t stride2) {
  i32x8 sum = {0};
  for (int row = 0; row < 16; row++) sum += squares(luma + row * stride, luma2 + row * stride2);
  for (int row = 0; row < 8; row++) sum += squares(chroma + row * stride, chroma2 + row * stride2);
  uint32_t total = 0;
  for (int lane = 0; lane < 8; lane++) total += (uint32_t)sum[lane];
  return total;
}
KERNEL(uint32_t, porthole_macroblock_ssd,
       (const uint8_t *luma, const uint8_t *chroma, ptrdiff_t stride, const uint8_t *luma2,
        const uint8_t *chroma2, ptrdiff_t stride2),
       (luma, chroma, stride, luma2, chroma2, stride2))
