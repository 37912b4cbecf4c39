package process

import "time"

// Vitals is what the system reports about the server's processes.
type Vitals struct {
	Known   bool
	Stopped bool          // by a signal such as SIGSTOP: nothing runs that reads messages
	Held    bool          // a debugger holds one of them
	CPU     time.Duration // used so far by all of them
}
