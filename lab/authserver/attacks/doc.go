// Package attacks is an authorization laboratory: people with homes of their own use the gauze program
// on a network with two honest providers, their services, a hostile provider and a hostile server. Each
// script is an attack. At its end every request that any host received is searched for secrets, and
// each secret that was found where it does not belong is a failure.
//
//	network_test.go   hosts by name, behind a proxy that records what each of them receives
//	ledger_test.go    the secrets that were issued, and where each may be seen
//	provider_test.go  an authorization server; one remembers consent and ignores the resource, one is strict
//	service_test.go   an MCP server that requires tokens
//	person_test.go    a person with a home, who uses gauze and clicks what people always click
//	serve_test.go     gauze serve for several people
//	browser_test.go   the browser
//	world_test.go     the hosts and people of one script
//	verdict_test.go   that secrets are found
//	attack_test.go    the attacks
//	honest_test.go    five people who are not attacked
package attacks
