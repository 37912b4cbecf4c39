// Package taskcli is what the commands about tasks share, on this machine and on a cluster.
//
//	plan.go     PlanFlags: a task from a file, or from --goal and --server
//	review.go   Review: a plan with its servers, as a person sees it before it runs
//	consent.go  ConsentFlags: whether a plan may run
//	print.go    how tasks are printed, for people and as JSON
//	summary.go  Summary: what every view says about a task
package taskcli
