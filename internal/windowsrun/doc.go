// Package windowsrun contains only tests: gauze.exe as Windows users run it, with the real npx.cmd
// and taskkill.
//
// They require a directory with gauze.exe, faultyserver.exe, Node.js for Windows and a project with
// server-everything. To create it and run the tests under wine, use
//
//	go run ./internal/check -only windows-real
package windowsrun
