#pragma once

#include <stddef.h>
#include <stdint.h>

// Copies `width` x `height` pixels of four bytes into rows without gaps. The pixel for column x and
// row y is read `x * across + y * down` bytes from `pixels`; both steps may be negative, which is how
// a picture is turned and mirrored.
void porthole_turn_pixels(
  const uint8_t *pixels, ptrdiff_t across, ptrdiff_t down, size_t width, size_t height,
  uint32_t *turned);

// The weighted sum of `count` rows, `stride` bytes apart, byte by byte. The weights sum to 256.
void porthole_sum_rows(
  const uint8_t *pixels, ptrdiff_t stride, const uint16_t *weights, size_t count,
  size_t byte_count, uint16_t *sums);

// Pixels of four bytes from sums of rows: pixel x is made of `count` sums from column `first[x]` on,
// weighted by the `count` weights from `weights[x * count]` on, which sum to 256.
void porthole_sum_columns(
  const uint16_t *sums, const uint32_t *first, const uint16_t *weights, size_t count,
  size_t width, uint32_t *pixels);
