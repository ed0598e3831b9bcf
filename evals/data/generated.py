"""Generated benchmarks: word problems from templates with random numbers, so that no model can have seen them.

The answer is computed with the problem, so any number of rows is correct by construction. Rows depend only on the seed:
it gives the same rows on every machine, and row i does not depend on the number of rows. The seed in a task file is
public: for a set that nobody has trained on, choose your own seed (`write_rows`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from math import comb, gcd, lcm
from pathlib import Path
from random import Random

from evals.files import write_text

Row = dict[str, str]
Made = tuple[str, int | Fraction]  # (problem, answer)

NAMES = ("Amara", "Bo", "Chidi", "Dana", "Emre", "Farah", "Goran", "Hana", "Ivo", "Jun")
THINGS = ("pencils", "lanterns", "tickets", "melons", "stamps", "bolts", "marbles", "loaves")


def rows(count: int, seed: int = 0) -> list[Row]:
    """`count` problems, from the templates in turn.

    Args:
        count: at least 1.
        seed: any whole number >= 0.
    Returns:
        rows with id, problem and answer (a whole number, or a fraction p/q in lowest terms).
    Raises:
        ValueError: count < 1 or seed < 0.
    """
    if count < 1 or seed < 0:
        raise ValueError(f"rows: expected count >= 1 and seed >= 0, got {count} and {seed}")
    made = []
    for index in range(count):
        template = TEMPLATES[index % len(TEMPLATES)]
        problem, answer = template(Random(f"rlvr-generated:{seed}:{index}"))
        made.append({"id": f"generated-{seed}-{index}", "problem": problem, "answer": str(answer)})
    return made


def write_rows(path: str | Path, count: int, seed: int) -> Path:
    """Write the rows as JSON Lines, for `data_dir` (name the file after the benchmark) or for training."""
    target = Path(path)
    write_text(target, "".join(json.dumps(row) + "\n" for row in rows(count, seed)))
    return target


def _shopping(r: Random) -> Made:
    a, b, p, q = r.randint(3, 19), r.randint(3, 19), r.randint(2, 25), r.randint(2, 25)
    who, (x, y) = r.choice(NAMES), r.sample(THINGS, 2)
    paid = a * p + b * q + r.randint(1, 60)
    text = f"{who} buys {a} {x} at {p} coins each and {b} {y} at {q} coins each, and pays with {paid} coins. "
    return text + "How many coins does the seller give back?", paid - a * p - b * q


def _rates(r: Random) -> Made:
    a, b = r.randint(2, 70), r.randint(2, 70)
    text = f"One pump fills a tank in {a} hours, another in {b} hours. Both run together from the start. "
    return text + "After how many hours is the tank full?", Fraction(a * b, a + b)


def _ages(r: Random) -> Made:
    child, years = r.randint(4, 30), r.randint(2, 25)
    factor = r.randint(2, 5)
    parent = factor * (child + years) - years
    who, other = r.sample(NAMES, 2)
    text = f"{who} is {child} years old and {other} is {parent}. "
    return text + f"In how many years will {other} be {factor} times as old as {who}?", years


def _remainder(r: Random) -> Made:
    base, exponent, modulus = r.randint(2, 30), r.randint(11, 60), r.randint(7, 97)
    return f"What is the remainder when ${base}^{{{exponent}}}$ is divided by {modulus}?", pow(base, exponent, modulus)


def _divisible(r: Random) -> Made:
    a, b = r.sample(range(3, 16), 2)
    most = r.randint(200, 2_000)
    text = f"How many whole numbers from 1 to {most} are divisible by {a} or by {b} (or by both)?"
    return text, most // a + most // b - most // lcm(a, b)


def _committee(r: Random) -> Made:
    women, men = r.randint(4, 25), r.randint(4, 25)
    size = r.randint(2, 4)
    text = f"A club has {women} women and {men} men. How many committees of {size} people have at least one man?"
    return text, comb(women + men, size) - comb(women, size)


def _marbles(r: Random) -> Made:
    red, blue = r.randint(4, 90), r.randint(4, 90)
    text = f"A bag holds {red} red and {blue} blue marbles. Two are taken without putting any back. "
    total = comb(red + blue, 2)
    return text + "What is the probability that both have the same colour?", Fraction(
        comb(red, 2) + comb(blue, 2), total
    )


def _linear(r: Random) -> Made:
    x, y = r.randint(-12, 12), r.randint(-12, 12)
    a, b, c, d = r.randint(1, 9), r.randint(1, 9), r.randint(1, 9), -r.randint(1, 9)
    left, right = f"{a}x + {b}y = {a * x + b * y}", f"{c}x - {-d}y = {c * x + d * y}"
    return f"Solve ${left}$ and ${right}$. What is $x + y$?", x + y


def _rectangle(r: Random) -> Made:
    width, more = r.randint(4, 90), r.randint(1, 60)
    around = 2 * (2 * width + more)
    text = f"A rectangle's length is {more} more than its width, and its perimeter is {around}. What is its area?"
    return text, width * (width + more)


def _series(r: Random) -> Made:
    first, step, terms = r.randint(-20, 40), r.randint(2, 15), r.randint(9, 60)
    text = f"An arithmetic sequence starts with {first} and grows by {step} at each step. "
    return text + f"What is the sum of its first {terms} terms?", terms * (2 * first + (terms - 1) * step) // 2


def _percent(r: Random) -> Made:
    up, down, hundreds = r.randint(1, 9) * 10, r.randint(1, 9) * 10, r.randint(2, 60)
    text = (
        f"A price of {100 * hundreds} coins rises by {up}% and then falls by {down}%. What is the price now, in coins?"
    )
    return text, Fraction(hundreds * (100 + up) * (100 - down), 100)


def _triangle(r: Random) -> Made:
    m = r.randint(3, 30)
    n, k = r.randint(1, m - 1), r.randint(1, 9)
    a, b, c = k * (m * m - n * n), k * 2 * m * n, k * (m * m + n * n)
    return f"A right triangle has the legs {min(a, b)} and {max(a, b)}. How long is the hypotenuse?", c


def _tiles(r: Random) -> Made:
    side, a, b = r.randint(2, 40), r.randint(2, 25), r.randint(2, 25)
    width, length = side * a, side * b
    text = f"A floor of {width} by {length} is covered by equal square tiles, none of them cut, as large as possible. "
    tile = gcd(width, length)
    return text + "How many tiles are needed?", (width // tile) * (length // tile)


def _digits(r: Random) -> Made:
    number = r.randint(10**5, 10**7)
    return f"What is the sum of the digits of ${number} + {number // 7}$?", sum(map(int, str(number + number // 7)))


def _trailing(r: Random) -> Made:
    n = r.randint(20, 3_000)
    zeros = sum(n // 5**k for k in range(1, 1 + int(math.log(n, 5)) + 1))
    return f"How many zeros are at the end of ${n}!$?", zeros


TEMPLATES: tuple[Callable[[Random], Made], ...] = (
    _shopping, _rates, _ages, _remainder, _divisible, _committee, _marbles, _linear, _rectangle, _series, _percent,
    _triangle, _tiles, _digits, _trailing,
)  # fmt: skip
