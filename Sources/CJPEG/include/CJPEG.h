#pragma once

#include <stddef.h>
#include <stdint.h>

// Decodes JPEGs into planes of the samples that were coded, by libjpeg, which leaves its errors by longjmp:
// it is called here alone, and no frame of Swift's is ever left so.
//
// One that would need memory for all of a picture (progressive, or with scans of single planes) is refused.
// Nothing is allocated between porthole_jpeg_create and porthole_jpeg_destroy.

struct porthole_jpeg;

struct porthole_jpeg_plane {
  // Samples for each MCU.
  uint32_t across, down;
  // Of a row, and as many rows as all bands have: whole blocks of eight.
  uint32_t width, height;
};

struct porthole_jpeg_picture {
  uint32_t width, height;
  uint32_t plane_count;  // 1: grey; 3: Y, Cb and Cr
  struct porthole_jpeg_plane planes[3];
  uint32_t band_count;
};

// Puts the next bytes, at most `capacity`, into `to`; answers how many these are, 0 at their end.
typedef size_t (*porthole_jpeg_read)(void *context, uint8_t *to, size_t capacity);

// What a decoder takes, libjpeg's own tables included.
enum { PORTHOLE_JPEG_BYTES = 192 << 10 };

// Loads libjpeg, once; it stays. 0 where it is not to be had.
int porthole_jpeg_load(void);

// NULL where libjpeg, or memory, is not to be had.
struct porthole_jpeg *porthole_jpeg_create(void);
void porthole_jpeg_destroy(struct porthole_jpeg *jpeg);

// These answer NULL, or why the picture cannot be decoded, in libjpeg's words; those are the decoder's.

// Reads the header. What was begun before is given up. `context` must live until the last band.
const char *porthole_jpeg_begin(
  struct porthole_jpeg *jpeg, porthole_jpeg_read read, void *context,
  struct porthole_jpeg_picture *picture);

// Where planes lie: the first sample's bytes from the start, and from one row to the next.
struct porthole_jpeg_places {
  size_t offsets[3], strides[3];
};

// Decodes the next `count` bands, each 8 x `down` rows of each plane, as `start` is where the first of them is.
const char *porthole_jpeg_decode(
  struct porthole_jpeg *jpeg, uint8_t *start, const struct porthole_jpeg_places *places,
  uint32_t count);
