#!/usr/bin/python3
"""Checks that every program, Python module and library that scripts and tests use comes from a package
that `scripts/setup` names for them, from one that those depend on, or from Debian's base.

    check.py

It reads the sources for words that stand where a command may, and asks dpkg whose the programs of these
names are. So it needs what it judges: a machine where more is installed than `scripts/setup` does, as a
developer's is. (On one with nothing more, what is missing fails in the tests.) Called by `scripts/lint`.
Prints one line for each fault; exit 1 if there is one.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Which packages may be counted on: those of the purposes for which a script calls `scripts/setup`.
PURPOSES = [
    (r"scripts/(broadcast|build|man|desktop/processes\.sh)$", ["build", "run"]),
    (r"scripts/desktop/portal\.py$", ["build", "run", "desktop", "test"]),
    (r"scripts/(headless-desktop|desktop/.*)$", ["build", "run", "desktop"]),
    (r"scripts/(lint|test|packages/.*|page/.*|webcodecs/.*|outputs/.*)$|Tests/|\.ci/",
     ["build", "run", "desktop", "test"]),
    (r"scripts/encoder/", ["build", "run", "measure"]),
    (r"scripts/|examples/", ["build", "run", "desktop", "test", "measure"]),
]
PATH = "/usr/bin:/usr/sbin:/bin:/sbin"
# Where a command may stand in a line of a shell script.
COMMAND = re.compile(
    r"(?:^|\||&&|\|\||;|\$\(|<\(|>\(|\b(?:then|do|else|exec|setsid|if|while|until|!|launch \S+)\s)\s*"
    r"(?:[A-Za-z_]+=\S*\s+)*(?:/usr/bin/)?([a-z][a-z0-9.+-]*)(?=\s|$|\)|;)", re.MULTILINE)
# The first word of what a test or a script of Python starts.
SWIFT_RUN = re.compile(r"ProcessRun(?:\.run)?\(\s*\"(?:/usr/s?bin/)?([a-z][a-z0-9.+-]*)\"")
SWIFT_WORDS = re.compile(r"words = \[\s*\"([a-z][a-z0-9.+-]*)\"")
PYTHON_RUN = re.compile(r"(?:Popen|run|check_output|check_call)\(\s*\[\s*\"([a-z][a-z0-9.+-]*)\"")
PYTHON_WORDS = re.compile(r"\b(?:words|command|[A-Z]+) = \[\s*\"([a-z][a-z0-9.+-]*)\"")


def output(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


def installed():
    """Of each package that is there: what it depends on, whether it is of the base."""
    depends, base, providers = {}, set(), {}
    form = "${Package}\t${Essential}\t${Priority}\t${Depends},${Pre-Depends}\t${Provides}\n"
    for line in output("dpkg-query", "--show", "--showformat", form).splitlines():
        name, essential, priority, needs, provides = line.split("\t")
        depends[name] = set(re.findall(r"(?:^|[,|])\s*([a-z0-9.+-]+)", needs))
        if essential == "yes" or priority == "required" or name == "apt":
            base.add(name)
        for other in re.findall(r"(?:^|,)\s*([a-z0-9.+-]+)", provides):
            providers.setdefault(other, set()).add(name)
    return depends, base, providers


def closure(names, depends, providers):
    found, rest = set(), list(names)
    while rest:
        name = rest.pop()
        if name in found:
            continue
        found.add(name)
        rest += depends.get(name, set()) | providers.get(name, set())
    return found


def named():
    """The packages of each purpose, as `scripts/setup` has them."""
    text = open(f"{ROOT}/scripts/setup", encoding="utf-8").read()
    return {purpose: names.split() for purpose, names in
            re.findall(r"\[([a-z]+)\]=\"([^\"]*)\"", text)}


def spellings(path):
    """A file's names as packages may have it: before and behind links, and from before /usr was all."""
    for name in {path, os.path.realpath(path)}:
        yield name
        yield re.sub(r"^/usr/(s?bin|lib)/", r"/\1/", name)


