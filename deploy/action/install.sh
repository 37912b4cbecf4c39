#!/bin/sh
# install.sh VERSION KEY DIR downloads gauze for this machine into DIR, and puts DIR on the PATH of later steps.
#
# VERSION is such as 1.2.3, or latest. SHA256SUMS must have a signature by KEY, the public key in PEM, and the archive
# must have the sum that is listed there; otherwise nothing is unpacked.
# GAUZE_RELEASES is the address of a mirror that has /latest/download/FILE and /download/vVERSION/FILE, as for gauze upgrade.
set -eu
. "$(dirname "$0")/common.sh"

version=${1#v} key=$2 dir=$3
archive='' number=''

# fetch FILE downloads one file of the release.
fetch() {
	curl --fail --silent --show-error --location --proto-redir =https --retry 3 --output "$dir/$1" "$base/$1" ||
		fail "could not download $base/$1. Check that this release exists, and that the runner can reach it."
}

# system sets os, arch and the suffix of the archive.
system() {
	case $(uname -s) in
	Linux) os=linux suffix=tar.gz ;;
	Darwin) os=darwin suffix=tar.gz ;;
	MINGW* | MSYS* | CYGWIN*) os=windows suffix=zip ;;
	*) fail "there is no gauze for $(uname -s). Use a runner with Linux, macOS or Windows." ;;
	esac
	case ${RUNNER_ARCH:-$(uname -m)} in
	X64 | x86_64 | amd64) arch=amd64 ;;
	ARM64 | aarch64 | arm64) arch=arm64 ;;
	*) fail "there is no gauze for ${RUNNER_ARCH:-$(uname -m)}. Use a runner with an x64 or arm64 CPU." ;;
	esac
}

# signed checks the signature of the list of sums.
signed() {
	[ -s "$key" ] || fail "the public key $key is missing, so the release cannot be verified. Use a released version of this action."
	openssl base64 -d -A -in "$dir/SHA256SUMS.sig" -out "$dir/signature" 2>/dev/null &&
		openssl dgst -sha256 -verify "$key" -signature "$dir/signature" "$dir/SHA256SUMS" >/dev/null 2>&1 ||
		fail "SHA256SUMS does not have a valid signature: the release was changed after it was signed. Nothing was installed. Do not use it, and report it: https://github.com/gauze-mcp/gauze/security"
}

# choose sets archive, sum and number from the list: the one of this system and, unless it is the latest, this version.
choose() {
	while read -r sum archive; do
		number=${archive#gauze_}
		number=${number%"_${os}_$arch.$suffix"}
		if [ "$archive" = "gauze_${number}_${os}_$arch.$suffix" ]; then
			[ "$version" = latest ] || [ "$version" = "$number" ] ||
				fail "asked for gauze $version, but $base has $number."
			return
		fi
	done <"$dir/SHA256SUMS"
	fail "the release has no archive for $os on $arch."
}

# intact checks the sum of the archive.
intact() {
	found=$(openssl dgst -sha256 -r "$dir/$archive")
	[ "${found%% *}" = "$sum" ] ||
		fail "$archive does not have the SHA-256 that SHA256SUMS lists: it was damaged or changed. Nothing was installed. Run the job again; if that does not help, report it: https://github.com/gauze-mcp/gauze/security"
}

for tool in curl openssl; do need $tool; done
base=${GAUZE_RELEASES:-https://github.com/gauze-mcp/gauze/releases}
base=${base%/}
case $version in
latest) base=$base/latest/download ;;
*[!0-9A-Za-z.+-]* | '') fail "invalid version '$version': must be such as 1.2.3, or latest." ;;
*) base=$base/download/v$version ;;
esac
mkdir -p "$dir"
system
fetch SHA256SUMS
fetch SHA256SUMS.sig
signed
choose
fetch "$archive"
intact
case $suffix in
zip) unzip -q -o "$dir/$archive" gauze.exe -d "$dir" ;;
*) tar -xzf "$dir/$archive" -C "$dir" gauze ;;
esac
rm -f "$dir/$archive" "$dir/SHA256SUMS" "$dir/SHA256SUMS.sig" "$dir/signature"
printf '%s\n' "$dir" >>"${GITHUB_PATH:-/dev/null}"
output version "$number"
printf 'Installed gauze %s; its signature and sum are right.\n' "$number"
