#pragma once
#include "encode_kernels.h"
