// The 4x4 transform, quantisation and their inverses (H.264 clauses 8.5.10 to 8.5.12), two blocks
// side by side in each vector.
#include <string.h>

#include "dispatch.h"
#include "encode_kernels.h"
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

typedef int16_t i16x8 __attribute__((vector_size(16)));
typedef uint16_t u16x8 __attribute__((vector_size(16)));
typedef uint32_t u32x8 __attribute__((vector_size(32)));
typedef uint8_t u8x8 __attribute__((vector_size(8)));
typedef uint8_t u8x16 __attribute__((vector_size(16)));

struct pair {
  i16x8 row[4];
};

BODY i16x8 load8(const uint8_t *bytes) {
  u8x8 value;
  memcpy(&value, bytes, 8);
  return __builtin_convertvector(value, i16x8);
}

BODY struct pair transposed(struct pair in) {
  i16x8 a = __builtin_shufflevector(in.row[0], in.row[1], 0, 8, 1, 9, 2, 10, 3, 11);
  i16x8 b = __builtin_shufflevector(in.row[0], in.row[1], 4, 12, 5, 13, 6, 14, 7, 15);
  i16x8 c = __builtin_shufflevector(in.row[2], in.row[3], 0, 8, 1, 9, 2, 10, 3, 11);
  i16x8 d = __builtin_shufflevector(in.row[2], in.row[3], 4, 12, 5, 13, 6, 14, 7, 15);
  i16x8 left01 = __builtin_shufflevector(a, c, 0, 1, 8, 9, 2, 3, 10, 11);
  i16x8 left23 = __builtin_shufflevector(a, c, 4, 5, 12, 13, 6, 7, 14, 15);
  i16x8 right01 = __builtin_shufflevector(b, d, 0, 1, 8, 9, 2, 3, 10, 11);
  i16x8 right23 = __builtin_shufflevector(b, d, 4, 5, 12, 13, 6, 7, 14, 15);
  struct pair out;
  out.row[0] = __builtin_shufflevector(left01, right01, 0, 1, 2, 3, 8, 9, 10, 11);
  out.row[1] = __builtin_shufflevector(left01, right01, 4, 5, 6, 7, 12, 13, 14, 15);
  out.row[2] = __builtin_shufflevector(left23, right23, 0, 1, 2, 3, 8, 9, 10, 11);
  out.row[3] = __builtin_shufflevector(left23, right23, 4, 5, 6, 7, 12, 13, 14, 15);
  return out;
}

BODY struct pair forward_columns(struct pair in) {
  i16x8 outer = in.row[0] + in.row[3], inner = in.row[1] + in.row[2];
  i16x8 outer_difference = in.row[0] - in.row[3], inner_difference = in.row[1] - in.row[2];
  return (struct pair){{outer + inner, outer_difference + outer_difference + inner_difference,
                        outer - inner, outer_difference - inner_difference - inner_difference}};
}

BODY struct pair inverse_columns(struct pair in) {
  i16x8 sum = in.row[0] + in.row[2], difference = in.row[0] - in.row[2];
  i16x8 low = (in.row[1] >> 1) - in.row[3], high = in.row[1] + (in.row[3] >> 1);
  return (struct pair){{sum + high, difference + low, difference - low, sum - high}};
}

BODY i16x8 quantized(i16x8 coefficients, const uint16_t *scale, const uint16_t *bias,
                     const int16_t *least) {
  u16x8 factor, offset;
  i16x8 threshold;
  memcpy(&factor, scale, 16);
  memcpy(&offset, bias, 16);
  memcpy(&threshold, least, 16);
  i16x8 sign = coefficients >> 15, size = (coefficients ^ sign) - sign;
  u16x8 magnitude = (u16x8)(size + (i16x8)offset);
  u32x8 product =
      __builtin_convertvector(magnitude, u32x8) * __builtin_convertvector(factor, u32x8);
  i16x8 level = (i16x8)__builtin_convertvector(product >> 16, u16x8) & (size >= threshold);
  return (level ^ sign) - sign;
}

BODY i16x8 restored(i16x8 levels, const int16_t *factors) {
  i16x8 factor;
  memcpy(&factor, factors, 16);
  return levels * factor;
}

