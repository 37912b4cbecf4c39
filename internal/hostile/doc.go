// Package hostile holds tests only: gauze is run inside cloned repositories
// written by an attacker, and nothing of them may run, reach a server that is
// not theirs, or choose a host that something is sent to.
//
//	project_test.go   the generator: a seed makes a repository out of ingredients
//	home_test.go      the user around it: a home with servers, healthy and broken
//	command_test.go   the commands that gauze is given there
//	verdict_test.go   what happened, and what of it must not
//	witness/          the program that plays every server and tool of the user
package hostile
