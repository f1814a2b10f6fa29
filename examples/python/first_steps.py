"""The operators, their modes, and how to look at them: python first_steps.py [cpu|cuda]

What a print prints stands below it: the same on a CPU and on a GPU.
"""

import sys

import torch

import torch_reduce

device = sys.argv[1] if len(sys.argv) > 1 else "cpu"

# Names and arguments are torch's.
x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], device=device)
print(torch_reduce.sum(x).item())
# prints: 21.0
print(torch_reduce.mean(x, 0).tolist())
# prints: [2.5, 3.5, 4.5]
print(torch_reduce.norm2(x, dim=1, keepdim=True).shape)
# prints: torch.Size([2, 1])
print(torch_reduce.argmax(x, 1).tolist())
# prints: [2, 2]
print(torch_reduce.cumsum(x, 1).tolist())
# prints: [[1.0, 3.0, 6.0], [4.0, 9.0, 15.0]]

# Mode "deterministic", the default: bits depend on the elements and their order, not on where they stand.
generator = torch.Generator().manual_seed(0)
rows = torch.randn(4096, 64, generator=generator).to(device)
turned = rows.t().contiguous().t()  # the same values in another memory layout
print(torch.equal(torch_reduce.sum(rows, 0), torch_reduce.sum(turned, 0)))
# prints: True
print(torch.equal(torch_reduce.sum(rows, 0).cpu(), torch_reduce.sum(rows.cpu(), 0)))  # a GPU has the bits of a CPU
# prints: True

# Mode "exact": the real-number sum, rounded once. The order of the elements does not matter, and nothing overflows on
# the way.
big = torch.tensor([3e38, 3e38, -3e38, -3e38], device=device)
print(torch_reduce.sum(big).item(), torch_reduce.sum(big, mode="exact").item())
# prints: nan 0.0

# A wider output type widens the additions, without a copy of the input in that type.
small = torch.full((2**25,), 1 / 3, dtype=torch.float16, device=device)
print(torch_reduce.sum(small).item(), torch_reduce.sum(small, dtype=torch.float32).item())
# prints: inf 11182080.0

# Gradients, of any order.
w = torch.tensor([3.0, 4.0], device=device, requires_grad=True)
torch_reduce.norm2(w).backward()
print([round(value, 6) for value in w.grad.tolist()])
# prints: [0.6, 0.8]

# How a call runs, and how it compares with torch.sum. Both depend on the machine.
print(torch_reduce.explain(rows, 0))
print(torch_reduce.compare(rows, 0, seconds=0.2))
