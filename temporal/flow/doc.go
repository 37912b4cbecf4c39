// Package flow runs tasks on a Temporal cluster: the loop of package task as a workflow, and each
// tool call as an activity.
//
//	workflow.go   Task: the workflow; what the loop does next follows from the entries alone
//	session.go    the worker that has the servers of a task
//	signals.go    decide, resume and stop
//	activities.go Activities: what workers do for a task
//	worker.go     Serve: a worker
//	client.go     Client: start, list, show and signal tasks
//	limits.go     what fits into Temporal
//
// # Invariants
//
// The history of a workflow is the log of its task. The intent of a call is in it before the call is
// sent, as the event that schedules the activity. A call is one activity with one attempt: Temporal
// never repeats it, and whether it may be sent again is decided by package task. A call whose worker
// died is unknown, and one that no worker accepted is unsent.
package flow
