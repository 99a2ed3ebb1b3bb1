// Pixels of four bytes to NV12. Every path computes
//   Y      = (sum of byte x weight       + y bias)       >> unit
//   Cb, Cr = (sum of 2x2 bytes x weight  + chroma bias)  >> (unit + 2)
// in 32 bits, so all of them give the same bytes.
#include "convert.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// One row of luma from `from` to `width`.
typedef void luma_row(
  const struct porthole_nv12_weights *weights, const uint8_t *pixels, size_t width, uint8_t *luma);
// One row of chroma for `width` pixels of two rows, (width + 1) / 2 pairs.
typedef void chroma_row(
  const struct porthole_nv12_weights *weights, const uint8_t *top, const uint8_t *bottom,
  size_t width, uint8_t *chroma);

static uint8_t clamp(int32_t value) {
  return value < 0 ? 0 : value > 255 ? 255 : (uint8_t)value;
}

static void luma_row_plain(
  const struct porthole_nv12_weights *weights, const uint8_t *pixels, size_t width,
  uint8_t *luma) {
  const int16_t *w = weights->y;
  for (size_t x = 0; x < width; x++, pixels += 4) {
    int32_t sum = pixels[0] * w[0] + pixels[1] * w[1] + pixels[2] * w[2] + pixels[3] * w[3];
    luma[x] = clamp((sum + weights->y_bias) >> weights->unit);
  }
}

static void chroma_row_plain(
  const struct porthole_nv12_weights *weights, const uint8_t *top, const uint8_t *bottom,
  size_t width, uint8_t *chroma) {
  for (size_t x = 0; x < width; x += 2, top += 8, bottom += 8, chroma += 2) {
    size_t right = x + 1 < width ? 4 : 0;
    int32_t cb = weights->cb_bias, cr = weights->cr_bias;
    for (int byte = 0; byte < 4; byte++) {
      int32_t sum = top[byte] + top[byte + right] + bottom[byte] + bottom[byte + right];
      cb += sum * weights->cb[byte];
      cr += sum * weights->cr[byte];
    }
    chroma[0] = clamp(cb >> (weights->unit + 2));
    chroma[1] = clamp(cr >> (weights->unit + 2));
  }
}

#if defined(__x86_64__)

// A pixel's bytes 0 and 2 are multiplied as one pair of 16-bit words, bytes 1 and 3 as another.
static int32_t even_weights(const int16_t w[4]) {
  return (int32_t)((uint32_t)(uint16_t)w[0] | (uint32_t)(uint16_t)w[2] << 16);
}

static int32_t odd_weights(const int16_t w[4]) {
  return (int32_t)((uint32_t)(uint16_t)w[1] | (uint32_t)(uint16_t)w[3] << 16);
}

// The luma of four pixels, in 32 bits each.
static inline __m128i luma4(
  const uint8_t *pixels, __m128i even, __m128i odd, __m128i bias, __m128i unit) {
  __m128i pixel = _mm_loadu_si128((const __m128i *)pixels);
  __m128i sum = _mm_add_epi32(
    _mm_madd_epi16(_mm_and_si128(pixel, _mm_set1_epi16(0xff)), even),
    _mm_madd_epi16(_mm_srli_epi16(pixel, 8), odd));
  return _mm_sra_epi32(_mm_add_epi32(sum, bias), unit);
}

static void luma_row_sse2(
  const struct porthole_nv12_weights *weights, const uint8_t *pixels, size_t width,
  uint8_t *luma) {
  const __m128i even = _mm_set1_epi32(even_weights(weights->y));
  const __m128i odd = _mm_set1_epi32(odd_weights(weights->y));
  const __m128i bias = _mm_set1_epi32(weights->y_bias);
  const __m128i unit = _mm_cvtsi32_si128(weights->unit);
  size_t x = 0;
  for (; x + 16 <= width; x += 16, pixels += 64) {
    __m128i low = _mm_packs_epi32(
      luma4(pixels, even, odd, bias, unit), luma4(pixels + 16, even, odd, bias, unit));
    __m128i high = _mm_packs_epi32(
      luma4(pixels + 32, even, odd, bias, unit), luma4(pixels + 48, even, odd, bias, unit));
    _mm_storeu_si128((__m128i *)(luma + x), _mm_packus_epi16(low, high));
  }
  luma_row_plain(weights, pixels, width - x, luma + x);
}

