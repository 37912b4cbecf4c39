#!/bin/sh
# check.sh tests the server in MCP_COMMAND or at MCP_URL, and compares its tools with the lock file MCP_LOCK.
#
# It writes a report in Markdown to the summary of the job and to the output report, and exits with 1 if the server does
# not work or differs from its lock file. On a pull request, it also compares the server with the lock file of the branch
# that the pull request is for.
set -eu
. "$(dirname "$0")/common.sh"

command=${MCP_COMMAND-} url=${MCP_URL-} lock=${MCP_LOCK:-gauze.lock.json} timeout=${MCP_TIMEOUT:-60s}
name=${MCP_NAME:-MCP server}
workspace=${GITHUB_WORKSPACE:-$PWD}
work=${RUNNER_TEMP:-${TMPDIR:-/tmp}}/gauze-action
report=$work/report.md
server=claude-code/server # how the lock file calls it
works=false changed=false status=0

say() { printf '%s\n' "$@" >>"$report"; }

# code writes an input between backquotes, in which nothing is Markdown and nobody is mentioned.
code() { printf '`%s`' "$(printf '%s' "$1" | tr -d '`[:cntrl:]')"; }

# quoted writes what a server or a tool said as a block of code, in which nothing is Markdown and nobody is mentioned.
quoted() {
	say ''
	tr '\r\v\f' '\n\n\n' <"$1" | sed 's/^/    /' >>"$report" # each of them ends a line, also in Markdown
	say ''
}

# configure describes the server as a client's configuration does. Its own environment reaches it; its home stays.
configure() {
	mkdir -p "$work/claude"
	if [ -n "$url" ]; then
		printf '{"mcpServers": {"server": {"type": "http", "url": "%s"}}}\n' "$url" >"$work/claude/.claude.json"
		return
	fi
	printf 'unset CLAUDE_CONFIG_DIR MCP_SCRIPT MCP_COMMAND MCP_LOCK MCP_NAME MCP_TIMEOUT MCP_URL\ncd "$GITHUB_WORKSPACE" || exit\n%s\n' "$command" >"$work/server.sh"
	printf '%s\n' '{"mcpServers": {"server": {"command": "sh", "args": ["-c", ". \"$MCP_SCRIPT\""]}}}' >"$work/claude/.claude.json"
	export MCP_SCRIPT="$work/server.sh" GITHUB_WORKSPACE="$workspace"
}

# show prints what a server said. GitHub takes none of its lines for a command, neither in the form ::name:: nor in the
# older ##[name], which may be anywhere in a line.
show() {
	token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
	printf '::stop-commands::%s\n' "$token"
	tr '\r' '\n' <"$1" | sed 's/##\[/## [/g'
	printf '\n::%s::\n' "$token"
}

# finish writes the summary and the outputs. What the server said is printed after that.
finish() {
	cat "$report" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
	output works $works
	output changed $changed
	output report "$report"
	output lock "$work/gauze.lock.json"
	show "$work/test.txt"
}

# broken FILE MESSAGE ends the script, although the server works, and prints the file.
broken() {
	finish
	show "$1"
	fail "$2"
}

# plain reports whether the command is a program and its arguments, and therefore needs no shell.
plain() {
	case $command in
	*[!A-Za-z0-9\ _./:=@%+,-]*) return 1 ;;
	esac
	first=${command#"${command%%[! ]*}"}
	first=${first%% *}
	case $first in
	*=*) return 1 ;; # MODE=x program
	esac
	case $(command -v "$first") in
	'' | */*) return 0 ;;
	esac
	return 1 # exec, cd
}

# attempt tests the server as the user wrote it, so that a failure is explained with the user's own words.
attempt() {
	cd "$workspace"
	if [ -n "$url" ]; then
		gauze test --timeout "$timeout" "$url"
	elif plain; then
		# shellcheck disable=SC2086 # words without special characters
		gauze test --timeout "$timeout" -- $command
	else
		gauze test --timeout "$timeout" -- sh -c "$command"
	fi
}

# as_client runs gauze where the server is the only one of its client.
as_client() { CLAUDE_CONFIG_DIR="$work/claude" gauze "$@" --timeout "$timeout" "$server" </dev/null; }

# differences LOCK writes what differs from a lock file to differences, a line each, and reports whether something does.
differences() {
	as_client verify --file "$1" --json >"$work/verify.json" 2>"$work/verify.err" && found=0 || found=$?
	if [ "$found" -gt 1 ]; then
		broken "$work/verify.err" "$1 could not be compared. Replace it with the lock file of this run."
	fi
	jq -r '.drifts[].what | gsub("[\r\n]"; " ")' "$work/verify.json" >"$work/differences"
	[ "$found" -eq 1 ]
}

# since reports what changed since the branch that a pull request is for.
since() {
	[ -n "${GITHUB_BASE_REF-}" ] || return 0
	git -C "$workspace" fetch --quiet --depth=1 origin "$GITHUB_BASE_REF" 2>/dev/null &&
		git -C "$workspace" show "FETCH_HEAD:$lock" >"$work/base.lock.json" 2>/dev/null || return 0
	if differences "$work/base.lock.json"; then
		changed=true
		say "**Changed since $(code "$GITHUB_BASE_REF"):**"
		quoted "$work/differences"
	else
		say "Nothing changed since $(code "$GITHUB_BASE_REF")." ''
	fi
}

# compare reports what differs from the lock file of this checkout.
compare() {
	if [ ! -f "$workspace/$lock" ]; then
		say "There is no $(code "$lock"), so changes are not found. To be told about them, commit this file:"
		new_lock
	elif differences "$workspace/$lock"; then
		changed=true status=1
		say "**Different from $(code "$lock"):**"
		quoted "$work/differences"
		say 'To accept the differences, replace the file:'
		new_lock
	else
		say "The server is as $(code "$lock") records it."
	fi
}

new_lock() {
	say '' '<details><summary>Lock file of this run</summary>' ''
	quoted "$work/gauze.lock.json"
	say '</details>'
}

rm -rf "$work"
need gauze
need jq
case $url$command in
'') fail 'set either command or url: the server to test.' ;;
esac
[ -z "$url" ] || [ -z "$command" ] || fail 'set either command or url, not both.'
case $url in
*[\"\\[:space:]]*) fail "invalid url: it has a character that must be percent-encoded." ;;
esac
case $lock in
/* | *..*) fail "invalid lock file '$lock': must be a path below the checkout." ;;
esac
configure
say "### $(printf '%s' "$name" | tr -cd '[:alnum:] ._/@-' | sed 's/@/`@`/g')" ''
if attempt >"$work/test.txt" 2>&1; then
	works=true
	say '✅ The server works.'
else
	status=1
	say '❌ The server does not work.'
fi
quoted "$work/test.txt"
if [ $works = true ]; then
	as_client lock --file "$work/gauze.lock.json" >"$work/lock.txt" 2>&1 || {
		broken "$work/lock.txt" 'the server could not be recorded, although it works. Run the job again.'
	}
	since
	compare
fi
finish
[ $status -eq 0 ] || [ $works = false ] || fail "the server differs from $lock. The summary of this job lists how, and has the new lock file."
[ $status -eq 0 ] || fail 'the server does not work. The log above says why.'
