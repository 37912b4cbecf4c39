// Package hostile contains only tests: gauze runs inside cloned repositories written by an
// attacker. It must not run anything from them, contact a server that is not theirs, or let them
// choose a host that data is sent to.
//
//	project_test.go   the generator, which builds a repository from a seed
//	home_test.go      the user's home directory with healthy and broken servers
//	command_test.go   the gauze commands that are run
//	verdict_test.go   what happened, and what must not happen
//	time_test.go      a person approves, an agent changes, and the same is run again
//	thing_test.go     what is approved and changed
//	terminal_test.go  the person who answers
//	walk_test.go      every command and every tool, and what it does with what a project brings
//	witness/          the program that plays every server and tool of the user
package hostile
