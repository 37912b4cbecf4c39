# Every target is one go command; the names are a convenience.
.PHONY: test quick bench demo conformance judges differential slow

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

# Thirty real servers and a thousand generated ones, directly and behind gauze.
differential:
	go run ./internal/check -only differential

# Servers that take longer than a minute to start, to list or to answer.
slow:
	go run ./internal/check -only slow

demo:
	go run ./cmd/gauze demo
