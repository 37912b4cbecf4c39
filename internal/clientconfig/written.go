package clientconfig

import (
	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/redact"
)

// Written returns how the server of an entry is started or reached as the file
// says it: references are not expanded, and Env holds only what the entry sets.
// No value of the user's environment is in it. Of a wrapped entry it is the
// server behind gauze run.
func (c *Config) Written(e *Entry) launch.Spec {
	plain := *e
	plain.Spec = launch.Spec{}
	r := reader{Home: c.Home, Entry: &plain, written: true}
	r.spec()
	if _, inner := unwrapped(plain.Spec, r.variable); inner != nil {
		return *inner
	}
	return plain.Spec
}

// Sends returns the names of the variables of the user's environment whose
// values go to the entry's URL. A server that is a program sends nothing by
// itself.
func (e Entry) Sends() []string {
	if e.Spec.URL == "" && (e.Inner == nil || e.Inner.URL == "") {
		return nil
	}
	return e.uses
}

// Used returns the values of the user's environment that an entry refers to.
func (e Entry) Used() redact.Secrets { return redact.KnownSecrets(e.used...) }
