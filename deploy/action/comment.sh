#!/bin/sh
# comment.sh shows the report of check.sh as a comment on the pull request of this run. It changes the comment of an earlier
# run instead of adding one. A token that may not comment, as for a pull request from a fork, is a warning.
set -eu
. "$(dirname "$0")/common.sh"

report=${RUNNER_TEMP:-${TMPDIR:-/tmp}}/gauze-action/report.md # not from an output, which a server could have set
[ -f "$report" ] && [ ! -h "$report" ] || exit 0
need curl
need jq
number=$(jq -r '.pull_request.number // empty' "$GITHUB_EVENT_PATH")
[ -n "$number" ] || exit 0 # not a pull request
comments=repos/$GITHUB_REPOSITORY/issues
marker="<!-- gauze: $(printf '%s' "${MCP_NAME:-MCP server}" | tr -cd '[:alnum:] ._/@-') -->"

# call METHOD PATH [BODY] sends a request. The token is not on the command line, where other processes see it.
call() {
	set -- "$1" "$2" "${3-}"
	printf 'header = "Authorization: Bearer %s"\n' "$GITHUB_TOKEN" |
		curl --config - --fail --silent --show-error --request "$1" ${3:+--data-binary "@$3"} \
			--header 'Accept: application/vnd.github+json' --header 'Content-Type: application/json' "$GITHUB_API_URL/$2"
}

# own prints the id of the comment that an earlier run made, and nobody else. The token of a run or of an app cannot ask
# who it is: it is a bot.
own() {
	login=$(call GET user 2>/dev/null | jq -r '.login // empty') || login=
	page=1
	while listed=$(call GET "$comments/$number/comments?per_page=100&page=$page"); do
		printf '%s' "$listed" | jq -r --arg marker "$marker" --arg login "$login" '
			[.[] | select((.body // "" | startswith($marker)) and
				if $login == "" then .user.type == "Bot" else .user.login == $login end) | .id] | first // empty'
		[ "$(printf '%s' "$listed" | jq length)" -eq 100 ] || return 0
		page=$((page + 1))
	done
	return 1
}

body=$report.json
{ printf '%s\n' "$marker"; cat "$report"; } | jq -Rs '{body: .[:65000]}' >"$body"
id=$(own | head -n 1)
if [ -n "$id" ]; then
	call PATCH "$comments/comments/$id" "$body" >/dev/null && exit 0
else
	call POST "$comments/$number/comments" "$body" >/dev/null && exit 0
fi
printf '::warning title=Gauze::%s\n' 'the report could not be added to the pull request. The job needs the permission pull-requests: write, which runs for forks do not have.'
