# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilelang.utils.tensor.torch_assert_close`, which compares large tensors piece by piece."""

import re

import pytest

torch = pytest.importorskip("torch")

from tilewright.utils import tensor  # noqa: E402


@pytest.fixture
def short_pieces(monkeypatch):
    monkeypatch.setattr(tensor, "_PIECE", 7)


def test_says_how_many_and_where_the_worst_is(short_pieces):
    right = torch.zeros(5, 6)
    left = right.clone()
    left[0, 1], left[3, 4], left[4, 5] = 1.0, -3.0, 2.0  # in three pieces
    with pytest.raises(AssertionError, match=r"3 of 30 elements differ .*worst at \(3, 4\)") as no:
        tensor.torch_assert_close(left, right)
    assert re.search(r"actual -3, expected 0 ", str(no.value))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_is_worst(short_pieces, value):
    right = torch.zeros(20, dtype=torch.float16)
    left = right.clone()
    left[2], left[16] = 6.0e4, value
    with pytest.raises(AssertionError, match=r"2 of 20 .*worst at \(16,\)"):
        tensor.torch_assert_close(left, right)


def test_a_share_of_the_whole_may_be_off(short_pieces):
    right = torch.zeros(100)
    left = right.clone()
    left[:7] = 1.0  # all of one piece
    assert tensor.torch_assert_close(left, right, max_mismatched_ratio=0.07)
    with pytest.raises(AssertionError, match="7 of 100"):
        tensor.torch_assert_close(left, right, max_mismatched_ratio=0.069)


def test_transposed_and_equal_infinities(short_pieces):
    right = torch.full((4, 9), float("inf"))
    right[1] = 2.0
    left = right.t().contiguous().t()
    assert tensor.torch_assert_close(left, right)
    assert tensor.torch_assert_close(torch.zeros(0, 3), torch.zeros(0, 3))
