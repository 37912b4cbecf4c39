// Package probe connects to a server once, goes as far as it can, and returns everything that was
// recorded. It restarts nothing and leaves nothing running.
//
//	probe.go      Run: its options, its result, how it begins and ends
//	handshake.go  initialize or server/discover, then tools/list
//	wait.go       how long to wait for a response while there is progress
//	reader.go     receives what the server sends
//	cost.go       what a tool costs in a model's context
//	served.go     a silent command that serves HTTP instead
package probe
