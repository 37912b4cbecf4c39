package fault

import (
	"strings"

	"github.com/gauze-mcp/gauze/internal/plaintext"
	"github.com/gauze-mcp/gauze/internal/redact"
)

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

// Shown returns the cause with every text cleaned and redacted.
func (c Cause) Shown() Cause { return (&Fault{Cause: c}).cause() }

// cause returns f's cause, fit to be shown. The remedy is in our own words, and what it names comes from the
// configuration and is masked already: patterns would only hide placeholders such as Authorization=NAME in it.
func (f *Fault) cause() Cause {
	c := Cause{Code: f.Cause.Code, Explanation: f.passage(f.Cause.Explanation)}
	c.Remedy = plaintext.UpperFirst(sentenceEnd(plaintext.Cap(f.Secrets.Redact(plaintext.Clean(f.Cause.Remedy)), redact.MaxPassage)))
	for _, change := range f.Cause.Changes {
		c.Changes = append(c.Changes, f.foreign(change))
	}
	return c
}

// sentenceEnd adds a full stop where one is missing. A command to copy gets none.
func sentenceEnd(s string) string {
	if s == "" || strings.ContainsRune(".!?:`", rune(s[len(s)-1])) {
		return s
	}
	return s + "."
}

// Steps splits a remedy into its words and the command it ends with, which is in backquotes.
func Steps(remedy string) []Step {
	words, ends := strings.CutSuffix(remedy, "`")
	at := strings.LastIndex(words, "`")
	if !ends || at < 0 || !strings.HasSuffix(words[:at], ": ") {
		return []Step{{Text: remedy}}
	}
	return []Step{{Text: words[:at-1], Command: words[at+1:]}}
}
