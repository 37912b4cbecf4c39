// Package process is the connection to a server that gauze starts: its process group, its pipes and
// how it is stopped.
//
//	pipes.go     the process from its start to its last byte
//	process*.go  a started server: its process group, its pipes, how it is stopped
//	guard*.go    ends the process group even if gauze is killed
//	tied*.go     ends the server if gauze is killed before the guard knows it
//	outbox.go    bytes on their way to the server, counted where they are written
//	stdin*.go    gauze's end of the server's stdin; unread*.go, proof.go: the proof that bytes were never read
//	joiner.go    messages printed over several lines
//	vitals*.go   whether the process is stopped, and its CPU time; halted*.go: only whether it is stopped
//	survey*.go   the server's processes: names, ports, downloads
//	other.go     systems other than Linux
//
// When the server exits, Serve reaps it, kills what is left of its group, reads stdout to its end and counts what
// was never read; only then is the connection done. A call whose closing brace was never read was never executed,
// whatever it does. All other bytes count as read.
//
// A server is stopped if a process that can read its stdin is, and no other one that can is running, except
// launchers such as npx, which only wait. One that a debugger holds is not stopped.
package process
