"""As much of PyTorch as the environment check uses, in its shape; FAKE_TORCH says what is wrong with it.

A tensor is a pattern that repeats itself. Sums are really made, between processes: see `distributed`.
"""

import os

from torch import cuda, version  # noqa: F401

__version__ = "0.0-fake"
FAULT = os.environ.get("FAKE_TORCH", "")
if FAULT == "broken":
    raise ImportError("libtorch.so: cannot open shared object file", name="torch._C")
if FAULT == "absent":
    raise ModuleNotFoundError("No module named 'torch'", name="torch")


class Tensor:
    def __init__(self, pattern, length):
        self.pattern, self.length = pattern, length

    def remainder(self, divisor):
        return Tensor(range(divisor), self.length)

    def float(self):
        return Tensor([float(one) for one in self.pattern], self.length)

    def to(self, device):
        assert device == ("cuda:0" if cuda.is_available() and cuda.chosen == 0 else "cpu")
        return self

    def __add__(self, number):
        return Tensor([one + number for one in self.pattern], self.length)

    def __mul__(self, number):
        return Tensor([one * number for one in self.pattern], self.length)

    def __eq__(self, other):
        return Tensor([a == b for a, b in zip(self.pattern, other.pattern, strict=True)], self.length)

    def __getitem__(self, index):
        return Tensor([self.pattern[index % len(self.pattern)]], 1)

    def __bool__(self):
        (only,) = self.pattern
        return bool(only)

    def all(self):
        return Tensor([all(self.pattern)], 1)

    def sum(self):
        return Tensor([sum(self.pattern)], 1)

    def item(self):
        (only,) = self.pattern
        return only

    def numel(self):
        return self.length

    def element_size(self):
        return 4


def arange(end):
    return Tensor(range(end), end)
