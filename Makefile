# Every target is one go command; the names are a convenience.
.PHONY: test quick bench demo conformance

test:
	go run ./internal/check

quick:
	go run ./internal/check -quick

bench:
	go test -run '^$$' -bench . -benchmem ./...

conformance:
	go run ./internal/conformance

demo:
	go run ./cmd/gauze demo
