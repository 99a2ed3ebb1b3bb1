#pragma once

// The one symbol of `libporthole_inner_drv_video.so`, which only a program with the software driver
// inside can load. libva asks for it: `context` is its VADriverContextP, the answer a VAStatus.
int __vaDriverInit_1_0(void *context);
