#pragma once

#include <stddef.h>
#include <stdint.h>

// What each of the four bytes of a pixel gives to Y, Cb and Cr, in units of 2^-unit, the weight of
// the unused byte being 0. `unit` is 14 or 15, and the biases, in the same units (those of chroma four
// times as large, for it is made of four pixels), hold the half that makes cutting off a rounding.
struct porthole_nv12_weights {
  int16_t y[4];
  int16_t cb[4];
  int16_t cr[4];
  int32_t y_bias, cb_bias, cr_bias;
  int32_t unit;
};

// Converts rows of four-byte pixels to NV12, each value rounded to the nearest. A chroma sample is made
// from the mean of 2x2 pixels.
//
// `width` x `rows` pixels are read, rows `stride` bytes apart. An odd last row or column is taken
// twice. `coded_width` luma samples a row are written, even and at least `width`: what lies right
// of the picture repeats its last column. `rows` luma rows and (rows + 1) / 2 chroma rows are
// written. The result is the same on every processor.
void porthole_nv12_from_pixels(
  const struct porthole_nv12_weights *weights, const uint8_t *pixels, ptrdiff_t stride,
  size_t width, size_t rows, size_t coded_width, uint8_t *luma, ptrdiff_t luma_stride,
  uint8_t *chroma, ptrdiff_t chroma_stride);

// The same without vector instructions: what the test compares with.
void porthole_nv12_from_pixels_plain(
  const struct porthole_nv12_weights *weights, const uint8_t *pixels, ptrdiff_t stride,
  size_t width, size_t rows, size_t coded_width, uint8_t *luma, ptrdiff_t luma_stride,
  uint8_t *chroma, ptrdiff_t chroma_stride);
