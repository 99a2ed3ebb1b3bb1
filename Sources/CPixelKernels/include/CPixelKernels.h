#pragma once

#include "convert.h"
