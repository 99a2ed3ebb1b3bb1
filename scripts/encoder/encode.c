// Encodes a raw NV12 clip, with our driver through libva or with x264 on one thread, and prints what
// it took:
//
//     encode porthole|x264 qp|kbit NUMBER CLIP WIDTH HEIGHT OUTPUT
//
//     OUTPUT is an Annex B stream. Printed: CPU milliseconds a picture (median, 99 %, mean), bits of
//     the stream, kB of memory at its peak beyond the program before it began, and in kbit mode the
//     most bits of any second and by how many the worst picture overran a buffer of one second.
//
// Time runs from a picture where a converter puts it (our driver's surface, x264's caller) to its
// bytes. With `qp` both code keyframes three finer, as x264 does by itself. Ours are deblocked as the
// agent asks for.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <va/va.h>
#include <va/va_backend.h>
#include <va/va_drmcommon.h>
#include <x264.h>

enum { RATE = 30, MOST = 4096, KEYFRAME_QP = -3, KEYFRAME_DEBLOCKING = -6 };

static int width, height, columns, rows, is_rate, number;

static void die(const char *what) {
  fprintf(stderr, "encode: %s\n", what);
  exit(70);
}
static void check(VAStatus status, const char *call) {
  if (status != VA_STATUS_SUCCESS) {
    fprintf(stderr, "encode: %s: %s\n", call, vaErrorStr(status));
    exit(70);
  }
}
static double cpu_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}
// "VmHWM" or "VmRSS" of this process, in kB.
static long memory(const char *name) {
  char line[256];
  long kb = 0;
  FILE *file = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, file))
    if (!strncmp(line, name, strlen(name))) kb = atol(strchr(line, ':') + 1);
  fclose(file);
  return kb;
}

// What an encoder is to this program: bytes of one picture, valid until the next call.
struct unit {
  const uint8_t *bytes;
  size_t size;
};
typedef struct unit encode_picture(int index);
// Where an encoder wants its next picture.
typedef void take_picture(const uint8_t *picture);

// ---- our driver, on a display without a device, as the agent opens it ----

static VADisplay display;
static VAContextID context;
static VASurfaceID surfaces[3];
static VABufferID coded;

// Exported by libva, and in none of its headers.
VADisplayContextP va_newDisplayContext(void);
VADriverContextP va_newDriverContext(VADisplayContextP display);

static int is_valid(VADisplayContextP d) { return 1; }
static void destroy(VADisplayContextP d) {}
static VAStatus count_names(VADisplayContextP d, int *count) {
  *count = 1;
  return VA_STATUS_SUCCESS;
}
static VAStatus give_name(VADisplayContextP d, char **name, int index) {
  *name = strdup("libporthole");
  return VA_STATUS_SUCCESS;
}
static VAStatus give_names(VADisplayContextP d, char **names, uint32_t *count) {
  *names = strdup("libporthole");
  *count = 1;
  return VA_STATUS_SUCCESS;
}

static void open_porthole(void) {
  VADisplayContextP made = va_newDisplayContext();
  VADriverContextP driver = va_newDriverContext(made);
  struct drm_state *state = calloc(1, sizeof *state);
  state->fd = -1;
  driver->display_type = VA_DISPLAY_DRM_RENDERNODES;
  driver->drm_state = state;
  made->vaIsValid = is_valid;
  made->vaDestroy = destroy;
  made->vaGetNumCandidates = count_names;
  made->vaGetDriverNameByIndex = give_name;
  made->reserved[0] = (unsigned long)give_names;  // of libva 2.20 on
  display = (VADisplay)made;
  vaSetInfoCallback(display, NULL, NULL);
  int major, minor;
  check(vaSetDriverName(display, (char *)"libporthole"), "vaSetDriverName");
  check(vaInitialize(display, &major, &minor), "vaInitialize");

  VAConfigAttrib attributes[2] = {
      {VAConfigAttribRTFormat, VA_RT_FORMAT_YUV420},
      {VAConfigAttribRateControl, is_rate ? VA_RC_CBR : VA_RC_CQP}};
  VAConfigID config;
  check(vaCreateConfig(display, VAProfileH264ConstrainedBaseline, VAEntrypointEncSlice, attributes, 2,
                       &config), "vaCreateConfig");
  check(vaCreateSurfaces(display, VA_RT_FORMAT_YUV420, columns * 16, rows * 16, surfaces, 3, NULL, 0),
        "vaCreateSurfaces");
  check(vaCreateContext(display, config, columns * 16, rows * 16, VA_PROGRESSIVE, surfaces, 3,
                        &context), "vaCreateContext");
  check(vaCreateBuffer(display, context, VAEncCodedBufferType, columns * rows * 400, 1, NULL, &coded),
        "vaCreateBuffer");
}

static int is_mapped;

