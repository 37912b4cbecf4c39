// Package terminal is how commands show text to a person and ask a question: color, lines that fit,
// tables, progress, yes or no. What is shown must be safe already, see plaintext and redact; only a
// line of progress is made so here.
//
//	paint.go     color, if the stream is a terminal
//	fold.go      lines that fit, lists that break after commas
//	table.go     columns
//	terminal.go  whether a stream is a terminal, its size, questions
//	progress.go  one line that says how far something is, or what is waited for
package terminal
