// Sums in a LibTorch program: a result whose bits are known in advance, and its gradient.
#include <torch/torch.h>
#include <torch_reduce/reduce.h>

#include <iostream>

int main() {
  const auto x = torch::full({4, 1000}, 0.1f).set_requires_grad(true);
  const auto rows = torch_reduce::sum(x, 1);
  const auto mean = torch_reduce::mean(x, std::nullopt, false, {torch::kFloat64, torch_reduce::Mode::atomic});
  torch_reduce::sum(rows * rows).backward();  // d/dx = 2 * the row's sum
  std::cout << "sum of each row: " << rows.detach() << "\nmean: " << mean.item<double>()
            << "\ngradient: " << x.grad().index({0, 0}).item<float>() << "\n";

  const bool repeats = torch_reduce::sum(x.t(), 0).equal(rows);  // another layout, the same bits
  const bool gradient = x.grad().equal((2 * rows).detach().unsqueeze(1).expand_as(x));
  // Two halves, summed exactly and merged by integer addition: the exact sum of the whole.
  const auto whole = x.detach(), left = whole.narrow(1, 0, 300), right = whole.narrow(1, 300, 700);
  const auto merged = torch_reduce::exact_accumulate(left, 1) + torch_reduce::exact_accumulate(right, 1);
  const auto exactly = torch_reduce::sum(whole, 1, false, {std::nullopt, torch_reduce::Mode::exact});
  const bool merges = torch_reduce::exact_round(merged, torch::kFloat).equal(exactly) &&
                      torch_reduce::exact_normalize(merged).equal(torch_reduce::exact_accumulate(whole, 1));
  const bool ok = repeats && gradient && merges;
  std::cout << (ok ? "ok" : "WRONG") << "\n";
  return ok ? 0 : 1;
}
