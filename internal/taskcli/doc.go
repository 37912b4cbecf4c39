// Package taskcli is what the commands about tasks share, on this machine and on a cluster.
//
//	plan.go   PlanFlags: a task from a file, or from --goal and --server
//	print.go  how tasks are printed, for people and as JSON
package taskcli