// As the agent's conversion writes it into the surface.
static void take_porthole(const uint8_t *picture) {
  if (is_mapped) check(vaUnmapBuffer(display, coded), "vaUnmapBuffer");
  is_mapped = 1;
  VAImage image;
  void *data;
  check(vaDeriveImage(display, surfaces[2], &image), "vaDeriveImage");
  check(vaMapBuffer(display, image.buf, &data), "vaMapBuffer");
  uint8_t *luma = (uint8_t *)data + image.offsets[0], *chroma = (uint8_t *)data + image.offsets[1];
  for (int row = 0; row < rows * 16; row++)
    memcpy(luma + row * image.pitches[0], picture + (row < height ? row : height - 1) * width, width);
  const uint8_t *pairs = picture + width * height;
  for (int row = 0; row < rows * 8; row++)
    memcpy(chroma + row * image.pitches[1],
           pairs + (row < height / 2 ? row : height / 2 - 1) * width, width);
  check(vaUnmapBuffer(display, image.buf), "vaUnmapBuffer");
  check(vaDestroyImage(display, image.image_id), "vaDestroyImage");
}

static VABufferID buffers[8];
static int buffer_count;
static void add(VABufferType type, unsigned size, void *value) {
  check(vaCreateBuffer(display, context, type, size, 1, value, &buffers[buffer_count++]),
        "vaCreateBuffer");
}
static void add_misc(VAEncMiscParameterType type, const void *value, size_t size) {
  char bytes[128] = {0};
  memcpy(bytes, &type, 4);
  memcpy(bytes + 4, value, size);
  add(VAEncMiscParameterBufferType, 4 + size, bytes);
}

static void add_sequence(void) {
  VAEncSequenceParameterBufferH264 sequence = {
      .level_idc = 40, .intra_period = 65535, .intra_idr_period = 65535, .ip_period = 1,
      .max_num_ref_frames = 1, .picture_width_in_mbs = columns, .picture_height_in_mbs = rows,
      .frame_cropping_flag = 1, .frame_crop_right_offset = (columns * 16 - width) / 2,
      .frame_crop_bottom_offset = (rows * 16 - height) / 2};
  sequence.seq_fields.bits.chroma_format_idc = 1;
  sequence.seq_fields.bits.frame_mbs_only_flag = 1;
  sequence.seq_fields.bits.direct_8x8_inference_flag = 1;
  sequence.seq_fields.bits.log2_max_frame_num_minus4 = 4;
  sequence.seq_fields.bits.pic_order_cnt_type = 2;
  add(VAEncSequenceParameterBufferType, sizeof sequence, &sequence);
  if (!is_rate) return;
  VAEncMiscParameterRateControl rate = {
      .bits_per_second = number * 1000, .target_percentage = 100, .window_size = 1000, .min_qp = 18};
  VAEncMiscParameterFrameRate pictures = {.framerate = RATE};
  VAEncMiscParameterHRD hrd = {
      .buffer_size = number * 1000, .initial_buffer_fullness = number * 750};
  add_misc(VAEncMiscParameterTypeRateControl, &rate, sizeof rate);
  add_misc(VAEncMiscParameterTypeFrameRate, &pictures, sizeof pictures);
  add_misc(VAEncMiscParameterTypeHRD, &hrd, sizeof hrd);
}

static struct unit encode_porthole(int index) {
  buffer_count = 0;
  int is_idr = index == 0, qp = is_rate ? 26 : number;
  if (is_idr) add_sequence();
  const VAPictureH264 none = {VA_INVALID_ID, 0, VA_PICTURE_H264_INVALID, 0, 0};
  VAEncPictureParameterBufferH264 parameters = {
      .CurrPic = {.picture_id = surfaces[index & 1], .frame_idx = index},
      .coded_buf = coded, .frame_num = index & 255, .pic_init_qp = qp};
  parameters.pic_fields.bits.idr_pic_flag = is_idr;
  parameters.pic_fields.bits.reference_pic_flag = 1;
  parameters.pic_fields.bits.deblocking_filter_control_present_flag = 1;
  VAEncSliceParameterBufferH264 slice = {
      .num_macroblocks = columns * rows, .macroblock_info = VA_INVALID_ID,
      .slice_type = is_idr ? 2 : 0, .slice_qp_delta = is_idr && !is_rate ? KEYFRAME_QP : 0,
      .slice_alpha_c0_offset_div2 = is_idr ? KEYFRAME_DEBLOCKING : 0,
      .slice_beta_offset_div2 = is_idr ? KEYFRAME_DEBLOCKING : 0};
  for (int i = 0; i < 16; i++) parameters.ReferenceFrames[i] = none;
  for (int i = 0; i < 32; i++) slice.RefPicList0[i] = slice.RefPicList1[i] = none;
  if (!is_idr) {
    const VAPictureH264 past = {surfaces[~index & 1], 0, VA_PICTURE_H264_SHORT_TERM_REFERENCE, 0, 0};
    parameters.ReferenceFrames[0] = slice.RefPicList0[0] = past;
  }
  add(VAEncPictureParameterBufferType, sizeof parameters, &parameters);
  add(VAEncSliceParameterBufferType, sizeof slice, &slice);
  check(vaBeginPicture(display, context, surfaces[2]), "vaBeginPicture");
  check(vaRenderPicture(display, context, buffers, buffer_count), "vaRenderPicture");
  check(vaEndPicture(display, context), "vaEndPicture");
  for (int i = 0; i < buffer_count; i++) vaDestroyBuffer(display, buffers[i]);
  check(vaSyncSurface(display, surfaces[2]), "vaSyncSurface");
  VACodedBufferSegment *segment;
  check(vaMapBuffer(display, coded, (void **)&segment), "vaMapBuffer");
  return (struct unit){segment->buf, segment->size};
}

