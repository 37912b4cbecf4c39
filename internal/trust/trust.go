// Package trust decides what a value may be used for by where it comes from,
// never by what it is called. SECURITY.md is the same table for readers.
package trust

// Source is where a value comes from, from trusted to foreign.
type Source int

const (
	Entry       Source = iota // the server's entry or command line, as the user wrote it
	Expansion                 // what the entry's client expands it to, and the environment the server already has
	OwnFolder                 // the folder that holds the server's own program
	Machine                   // what is installed on this machine: programs, the login shell's PATH, the system's folders
	Environment               // gauze's own environment, which the server was not given
	OtherEntry                // the entry of a different server
	Project                   // a project folder: anything in a cloned repository, whichever way it is named
	Registry                  // a package registry's answer
	Output                    // what a server, a tool or a network peer printed or answered
	Agent                     // an agent or a model
)

// Use is what happens to a value.
type Use int

const (
	Start Use = iota // it decides what runs or is handed to it: command, argument, variable, working directory
	Send             // it leaves the machine or decides where something goes: URL, query, header
	Write            // it is written to a file of the user's
	Show             // it is shown, as quoted text, to a person or a model
)

// Verdict is the answer for one source and one use.
type Verdict int

const (
	Allowed Verdict = iota // done without asking
	Asks                   // done only after a person has seen exactly what will happen and agreed
	Never                  // not done, whoever agrees
)

// table has a row for every source and a column for every use.
var table = [...][4]Verdict{
	//            Start    Send     Write  Show
	Entry:       {Allowed, Allowed, Asks, Allowed},
	Expansion:   {Allowed, Allowed, Asks, Allowed},
	OwnFolder:   {Allowed, Allowed, Asks, Allowed},
	Machine:     {Allowed, Allowed, Asks, Allowed},
	Environment: {Asks, Asks, Asks, Allowed},
	OtherEntry:  {Asks, Asks, Asks, Allowed},
	Project:     {Asks, Asks, Asks, Allowed},
	Registry:    {Asks, Asks, Asks, Allowed},
	Output:      {Never, Never, Never, Allowed},
	Agent:       {Asks, Asks, Asks, Allowed},
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

func (u Use) String() string { return [...]string{"start", "send", "write", "show"}[u] }

func (v Verdict) String() string { return [...]string{"allowed", "asks", "never"}[v] }
