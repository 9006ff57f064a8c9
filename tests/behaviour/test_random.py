"""Random numbers: seeds and generators, the ranges and moments of what they draw, and derivatives, which are 0."""

from __future__ import annotations

from typing import Any

import pytest

from tests.behaviour import const, leaf, shape, torch


def test_a_seed_repeats_the_numbers() -> None:
    torch.manual_seed(3)
    first = torch.rand(3).tolist(), torch.randn(2).tolist(), torch.randint(0, 9, (4,)).tolist(), torch.randperm(5).tolist()
    torch.manual_seed(3)
    again = torch.rand(3).tolist(), torch.randn(2).tolist(), torch.randint(0, 9, (4,)).tolist(), torch.randperm(5).tolist()
    assert first == again
    assert torch.rand(3).tolist() != first[0]


def test_a_generator_has_a_state_of_its_own() -> None:
    g = torch.Generator()
    assert g.manual_seed(5) is g
    assert g.initial_seed() == 5
    first = torch.rand(3, generator=g).tolist()
    torch.rand(10)
    g.manual_seed(5)
    assert torch.rand(3, generator=g).tolist() == first
    assert isinstance(g.seed(), int)
    assert torch.rand(3, generator=g).tolist() != first


def test_states_are_saved_and_restored() -> None:
    g = torch.Generator().manual_seed(1)
    torch.randn(3, generator=g)
    state = g.get_state()
    first = torch.randn(4, generator=g).tolist()
    g.set_state(state)
    assert torch.randn(4, generator=g).tolist() == first
    saved = torch.get_rng_state()
    first = torch.rand(4).tolist()
    torch.set_rng_state(saved)
    assert torch.rand(4).tolist() == first


def test_seeds() -> None:
    assert torch.manual_seed(7).initial_seed() == 7
    assert torch.initial_seed() == 7
    assert torch.default_generator.initial_seed() == 7
    assert torch.manual_seed(-1).initial_seed() == 2**64 - 1
    with pytest.raises(ValueError, match="Overflow when unpacking long"):
        torch.manual_seed(2**64)
    torch.manual_seed(0)


def test_shapes_and_types() -> None:
    assert shape(torch.rand(2, 3)) == shape(torch.randn((2, 3))) == shape(torch.rand([2, 3])) == [2, 3]
    assert torch.rand(2, dtype=torch.float32).dtype == torch.float32
    assert torch.randn(2, requires_grad=True).requires_grad
    assert shape(torch.randn(())) == []
    whole = torch.randint(3, (2, 2))
    assert whole.dtype == torch.int64
    assert shape(whole) == [2, 2]
    assert torch.randint(0, 5, (2,), dtype=torch.float64).dtype == torch.float64
    assert shape(torch.randint(high=5, size=(2,), low=2)) == [2]
    assert torch.randperm(4).dtype == torch.int64
    x = const([[1.0, 2.0]])
    for like in (torch.rand_like(x), torch.randn_like(x), torch.randint_like(x, 4), torch.randint_like(x, 2, 4)):
        assert shape(like) == [1, 2]
        assert like.dtype == torch.float64


def test_ranges() -> None:
    torch.manual_seed(0)
    numbers = torch.rand(1000)
    assert 0 <= numbers.min().item() < 0.01
    assert 0.99 < numbers.max().item() < 1
    whole = torch.randint(2, 5, (1000,))
    assert sorted(set(whole.tolist())) == [2, 3, 4]
    assert sorted(torch.randperm(20).tolist()) == list(range(20))


MOMENTS: dict[str, tuple[Any, float, float]] = {
    "randn": (lambda n: torch.randn(n, dtype=torch.float64), 0.0, 1.0),
    "normal": (lambda n: torch.normal(2.0, 3.0, (n,), dtype=torch.float64), 2.0, 3.0),
    "normal of tensors": (lambda n: torch.normal(torch.full((n,), 2.0), torch.full((n,), 0.5)), 2.0, 0.5),
    "normal of a mean": (lambda n: torch.normal(torch.full((n,), 2.0)), 2.0, 1.0),
    "normal of a deviation": (lambda n: torch.normal(1.0, torch.full((n,), 2.0)), 1.0, 2.0),
    "bernoulli": (lambda n: torch.bernoulli(torch.full((n,), 0.2)), 0.2, 0.4),
    "bernoulli of p": (lambda n: torch.bernoulli(torch.empty(n), 0.2), 0.2, 0.4),
    "poisson": (lambda n: torch.poisson(torch.full((n,), 4.0)), 4.0, 2.0),
    "uniform_": (lambda n: torch.empty(n).uniform_(-1, 3), 1.0, 4 / 12**0.5),
    "uniform_ between 0 and 1": (lambda n: torch.empty(n).uniform_(), 0.5, 12**-0.5),
    "normal_": (lambda n: torch.empty(n).normal_(1, 2), 1.0, 2.0),
    "exponential_": (lambda n: torch.empty(n).exponential_(4.0), 0.25, 0.25),
    "geometric_": (lambda n: torch.empty(n).geometric_(0.5), 2.0, 2**0.5),
    "bernoulli_": (lambda n: torch.empty(n).bernoulli_(0.2), 0.2, 0.4),
    "bernoulli_ of a tensor": (lambda n: torch.empty(n).bernoulli_(torch.full((n,), 0.2)), 0.2, 0.4),
    "log_normal_": (lambda n: torch.log(torch.empty(n).log_normal_(1.0, 0.5)), 1.0, 0.5),
    "random_": (lambda n: torch.empty(n).random_(0, 4), 1.5, 5**0.5 / 2),
}


