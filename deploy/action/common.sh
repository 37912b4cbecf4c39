# What the scripts of the action share. They are POSIX sh, and run on the runners for Linux, macOS and Windows.

# fail reports an error, as GitHub shows it, and ends the script.
fail() {
	if [ "${GITHUB_ACTIONS-}" = true ]; then
		printf '::error title=Gauze::%s\n' "$1"
	else
		printf 'gauze action: %s\n' "$1" >&2
	fi
	exit 1
}

# need ends the script unless a program is on the PATH.
need() {
	command -v "$1" >/dev/null 2>&1 || fail "$1 is not on the PATH of this runner. Install it in an earlier step."
}

# output sets an output of the step: output NAME VALUE.
output() { printf '%s=%s\n' "$1" "$2" >>"${GITHUB_OUTPUT:-/dev/null}"; }