// A bit for each of 16 words that is not 0.
BODY uint16_t nonzero(i16x8 low, i16x8 high) {
#if defined(__x86_64__)
  const __m128i zero = _mm_setzero_si128();
  return (uint16_t)~_mm_movemask_epi8(_mm_packs_epi16(_mm_cmpeq_epi16((__m128i)low, zero),
                                                      _mm_cmpeq_epi16((__m128i)high, zero)));
#else
  unsigned mask = 0;
  for (int i = 0; i < 8; i++) mask |= (low[i] != 0) << i | (high[i] != 0) << (i + 8);
  return (uint16_t)mask;
#endif
}

// Stores a block, which lies transposed in two vectors, in the order of figure 8-8's zig-zag scan.
// Answers a bit for each level that is not 0.
BODY uint16_t store_ordered(int16_t *levels, i16x8 rows01, i16x8 rows23) {
  i16x8 low = __builtin_shufflevector(rows01, rows23, 0, 4, 1, 2, 5, 8, 12, 9);
  i16x8 high = __builtin_shufflevector(rows01, rows23, 6, 3, 7, 10, 13, 14, 11, 15);
  memcpy(levels, &low, 16);
  memcpy(levels + 8, &high, 16);
  return nonzero(low, high);
}

// Quantises two transformed blocks, and says of each which levels are other than 0.
BODY void quantize_pair(struct pair in, const struct porthole_quantizer *q, int16_t *left,
                        int16_t *right, uint16_t masks[2], int16_t *left_dc, int16_t *right_dc) {
  if (left_dc) {
    *left_dc = in.row[0][0];
    *right_dc = in.row[0][4];
    in.row[0] &= (i16x8){0, -1, -1, -1, 0, -1, -1, -1};
  }
  i16x8 level[4];
  for (int row = 0; row < 4; row++)
    level[row] = row & 1 ? quantized(in.row[row], q->scale_odd, q->bias_odd, q->least_odd)
                         : quantized(in.row[row], q->scale_even, q->bias_even, q->least_even);
  masks[0] = store_ordered(
      left, __builtin_shufflevector(level[0], level[1], 0, 1, 2, 3, 8, 9, 10, 11),
      __builtin_shufflevector(level[2], level[3], 0, 1, 2, 3, 8, 9, 10, 11));
  masks[1] = store_ordered(
      right, __builtin_shufflevector(level[0], level[1], 4, 5, 6, 7, 12, 13, 14, 15),
      __builtin_shufflevector(level[2], level[3], 4, 5, 6, 7, 12, 13, 14, 15));
}

// The other way round: rows 0 and 1, then 2 and 3, of a block in zig-zag order.
BODY void load_ordered(const int16_t *levels, i16x8 rows[2]) {
  i16x8 low, high;
  memcpy(&low, levels, 16);
  memcpy(&high, levels + 8, 16);
  rows[0] = __builtin_shufflevector(low, high, 0, 2, 3, 9, 1, 4, 8, 10);
  rows[1] = __builtin_shufflevector(low, high, 5, 7, 11, 14, 6, 12, 13, 15);
}

BODY struct pair restore_pair(const struct porthole_quantizer *q, const int16_t *left,
                              const int16_t *right, const int16_t *left_dc,
                              const int16_t *right_dc) {
  i16x8 a[2], b[2];
  load_ordered(left, a);
  load_ordered(right, b);
  struct pair in;
  for (int half = 0; half < 2; half++) {
    in.row[2 * half] = restored(
        __builtin_shufflevector(a[half], b[half], 0, 1, 2, 3, 8, 9, 10, 11), q->restore_even);
    in.row[2 * half + 1] = restored(
        __builtin_shufflevector(a[half], b[half], 4, 5, 6, 7, 12, 13, 14, 15), q->restore_odd);
  }
  if (left_dc) {
    in.row[0][0] = *left_dc;
    in.row[0][4] = *right_dc;
  }
  in = inverse_columns(transposed(inverse_columns(in)));
  for (int row = 0; row < 4; row++) in.row[row] = (in.row[row] + 32) >> 6;
  return in;
}

