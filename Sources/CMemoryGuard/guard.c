#include "CMemoryGuard.h"
