#pragma once
extern int memfd_create(const char *name, unsigned int flags);
#include <linux/memfd.h>
