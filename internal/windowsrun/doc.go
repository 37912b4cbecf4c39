// Package windowsrun has only tests: gauze.exe as Windows users run it, with the real npx.cmd and taskkill.
//
// They need a directory with gauze.exe, faultyserver.exe, Node.js for Windows and a project that has server-everything.
// It is made, and the tests are run under wine, by
//
//	go run ./internal/check -only windows-real
package windowsrun
