// sd-bus as it stands. Its variadic calls do not import; the typed ones beside them do all we need.
#pragma once
#include <systemd/sd-bus.h>
