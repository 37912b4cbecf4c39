// Package login logs gauze in to servers at URLs with OAuth, and keeps it logged in.
//
//	login.go     Login: what is kept about one login, never shown
//	store.go     Store: the logins of this user, for all gauze processes; in files, encrypted if there is a keyring
//	lock.go      one process at a time
//	encrypted.go whether a login is encrypted
//	keyring.go   the key of those files in the system's keyring
//	refresh.go   renews a login, once for all processes
//	token.go     one request to a token endpoint
//	challenge.go what a server says about the login it requires
//	source.go    Source: the token for the requests to one server, renewed in time
//	discover.go  which authorization server a server trusts, and its endpoints
//	guard.go     which addresses metadata may lead to
//	register.go  who gauze is to an authorization server
//	flow.go      a person logs in: PKCE, state, issuer, code
//	doubt.go     what only a person can know about a login
//	page.go      what a person is shown before they log in
//	callback.go  the loopback address that the browser returns to
//	browser.go   opens the browser, or lets the person paste the address
//	machine.go   programs that log in without a person
//	revoke.go    ends a login at the authorization server
//
// A token leaves gauze in two requests only: to the server that it is for, and to the token endpoint
// of the issuer that the person logged in at.
package login
