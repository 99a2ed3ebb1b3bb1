#include <va/va.h>
#include <va/va_backend.h>
#include <va/va_backend_vpp.h>