BODY i16x8 clipped(i16x8 value) {
  const i16x8 least = {0}, most = {255, 255, 255, 255, 255, 255, 255, 255};
  return __builtin_elementwise_min(__builtin_elementwise_max(value, least), most);
}

BODY uint32_t blocks_of(const uint16_t *masks, int count) {
  uint32_t blocks = 0;
  for (int block = 0; block < count; block++) blocks |= (uint32_t)(masks[block] != 0) << block;
  return blocks;
}

BODY uint32_t porthole_forward_luma_body(const uint8_t *source, ptrdiff_t stride,
                                         const uint8_t *prediction, ptrdiff_t prediction_stride,
                                         const struct porthole_quantizer *quantizer,
                                         int16_t levels[256], uint16_t masks[16], int16_t *dc) {
  for (int block = 0; block < 16; block += 2) {
    const uint8_t *from = source + (block & 12) * stride + (block & 3) * 4;
    const uint8_t *less = prediction + (block & 12) * prediction_stride + (block & 3) * 4;
    struct pair in;
    for (int row = 0; row < 4; row++)
      in.row[row] = load8(from + row * stride) - load8(less + row * prediction_stride);
    in = forward_columns(transposed(forward_columns(in)));
    quantize_pair(in, quantizer, levels + 16 * block, levels + 16 * (block + 1), masks + block,
                  dc ? dc + block : NULL, dc ? dc + block + 1 : NULL);
  }
  return blocks_of(masks, 16);
}
KERNEL(uint32_t, porthole_forward_luma,
       (const uint8_t *source, ptrdiff_t stride, const uint8_t *prediction,
        ptrdiff_t prediction_stride, const struct porthole_quantizer *quantizer,
        int16_t levels[256], uint16_t masks[16], int16_t *dc),
       (source, stride, prediction, prediction_stride, quantizer, levels, masks, dc))

BODY void porthole_inverse_luma_body(uint8_t *target, ptrdiff_t stride, const uint8_t *prediction,
                                     ptrdiff_t prediction_stride,
                                     const struct porthole_quantizer *quantizer,
                                     const int16_t levels[256], const int16_t *dc,
                                     uint32_t blocks) {
  for (int block = 0; block < 16; block += 2) {
    uint8_t *to = target + (block & 12) * stride + (block & 3) * 4;
    const uint8_t *from = prediction + (block & 12) * prediction_stride + (block & 3) * 4;
    if (!(blocks >> block & 3)) {
      for (int row = 0; row < 4; row++)
        memcpy(to + row * stride, from + row * prediction_stride, 8);
      continue;
    }
    struct pair residual =
        restore_pair(quantizer, levels + 16 * block, levels + 16 * (block + 1),
                     dc ? dc + block : NULL, dc ? dc + block + 1 : NULL);
    for (int row = 0; row < 4; row++) {
      i16x8 sum = residual.row[row] + load8(from + row * prediction_stride);
      u8x8 bytes = __builtin_convertvector(clipped(sum), u8x8);
      memcpy(to + row * stride, &bytes, 8);
    }
  }
}
KERNEL(void, porthole_inverse_luma,
       (uint8_t *target, ptrdiff_t stride, const uint8_t *prediction, ptrdiff_t prediction_stride,
        const struct porthole_quantizer *quantizer, const int16_t levels[256], const int16_t *dc,
        uint32_t blocks),
       (target, stride, prediction, prediction_stride, quantizer, levels, dc, blocks))

BODY i16x8 load4(const uint8_t *bytes) {
  u8x8 value = {0};
  memcpy(&value, bytes, 4);
  return __builtin_convertvector(value, i16x8);
}

