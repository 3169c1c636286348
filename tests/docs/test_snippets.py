"""The manual's snippets verify signatures, each in its language, with published test vectors."""

import base64
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from manual import MANUAL, README, block
from standardwebhooks import WebhookVerificationError
from waiting import PATIENCE

from store.clock import SECOND, Clock
from worker.signing.sign import Signer

PAGE = MANUAL / "how-to" / "receive-and-verify.md"
SECRET = "It's a Secret to Everybody"
GOOD = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
BODY = "Hello, World!"
CASES = [(BODY, GOOD, True), ("Hello, World?", GOOD, False), (BODY, "", False)]
# Each language with the snippet's file, a driver that calls the function with three arguments and
# prints the result, and the command that runs the driver.
DRIVERS = {
    "ts": (
        "verify.ts",
        ("driver.ts", 'import { verify } from "./verify.ts";\n'
         "const [body, secret, header] = process.argv.slice(2);\n"
         "console.log(verify(Buffer.from(body), secret, header || undefined));\n"),
        ["node", "--experimental-strip-types", "--no-warnings", "driver.ts"],
    ),
    "go": (
        "verify.go",
        ("driver.go", 'package main\n\nimport (\n\t"fmt"\n\t"os"\n)\n\nfunc main() {\n'
         "\tfmt.Println(verify([]byte(os.Args[1]), os.Args[2], os.Args[3]))\n}\n"),
        ["go", "run", "verify.go", "driver.go"],
    ),
    "java": (
        "Signature.java",
        ("Driver.java", "import java.net.*;\nimport java.nio.file.*;\nimport javax.tools.*;\n"
         "class Driver {\n  public static void main(String[] a) throws Exception {\n"
         "    ToolProvider.getSystemJavaCompiler()\n"
         '      .run(null, null, null, "-Xlint:all", "-Werror", "-d", ".", "Signature.java");\n'
         "    URL[] here = {Path.of(\"\").toUri().toURL()};\n"
         '    var verify = new URLClassLoader(here).loadClass("Signature")\n'
         '      .getDeclaredMethod("verify", byte[].class, String.class, String.class);\n'
         "    verify.setAccessible(true);\n"
         "    System.out.println(verify.invoke(null, a[0].getBytes(), a[1],"
         " a[2].isEmpty() ? null : a[2]));\n  }\n}\n"),
        ["java", "Driver.java"],
    ),
    "elixir": (
        "verify.ex",
        ("driver.exs", "[body, secret, header] = System.argv()\n"
         'IO.puts(Signature.verify(body, secret, if(header != "", do: header)))\n'),
        ["elixir", "-r", "verify.ex", "driver.exs"],
    ),
    "ruby": (
        "verify.rb",
        ("driver.rb", 'require_relative "verify"\nputs verify(*ARGV)\n'),
        ["ruby", "driver.rb"],
    ),
    "php": (
        "verify.php",
        ("driver.php", "<?php\nrequire 'verify.php';\n"
         "echo verify($argv[1], $argv[2], $argv[3] ?: null) ? 'true' : 'false';\n"),
        ["php", "driver.php"],
    ),
    "sh": (
        "verify.sh",
        ("driver.sh", '. ./verify.sh\nprintf %s "$1" > body\n'
         'if verify body "$2" "$3"; then echo true; else echo false; fi\n'),
        ["sh", "driver.sh"],
    ),
}  # fmt: skip


# The program that shows that a command can run sources, where that is another one: Java's own
# command is there without the compiler, too.
COMPLETE = {"java": "javac"}
# The first version of node that runs TypeScript. For earlier versions, the compiler makes
# JavaScript.
NODE_WITH_TYPES = (22, 6)
COMPILER = ("typescript@5", "@types/node@20")
# The compiler skips the declarations of node and of the language, which are not under test. Reading
# the declarations of browsers, which node does not have, would take a quarter of its time.
COMPILED = (
    "--strict", "--target", "es2022", "--lib", "es2022", "--module", "nodenext",
    "--rewriteRelativeImportExtensions", "--types", "node", "--skipLibCheck",
)  # fmt: skip


def node_version() -> tuple[int, ...]:
    shown = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True)
    return tuple(map(int, re.findall(r"\d+", shown.stdout)[:2]))