// The sums of four 2x2 blocks of two rows of eight pixels: words 0 and 2, and words 1 and 3.
static inline void sums4(const uint8_t *top, const uint8_t *bottom, __m128i *even, __m128i *odd) {
  const __m128i mask = _mm_set1_epi16(0xff);
  __m128i t0 = _mm_loadu_si128((const __m128i *)top);
  __m128i t1 = _mm_loadu_si128((const __m128i *)(top + 16));
  __m128i b0 = _mm_loadu_si128((const __m128i *)bottom);
  __m128i b1 = _mm_loadu_si128((const __m128i *)(bottom + 16));
  __m128 e0 = _mm_castsi128_ps(_mm_add_epi16(_mm_and_si128(t0, mask), _mm_and_si128(b0, mask)));
  __m128 e1 = _mm_castsi128_ps(_mm_add_epi16(_mm_and_si128(t1, mask), _mm_and_si128(b1, mask)));
  __m128 o0 = _mm_castsi128_ps(_mm_add_epi16(_mm_srli_epi16(t0, 8), _mm_srli_epi16(b0, 8)));
  __m128 o1 = _mm_castsi128_ps(_mm_add_epi16(_mm_srli_epi16(t1, 8), _mm_srli_epi16(b1, 8)));
  *even = _mm_add_epi16(
    _mm_castps_si128(_mm_shuffle_ps(e0, e1, 0x88)), _mm_castps_si128(_mm_shuffle_ps(e0, e1, 0xdd)));
  *odd = _mm_add_epi16(
    _mm_castps_si128(_mm_shuffle_ps(o0, o1, 0x88)), _mm_castps_si128(_mm_shuffle_ps(o0, o1, 0xdd)));
}

static inline __m128i chroma4(
  __m128i even_sums, __m128i odd_sums, __m128i even, __m128i odd, __m128i bias, __m128i unit) {
  __m128i sum = _mm_add_epi32(_mm_madd_epi16(even_sums, even), _mm_madd_epi16(odd_sums, odd));
  return _mm_sra_epi32(_mm_add_epi32(sum, bias), unit);
}

static void chroma_row_sse2(
  const struct porthole_nv12_weights *weights, const uint8_t *top, const uint8_t *bottom,
  size_t width, uint8_t *chroma) {
  const __m128i cb_even = _mm_set1_epi32(even_weights(weights->cb));
  const __m128i cb_odd = _mm_set1_epi32(odd_weights(weights->cb));
  const __m128i cr_even = _mm_set1_epi32(even_weights(weights->cr));
  const __m128i cr_odd = _mm_set1_epi32(odd_weights(weights->cr));
  const __m128i cb_bias = _mm_set1_epi32(weights->cb_bias);
  const __m128i cr_bias = _mm_set1_epi32(weights->cr_bias);
  const __m128i unit = _mm_cvtsi32_si128(weights->unit + 2);
  size_t x = 0;
  for (; x + 16 <= width; x += 16, top += 64, bottom += 64, chroma += 16) {
    __m128i e0, o0, e1, o1;
    sums4(top, bottom, &e0, &o0);
    sums4(top + 32, bottom + 32, &e1, &o1);
    __m128i cb = _mm_packs_epi32(
      chroma4(e0, o0, cb_even, cb_odd, cb_bias, unit),
      chroma4(e1, o1, cb_even, cb_odd, cb_bias, unit));
    __m128i cr = _mm_packs_epi32(
      chroma4(e0, o0, cr_even, cr_odd, cr_bias, unit),
      chroma4(e1, o1, cr_even, cr_odd, cr_bias, unit));
    _mm_storeu_si128(
      (__m128i *)chroma,
      _mm_packus_epi16(_mm_unpacklo_epi16(cb, cr), _mm_unpackhi_epi16(cb, cr)));
  }
  chroma_row_plain(weights, top, bottom, width - x, chroma);
}

#define AVX2 __attribute__((target("avx2")))

