"""Gauze keeps MCP servers working. This package installs the program gauze, and starts it as gauze-mcp."""

import os
import subprocess
import sys
import sysconfig


def find_gauze():
    """Returns the path of the program, which pip puts where it puts scripts."""
    name = "gauze.exe" if sys.platform == "win32" else "gauze"
    package = os.path.dirname(os.path.abspath(__file__))
    script = os.path.realpath(sys.argv[0])
    beside = []
    if os.path.basename(script) in ("gauze-mcp", "gauze-mcp.exe"):  # not -c, - or -m, whose directory is any
        beside = [os.path.dirname(script)]
    places = beside + [
        os.path.join(os.path.dirname(package), "bin"),  # pip install --target
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", scheme=sysconfig.get_preferred_scheme("user")),
    ]
    for place in places:
        file = os.path.join(place, name)
        if os.path.isfile(file):
            return file
    sys.exit(
        "gauze-mcp: the program %s is missing: it is not in %s.\nInstall it again:\n"
        "  pip install --force-reinstall gauze-mcp" % (name, " or ".join(places))
    )


def main():
    gauze = find_gauze()
    if sys.platform != "win32":
        os.execv(gauze, [gauze, *sys.argv[1:]])
    program = subprocess.Popen([gauze, *sys.argv[1:]])
    while True:
        try:
            sys.exit(program.wait())
        except KeyboardInterrupt:  # Ctrl-C is sent to the program as well, which decides
            pass
