# Every target is one go command; the names are a convenience.
.PHONY: test quick bench demo conformance judges

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

demo:
	go run ./cmd/gauze demo