// ---- x264: ultrafast, zerolatency, one thread ----

static x264_t *x264;
static x264_picture_t x264_input;

static void open_x264(void) {
  x264_param_t p;
  if (x264_param_default_preset(&p, "ultrafast", "zerolatency")) die("no such x264 preset");
  p.i_threads = 1;
  p.i_csp = X264_CSP_NV12;
  p.i_width = width;
  p.i_height = height;
  p.i_fps_num = RATE;
  p.i_fps_den = 1;
  p.b_vfr_input = 0;
  p.i_keyint_max = X264_KEYINT_MAX_INFINITE;
  p.i_log_level = X264_LOG_ERROR;
  if (is_rate) {
    p.rc.i_rc_method = X264_RC_ABR;
    p.rc.i_bitrate = p.rc.i_vbv_max_bitrate = p.rc.i_vbv_buffer_size = number;
  } else {
    p.rc.i_rc_method = X264_RC_CQP;
    p.rc.i_qp_constant = number;
  }
  x264 = x264_encoder_open(&p);
  if (!x264) die("x264_encoder_open");
  x264_picture_init(&x264_input);
  x264_input.img.i_csp = X264_CSP_NV12;
  x264_input.img.i_plane = 2;
  x264_input.img.i_stride[0] = x264_input.img.i_stride[1] = width;
}

static void take_x264(const uint8_t *picture) {
  x264_input.img.plane[0] = (uint8_t *)picture;
  x264_input.img.plane[1] = (uint8_t *)picture + width * height;
}

static struct unit encode_x264(int index) {
  x264_picture_t output;
  x264_nal_t *units;
  int count;
  x264_input.i_pts = index;
  int size = x264_encoder_encode(x264, &units, &count, &x264_input, &output);
  if (size <= 0) die("x264_encoder_encode");
  return (struct unit){units[0].p_payload, size};
}

// ---- the clip ----

static int ascending(const void *a, const void *b) {
  double difference = *(const double *)a - *(const double *)b;
  return (difference > 0) - (difference < 0);
}

int main(int count, char **word) {
  if (count != 8) die("usage: encode porthole|x264 qp|kbit NUMBER CLIP WIDTH HEIGHT OUTPUT");
  is_rate = !strcmp(word[2], "kbit");
  number = atoi(word[3]);
  width = atoi(word[5]);
  height = atoi(word[6]);
  columns = (width + 15) / 16;
  rows = (height + 15) / 16;
  const int is_x264 = !strcmp(word[1], "x264");
  encode_picture *encode = is_x264 ? encode_x264 : encode_porthole;
  take_picture *take = is_x264 ? take_x264 : take_porthole;
  size_t size = (size_t)width * height * 3 / 2;
  uint8_t *picture = malloc(size);
  FILE *clip = fopen(word[4], "rb"), *output = fopen(word[7], "wb");
  if (!clip || !output) die("a file cannot be opened");
  memset(picture, 0, size);
  const long before = memory("VmRSS");
  if (is_x264) open_x264(); else open_porthole();

  static double times[MOST];
  static long sizes[MOST];
  double sum = 0;
  long bits = 0;
  int index = 0;
  for (; index < MOST && fread(picture, size, 1, clip) == 1; index++) {
    take(picture);
    const double start = cpu_ms();
    struct unit unit = encode(index);
    sum += times[index] = cpu_ms() - start;
    bits += sizes[index] = 8 * unit.size;
    fwrite(unit.bytes, unit.size, 1, output);
  }
  if (index == 0) die("the clip has no picture");
  fclose(output);
  // The decoder's buffer: it holds a second of the rate, three quarters are there at the start.
  const double rate = number * 1000.0;
  double level = rate * 0.75, least = level;
  long second = 0, most = 0;
  for (int i = 0; i < index; i++) {
    second += sizes[i] - (i >= RATE ? sizes[i - RATE] : 0);
    if (second > most) most = second;
    level -= sizes[i];
    if (level < least) least = level;
    level = level + rate / RATE < rate ? level + rate / RATE : rate;
  }
  const double mean = sum / index;
  qsort(times, index, sizeof times[0], ascending);
  printf("%.2f %.2f %.2f %ld %ld %ld %.0f\n", times[index / 2], times[index * 99 / 100], mean, bits,
         memory("VmHWM") - before, most, least < 0 ? -least : 0);
}
