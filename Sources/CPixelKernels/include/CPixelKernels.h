#pragma once

#include "convert.h"
#include "encode_kernels.h"
#include "geometry.h"
#include "process.h"
#include "unpack.h"
