// What the video processor does with pixels besides turning and scaling them (geometry.c) and making
// NV12 of RGB (convert.c). Plain C: the compiler's vectors do.
#include "process.h"

#include <string.h>

static uint8_t clamp(int32_t value) { return value < 0 ? 0 : value > 255 ? 255 : (uint8_t)value; }

void porthole_yuv_from_nv12(
  const uint8_t *luma, const uint8_t *chroma, size_t x, size_t width, uint8_t *pixels) {
  for (size_t end = x + width; x < end; x++, pixels += 4) {
    const uint8_t *pair = chroma + (x & ~(size_t)1);
    pixels[0] = luma[x];
    pixels[1] = pair[0];
    pixels[2] = pair[1];
    pixels[3] = 255;
  }
}

void porthole_nv12_from_yuv(
  const uint8_t *pixels, ptrdiff_t stride, size_t width, size_t rows, uint8_t *luma,
  uint8_t *chroma, ptrdiff_t target_stride) {
  for (size_t row = 0; row < rows; row++, luma += target_stride, pixels += stride) {
    for (size_t x = 0; x < width; x++) luma[x] = pixels[4 * x];
    if (row % 2 == 1) continue;
    const uint8_t *below = row + 1 < rows ? pixels + stride : pixels;
    for (size_t x = 0; x < width; x += 2) {
      const size_t left = 4 * x, right = x + 1 < width ? left + 4 : left;
      for (size_t byte = 1; byte < 3; byte++) {
        int sum = pixels[left + byte] + pixels[right + byte] + below[left + byte] +
                  below[right + byte];
        chroma[x + byte - 1] = (uint8_t)((sum + 2) >> 2);
      }
    }
    chroma += target_stride;
  }
}

void porthole_copy_pixels(
  const uint8_t *pixels, ptrdiff_t stride, size_t width, size_t rows, int swaps, uint8_t *target,
  ptrdiff_t target_stride) {
  for (size_t row = 0; row < rows; row++, pixels += stride, target += target_stride) {
    if (!swaps) {
      memcpy(target, pixels, 4 * width);
      continue;
    }
    for (size_t x = 0; x < width; x++) {
      uint32_t pixel;
      memcpy(&pixel, pixels + 4 * x, 4);
      pixel = (pixel & 0xff00ff00) | (pixel & 0xff) << 16 | (pixel >> 16 & 0xff);
      memcpy(target + 4 * x, &pixel, 4);
    }
  }
}

void porthole_rgb_from_yuv(
  const struct porthole_rgb_weights *weights, const uint8_t *pixels, ptrdiff_t stride,
  size_t width, size_t rows, size_t red, uint8_t *target, ptrdiff_t target_stride) {
  const struct porthole_rgb_weights w = *weights;
  for (size_t row = 0; row < rows; row++, pixels += stride, target += target_stride) {
    for (size_t x = 0; x < width; x++) {
      const uint8_t *from = pixels + 4 * x;
      uint8_t *to = target + 4 * x;
      int32_t y = w.y * (from[0] - 16) + (1 << 12), cb = from[1] - 128, cr = from[2] - 128;
      to[red] = clamp((y + w.red_cr * cr) >> 13);
      to[1] = clamp((y + w.green_cb * cb + w.green_cr * cr) >> 13);
      to[2 - red] = clamp((y + w.blue_cb * cb) >> 13);
      to[3] = 255;
    }
  }
}
