"""The bash program that looks at paths inside the Worker, and the variables by which it is told them.

Paths come as environment variables and are only ever expanded within quotes, so none of their signs means
anything to the shell. What comes out are lines of codes and numbers, never a path:

    c <path> made|failed|refused                  of a folder that was to be made
    p <path> <kind> <rwx> <mount> <bytes> <c|->   what is there; so many bytes of the path exist, and with
                                                  `c` a folder could be made in what exists
    s <script> <state> <mount> <bytes>            and, in a line of its own, so many bytes of the script
    end

Paths, mounts (`-`: none) and scripts are numbers from 0. What does not answer in time, such as a folder of a
file server that is away, is `no_answer`; the others are not kept waiting by it. Only bash is needed, and for
making folders `mkdir`, for links to files `readlink`.
"""

from __future__ import annotations

from collections.abc import Sequence

from runs.path_check.values import MOST_SCRIPT_BYTES, Mount, PathAsked, ScriptAsked

_PREFIX = "TRAINYARD_CHECK_"

COMMAND = r"""
exec 2>/dev/null
LC_ALL=C
IFS=$' \t\n'
unset CDPATH TMOUT GLOBIGNORE
set -f

declare -a paths creates mounts modes roots scripts
take() {  # into the array $1 the $3 variables $2
  local -n into=$1
  local i name
  for ((i = 0; i < $3; i++)); do
    name=TRAINYARD_CHECK_$2_$i
    into[i]=${!name}
    unset "$name"
  done
}
take paths PATH "$TRAINYARD_CHECK_PATHS"
take creates CREATE "$TRAINYARD_CHECK_PATHS"
take mounts MOUNT "$TRAINYARD_CHECK_MOUNTS"
take modes MODE "$TRAINYARD_CHECK_MOUNTS"
take scripts SCRIPT "$TRAINYARD_CHECK_SCRIPTS"

# The answers of processes that may hang are read with what is left of the time.
SECONDS=0
declare -a asked
ask() {  # as number $1: what "$2" "$3" says
  local fd
  exec {fd}< <("$2" "$3")
  asked[$1]=$fd
}
answer() {
  local fd=${asked[$1]} left=$((TRAINYARD_CHECK_SECONDS - SECONDS)) came=1
  ((left > 0)) || left=0.05
  IFS= read -r -d '' -t "$left" -u "$fd" ANSWER && came=0
  exec {fd}<&-
  return "$came"
}

# NEAREST: $1 itself, or what of it exists; BLOCKED: a link that leads nowhere is in the way.
nearest() {
  NEAREST=$1 BLOCKED=
  while [[ -n $NEAREST && ! -e $NEAREST ]]; do
    [[ -L $NEAREST ]] && BLOCKED=yes
    NEAREST=${NEAREST%/*}
  done
  [[ -n $NEAREST ]] || NEAREST=/
}

# ON: the mount on which $1 lies, which exists, after all links.
on() {
  local real i
  if cd -P -- "$1"; then real=$PWD
  elif [[ -L $1 ]]; then
    real=$(readlink -f -- "$1" && printf x)
    real=${real%x} real=${real%$'\n'}
  elif cd -P -- "${1%/*}/"; then real=${PWD%/}/${1##*/}
  else real=$1
  fi
  ON=-
  for i in "${!roots[@]}"; do
    [[ $real/ == "${roots[i]}"/* ]] && ON=$i
  done
}

root() { cd -P -- "$1" && printf '%s\0' "$PWD"; }

make() {
  local how=refused
  nearest "${paths[$1]}"
  on "$NEAREST"
  if [[ $ON != - && ${modes[ON]} == w ]]; then
    how=failed
    mkdir -p -- "${paths[$1]}" && how=made
  fi
  printf 'c %d %s\0' "$1" "$how"
}

look() {
  local path=${paths[$1]} kind=missing r=- w=- x=- can=-
  nearest "$path"
  if [[ $NEAREST == "$path" ]]; then
    kind=other
    [[ -d $path ]] && kind=folder
    [[ -f $path ]] && kind=file
    [[ -r $path ]] && r=r
    [[ -w $path ]] && w=w
    [[ -x $path ]] && x=x
  elif [[ -n $BLOCKED ]]; then kind=broken_link
  elif [[ -d $NEAREST && ! -x $NEAREST ]]; then kind=hidden
  elif [[ -d $NEAREST && -w $NEAREST ]]; then can=c
  fi
  on "$NEAREST"
  printf 'p %d %s %s%s%s %s %d %s\0' "$1" "$kind" "$r" "$w" "$x" "$ON" "${#NEAREST}" "$can"
}

show() {
  local path=${scripts[$1]} state=missing text=
  ON=-
  if [[ -e $path ]]; then
    on "$path"
    if [[ ! -f $path ]]; then state=no_file
    elif [[ $ON == - ]]; then state=elsewhere
    elif [[ ! -r $path ]]; then state=unreadable
    else
      state=read
      IFS= read -r -N "$TRAINYARD_CHECK_BYTES" text <"$path"
    fi
  fi
  printf 's %d %s %s %d\n%s\0' "$1" "$state" "$ON" "${#text}" "$text"
}

no_path() { printf 'p %d no_answer --- - 0 -\n' "$1"; }
no_script() { printf 's %d no_answer - 0\n\n' "$1"; }
all() {  # $1 of each of $2 things, side by side; what does not answer is told by $3
  local i
  for ((i = 0; i < $2; i++)); do ask "$i" "$1" "$i"; done
  for ((i = 0; i < $2; i++)); do
    if answer "$i"; then printf '%s\n' "$ANSWER"; else "$3" "$i"; fi
  done
}

for i in "${!mounts[@]}"; do ask "$i" root "${mounts[i]}"; done
for i in "${!mounts[@]}"; do
  roots[i]=${mounts[i]}
  answer "$i" && roots[i]=$ANSWER
done
for i in "${!paths[@]}"; do
  [[ -n ${creates[i]} ]] || continue
  ask 0 make "$i"
  if answer 0; then printf '%s\n' "$ANSWER"; else printf 'c %d failed\n' "$i"; fi
done
all look "${#paths[@]}" no_path
all show "${#scripts[@]}" no_script
echo end
"""


def variables(
    paths: Sequence[PathAsked], scripts: Sequence[ScriptAsked], mounts: Sequence[Mount], seconds: float
) -> dict[str, str]:
    """What the program finds in its environment; it is done after about so many seconds."""
    told = {
        "SECONDS": str(max(1, round(seconds))),
        "BYTES": str(MOST_SCRIPT_BYTES + 1),  # one more shows that there is more
        "PATHS": str(len(paths)),
        "MOUNTS": str(len(mounts)),
        "SCRIPTS": str(len(scripts)),
    }
    for i, asked in enumerate(paths):
        told |= {f"PATH_{i}": asked.path, f"CREATE_{i}": "yes" if asked.create else ""}
    for i, mount in enumerate(mounts):
        told |= {f"MOUNT_{i}": mount.mount_path, f"MODE_{i}": "r" if mount.read_only else "w"}
    for i, script in enumerate(scripts):
        told[f"SCRIPT_{i}"] = script.path
    return {_PREFIX + name: value for name, value in told.items()}
