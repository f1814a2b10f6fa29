// In place of csrc/core/cuda/start/start.cuh: a launch runs on the CPU.
#include "emulator.h"
