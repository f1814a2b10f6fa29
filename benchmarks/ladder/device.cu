// What the device query asks of the driver. (Not a rung.)
#include "rung.h"

// Fills `facts` with the current device's numbers, in the order that library.py names them.
LADDER_API cudaError_t ladder_device(int* facts) {
  const cudaDeviceAttr attributes[] = {
      cudaDevAttrMultiProcessorCount,
      cudaDevAttrClockRate,
      cudaDevAttrMemoryClockRate,
      cudaDevAttrGlobalMemoryBusWidth,
      cudaDevAttrL2CacheSize,
      cudaDevAttrMaxSharedMemoryPerMultiprocessor,
      cudaDevAttrMaxSharedMemoryPerBlockOptin,
      cudaDevAttrMaxThreadsPerMultiProcessor,
      cudaDevAttrMaxRegistersPerMultiprocessor,
      cudaDevAttrCooperativeLaunch,
      cudaDevAttrClusterLaunch,
      cudaDevAttrAsyncEngineCount,
  };
  for (cudaDeviceAttr attribute : attributes) *facts++ = device_attribute(attribute);
  return cudaGetLastError();
}
