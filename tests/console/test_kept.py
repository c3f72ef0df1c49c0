"""Parts that are kept follow their values and the language."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from django.template import Context, Template
from django.utils import translation

from pools.capacity import Shape

SOURCE = '{% load kept %}{% kept "includes/shape.html" job=job %}'


class Job(NamedTuple):
    worker_gpus: int
    shape: Shape


def shown(gpus: int, workers: int, language: str = "en") -> str:
    job = Job(gpus, Shape(gpus, gpus * workers))
    with translation.override(language):
        return " ".join(Template(SOURCE).render(Context({"job": job})).split())


def test_the_same_values_give_the_same_part_and_others_another() -> None:
    assert shown(8, 4) == shown(8, 4) == "8 GPUs × 4"
    assert shown(8, 5) == "8 GPUs × 5"
    assert shown(8, 4, "zh-hans") == "8 卡 × 4"


def test_a_value_that_cannot_be_compared_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        Template('{% load kept %}{% kept "includes/shape.html" job=job %}').render(Context({"job": [1]}))
