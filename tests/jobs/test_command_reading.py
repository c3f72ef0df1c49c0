"""Simple commands, words and paths of a shell text."""

import pytest

from jobs.command.paths import absolute_paths, paths_named
from jobs.command.reading import reading
from jobs.spec import EnvVar
from tests.jobs.value_facts import spec


def programs(text, **given):
    return [(c.program, *(w.shown for w in c.words)) for c in reading(text, tuple(given.items())).commands]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("python train.py", [("python", "train.py")]),
        ("/usr/bin/python3.11 train.py", [("python3", "train.py")]),
        ("time nohup python train.py &", [("python", "train.py")]),
        ("timeout -k 5 3600 env A=1 B=2 nice -n 5 torchrun x", [("torchrun", "x")]),
        ("exec python x", [("python", "x")]),
        ("exec", [("exec",)]),
        ("conda run -n base python x", [("python", "x")]),
        ("conda activate base", [("conda", "activate", "base")]),
        ("A=1 python x", [("python", "x")]),
        ('python \'a b\' "c\\"d" e\\ f', [("python", "a b", 'c"d', "e f")]),
        ("$PYTHON x", [("", "x")]),
        ("P=/opt/py/bin/python; $P x", [("python", "x")]),
        ("python x | tee y", [("python", "x"), ("tee", "y")]),
        ("(cd a && python x)", [("cd", "a"), ("python", "x")]),
        ("bash -c 'cd a; python x'", [("bash", "-c", "cd a; python x"), ("cd", "a"), ("python", "x")]),
        ("cat <<EOF\npython x\nEOF", [("cat",)]),
        ("# python x\n: python y", [(":", "python", "y")]),
        ("ARGS='--a 1 --b'; x $ARGS \"$ARGS\"", [("x", "--a", "1", "--b", "--a 1 --b")]),
        ('ARGS=(--a "1 2"); x "${ARGS[@]}"', [("x", "--a", "1 2")]),
        ("x $UNKNOWN ${OTHER}/y", [("x", "${UNKNOWN}", "${OTHER}/y")]),
    ],
)
def test_programs_and_their_words(text, expected):
    assert programs(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x $V", "page"),
        ("V=here; x $V", "here"),
        ("export V=here\nx ${V}", "here"),
        ("cd /a && V=here && x $V", "here"),
        ("V=a; V+=b; x $V", "ab"),
        ("x ${V:-other}", "page"),
        ("V=; x ${V:-other}", "other"),
        # what only the run can tell
        ("[ -d /a ] && V=here; x $V", "${V}"),
        ("test -d /a || V=here; x $V", "${V}"),
        ("if a; then V=here; fi; x $V", "${V}"),
        ("for V in 1 2; do x $V; done", "${V}"),
        ("while a; do x $V; V=here; done", "${V}"),
        ("read V; x $V", "${V}"),
        ("source settings.sh; x $V", "${V}"),
        ("unset V; x $V", "${V}"),
        ("V=$(date); x $V", "\0\0"),
        ("x ${V%/}", "\0\0"),
        ("x ${U:-other}", "${U}"),
        # what does not touch it
        ("V=there y; x $V", "page"),
        ("source /opt/conda/bin/activate; x $V", "page"),
    ],
)
def test_a_value_is_known_only_where_it_is_certain(text, expected):
    command = reading(text, (("V", "page"),)).commands[-1]
    assert command.words[0].shown == expected


def test_pieces_of_a_variable_keep_the_line_they_were_written_in():
    text = 'ARGS="--nnodes 2 \\\n  --nproc 8"\n\ntorchrun $ARGS train.py'
    assert [(w.value, w.line) for w in reading(text, ()).commands[0].words] == [
        ("--nnodes", 1),
        ("2", 1),
        ("--nproc", 2),
        ("8", 2),
        ("train.py", 4),
    ]


@pytest.mark.parametrize("text", ["a\0b", "x" * 17_000])
def test_what_cannot_be_analysed(text):
    assert reading(text, ()) is None
    assert absolute_paths(text, (EnvVar("A", "/mnt/a"),))[0].path == "/mnt/a"


@pytest.mark.parametrize("text", ["(" * 256, "$(" * 256, '"${a:-' * 2_500, "if " * 5_000, "a=(" * 256])
def test_deep_nesting_and_broken_text_are_read_without_harm(text):
    assert reading(text, ()).broken


def test_a_text_that_doubles_its_values_stays_small():
    text = "a=0123456789\n" + "a=$a$a\n" * 1000 + "x $a"
    assert len(reading(text, ()).commands[-1].words[0].value) <= 4 * 2**10


@pytest.mark.parametrize(
    "text",
    [
        "a='" + "x " * 3000 + "'\n" + "y $a\n" * 1500,
        "A=(" + "x " * 3000 + ")\n" + 'y "${A[@]}"\n' * 800,
        "a='" + "x" * 4000 + "'\n" + 'y "$a"\n' * 1500,
    ],
)
def test_a_short_text_does_not_become_an_endless_one(text):
    words = [word for command in reading(text, ()).commands for word in command.words]
    assert len(words) < 20_000
    assert sum(len(word.value) for word in words) < 3 * 2**20


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cd /mnt/public/a", ["/mnt/public/a"]),
        ("python x --data=/mnt/d --out /mnt/o//x/", ["/mnt/d", "/mnt/o/x"]),
        ("python x > /mnt/log 2>&1", ["/mnt/log"]),
        ("export A=/mnt/a B=/mnt/b; C=/mnt/c x", ["/mnt/c", "/mnt/a", "/mnt/b"]),
        ("D=/mnt/d; python x $D/train", ["/mnt/d/train", "/mnt/d"]),
        ("export PATH=/mnt/bin:$PATH", ["/mnt/bin"]),
        ("for f in /mnt/a /mnt/b; do cat $f; done", ["/mnt/a", "/mnt/b"]),
        ("[ -d '/mnt/my data' ] && x", ["/mnt/my data"]),
        ("python x --data $UNKNOWN/a", []),
        ("python x --data /mnt/$UNKNOWN/a", []),
        ("/usr/bin/python x", []),
        ("x > /dev/null < /proc/cpuinfo; cat /sys/x", []),
        ("curl https://example.com/a; git clone git@host:/a/b", []),
        ("sed -e s/a/b/ x; grep '/^a/' y; awk '/a|b/' z", []),
        ("python x --pattern '/mnt/*.tar'", []),
        ("cat <<EOF\n/mnt/x\nEOF", []),
        ("# /mnt/x", []),
        ("python -c 'open(\"/mnt/x\")'", []),
        ("x / // /.", []),
    ],
)
def test_absolute_paths_of_a_command(command, expected):
    assert list(paths_named(spec(command=command))) == expected


def test_paths_of_variables_but_not_of_private_ones():
    request = spec(
        command="python x $A/y $K/y",
        env=(EnvVar("A", "/mnt/a"), EnvVar("K", "/mnt/k", True), EnvVar("U", "https://x/y")),
    )
    assert paths_named(request) == ("/mnt/a/y", "/mnt/a")
