package fault

import (
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
)

// Cause is why a server failed and what to do about it. A fault with a cause is a consequence:
// every output shows the cause and its remedy instead of those of the fault.
type Cause struct {
	Code        string   // such as "env_not_set", which gauze explain describes; empty if the cause is unknown
	Explanation string   // why the server failed, in one or two sentences
	Remedy      string   // what the user has to do
	Changes     []string // how gauze changed the way the server is started or reached before it failed again
}

// Known reports whether there is a cause.
func (c Cause) Known() bool { return c.Explanation != "" }

// Shown returns the cause with every text cleaned and redacted.
func (c Cause) Shown() Cause { return (&Fault{Cause: c}).cause() }

// cause returns f's cause, safe to show. The remedy is gauze's own text, and the values in it come
// from the configuration and are already masked: patterns would only hide placeholders such as
// Authorization=NAME.
func (f *Fault) cause() Cause {
	c := Cause{Code: f.Cause.Code, Explanation: f.passage(f.Cause.Explanation)}
	c.Remedy = plaintext.UpperFirst(sentenceEnd(plaintext.Cap(f.redacted(f.Cause.Remedy), redact.MaxPassage)))
	for _, change := range f.Cause.Changes {
		c.Changes = append(c.Changes, f.foreign(change))
	}
	return c
}

// sentenceEnd adds a full stop if one is missing. A command to copy gets none.
func sentenceEnd(s string) string {
	if s == "" || strings.ContainsRune(".!?:`", rune(s[len(s)-1])) {
		return s
	}
	return s + "."
}

// Steps splits the remedy of a [Cause] into its words and the command it ends with, which is in
// backquotes.
func Steps(remedy string) []Step {
	words, ends := strings.CutSuffix(remedy, "`")
	at := strings.LastIndex(words, "`")
	if !ends || at < 0 || !strings.HasSuffix(words[:at], ": ") {
		return []Step{{Text: remedy}}
	}
	return []Step{{Text: words[:at-1], Command: words[at+1:]}}
}
