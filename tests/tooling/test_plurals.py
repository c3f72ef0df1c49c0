"""English texts that count: one thing is never told as several."""

from __future__ import annotations

import re

from babel.messages.catalog import Message

from tests.tooling.test_catalogue import catalogue  # noqa: F401

COUNTED = (
    "Workers|GPUs|CPUs|minutes|hours|days|seconds|jobs|nodes|paths|files|images|volumes|specs|pools|entries|"
    "characters|bytes|lines|variables|times|attempts|restarts|processes|threads|tokens|errors|warnings|hints|"
    "folders|devices|ports|members|teams|rows|places|mounts|channels|events|logs"
)
BETWEEN = "(?: of the| uncorrected| new| idle| more| other)*(?: [a-z]+)? "
COUNTS = re.compile(rf"%\((?P<what>\w+)\)[sd]{BETWEEN}({COUNTED})\b")
SEVERAL = {
    "At most %(most)d nodes at once.": "a bound of hundreds",
    "A path is absolute, has no NUL character and at most %(most)s bytes.": "a bound of thousands",
    "A token lets scripts act as you. It is shown once, when it is made, and ends after %(days)s days.": "90",
    "At most %(most)s entries.": "bounds from 20 on",
    "Too long: at most %(most)s bytes, and %(most_name)s bytes between two slashes.": "bounds from 255 on",
    "Too long: at most %(most)s bytes.": "bounds from 255 on",
    "Too long: at most %(most)s characters.": "bounds from 63 on",
    "It was restarted after lost or drained nodes %(n)s times, which is the most.": "5",
    "One Worker, at most %(n)s minutes; the form stays as it is": "10",
    "Trial run of a form: one Worker, at most %(n)s minutes": "10",
    "%(n)s new lines ↓": "a text of its own tells one line",
    "%(shown)s of %(all)s Workers are shown.": "said of more than are shown, which are several",
    "%(gpus)s GPUs × %(workers)s + %(rest)s": "full Workers of a split count have 8",
    **{
        f"The sum over %(workers)s Workers {result}": "one Worker has no sum"
        for result in (
            "is wrong.",
            "is right, %(seconds)s s.",
            "by PyTorch with %(backend)s failed: %(detail)s",
            "is right: PyTorch with %(backend)s, %(mib)s MiB in %(seconds)s s, %(speed)s MB/s.",
            "is right, %(seconds)s s, by plain sockets: there is no PyTorch in the image.",
            "is right, %(seconds)s s, by plain sockets: not every Worker has PyTorch.",
            "is right, %(seconds)s s, by plain sockets: the image's PyTorch cannot be used: %(detail)s",
        )
    },
    "You have %(most)s channels already: delete one that is not used any more.": "50",
    "At most %(most)s characters.": "bounds from 80 on",
    "The %(workers)s Workers will not find each other: the launcher also needs %(missing)s.": "of several",
    "torchrun over %(workers)s Workers needs their ranks and a meeting point, "
    "which the platform gives only with the framework PyTorch DDP.": "of several",
}


def one(text: str) -> str:
    return re.sub(r"%\(\w+\)[sd]", "1", text)


def forms(message: Message) -> tuple[str, str]:
    """The text for one, and that for several if there is another."""
    return (message.id[0], message.id[1]) if isinstance(message.id, tuple) else (str(message.id), "")


def test_a_text_that_counts_has_a_form_for_one(catalogue) -> None:  # noqa: F811
    whole = [message.id for message in catalogue if isinstance(message.id, str) and message.id]
    wrong = [text for text in whole if COUNTS.search(text)]
    assert sorted(set(wrong) - SEVERAL.keys()) == []
    assert sorted(SEVERAL.keys() - set(wrong)) == [], "no exception is left over"


def test_the_form_for_one_tells_of_one(catalogue) -> None:  # noqa: F811
    singular = [one(text) for text, several in map(forms, catalogue) if several]
    assert len(singular) > 50
    assert [text for text in singular if re.search(rf"\b1 (?:\w+ )?(?:{COUNTED})\b", text)] == []


def test_the_form_for_several_counts_one_thing(catalogue) -> None:  # noqa: F811
    """A second number in it would stand there with its plural whatever it is."""
    several = [text for _one, text in map(forms, catalogue)]
    assert [text for text in several if len({m["what"] for m in COUNTS.finditer(text)}) > 1] == []
