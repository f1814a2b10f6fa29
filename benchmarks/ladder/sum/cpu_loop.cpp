// The baseline: one CPU core, one addition after the other.
//
// Every addition waits for the one before it, and the compiler may not reorder floating-point additions, so the core's
// vector units stay empty: the loop runs at one element per latency of an addition. The running total is also the least
// accurate: once it is 2^24 times an element, adding that element changes nothing.
extern "C" __attribute__((visibility("default"))) int ladder_cpu_loop(const float* in, float* out, float*, int n,
                                                                      void*) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += in[i];
  *out = sum;
  return 0;
}
