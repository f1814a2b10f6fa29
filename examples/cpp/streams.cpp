// Several CUDA streams, each with batches of its own. Calls share no state, so they may overlap, and every stream gets
// the bits that it would get alone. Prints the throughput of one stream and of several.
#include <ATen/ATen.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch_reduce/reduce.h>

#include <iostream>
#include <vector>

namespace {

constexpr int kBatches = 200;
constexpr int64_t kRows = 1024, kColumns = 1024;  // 4 MiB: too little for one call to fill a large GPU

// Seconds for kBatches reductions of each input, each input on a stream of its own.
double run(const std::vector<at::Tensor>& inputs, const std::vector<c10::Stream>& streams,
           std::vector<at::Tensor>& sums) {
  const c10::impl::VirtualGuardImpl gpu(c10::kCUDA);
  const auto main_stream = gpu.getStream(inputs[0].device());
  c10::Event begin(c10::kCUDA, c10::EventFlag::BACKEND_DEFAULT), end(c10::kCUDA, c10::EventFlag::BACKEND_DEFAULT);
  begin.record(main_stream);
  for (int batch = 0; batch < kBatches; ++batch) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const c10::StreamGuard guard(streams[i]);
      if (batch == 0) begin.block(streams[i]);
      sums[i] = torch_reduce::sum(inputs[i], 1);
    }
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    c10::Event done(c10::kCUDA);
    done.record(streams[i]);
    done.block(main_stream);
  }
  end.record(main_stream);
  end.synchronize();
  return begin.elapsedTime(end) / 1000;
}

}  // namespace

int main() {
  if (!at::hasCUDA()) {
    std::cout << "no GPU\n";
    return 77;
  }
  const at::Device device(at::kCUDA, 0);
  const c10::impl::VirtualGuardImpl gpu(c10::kCUDA);
  bool ok = true;
  for (const size_t count : {1, 2, 4, 8}) {
    std::vector<at::Tensor> inputs, expected, sums(count);
    std::vector<c10::Stream> streams;
    for (size_t i = 0; i < count; ++i) {
      inputs.push_back(at::randn({kRows, kColumns}, device));
      expected.push_back(torch_reduce::sum(inputs.back(), 1));
      streams.push_back(gpu.getStreamFromGlobalPool(device));
    }
    gpu.synchronizeDevice(0);
    run(inputs, streams, sums);
    const double seconds = run(inputs, streams, sums);
    const double bytes = static_cast<double>(count) * kBatches * kRows * kColumns * 4;
    std::cout << count << " streams: " << bytes / seconds / 1e9 << " GB/s\n";
    for (size_t i = 0; i < count; ++i) ok &= sums[i].equal(expected[i]);
  }
  std::cout << (ok ? "every stream has its bits" : "WRONG BITS") << "\n";
  return ok ? 0 : 1;
}