def owners(paths):
    """Of each file the packages that have it; nothing for one that did not come as a package."""
    found = {}
    asked = sorted({name for path in paths for name in spellings(path)})
    for line in output("dpkg-query", "--search", *asked).splitlines():
        if not line.startswith("diversion"):
            names, file = line.rsplit(": ", 1)
            found[file] = {name.split(":")[0].strip() for name in names.split(",")}
    return {path: set().union(*(found.get(name, set()) for name in spellings(path)))
            for path in paths}


def without_comments(text):
    return re.sub(r"(^|\s)#.*", r"\1", text)


def shell_commands(text):
    """Without here-documents, comments, quoted text, case patterns and functions of the script's own."""
    text = re.sub(r"<<-?'?([A-Z]+)'?\n.*?\n\1\n", "\n", text, flags=re.DOTALL)
    text = without_comments(text)
    text = re.sub(r"\\\n", " ", text)
    text = re.sub(r"'[^']*'", "''", text)
    text = re.sub(r"^\s*[^\s()$]+\)\s", " ", text, flags=re.MULTILINE)
    own = set(re.findall(r"^\s*([a-z_0-9]+)\(\)", text, re.MULTILINE))
    return set(COMMAND.findall(text)) - own


def uses(path, text):
    """Programs and Python modules that a file uses."""
    programs, modules = set(), set()
    if path.endswith(".swift"):
        programs = set(SWIFT_RUN.findall(text)) | set(SWIFT_WORDS.findall(text))
    elif path.endswith(".py") or text.startswith("#!/usr/bin/python3"):
        programs = set(PYTHON_RUN.findall(text)) | set(PYTHON_WORDS.findall(text))
        modules = set(re.findall(r"^\s*(?:import|from) ([a-z_A-Z0-9]+)", text, re.MULTILINE))
    elif re.match(r"#!.*bash|# shellcheck shell.bash", text):
        programs = shell_commands(text)
    return programs, modules


def module_file(name, folder):
    """None for what lies beside the script, belongs to the interpreter or is not here."""
    if any(os.path.exists(f"{place}/{name}.py") for place in (folder, f"{ROOT}/scripts/desktop")):
        return None
    specification = importlib.util.find_spec(name)
    origin = specification.origin if specification else None
    return origin if origin and os.path.exists(origin) else None


def main():
    depends, base, providers = installed()
    packages = named()
    words = set(output("bash", "-c", "compgen -b; compgen -k").split())
    found = []  # (file of ours, what it uses, where that lies, packages that may have it)
    files = output("git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "scripts", "Tests",
                   "examples", ".ci").splitlines()
    for path in files:
        purposes = next((names for pattern, names in PURPOSES if re.match(pattern, path)), None)
        if purposes is None or path == "scripts/setup" or not os.path.isfile(f"{ROOT}/{path}"):
            continue
        names = base.union(*(packages[purpose] for purpose in purposes))
        allowed = closure(names, depends, providers)
        text = open(f"{ROOT}/{path}", encoding="utf-8", errors="replace").read()
        programs, modules = uses(path, text)
        found += [(path, name, shutil.which(name, path=PATH), allowed) for name in programs - words]
        found += [(path, f"module {name}", module_file(name, os.path.dirname(f"{ROOT}/{path}")),
                   allowed) for name in modules]
    allowed = closure(base.union(packages["build"]), depends, providers)
    for name in re.findall(r"pkgConfig: \"([^\"]+)\"", open(f"{ROOT}/Package.swift").read()):
        folder = output("pkg-config", "--variable=pcfiledir", name).strip()
        found.append(("Package.swift", f"library {name}", f"{folder}/{name}.pc", allowed))
    found = [entry for entry in found if entry[2] is not None]
    packages_of = owners({entry[2] for entry in found})
    faults = {(path, what, ", ".join(sorted(packages_of[file])) or "no package")
              for path, what, file, allowed in found if not packages_of[file] & allowed}
    for path, what, owner in sorted(faults):
        print(f"packages: {path}: {what} is of {owner}: scripts/setup does not name it for this",
              file=sys.stderr)
    return 1 if faults else 0


sys.exit(main())
