#pragma once

#include <stddef.h>
#include <stdint.h>

// Pixels of four bytes on their way through the video processor: red, green and blue in a format's
// order, or Y, Cb and Cr in that order. The fourth byte is 255 where it is written.

// One row of NV12 from sample `x` on, as `width` pixels of Y, Cb and Cr; two of them share their chroma.
void porthole_yuv_from_nv12(
  const uint8_t *luma, const uint8_t *chroma, size_t x, size_t width, uint8_t *pixels);

// The other way: `rows` rows of luma, and (rows + 1) / 2 of chroma, each sample the mean of 2x2; an odd
// last row or column is taken twice.
void porthole_nv12_from_yuv(
  const uint8_t *pixels, ptrdiff_t stride, size_t width, size_t rows, uint8_t *luma,
  uint8_t *chroma, ptrdiff_t target_stride);

// Rows of pixels as they are, or with bytes 0 and 2 changing places.
void porthole_copy_pixels(
  const uint8_t *pixels, ptrdiff_t stride, size_t width, size_t rows, int swaps, uint8_t *target,
  ptrdiff_t target_stride);

// What Y, Cb and Cr of limited range give to red, green and blue of full range, in units of 2^-13.
struct porthole_rgb_weights {
  int32_t y, red_cr, green_cb, green_cr, blue_cb;
};

// Rows of Y, Cb and Cr as red, green and blue, red at byte `red` (0 or 2) of each pixel.
void porthole_rgb_from_yuv(
  const struct porthole_rgb_weights *weights, const uint8_t *pixels, ptrdiff_t stride,
  size_t width, size_t rows, size_t red, uint8_t *target, ptrdiff_t target_stride);