@pytest.mark.parametrize("name", MOMENTS)
def test_mean_and_deviation(name: str) -> None:
    torch.manual_seed(0)
    draw, mean, deviation = MOMENTS[name]
    numbers = draw(20000)
    assert numbers.mean().item() == pytest.approx(mean, abs=0.03 * (1 + deviation))
    assert numbers.std().item() == pytest.approx(deviation, rel=0.05)


def test_multinomial() -> None:
    torch.manual_seed(0)
    weights = const([0.0, 1.0, 3.0])
    drawn = torch.multinomial(weights, 4000, replacement=True)
    assert drawn.dtype == torch.int64
    counts = [drawn.tolist().count(i) for i in range(3)]
    assert counts[0] == 0
    assert counts[2] / counts[1] == pytest.approx(3, rel=0.2)
    assert sorted(torch.multinomial(weights, 2).tolist()) == [1, 2]
    rows = torch.multinomial(const([[1.0, 0.0], [0.0, 1.0]]), 3, replacement=True)
    assert rows.tolist() == [[0, 0, 0], [1, 1, 1]]
    assert torch.multinomial(leaf([0.0, 1.0]), 1).item() == 1
    first = [torch.multinomial(const([1.0, 1.0, 2.0]), 3).tolist()[0] for _ in range(2000)]
    assert first.count(2) / 2000 == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda: torch.randint(5, 2, (2,)), "random_ expects 'from' to be less than 'to', but got from=5 >= to=2"),
        (
            lambda: torch.multinomial(const([1.0, 1.0]), 3),
            "cannot sample n_sample > prob_dist.size.-1. samples without replacement",
        ),
        (lambda: torch.multinomial(const([0.0, 0.0]), 1), "invalid multinomial distribution .sum of probabilities <= 0"),
        (lambda: torch.multinomial(const([-1.0, 2.0]), 1), "probability tensor contains either `inf`, `nan` or element < 0"),
        (lambda: torch.multinomial(const([1.0, 1.0]), 0), "cannot sample n_sample <= 0 samples"),
        (lambda: torch.multinomial(const(1.0), 1), "prob_dist must be 1 or 2 dim"),
        (lambda: torch.normal(0.0, -1.0, (2,)), "normal expects std >= 0.0, but found std -1"),
        (lambda: torch.normal(const([0.0]), const([-1.0])), "normal expects all elements of std >= 0.0"),
        (lambda: torch.bernoulli(const([2.0])), "Expected p_in >= 0 && p_in <= 1 to be true"),
        (lambda: torch.poisson(const([-1.0])), "invalid Poisson rate, expected rate to be non-negative"),
        (lambda: torch.ones(2).uniform_(2, 1), "uniform_ expects to return a .from, to. range, but found from=2 > to=1"),
        (lambda: torch.ones(2).exponential_(-1), "exponential_ expects lambda > 0.0, but found lambda=-1"),
        (lambda: torch.ones(2).random_(5, 2), "random_ expects 'from' to be less than 'to', but got from=5 >= to=2"),
        (lambda: torch.ones(2).bernoulli_(2.0), r"bernoulli_ expects p to be in \[0, 1\], but got p=2"),
        (lambda: torch.ones(2).geometric_(2.0), r"geometric_ expects p to be in \(0, 1\), but got p=2"),
        (lambda: leaf([1.0]).uniform_(), "a leaf Variable that requires grad is being used in an in-place operation."),
    ],
)
def test_what_is_refused(draw: Any, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        draw()


def test_samples_have_a_derivative_of_zero() -> None:
    mean, deviation = leaf([0.5, 1.0]), leaf([0.3, 0.4])
    for draw, node in (
        (lambda: torch.normal(mean, 1.0), "NormalBackward1"),
        (lambda: torch.normal(0.0, deviation), "NormalBackward2"),
        (lambda: torch.normal(mean, deviation), "NormalBackward3"),
        (lambda: torch.bernoulli(deviation), "BernoulliBackward0"),
        (lambda: torch.poisson(mean), "PoissonBackward0"),
    ):
        mean.grad = deviation.grad = None
        y = draw()
        assert type(y.grad_fn).__name__ == node
        y.sum().backward()
        for each in (mean.grad, deviation.grad):
            assert each is None or each.tolist() == [0.0, 0.0]


def test_drawing_in_place_cuts_the_history() -> None:
    for draw, node in (
        (lambda y: y.uniform_(), "UniformBackward0"),
        (lambda y: y.normal_(), "NormalBackward0"),
        (lambda y: y.exponential_(), "ExponentialBackward0"),
        (lambda y: y.bernoulli_(), "BernoulliBackward2"),
        (lambda y: y.geometric_(0.5), "GeometricBackward0"),
        (lambda y: y.random_(), "RandomBackward2"),
    ):
        x = leaf([1.0, 2.0])
        y = x * 3
        assert draw(y) is y
        assert type(y.grad_fn).__name__ == node
        y.sum().backward()
        assert x.grad.tolist() == [0.0, 0.0]


def test_reparameterised_samples_have_derivatives() -> None:
    torch.manual_seed(0)
    mean, deviation = leaf(1.0), leaf(2.0)
    noise = torch.randn(1000, dtype=torch.float64)
    (mean + deviation * noise).mean().backward()
    assert mean.grad.item() == pytest.approx(1.0)
    assert deviation.grad.item() == pytest.approx(noise.mean().item())


def test_the_size_as_a_keyword() -> None:
    assert shape(torch.rand(size=(2, 3))) == shape(torch.randn(size=[2, 3])) == [2, 3]