AVX2 static inline __m256i luma8(
  const uint8_t *pixels, __m256i even, __m256i odd, __m256i bias, __m128i unit) {
  __m256i pixel = _mm256_loadu_si256((const __m256i *)pixels);
  __m256i sum = _mm256_add_epi32(
    _mm256_madd_epi16(_mm256_and_si256(pixel, _mm256_set1_epi16(0xff)), even),
    _mm256_madd_epi16(_mm256_srli_epi16(pixel, 8), odd));
  return _mm256_sra_epi32(_mm256_add_epi32(sum, bias), unit);
}

AVX2 static void luma_row_avx2(
  const struct porthole_nv12_weights *weights, const uint8_t *pixels, size_t width,
  uint8_t *luma) {
  const __m256i even = _mm256_set1_epi32(even_weights(weights->y));
  const __m256i odd = _mm256_set1_epi32(odd_weights(weights->y));
  const __m256i bias = _mm256_set1_epi32(weights->y_bias);
  const __m128i unit = _mm_cvtsi32_si128(weights->unit);
  // Packing works within 128-bit lanes: this puts groups of four pixels back in order.
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  size_t x = 0;
  for (; x + 32 <= width; x += 32, pixels += 128) {
    __m256i low = _mm256_packs_epi32(
      luma8(pixels, even, odd, bias, unit), luma8(pixels + 32, even, odd, bias, unit));
    __m256i high = _mm256_packs_epi32(
      luma8(pixels + 64, even, odd, bias, unit), luma8(pixels + 96, even, odd, bias, unit));
    _mm256_storeu_si256(
      (__m256i *)(luma + x),
      _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), order));
  }
  luma_row_sse2(weights, pixels, width - x, luma + x);
}

// The sums of eight 2x2 blocks of two rows of sixteen pixels, in the order 0 1 4 5 2 3 6 7.
AVX2 static inline void sums8(
  const uint8_t *top, const uint8_t *bottom, __m256i *even, __m256i *odd) {
  const __m256i mask = _mm256_set1_epi16(0xff);
  __m256i t0 = _mm256_loadu_si256((const __m256i *)top);
  __m256i t1 = _mm256_loadu_si256((const __m256i *)(top + 32));
  __m256i b0 = _mm256_loadu_si256((const __m256i *)bottom);
  __m256i b1 = _mm256_loadu_si256((const __m256i *)(bottom + 32));
  __m256 e0 = _mm256_castsi256_ps(
    _mm256_add_epi16(_mm256_and_si256(t0, mask), _mm256_and_si256(b0, mask)));
  __m256 e1 = _mm256_castsi256_ps(
    _mm256_add_epi16(_mm256_and_si256(t1, mask), _mm256_and_si256(b1, mask)));
  __m256 o0 = _mm256_castsi256_ps(
    _mm256_add_epi16(_mm256_srli_epi16(t0, 8), _mm256_srli_epi16(b0, 8)));
  __m256 o1 = _mm256_castsi256_ps(
    _mm256_add_epi16(_mm256_srli_epi16(t1, 8), _mm256_srli_epi16(b1, 8)));
  *even = _mm256_add_epi16(
    _mm256_castps_si256(_mm256_shuffle_ps(e0, e1, 0x88)),
    _mm256_castps_si256(_mm256_shuffle_ps(e0, e1, 0xdd)));
  *odd = _mm256_add_epi16(
    _mm256_castps_si256(_mm256_shuffle_ps(o0, o1, 0x88)),
    _mm256_castps_si256(_mm256_shuffle_ps(o0, o1, 0xdd)));
}

AVX2 static inline __m256i chroma8(
  __m256i even_sums, __m256i odd_sums, __m256i even, __m256i odd, __m256i bias, __m128i unit) {
  __m256i sum =
    _mm256_add_epi32(_mm256_madd_epi16(even_sums, even), _mm256_madd_epi16(odd_sums, odd));
  return _mm256_sra_epi32(_mm256_add_epi32(sum, bias), unit);
}

