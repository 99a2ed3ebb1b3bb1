// Rows of samples as pixels of four bytes. The loops are plain: the compiler's vectors do.
#include "unpack.h"

#include <string.h>

#include "dispatch.h"

#define ALPHA 0xff000000u

BODY void porthole_pixels_from_luma_body(const uint8_t *luma, size_t width, uint32_t *pixels) {
  for (size_t x = 0; x < width; x++) pixels[x] = ALPHA | luma[x];
}

KERNEL(
  void, porthole_pixels_from_luma, (const uint8_t *luma, size_t width, uint32_t *pixels),
  (luma, width, pixels))

BODY void porthole_add_chroma_pairs_body(
  const uint8_t *chroma, int is_odd, size_t width, uint32_t *pixels) {
  if (is_odd && width > 0) {
    *pixels++ |= (uint32_t)chroma[0] << 8 | (uint32_t)chroma[1] << 16;
    chroma += 2;
    width--;
  }
  for (size_t pair = 0; pair < width / 2; pair++) {
    uint16_t both;
    memcpy(&both, chroma + 2 * pair, 2);
    pixels[2 * pair] |= (uint32_t)both << 8;
    pixels[2 * pair + 1] |= (uint32_t)both << 8;
  }
  if (width % 2 == 1) {
    pixels[width - 1] |= (uint32_t)chroma[width - 1] << 8 | (uint32_t)chroma[width] << 16;
  }
}

KERNEL(
  void, porthole_add_chroma_pairs,
  (const uint8_t *chroma, int is_odd, size_t width, uint32_t *pixels),
  (chroma, is_odd, width, pixels))

BODY void porthole_add_chroma_body(
  const uint8_t *chroma, int is_odd, int byte, size_t width, uint32_t *pixels) {
  const int shift = 8 * byte;
  if (is_odd && width > 0) {
    *pixels++ |= (uint32_t)*chroma++ << shift;
    width--;
  }
  for (size_t pair = 0; pair < width / 2; pair++) {
    const uint32_t sample = (uint32_t)chroma[pair] << shift;
    pixels[2 * pair] |= sample;
    pixels[2 * pair + 1] |= sample;
  }
  if (width % 2 == 1) pixels[width - 1] |= (uint32_t)chroma[width / 2] << shift;
}

KERNEL(
  void, porthole_add_chroma,
  (const uint8_t *chroma, int is_odd, int byte, size_t width, uint32_t *pixels),
  (chroma, is_odd, byte, width, pixels))

BODY void porthole_add_whole_chroma_body(
  const uint8_t *chroma, int byte, size_t width, uint32_t *pixels) {
  const int shift = 8 * byte;
  for (size_t x = 0; x < width; x++) pixels[x] |= (uint32_t)chroma[x] << shift;
}

KERNEL(
  void, porthole_add_whole_chroma,
  (const uint8_t *chroma, int byte, size_t width, uint32_t *pixels), (chroma, byte, width, pixels))

BODY void porthole_pixels_from_grey_body(const uint8_t *luma, size_t width, uint32_t *pixels) {
  for (size_t x = 0; x < width; x++) pixels[x] = ALPHA | 0x808000u | luma[x];
}

KERNEL(
  void, porthole_pixels_from_grey, (const uint8_t *luma, size_t width, uint32_t *pixels),
  (luma, width, pixels))

BODY uint32_t chroma_of_yuy2(uint32_t word) {
  return ALPHA | (word & 0xff00) | (word >> 8 & 0xff0000);
}

BODY void porthole_pixels_from_yuy2_body(
  const uint8_t *samples, int is_odd, size_t width, uint32_t *pixels) {
  uint32_t word;
  if (is_odd && width > 0) {
    memcpy(&word, samples, 4);
    *pixels++ = chroma_of_yuy2(word) | (word >> 16 & 0xff);
    samples += 4;
    width--;
  }
  for (size_t pair = 0; pair < width / 2; pair++) {
    memcpy(&word, samples + 4 * pair, 4);
    const uint32_t chroma = chroma_of_yuy2(word);
    pixels[2 * pair] = chroma | (word & 0xff);
    pixels[2 * pair + 1] = chroma | (word >> 16 & 0xff);
  }
  if (width % 2 == 1) {
    memcpy(&word, samples + 2 * (width - 1), 4);
    pixels[width - 1] = chroma_of_yuy2(word) | (word & 0xff);
  }
}

KERNEL(
  void, porthole_pixels_from_yuy2,
  (const uint8_t *samples, int is_odd, size_t width, uint32_t *pixels),
  (samples, is_odd, width, pixels))

BODY uint32_t eight_bits(uint32_t word, int from) {
  return ((word >> from & 0x3ff) * 1021 + 2048) >> 12;  // 255 / 1023
}

BODY void porthole_pixels_from_ten_bits_body(
  const uint8_t *words, int red, int green, int blue, size_t width, uint32_t *pixels) {
  for (size_t x = 0; x < width; x++) {
    uint32_t word;
    memcpy(&word, words + 4 * x, 4);
    pixels[x] = ALPHA | eight_bits(word, red) << 16 | eight_bits(word, green) << 8 |
                eight_bits(word, blue);
  }
}

KERNEL(
  void, porthole_pixels_from_ten_bits,
  (const uint8_t *words, int red, int green, int blue, size_t width, uint32_t *pixels),
  (words, red, green, blue, width, pixels))
