#include "InnerDriverModule.h"

// What libva asks a module for, answered by the program that has the driver inside: see
// `InnerDriver.swift` of the agent.
extern int porthole_driver_init(void *context);

int __vaDriverInit_1_0(void *context) { return porthole_driver_init(context); }
