// Package kernel carries the calls of one client to one server, and keeps the promise: every request gets one
// answer, and no effect happens twice. It knows nothing of logins, models, repair, diagnosis, statistics or
// traces: those are stages, which take part in calls through one interface (stage.go).
//
// The story of one call is call.go: its states, and how it is queued, sent and answered once. Around it:
//
//	client.go      messages from the client; listen.go: how they are read
//	answers.go     messages from the server, and responses
//	lost.go        a connection ends, or one HTTP exchange fails; decide.go says what becomes of its calls
//	sleep.go       a server that nothing needs is not started, or stopped; tasks.go: what it must not be stopped for
//	generation.go  a new connection, or none
//	stage.go       what stages are, and what they can rule
//	held.go        a call that a stage keeps for a while
//	ask.go         what stages can ask
//	response.go    what is added to a response
//	emit.go        events, for the stages and for the user
//
// What these decide by:
//
//	decide.go      what becomes of a call that was lost: pure; mayRepeat is the only licence to repeat
//	class.go       what sending a request twice may do; toolclass.go: a call of a tool
//	admit.go       how many unsafe calls run at the same time, and in which order calls go
//	writes.go      what was written after a call
//	quarantine.go  calls that the server died with twice
//	budget.go      how many repetitions there may be
//	catalog.go     what the server has listed, to decide by and to answer from while it is down
//	memory.go      what is needed to restore a session
//	patience.go    how long calls wait for a server that is down; trouble.go: why it is
//
// What happens beside the calls:
//
//	session.go     Session: its parts, update, how it begins; options.go; leaving.go: how it ends
//	restore.go     what a new connection gets before any traffic
//	unlisted.go    the tools are listed before the first call
//	begin.go       how a session begins although its server does not; portrait.go: from what was kept
//	watch.go       deadlines, probes, hangs; idle.go: servers that no call waits for; elsewhere.go: those that serve HTTP instead
//	questions.go   requests from the server to the client, and ours
//	notices.go     notifications from the server; tokens.go: which call progress is about
//	replace.go     a restart that the user asked for
//	outlet.go      messages to the client, in order
//	id.go          the ids of requests
//	spare.go       answered calls, for the next ones
//	seeded.go      bugs for the kill storm to catch, in a build of their own
//
// Everything that happens to a session happens in update.
//
// # Locks and order
//
// Session.mu guards all tables. A goroutine that may send a message about a request takes the outlet's lock before
// it (updateAndTell), so nothing about a request can follow its response. What is written or asked while mu is held
// is deferred with later. Stages are asked without the lock, and what they rule is checked again under it. A
// connection's reader calls Message one at a time and never after its Down, except for requests that linger: nothing
// from an old generation can reach a new one.
//
// Messages of one client reach a server on a pipe in the order they were sent. Nothing overtakes a call that waits,
// except what the call or the server may be waiting for (answers to the server's requests, cancellations, progress)
// and ping. To find out which call ends a server, the calls in flight at a crash are repeated one at a time. Over HTTP
// every request is independent, as without gauze.
//
// # What licenses a repetition
//
// The hints of the tools, as the live server listed them. After list_changed, and at a URL after a new connection,
// they license nothing until the tools are listed again. Without sessions a new version shows by nothing, so the
// tools are also listed before a call is repeated whose exchange was cut (repeatOnceListed). What is only remembered
// answers lists, and licenses nothing.
package kernel
