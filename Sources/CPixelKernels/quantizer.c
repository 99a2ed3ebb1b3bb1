// What a QP means for levels, and the DC coefficients that go through a second transform (H.264
// clauses 8.5.8 to 8.5.11).
#include <stdlib.h>

#include "encode_kernels.h"

// Table 8-15's normAdjust and its counterpart for the encoder, for coefficients at even places,
// odd places, and one of each.
static const int restore_base[6][3] = {{10, 16, 13}, {11, 18, 14}, {13, 20, 16},
                                       {14, 23, 18}, {16, 25, 20}, {18, 29, 23}};
static const int scale_base[6][3] = {{13107, 5243, 8066}, {11916, 4660, 7490}, {10082, 4194, 6554},
                                     {9362, 3647, 5825},  {8192, 3355, 5243},  {7282, 2893, 4559}};

void porthole_make_quantizer(int qp, int rounding, int least, struct porthole_quantizer *quantizer) {
  for (int lane = 0; lane < 8; lane++) {
    for (int odd = 0; odd < 2; odd++) {
      int place = (lane & 1) == odd ? (odd ? 1 : 0) : 2;
      int scale = scale_base[qp % 6][place] * 2 >> qp / 6;
      // A step is 65536 / scale.
      int bias = (rounding * 1024 + scale / 2) / scale;
      int threshold = (least * 1024 + scale / 2) / scale;
      int restore = restore_base[qp % 6][place] << qp / 6;
      (odd ? quantizer->scale_odd : quantizer->scale_even)[lane] = (uint16_t)scale;
      (odd ? quantizer->bias_odd : quantizer->bias_even)[lane] = (uint16_t)bias;
      (odd ? quantizer->least_odd : quantizer->least_even)[lane] = (int16_t)threshold;
      (odd ? quantizer->restore_odd : quantizer->restore_even)[lane] = (int16_t)restore;
    }
  }
  quantizer->qp = qp;
}

// DC coefficients have been through two transforms: their step is twice as large. Level 2063 is the
// largest that CAVLC can say in Baseline; 2047 stays clear of it.
static int dc_level(int coefficient, const struct porthole_quantizer *q) {
  if (abs(coefficient) < 2 * q->least_even[0]) return 0;
  int level = (abs(coefficient) + 2 * q->bias_even[0]) * q->scale_even[0] >> 17;
  if (level > 2047) level = 2047;
  return coefficient < 0 ? -level : level;
}

static void hadamard4(int v[4], int a, int b, int c, int d) {
  int outer = a + d, inner = b + c, outer_difference = a - d, inner_difference = b - c;
  v[0] = outer + inner;
  v[1] = outer_difference + inner_difference;
  v[2] = outer - inner;
  v[3] = outer_difference - inner_difference;
}

static void hadamard16(const int16_t in[16], int out[16]) {
  int rows[4][4];
  for (int i = 0; i < 4; i++) hadamard4(rows[i], in[4 * i], in[4 * i + 1], in[4 * i + 2], in[4 * i + 3]);
  for (int i = 0; i < 4; i++) {
    int column[4];
    hadamard4(column, rows[0][i], rows[1][i], rows[2][i], rows[3][i]);
    for (int j = 0; j < 4; j++) out[4 * j + i] = column[j];
  }
}

// Figure 8-8's scan.
static const uint8_t scan[16] = {0, 1, 4, 8, 5, 2, 3, 6, 9, 12, 13, 10, 7, 11, 14, 15};

uint32_t porthole_luma_dc(int16_t dc[16], const struct porthole_quantizer *quantizer,
                          int16_t levels[16]) {
  int sums[16];
  int16_t raster[16];
  uint32_t mask = 0;
  hadamard16(dc, sums);
  // The sums are halved.
  for (int i = 0; i < 16; i++)
    raster[i] = (int16_t)dc_level((sums[i] + (sums[i] > 0)) / 2, quantizer);
  for (int i = 0; i < 16; i++) {
    levels[i] = raster[scan[i]];
    mask |= (uint32_t)(levels[i] != 0) << i;
  }
  hadamard16(raster, sums);
  int shift = quantizer->qp / 6, scale = 16 * restore_base[quantizer->qp % 6][0];
  for (int i = 0; i < 16; i++)
    dc[i] = (int16_t)(shift >= 6 ? sums[i] * scale * (1 << (shift - 6))
                                 : (sums[i] * scale + (1 << (5 - shift))) >> (6 - shift));
  return mask;
}

uint32_t porthole_chroma_dc(int16_t dc[4], const struct porthole_quantizer *quantizer,
                            int16_t levels[4]) {
  int sums[4];
  uint32_t mask = 0;
  int16_t coded[4];
  for (int pass = 0; pass < 2; pass++) {
    const int16_t *in = pass ? coded : dc;
    int top = in[0] + in[1], top_difference = in[0] - in[1];
    int bottom = in[2] + in[3], bottom_difference = in[2] - in[3];
    sums[0] = top + bottom;
    sums[1] = top_difference + bottom_difference;
    sums[2] = top - bottom;
    sums[3] = top_difference - bottom_difference;
    if (pass) break;
    for (int i = 0; i < 4; i++) {
      coded[i] = (int16_t)dc_level(sums[i], quantizer);
      levels[i] = coded[i];
      mask |= (uint32_t)(coded[i] != 0) << i;
    }
  }
  int scale = 16 * restore_base[quantizer->qp % 6][0];
  for (int i = 0; i < 4; i++) dc[i] = (int16_t)(sums[i] * scale * (1 << quantizer->qp / 6) >> 5);
  return mask;
}
