// Package authserver is a real authorization server for tests, and a server of MCP that requires its
// tokens. The authorization server is the OpenID provider of zitadel/oidc with its login form, PKCE
// and rotating refresh tokens; its access tokens expire when a test says so. It is a module of its own so
// that gauze does not depend on it.
//
//	provider.go  Provider: the authorization server, which can be stopped and interrupted
//	ledger.go    what it issued, and refresh tokens that were used twice
//	resource.go  Resource: the MCP server, with a ledger of what its tool did
package authserver
