package fault

// Cause is why a server failed and what to do about it. A fault with a cause is a consequence: every voice gives
// the cause and its remedy instead of the fault's own.
type Cause struct {
	Code        string   // in the catalogue, such as "env_not_set"; empty if the cause is unknown
	Explanation string   // one or two sentences
	Remedy      string   // what a person has to do
	Changes     []string // how gauze changed the way the server is started or reached before it failed again
}

// Known reports whether there is a cause.
func (c Cause) Known() bool { return c.Explanation != "" }

// cause returns f's cause, fit to be shown.
func (f *Fault) cause() Cause {
	c := Cause{Code: f.Cause.Code, Explanation: f.passage(f.Cause.Explanation), Remedy: f.passage(f.Cause.Remedy)}
	for _, change := range f.Cause.Changes {
		c.Changes = append(c.Changes, f.foreign(change))
	}
	return c
}
