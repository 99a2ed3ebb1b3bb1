// Sums of absolute differences, and the search by them.
#include <stdlib.h>
#include <string.h>

#include "encode_kernels.h"
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

// Sixteen samples of each row, every `step`th row from `first` on.
static inline uint32_t sad_rows(const uint8_t *a, ptrdiff_t a_stride, const uint8_t *b,
                                ptrdiff_t b_stride, int first, int end, int step) {
#if defined(__x86_64__)
  __m128i sum = _mm_setzero_si128();
  for (int row = first; row < end; row += step) {
    __m128i left = _mm_loadu_si128((const __m128i *)(a + row * a_stride));
    __m128i right = _mm_loadu_si128((const __m128i *)(b + row * b_stride));
    sum = _mm_add_epi32(sum, _mm_sad_epu8(left, right));
  }
  return (uint32_t)(_mm_cvtsi128_si32(sum) + _mm_extract_epi16(sum, 4));
#else
  uint32_t sum = 0;
  for (int row = first; row < end; row += step)
    for (int x = 0; x < 16; x++) sum += (uint32_t)abs(a[row * a_stride + x] - b[row * b_stride + x]);
  return sum;
#endif
}

uint32_t porthole_sad_16x16(const uint8_t *a, ptrdiff_t a_stride, const uint8_t *b,
                            ptrdiff_t b_stride) {
  return sad_rows(a, a_stride, b, b_stride, 0, 16, 1);
}

uint32_t porthole_sad_16x8(const uint8_t *a, ptrdiff_t a_stride, const uint8_t *b,
                           ptrdiff_t b_stride) {
  return sad_rows(a, a_stride, b, b_stride, 0, 8, 1);
}

void porthole_sad_cross_16x16(const uint8_t *block, ptrdiff_t stride, const uint8_t *reference,
                              ptrdiff_t reference_stride, uint32_t sads[4]) {
#if defined(__x86_64__)
  __m128i left = _mm_setzero_si128(), right = left, up = left, down = left;
  for (int row = 0; row < 16; row++) {
    const uint8_t *line = reference + row * reference_stride;
    const __m128i own = _mm_loadu_si128((const __m128i *)(block + row * stride));
    left = _mm_add_epi32(left, _mm_sad_epu8(own, _mm_loadu_si128((const __m128i *)(line - 1))));
    right = _mm_add_epi32(right, _mm_sad_epu8(own, _mm_loadu_si128((const __m128i *)(line + 1))));
    up = _mm_add_epi32(
        up, _mm_sad_epu8(own, _mm_loadu_si128((const __m128i *)(line - reference_stride))));
    down = _mm_add_epi32(
        down, _mm_sad_epu8(own, _mm_loadu_si128((const __m128i *)(line + reference_stride))));
  }
  const __m128i sums[4] = {left, right, up, down};
  for (int i = 0; i < 4; i++)
    sads[i] = (uint32_t)(_mm_cvtsi128_si32(sums[i]) + _mm_extract_epi16(sums[i], 4));
#else
  const ptrdiff_t offset[4] = {-1, 1, -reference_stride, reference_stride};
  for (int i = 0; i < 4; i++)
    sads[i] = sad_rows(block, stride, reference + offset[i], reference_stride, 0, 16, 1);
#endif
}

uint32_t porthole_search_16x16(const uint8_t *block, ptrdiff_t stride, const uint8_t *reference,
                               ptrdiff_t reference_stride, int width, int height, int *x, int *y) {
  uint32_t best = UINT32_MAX;
  for (int row = 0; row < height; row++) {
    const uint8_t *line = reference + row * reference_stride;
    for (int column = 0; column < width; column++) {
      // A quarter of the rows rules nearly every position out.
      uint32_t sad = sad_rows(block, stride, line + column, reference_stride, 1, 16, 4);
      if (sad >= best) continue;
      sad = sad_rows(block, stride, line + column, reference_stride, 0, 16, 1);
      if (sad >= best) continue;
      best = sad;
      *x = column;
      *y = row;
    }
  }
  return best;
}

uint32_t porthole_activity_16x16(const uint8_t *luma, ptrdiff_t stride) {
  uint8_t shifted[16][16];
  for (int row = 0; row < 16; row++) {
    memcpy(shifted[row], luma + row * stride + 1, 15);
    shifted[row][15] = luma[row * stride + 15];
  }
  return sad_rows(luma, stride, shifted[0], 16, 0, 16, 1) +
         sad_rows(luma, stride, luma + stride, stride, 0, 15, 1);
}
