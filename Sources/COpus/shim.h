// What Swift cannot import of libopus: requests, which are variadic.
#pragma once
#include <opus.h>

static inline int ph_opus_set_bitrate(OpusEncoder *encoder, opus_int32 bits_per_second) {
  return opus_encoder_ctl(encoder, OPUS_SET_BITRATE(bits_per_second));
}
static inline int ph_opus_set_complexity(OpusEncoder *encoder, opus_int32 complexity) {
  return opus_encoder_ctl(encoder, OPUS_SET_COMPLEXITY(complexity));
}
static inline int ph_opus_get_lookahead(OpusEncoder *encoder, opus_int32 *samples) {
  return opus_encoder_ctl(encoder, OPUS_GET_LOOKAHEAD(samples));
}
static inline int ph_opus_reset(OpusEncoder *encoder) {
  return opus_encoder_ctl(encoder, OPUS_RESET_STATE);
}
