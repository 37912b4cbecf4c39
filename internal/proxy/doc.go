// Package proxy stands between one client and one server: the data path and
// the story of one call.
//
//	session.go     Session: who we stand between, and how it begins and ends
//	client.go      what the client says
//	server.go      what the server says
//	disown.go      the marks of gauze's own words taken out of it
//	call.go        one request on its way: admitted, sent, answered once
//	class.go       what a request may do to the world
//	generation.go  the server comes back, or does not: Up and Unreachable
//	repeat.go      mayRepeat, the only licence to send a call again; the poison rule
//	lost.go        over HTTP: one request, or one stream, is lost alone
//	admit.go       how many unsafe calls run at once; the health gate
//	memory.go      what a session has to know to be restored
//	catalog.go     the lists the server showed: to judge by, to answer from while it is down
//	restore.go     what a new generation gets before any traffic
//	watch.go       deadlines, probes, hangs
//	outlet.go      the way back to the client, in order
//	policy.go      what the user decided per tool
//	seeded.go      bugs for the kill storm to catch, in a build of their own
//
// A call goes FromClient -> dispatch -> transmit -> (the server) -> response.
// If the server dies in between, Down judges it, and Up sends it again or it
// was answered honestly.
package proxy
