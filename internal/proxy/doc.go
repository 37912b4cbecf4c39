// Package proxy connects one client and one server: the data path and the story of one call.
//
//	call.go        one call: its states, and how it is queued, sent and answered once
//	decide.go      what becomes of a call that was lost: pure; mayRepeat is the only licence to repeat
//	lost.go        a connection ends, or one HTTP exchange fails: Down and Lost
//	generation.go  a new connection, or none: Up and Unreachable
//	session.go     Session: its options and tables, update, how it begins and ends
//	client.go      messages from the client
//	answers.go     responses from the server
//	questions.go   requests from the server to the client
//	notices.go     notifications from the server
//	disown.go      removes the marks of gauze's own texts from what the server sends
//	class.go       what sending a request twice may do
//	admit.go       how many unsafe calls run at the same time, and in which order calls go
//	quarantine.go  calls that the server died with twice
//	budget.go      how many repetitions there may be
//	writes.go      what was written after a call
//	memory.go      what is needed to restore a session
//	catalog.go     what the server has listed, to decide by and to answer from while it is down
//	restore.go     what a new connection gets before any traffic
//	watch.go       deadlines, probes, hangs
//	correct.go     a rejected call that a model may correct: held, asked about, sent once more
//	corrected.go   what is said about a correction
//	sampling.go    questions of ours to the client's own model
//	outlet.go      messages to the client, in order
//	observe.go     what is counted of tool calls, which of them were saved, and events
//	trace.go       what follows tool calls: trace context in _meta
//	observation.go what a session says about itself, for gauze status and the dashboard
//	replace.go     a restart that the user asked for
//	policy.go      what the user configured for each tool
//	id.go          the ids of requests
//	seeded.go      bugs for the kill storm to catch, in a build of their own
//
// A call goes FromClient -> accept -> dispatch -> transmit -> (the server) -> response. If it is lost
// in between, decide says whether it is sent again or answered with a fault. Its state says where it
// is; move changes the state and every table that follows from it. Everything that happens to a
// session happens in update.
package proxy