@pytest.fixture(scope="session")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the compiler of TypeScript and the types of node."""
    npm, folder = shutil.which("npm"), tmp_path_factory.mktemp("typescript")
    if npm is None:
        pytest.skip(f"node is older than {NODE_WITH_TYPES}, and there is no npm to get a compiler")
    command = [npm, "install", "--silent", "--no-audit", "--no-fund", *COMPILER]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no registry has {', '.join(COMPILER)}: {done.stderr[-200:]}")
    return folder


@pytest.fixture(scope="session")
def compiled(compiler: Path) -> dict[str, Path]:
    """The compiled drivers, by the names of their blocks.

    One run makes them all, because the compiler spends most of its time on its own declarations.
    """
    (compiler / "package.json").write_text('{"type": "module"}')
    drivers = []
    for page, block_name, kinds in (
        (PAGE, "verify", DRIVERS),
        (KEY_PAGE, "verify-key", KEY_DRIVERS),
    ):
        name, (driver, text) = kinds["ts"][:2]
        folder = compiler / block_name
        folder.mkdir()
        (folder / name).write_text(block(page, "ts", block_name))
        (folder / driver).write_text(text)
        drivers.append(folder / driver)
    made = subprocess.run(
        [compiler / "node_modules" / ".bin" / "tsc", *COMPILED, *drivers],
        cwd=compiler, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stdout
    return {driver.parent.name: driver.with_suffix(".js") for driver in drivers}


def ready(
    language: str, command: list[str], block_name: str, request: pytest.FixtureRequest
) -> list[str]:
    """Return the command that runs a driver. If node is old, it runs the compiled driver.

    Skip the test, with the reason, if a program is missing.
    """
    needed = COMPLETE.get(command[0], command[0])
    if shutil.which(needed) is None:
        pytest.skip(f"there is no {needed} here")
    if language != "ts" or node_version() >= NODE_WITH_TYPES:
        return command
    return ["node", str(request.getfixturevalue("compiled")[block_name])]


@pytest.mark.parametrize("language", DRIVERS)
def test_the_snippet_of_a_language_verifies_signatures(
    language: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    name, (driver, text), command = DRIVERS[language]
    (tmp_path / name).write_text(block(PAGE, language, "verify"))
    (tmp_path / driver).write_text(text)
    command = ready(language, command, "verify", request)
    for body, header, expected in CASES:
        done = subprocess.run(
            [*command, body, SECRET, header],
            cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == str(expected).lower(), (body, header)


def defined(page: Path, name: str) -> dict[str, Any]:
    """The names that a page's block of Python defines."""
    names: dict[str, Any] = {}
    exec(block(page, "python", name), names)  # noqa: S102 - our own page's
    return names


@pytest.mark.parametrize("page", [PAGE, README], ids=["manual", "readme"])
def test_the_snippet_of_python_verifies_signatures(page: Path) -> None:
    verify: Callable[[bytes, str, str], bool] = defined(page, "verify")["verify"]
    for body, header, expected in CASES:
        assert verify(body.encode(), SECRET, header) is expected


@pytest.mark.parametrize(
    "secret", ["ring the bells", "whsec_" + base64.b64encode(b"k" * 24).decode()]
)
def test_the_snippet_with_a_library_verifies_signatures(secret: str) -> None:
    payload_of = defined(PAGE, "standard")["payload_of"]
    body, now = b'{"ref": "main"}', Clock().now() // SECOND
    headers = {
        "webhook-id": "1",
        "webhook-timestamp": str(now),
        "webhook-signature": Signer(secret).standard("1", now, body),
    }
    assert payload_of(body, secret, headers) == {"ref": "main"}
    with pytest.raises(WebhookVerificationError):
        payload_of(body + b" ", secret, headers)


KEY_PAGE = MANUAL / "how-to" / "verify-with-a-public-key.md"
KEY = "whpk_A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg="
MESSAGE = ("msg_2KWPBgLlAfxdpx2AI54pPJ85f4W", "1674087231")
SIGNED = '{"test":2432232314}'
BY_KEY = (
    "v1a,3SAFKYeJd8U0GfiPo2QsUWxlBMHqxGsLElciXWhgHXO9OrgRTBTJ94iHSroAK+eKeMOSRzoteHLPZaRvgf3aDg=="
)
KEY_CASES = [
    (SIGNED, BY_KEY, True),
    (SIGNED, f"v1,bm90aGluZw== v1a,AAAA {BY_KEY}", True),
    (SIGNED + " ", BY_KEY, False),
    (SIGNED, BY_KEY.replace("v1a", "v1"), False),
    (SIGNED, "", False),
]
# Drivers as in DRIVERS, for the arguments body, key, id, timestamp and header.
KEY_DRIVERS = {
    "ts": (
        "verify.ts",
        ("driver.ts", 'import { verifyKey } from "./verify.ts";\n'
         "const [body, key, id, timestamp, header] = process.argv.slice(2);\n"
         "console.log(verifyKey(Buffer.from(body), key, id, timestamp, header));\n"),
    ),
    "go": (
        "verify.go",
        ("driver.go", 'package main\n\nimport (\n\t"fmt"\n\t"os"\n)\n\nfunc main() {\n'
         "\ta := os.Args\n\tfmt.Println(verifyKey([]byte(a[1]), a[2], a[3], a[4], a[5]))\n}\n"),
    ),
    "ruby": (
        "verify.rb",
        ("driver.rb", 'require_relative "verify"\nputs verify_key(*ARGV)\n'),
    ),
}  # fmt: skip


@pytest.mark.parametrize("language", KEY_DRIVERS)
def test_the_snippet_of_a_language_verifies_with_a_public_key(
    language: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    name, (driver, text) = KEY_DRIVERS[language]
    (tmp_path / name).write_text(block(KEY_PAGE, language, "verify-key"))
    (tmp_path / driver).write_text(text)
    command = ready(language, DRIVERS[language][2], "verify-key", request)
    for body, header, expected in KEY_CASES:
        done = subprocess.run(
            [*command, body, KEY, *MESSAGE, header],
            cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == str(expected).lower(), (body, header)


def test_the_snippet_of_python_verifies_with_a_public_key() -> None:
    verify = defined(KEY_PAGE, "verify-key")["verify_key"]
    for body, header, expected in KEY_CASES:
        assert verify(body.encode(), KEY, *MESSAGE, header) is expected
