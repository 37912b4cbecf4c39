package clientconfig

import (
	"slices"
	"sync"

	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig/reference"
)

// UpID is the ID of the client that the file of gauze up stands for. No client has it.
const UpID = "gauze"

// up describes the file of gauze up as if gauze were a client with such a file.
var up = sync.OnceValue(func() *Client {
	c := &Client{
		ID: UpID, Name: "gauze up", Comments: Yes, Commas: Yes, Reload: "no restart needed: it reads the file again when it changes",
		Dialect: reference.Dialect{Forms: reference.Braces | reference.Env, In: reference.Environment | reference.Headers},
		Fields:  Fields{Argv: true, Cwd: "cwd"},
	}
	if err := c.Fields.complete(nil); err != nil {
		panic(err) // never: it names nothing that could be missing
	}
	return c
})

// Keep forgets all entries but some of them.
func (c *Config) Keep(some func(Entry) bool) {
	c.Entries = slices.DeleteFunc(c.Entries, func(e Entry) bool { return !some(e) })
	clear(c.index)
	for i, e := range c.Entries {
		c.index[e.Path[len(e.Path)-1]] = i
	}
}

// UpProblem returns a problem of the file of gauze up. One that makes the whole file useless is an Error.
func (f File) UpProblem(severity Severity, line, column int, what string) Problem {
	p := Problem{Severity: severity, Client: f.Client, File: f.Path, Line: line, Column: column, What: what, Consent: Person}
	p.Code, p.Why = "broken-syntax", "gauze up does not use a file with an error"
	p.Next = "correct the file; to see everything that is wrong with it: gauze up --check"
	if severity == Warning {
		p.Code, p.Why, p.Next = "not-readable", "gauze up cannot use everything that the file names", "gauze up --check"
	}
	return p
}

// Up returns the file of gauze up at a path, whether it exists or not.
func (h Home) Up(path string) File {
	return h.look(path, up(), Place{Scope: User, Keys: [][]string{{"servers"}}})
}
