// Turning and scaling of pixels of four bytes. Plain C: the compiler's vectors do.
#include "geometry.h"

#include <string.h>

void porthole_turn_pixels(
  const uint8_t *pixels, ptrdiff_t across, ptrdiff_t down, size_t width, size_t height,
  uint32_t *turned) {
  for (size_t y = 0; y < height; y++, pixels += down, turned += width) {
    const uint8_t *from = pixels;
    for (size_t x = 0; x < width; x++, from += across) memcpy(turned + x, from, 4);
  }
}

void porthole_sum_rows(
  const uint8_t *pixels, ptrdiff_t stride, const uint16_t *weights, size_t count,
  size_t byte_count, uint16_t *sums) {
  for (size_t i = 0; i < byte_count; i++) sums[i] = (uint16_t)(pixels[i] * weights[0]);
  for (size_t row = 1; row < count; row++) {
    pixels += stride;
    const uint16_t weight = weights[row];
    if (weight == 0) continue;
    for (size_t i = 0; i < byte_count; i++) sums[i] = (uint16_t)(sums[i] + pixels[i] * weight);
  }
}

typedef uint16_t four_words __attribute__((vector_size(8)));
typedef uint32_t four_sums __attribute__((vector_size(16)));
typedef uint8_t four_bytes __attribute__((vector_size(4)));

void porthole_sum_columns(
  const uint16_t *sums, const uint32_t *first, const uint16_t *weights, size_t count,
  size_t width, uint32_t *pixels) {
  for (size_t x = 0; x < width; x++, weights += count) {
    const uint16_t *column = sums + 4 * (size_t)first[x];
    four_sums sum = {1 << 15, 1 << 15, 1 << 15, 1 << 15};
    for (size_t tap = 0; tap < count; tap++, column += 4) {
      four_words words;
      memcpy(&words, column, sizeof words);
      sum += __builtin_convertvector(words, four_sums) * weights[tap];
    }
    four_bytes bytes = __builtin_convertvector(sum >> 16, four_bytes);
    memcpy(pixels + x, &bytes, sizeof bytes);
  }
}
