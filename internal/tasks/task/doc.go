// Package task runs a list of tool calls, or lets a model choose them, and keeps its place: every
// step is in a log before it is acted on, so that a task stops at any point and continues later.
//
//	plan.go     Plan: what the user asked for
//	parse.go    the file: Parse, all errors together with line and column; parse_step.go its steps
//	server.go   one server of a file
//	refer.go    ${id.text} and ${id.json.path}: references and strings that contain them
//	condition.go when and for
//	entry.go    the entries of the log, one struct for each kind
//	fold.go     State: the fold over the entries; pure
//	next.go     Next: what a task does next, a function of State only
//	person.go   failures that only a person can end
//	run.go      Run: the loop, and the story of one step
//	names.go    the names of tools, checked before the first call
//	judge.go    health, verdicts and the stop because of a dead server; outlook.go what these depend on
//	agent.go    a model chooses the next call
//	reach.go    Servers and Log: what the loop needs from elsewhere
//	decide.go   Decide: what a person found out about a call
//	replan.go   Replan: a corrected file for the steps that are not done
//	apart.go    Excerpt, Act and Send: the parts of a step for a loop that runs elsewhere
//	forget.go   what a log that is limited in size may drop
//	report.go   Report: how a task ended, as text and as an exit status
//	describe.go Describe: one entry as text
//
// The core uses neither a database nor MCP. Package taskrun connects it to both.
//
// # Invariants
//
// The intent of a call is durable before the call is sent, and its outcome before anything depends
// on it. An intent without an outcome is unknown: it is repeated only if its tool only reads, or is
// idempotent and no later call may have written. Everything else is decided by a person.
//
// A failed step is sent again only by on-error: retry or by resuming the task, which the user asked for.
// on-error: continue never applies to an unknown outcome. A login does not license a repetition: a call
// with effects that was answered with 401 needs a decision. A decision can be changed until the task is
// resumed. A corrected plan changes neither what is done nor a step whose call may have had its effect.
//
// A model's choice is an entry before it is acted on, and is not asked for again. Codes decide whether a
// person is needed (person.go); the words of a result count only if it failed, and for an agent only at
// the second such failure, because it may find a different way.
package task
