#pragma once

// A kernel is written once, as an always-inlined body of portable vectors, and compiled twice: for
// the baseline of the architecture and for AVX2. The choice is made at each call by one load.

// Wide vectors pass between inlined bodies only, so their calling convention does not matter.
#pragma clang diagnostic ignored "-Wpsabi"

#define BODY static inline __attribute__((always_inline))

#if defined(__x86_64__)
#define KERNEL(result, name, parameters, arguments)                                   \
  __attribute__((target("avx2"))) static result name##_avx2 parameters {              \
    return name##_body arguments;                                                     \
  }                                                                                   \
  static result name##_base parameters { return name##_body arguments; }              \
  result name parameters {                                                            \
    return __builtin_cpu_supports("avx2") ? name##_avx2 arguments : name##_base arguments; \
  }
#else
#define KERNEL(result, name, parameters, arguments) \
  result name parameters { return name##_body arguments; }
#endif