BODY int porthole_code_4x4_body(const uint8_t *source, ptrdiff_t stride, uint8_t *target,
                                ptrdiff_t target_stride, const uint8_t prediction[16],
                                const struct porthole_quantizer *quantizer, int16_t levels[16],
                                uint16_t *mask) {
  // Its neighbour in the vectors is a block without levels.
  int16_t none[16];
  uint16_t masks[2];
  struct pair in;
  for (int row = 0; row < 4; row++)
    in.row[row] = load4(source + row * stride) - load4(prediction + 4 * row);
  in = forward_columns(transposed(forward_columns(in)));
  quantize_pair(in, quantizer, levels, none, masks, NULL, NULL);
  *mask = masks[0];
  if (!*mask) {
    for (int row = 0; row < 4; row++) memcpy(target + row * target_stride, prediction + 4 * row, 4);
    return 0;
  }
  struct pair residual = restore_pair(quantizer, levels, none, NULL, NULL);
  for (int row = 0; row < 4; row++) {
    i16x8 sum = residual.row[row] + load4(prediction + 4 * row);
    u8x8 bytes = __builtin_convertvector(clipped(sum), u8x8);
    memcpy(target + row * target_stride, &bytes, 4);
  }
  return 1;
}
KERNEL(int, porthole_code_4x4,
       (const uint8_t *source, ptrdiff_t stride, uint8_t *target, ptrdiff_t target_stride,
        const uint8_t prediction[16], const struct porthole_quantizer *quantizer,
        int16_t levels[16], uint16_t *mask),
       (source, stride, target, target_stride, prediction, quantizer, levels, mask))

BODY i16x8 component(const uint8_t *bytes, int index) {
  u8x16 value;
  memcpy(&value, bytes, 16);
  i16x8 words = (i16x8)value;
  return index ? (i16x8)((u16x8)words >> 8) : words & 255;
}

BODY uint32_t porthole_forward_chroma_body(const uint8_t *source, ptrdiff_t stride,
                                           const uint8_t *prediction, ptrdiff_t prediction_stride,
                                           const struct porthole_quantizer *quantizer,
                                           int16_t levels[128], uint16_t masks[8], int16_t dc[8]) {
  for (int block = 0; block < 8; block += 2) {
    const int top = (block & 2) * 2;
    struct pair in;
    for (int row = 0; row < 4; row++)
      in.row[row] = component(source + (top + row) * stride, block >> 2) -
                    component(prediction + (top + row) * prediction_stride, block >> 2);
    in = forward_columns(transposed(forward_columns(in)));
    quantize_pair(in, quantizer, levels + 16 * block, levels + 16 * (block + 1), masks + block,
                  dc + block, dc + block + 1);
  }
  return blocks_of(masks, 8);
}
KERNEL(uint32_t, porthole_forward_chroma,
       (const uint8_t *source, ptrdiff_t stride, const uint8_t *prediction,
        ptrdiff_t prediction_stride, const struct porthole_quantizer *quantizer,
        int16_t levels[128], uint16_t masks[8], int16_t dc[8]),
       (source, stride, prediction, prediction_stride, quantizer, levels, masks, dc))

BODY void porthole_inverse_chroma_body(uint8_t *target, ptrdiff_t stride,
                                       const uint8_t *prediction, ptrdiff_t prediction_stride,
                                       const struct porthole_quantizer *quantizer,
                                       const int16_t levels[128], const int16_t dc[8],
                                       int has_levels) {
  for (int half = 0; half < 2; half++) {
    struct pair residual[2];
    if (!has_levels) {
      for (int row = 4 * half; row < 4 * half + 4; row++)
        memcpy(target + row * stride, prediction + row * prediction_stride, 16);
      continue;
    }
    for (int index = 0; index < 2; index++) {
      int block = 4 * index + 2 * half;
      residual[index] = restore_pair(quantizer, levels + 16 * block, levels + 16 * (block + 1),
                                     dc + block, dc + block + 1);
    }
    for (int row = 0; row < 4; row++) {
      const uint8_t *from = prediction + (4 * half + row) * prediction_stride;
      i16x8 cb = clipped(residual[0].row[row] + component(from, 0));
      i16x8 cr = clipped(residual[1].row[row] + component(from, 1));
      i16x8 both = cb | cr << 8;
      memcpy(target + (4 * half + row) * stride, &both, 16);
    }
  }
}
KERNEL(void, porthole_inverse_chroma,
       (uint8_t *target, ptrdiff_t stride, const uint8_t *prediction, ptrdiff_t prediction_stride,
        const struct porthole_quantizer *quantizer, const int16_t levels[128], const int16_t dc[8],
        int has_levels),
       (target, stride, prediction, prediction_stride, quantizer, levels, dc, has_levels))
