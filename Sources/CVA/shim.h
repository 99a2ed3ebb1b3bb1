#include <va/va.h>
#include <va/va_backend.h>
#include <va/va_backend_vpp.h>
#include <va/va_drmcommon.h>

// libva exports the two constructors that its own display libraries use, and declares them in no
// header that is installed.
VADisplayContextP va_newDisplayContext(void);
VADriverContextP va_newDriverContext(VADisplayContextP display);

// A picture of one layer in dma-bufs. libva's own descriptor holds structures without names, which
// Swift does not import.
struct ph_prime_plane {
  int fd;
  uint32_t offset, pitch;
};
struct ph_prime_picture {
  uint32_t va_fourcc, drm_fourcc, width, height;
  uint64_t modifier;
  uint32_t plane_count;
  struct ph_prime_plane planes[4];
};

// One object for each descriptor; `sizes` are the planes' files'.
static inline VADRMPRIMESurfaceDescriptor ph_pack_prime(
    const struct ph_prime_picture *picture, const uint32_t sizes[4]) {
  VADRMPRIMESurfaceDescriptor packed = {
      .fourcc = picture->va_fourcc, .width = picture->width, .height = picture->height,
      .num_layers = 1,
      .layers[0] = {.drm_format = picture->drm_fourcc, .num_planes = picture->plane_count}};
  for (uint32_t plane = 0; plane < picture->plane_count && plane < 4; plane++) {
    const struct ph_prime_plane *from = &picture->planes[plane];
    uint32_t object = 0;
    while (object < packed.num_objects && packed.objects[object].fd != from->fd) object++;
    if (object == packed.num_objects) {
      packed.objects[packed.num_objects].fd = from->fd;
      packed.objects[packed.num_objects].size = sizes[plane];
      packed.objects[packed.num_objects++].drm_format_modifier = picture->modifier;
    }
    packed.layers[0].object_index[plane] = object;
    packed.layers[0].offset[plane] = from->offset;
    packed.layers[0].pitch[plane] = from->pitch;
  }
  return packed;
}

// No planes where it is not one layer of one to four.
static inline struct ph_prime_picture ph_unpack_prime(const VADRMPRIMESurfaceDescriptor *packed) {
  struct ph_prime_picture picture = {
      .va_fourcc = packed->fourcc, .drm_fourcc = packed->layers[0].drm_format,
      .width = packed->width, .height = packed->height,
      .modifier = packed->objects[0].drm_format_modifier};
  if (packed->num_layers != 1 || packed->layers[0].num_planes > 4) return picture;
  picture.plane_count = packed->layers[0].num_planes;
  for (uint32_t plane = 0; plane < picture.plane_count; plane++) {
    picture.planes[plane].fd = packed->objects[packed->layers[0].object_index[plane] & 3].fd;
    picture.planes[plane].offset = packed->layers[0].offset[plane];
    picture.planes[plane].pitch = packed->layers[0].pitch[plane];
  }
  return picture;
}

// The descriptors that an exported surface came with; whoever was given them closes them.
static inline uint32_t ph_prime_descriptors(const VADRMPRIMESurfaceDescriptor *packed, int fds[4]) {
  for (uint32_t object = 0; object < packed->num_objects && object < 4; object++) {
    fds[object] = packed->objects[object].fd;
  }
  return packed->num_objects < 4 ? packed->num_objects : 4;
}
