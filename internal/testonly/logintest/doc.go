// Package logintest is an authorization server with an MCP server that accepts its tokens, for tests.
//
//	server.go    Server: the addresses, the metadata, the faults and the ledger
//	issue.go     registration, the person's answer, codes and tokens
//	resource.go  the MCP server that requires a token
//
// It is strict where real servers are: PKCE with S256, exact redirect addresses, codes that work
// once, refresh tokens that rotate, and a login that ends if one of them is used twice. Nothing in it
// waits for time: tests call Expire, Revoke and Fail.
package logintest