AVX2 static void chroma_row_avx2(
  const struct porthole_nv12_weights *weights, const uint8_t *top, const uint8_t *bottom,
  size_t width, uint8_t *chroma) {
  const __m256i cb_even = _mm256_set1_epi32(even_weights(weights->cb));
  const __m256i cb_odd = _mm256_set1_epi32(odd_weights(weights->cb));
  const __m256i cr_even = _mm256_set1_epi32(even_weights(weights->cr));
  const __m256i cr_odd = _mm256_set1_epi32(odd_weights(weights->cr));
  const __m256i cb_bias = _mm256_set1_epi32(weights->cb_bias);
  const __m256i cr_bias = _mm256_set1_epi32(weights->cr_bias);
  const __m128i unit = _mm_cvtsi32_si128(weights->unit + 2);
  size_t x = 0;
  for (; x + 16 <= width; x += 16, top += 64, bottom += 64, chroma += 16) {
    __m256i even, odd;
    sums8(top, bottom, &even, &odd);
    // Cb and Cr as 16-bit words: within each lane four of Cb, then four of Cr.
    __m256i both = _mm256_packs_epi32(
      chroma8(even, odd, cb_even, cb_odd, cb_bias, unit),
      chroma8(even, odd, cr_even, cr_odd, cr_bias, unit));
    __m256i pairs = _mm256_unpacklo_epi16(both, _mm256_bsrli_epi128(both, 8));
    // Blocks 0 1 4 5 in the low lane and 2 3 6 7 in the high one, two pairs in each 64 bits.
    __m256i ordered = _mm256_permute4x64_epi64(pairs, 0xd8);
    _mm_storeu_si128(
      (__m128i *)chroma,
      _mm_packus_epi16(_mm256_castsi256_si128(ordered), _mm256_extracti128_si256(ordered, 1)));
  }
  chroma_row_sse2(weights, top, bottom, width - x, chroma);
}

#endif

static void convert(
  luma_row *luma_of, chroma_row *chroma_of, const struct porthole_nv12_weights *weights,
  const uint8_t *pixels, ptrdiff_t stride, size_t width, size_t rows, size_t coded_width,
  uint8_t *luma, ptrdiff_t luma_stride, uint8_t *chroma, ptrdiff_t chroma_stride) {
  size_t pairs = (width + 1) / 2;
  for (size_t row = 0; row < rows; row++, luma += luma_stride) {
    const uint8_t *top = pixels + (ptrdiff_t)row * stride;
    luma_of(weights, top, width, luma);
    memset(luma + width, luma[width - 1], coded_width - width);
    if (row % 2 == 1) continue;
    chroma_of(weights, top, row + 1 < rows ? top + stride : top, width, chroma);
    for (size_t pair = pairs; pair < coded_width / 2; pair++) {
      memcpy(chroma + 2 * pair, chroma + 2 * pairs - 2, 2);
    }
    chroma += chroma_stride;
  }
}

void porthole_nv12_from_pixels_plain(
  const struct porthole_nv12_weights *weights, const uint8_t *pixels, ptrdiff_t stride,
  size_t width, size_t rows, size_t coded_width, uint8_t *luma, ptrdiff_t luma_stride,
  uint8_t *chroma, ptrdiff_t chroma_stride) {
  convert(
    luma_row_plain, chroma_row_plain, weights, pixels, stride, width, rows, coded_width, luma,
    luma_stride, chroma, chroma_stride);
}

void porthole_nv12_from_pixels(
  const struct porthole_nv12_weights *weights, const uint8_t *pixels, ptrdiff_t stride,
  size_t width, size_t rows, size_t coded_width, uint8_t *luma, ptrdiff_t luma_stride,
  uint8_t *chroma, ptrdiff_t chroma_stride) {
  luma_row *luma_of = luma_row_plain;
  chroma_row *chroma_of = chroma_row_plain;
#if defined(__x86_64__)
  int has_avx2 = __builtin_cpu_supports("avx2");
  luma_of = has_avx2 ? luma_row_avx2 : luma_row_sse2;
  chroma_of = has_avx2 ? chroma_row_avx2 : chroma_row_sse2;
#endif
  convert(
    luma_of, chroma_of, weights, pixels, stride, width, rows, coded_width, luma, luma_stride,
    chroma, chroma_stride);
}
