"""Look up known vulnerabilities of the packages in lock files. `make audit` runs it.

    python tests/support/audit.py LOCK...

The exit code is 1 if there is one, and 0 if there is none or if the service that knows them cannot be reached, which is
said.
"""

import json
import subprocess
import sys

COMMAND = ("-m", "pip_audit", "--require-hashes", "--disable-pip", "--format", "json", "--progress-spinner", "off")
SECONDS = 600


def audit(locks):
    """Return the packages of the lock files as pip-audit describes them; None if its service cannot be reached."""
    requirements = [part for lock in locks for part in ("--requirement", lock)]
    done = subprocess.run(
        [sys.executable, *COMMAND, *requirements], capture_output=True, text=True, check=False, timeout=SECONDS
    )
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except ValueError:
        sys.stderr.write(done.stderr)
        return None
    return packages if any("version" in package for package in packages) else None


def describe(packages):
    """Return a line for each vulnerability."""
    return [
        f"{package['name']} {package['version']}: {flaw['id']}, fixed in {', '.join(flaw['fix_versions']) or 'none'}"
        for package in packages
        for flaw in package.get("vulns", ())
    ]


def main(locks):
    packages = audit(locks)
    if packages is None:
        sys.stdout.write("The packages were not audited: the service that knows vulnerabilities cannot be reached.\n")
        return 0
    vulnerabilities = sorted(set(describe(packages)))
    skipped = sum("version" not in package for package in packages)
    sys.stdout.write("".join(f"{line}\n" for line in vulnerabilities))
    sys.stdout.write(
        f"{len(packages) - skipped} packages audited, {skipped} unknown: {len(vulnerabilities)} vulnerabilities\n"
    )
    return 1 if vulnerabilities else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
