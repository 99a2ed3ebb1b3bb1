// Sums of absolute differences.
#include <stdlib.h>

#include "encode_kernels.h"
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

uint32_t porthole_sad_16x16(const uint8_t *a, ptrdiff_t a_stride, const uint8_t *b,
                            ptrdiff_t b_stride) {
#if defined(__x86_64__)
  __m128i sum = _mm_setzero_si128();
  for (int row = 0; row < 16; row++) {
    __m128i left = _mm_loadu_si128((const __m128i *)(a + row * a_stride));
    __m128i right = _mm_loadu_si128((const __m128i *)(b + row * b_stride));
    sum = _mm_add_epi32(sum, _mm_sad_epu8(left, right));
  }
  return (uint32_t)(_mm_cvtsi128_si32(sum) + _mm_extract_epi16(sum, 4));
#else
  uint32_t sum = 0;
  for (int row = 0; row < 16; row++)
    for (int x = 0; x < 16; x++) sum += abs(a[row * a_stride + x] - b[row * b_stride + x]);
  return sum;
#endif
}
