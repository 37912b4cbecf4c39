// Package trust decides what a value may be used for by where it comes from,
// never by what it is called. docs/security.md is the same table for readers.
package trust

// Source is where a value comes from, from most to least trusted.
type Source int

const (
	Entry       Source = iota // the server's entry or command line, as the user wrote it
	Expansion                 // what the client expands the entry to, and the environment that the server already has
	OwnFolder                 // the directory of the server's own program
	Machine                   // what is installed on this machine: programs, the login shell's PATH, system directories
	Environment               // gauze's own environment, which the server does not get
	OtherEntry                // the entry of a different server
	Project                   // a project directory: anything in a cloned repository, however it is referred to
	Registry                  // the response of a package registry
	Output                    // output of a server, a tool or a network peer
	Agent                     // an agent or a model
)

// Use is what happens to a value.
type Use int

const (
	Start Use = iota // it decides what runs or is passed to it: command, argument, variable, working directory
	Send             // it leaves the machine or decides where something is sent: URL, query, header
	Write            // it is written to a file of the user
	Show             // it is shown as quoted text to the user or a model
	Read             // it is an argument of a call to a tool that only reads, where one was rejected or missing
)

// Verdict is the decision for one source and one use.
type Verdict int

const (
	Allowed Verdict = iota // done without confirmation
	Asks                   // done only after the user has seen exactly what will happen and agreed
	Never                  // not done, even if the user agrees
)

// table has a row for every source and a column for every use.
var table = [...][5]Verdict{
	//            Start    Send     Write  Show     Read
	Entry:       {Allowed, Allowed, Asks, Allowed, Never},
	Expansion:   {Allowed, Allowed, Asks, Allowed, Never},
	OwnFolder:   {Allowed, Allowed, Asks, Allowed, Never},
	Machine:     {Allowed, Allowed, Asks, Allowed, Never},
	Environment: {Asks, Asks, Asks, Allowed, Never},
	OtherEntry:  {Asks, Asks, Asks, Allowed, Never},
	Project:     {Asks, Asks, Asks, Allowed, Never},
	Registry:    {Asks, Asks, Asks, Allowed, Never},
	Output:      {Never, Never, Never, Allowed, Never},
	Agent:       {Asks, Asks, Asks, Allowed, Allowed},
}

// Of reports what a value from a source may be used for. An unknown source or
// use is Never.
func Of(from Source, use Use) Verdict {
	if from < 0 || int(from) >= len(table) || use < 0 || int(use) >= len(table[0]) {
		return Never
	}
	return table[from][use]
}

func (s Source) String() string {
	return [...]string{"entry", "expansion", "own-folder", "machine", "environment", "other-entry", "project", "registry", "output", "agent"}[s]
}

func (u Use) String() string { return [...]string{"start", "send", "write", "show", "read"}[u] }

func (v Verdict) String() string { return [...]string{"allowed", "asks", "never"}[v] }
