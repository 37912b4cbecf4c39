// Package login logs gauze in to servers at URLs with OAuth, and keeps it logged in.
//
//	login.go     Login: what is kept about one login, never shown
//	store.go     Store: the logins of this user, for all gauze processes; in files, encrypted if there is a keyring
//	lock.go      one process at a time
//	keyring.go   the key of those files in the system's keyring
//	refresh.go   renews a login, once for all processes
//	token.go     one request to a token endpoint
//	source.go    Source: the token for the requests to one server, renewed in time
//	discover.go  what a server says about the login it requires, the authorization server it trusts, and its endpoints
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
//
// # Keeping a login
//
// Header uses the token from memory, and reads the store again only if its file changed. It is renewed ahead
// of expiry, in the background while it is still valid, and on 401 (Authorize), once for all requests that wait.
// A renewal holds a lock of all processes: the store is read again, the refresh token is sent, and its successor
// is stored before it is used. A lost connection, 429 and 5xx keep the login. An answer that does not come is
// waited for, longer than the call waits, because a refresh token that is sent twice may end the login. After
// invalid_grant the store is read once more and the previous token is tried; then the login has ended. If the
// disk is full, the token is used from memory and written later.
//
// The handler of the MCP SDK is not used as a whole: it registers again for each process and stores nothing.
package login
