# Every target is one go command; the names are a convenience.
.PHONY: test quick bench demo

test:
	go run ./internal/check

quick:
	go run ./internal/check -quick

bench:
	go test -run '^$$' -bench . -benchmem ./...

demo:
	go run ./cmd/gauze demo
