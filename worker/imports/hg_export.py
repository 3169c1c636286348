"""An extension of hg that writes a repository as a stream for git's `fast-import`.

hg's own Python runs it, so it uses nothing but hg's objects. Each changeset becomes a commit. Each
head of a branch, each bookmark and each tag becomes a ref.
"""

import re
from typing import Any

testedwith = b"6.9 7.2"
PLACE = b"refs/tocsin/source/"
WORK = b"refs/tocsin/work"
TELL_EVERY = 100
MODES = {b"": b"100644", b"x": b"100755", b"l": b"120000"}
NOT_IN_REFS = re.compile(rb"[\x00-\x20\x7f~^:?*\[\\]+|\.\.+|@\{|//+|\.lock(?=\.*(?:/|$))")
PERSON = re.compile(rb"(.*)<([^<>]*)>?", re.DOTALL)
UNPRINTABLE = re.compile(rb"[\x00-\x1f<>]+")


def export(ui: Any, repo: Any, **options: Any) -> None:
    """Write the whole repository to hg's output."""
    total = len(repo)
    heads: dict[bytes, list[int]] = {}
    for count, rev in enumerate(repo, 1):
        ctx = repo[rev]
        _commit(ui, ctx)
        branch = heads.setdefault(ctx.branch(), [])
        branch[:] = [head for head in branch if head not in [one.rev() for one in ctx.parents()]]
        branch.append(rev)
        if count % TELL_EVERY == 0 or count == total:
            ui.write_err(b"exported %d of %d\n" % (count, total))
    for name, rev in sorted(_refs(repo, heads).items()):
        ui.write(b"reset %s\nfrom :%d\n\n" % (name, rev + 1))
    ui.write(b"done\n")


def _refs(repo: Any, heads: dict[bytes, list[int]]) -> dict[bytes, int]:
    found: dict[bytes, int] = {}
    folders: set[bytes] = set()

    def put(kind: bytes, name: bytes, rev: int) -> None:
        ref = _ref(kind, name)
        if found.get(ref) == rev:
            return
        # Names that differ may have the same ref, and git has no ref below another.
        if ref in found or ref in folders or not found.keys().isdisjoint(_folders(ref)):
            ref = _ref(kind, b"%s-%s" % (name.replace(b"/", b"-"), repo[rev].hex()[:12]))
        found[ref] = rev
        folders.update(_folders(ref))

    for name, node in sorted(repo.tags().items()):
        if name != b"tip":
            put(b"tags/", name, repo[node].rev())
    # The default branch comes first, so that another name such as `.default` does not take its ref.
    for name, revs in sorted(heads.items(), key=lambda one: (one[0] != b"default", one)):
        put(b"heads/", name, revs[-1])
        for rev in revs[:-1]:
            put(b"heads/", b"%s-%s" % (name, repo[rev].hex()[:12]), rev)
    for name, node in sorted(repo._bookmarks.items()):
        put(b"heads/", name, repo[node].rev())
    return found


def _folders(ref: bytes) -> list[bytes]:
    """Return the paths above a ref."""
    parts = ref.split(b"/")
    return [b"/".join(parts[:count]) for count in range(1, len(parts))]


def _ref(kind: bytes, name: bytes) -> bytes:
    clean = b"/".join(part.strip(b".") or b"-" for part in NOT_IN_REFS.sub(b"-", name).split(b"/"))
    return PLACE + kind + (clean.lstrip(b"-") or b"unnamed")


def _commit(ui: Any, ctx: Any) -> None:
    parents = [one for one in ctx.parents() if one.rev() >= 0]
    if not parents:
        # Without the reset, git would make the previous commit the parent.
        ui.write(b"reset %s\n\n" % WORK)
    when = b"%s %s" % (person_of(ctx.user()), _time(*ctx.date()))
    text = ctx.description()
    ui.write(b"commit %s\nmark :%d\n" % (WORK, ctx.rev() + 1))
    ui.write(b"author %s\ncommitter %s\ndata %d\n%s\n" % (when, when, len(text), text))
    for word, parent in zip((b"from", b"merge"), parents, strict=False):
        ui.write(b"%s :%d\n" % (word, parent.rev() + 1))
    before = ctx.p1().manifest()
    for path, (_, (node, flags)) in sorted(before.diff(ctx.manifest()).items()):
        if node is None:
            ui.write(b"D %s\n" % _quoted(path))
            continue
        content = ctx[path].data()
        ui.write(b"M %s inline %s\ndata %d\n" % (MODES[flags], _quoted(path), len(content)))
        ui.write(content)
        ui.write(b"\n")
    ui.write(b"\n")


def person_of(user: bytes) -> bytes:
    """Return the name and address of a Mercurial user, as git writes them."""
    found = PERSON.fullmatch(user.strip())
    name, email = (found[1], found[2]) if found else (user, user if b"@" in user else b"")
    name, email = (UNPRINTABLE.sub(b" ", part).strip() for part in (name, email))
    return b"%s <%s>" % (name, email) if name else b"<%s>" % email


def _time(seconds: float, west: int) -> bytes:
    sign, minutes = (b"-" if west > 0 else b"+"), abs(west) // 60
    return b"%d %s%02d%02d" % (max(0, int(seconds)), sign, minutes // 60, minutes % 60)


def _quoted(path: bytes) -> bytes:
    for char, written in ((b"\\", b"\\\\"), (b'"', b'\\"'), (b"\n", b"\\n")):
        path = path.replace(char, written)
    return b'"%s"' % path


# The attributes that hg's own decorator would set: this command needs a repository.
for name in ("norepo", "optionalrepo", "inferrepo", "need_dispatcher"):
    setattr(export, name, False)
export.intents = frozenset()  # type: ignore[attr-defined]
cmdtable: dict[bytes, Any] = {b"tocsin-export": (export, [], b"")}
