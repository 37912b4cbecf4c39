package agenttools

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze/internal/fleet"
	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/redact"
	"github.com/gauze-mcp/gauze/internal/trust"
)

// question is what a person is asked before something is done.
type question struct {
	title string // one line
	shown string // the whole diff or command, without secrets: the agent reads it
	full  string // the same for the person alone; empty: shown
	token string // names exactly what is agreed to
	typed string // what a person types instead, in a terminal
	deeds []deed // what would happen, for the table of package trust
	plain bool   // shown is a command: no known secret is looked for in it
}

// asked is a question that is open, with the deed behind it.
type asked struct {
	question
	call string // the tool and its arguments, hashed
	at   time.Time
	then func(*call) (any, error)
}

// What an answer says about consent.
const (
	done         = "done"
	needsConsent = "needs_consent"
	needsPerson  = "needs_person"
	declined     = "declined"
	nothingToDo  = "nothing_to_do"
)

// Standing is the part of an answer that says whether something was done, and
// what is missing if not.
type Standing struct {
	Status  string `json:"status" jsonschema:"done, nothing_to_do, failed, dry_run, or what is missing: needs_consent (show it to the user, then repeat the call with the token), needs_person (give the user the command to type), declined (the user said no)"`
	Asks    string `json:"asks,omitempty" jsonschema:"what the user is to agree to, in a line"`
	Diff    string `json:"diff,omitempty" jsonschema:"exactly what would be written or run; secrets are masked"`
	Consent string `json:"consent,omitempty" jsonschema:"the token to repeat the call with, once the user agreed"`
	How     string `json:"how,omitempty" jsonschema:"what to do next"`
	plain   bool   // Diff goes out as it is
}

func (s *Standing) standing() *Standing { return s }

// decides returns the part of an answer that a person decides by, if nothing in
// it may be masked: whoever wrote a command could otherwise hide it by making a
// part of it look like a secret.
func (s Standing) decides() string {
	if !s.plain {
		return ""
	}
	return s.Diff
}

func (s Standing) text() string {
	switch s.Status {
	case needsConsent, needsPerson:
		return fmt.Sprintf("%s\n\n%s\n\n%s", s.Asks, strings.TrimRight(s.Diff, "\n"), s.How)
	case declined:
		return "Not done. " + s.How
	}
	return strings.TrimSpace(s.How)
}

// inputNeeded is not an error but the answer of the modern era to a client that
// can ask its user: the question goes out, and the call comes again.
type inputNeeded struct {
	state  string
	params *mcp.ElicitParams
}

func (*inputNeeded) Error() string { return "the user is asked" }

const (
	openAtMost = 32
	openFor    = 30 * time.Minute
	longest    = 32 << 10 // of a question
	answerName = "consent"
)

// ask puts a question to the person and does the deed if they agree, now or
// when their answer comes. Out says what happened.
func ask[Out any, P interface {
	*Out
	standing() *Standing
}](c *call, q question, then func(*call) (Out, error)) (out Out, err error) {
	if c.verdict(q.deeds...) == trust.Never {
		return out, fmt.Errorf("%s does not do this, whoever agrees", c.tool)
	}
	if q.full == "" {
		q.full = q.shown
	}
	keep := func(c *call) (any, error) {
		out, err := then(c)
		return out, err
	}
	s := P(&out).standing()
	s.Asks, s.Diff, s.plain = q.title, q.shown, q.plain
	if len(q.full) > longest {
		s.Status, s.Diff = needsPerson, ""
		s.How = fmt.Sprintf("Nothing was done: there are %d kB to agree to, more than anybody reads in a dialog. The user can look at it in a terminal: %s", len(q.full)>>10, q.typed)
		s.How = redact.Passage(s.How)
		return out, nil
	}
	switch c.asks() {
	case direct:
		said, err := c.request.Session.Elicit(c.ctx, q.elicit())
		if err != nil && c.ctx.Err() != nil {
			return out, c.ctx.Err()
		}
		if err == nil && agrees(said) {
			return then(c)
		}
		s.refused(said, q)
		return out, nil
	case byReturn:
		state := rand.Text()
		c.desk.put(state, &asked{q, c.digest, time.Now(), keep})
		return out, &inputNeeded{state, q.elicit()}
	}
	if !c.desk.AllowWrites {
		s.Status = needsPerson
		s.How = "Nothing was done: this needs the user, and this client cannot ask them. They can type: " + q.typed
		return out, nil
	}
	c.desk.put(q.token, &asked{q, c.digest, time.Now(), keep})
	s.Status, s.Consent = needsConsent, q.token
	s.How = fmt.Sprintf("Nothing was done yet. Show this to the user; if they agree, call %s again with the same arguments and \"consent\": %q.", c.tool, q.token)
	return out, nil
}

func (s *Standing) refused(said *mcp.ElicitResult, q question) {
	s.Status, s.Diff = declined, ""
	s.How = "The user gave no answer, so nothing was done. They can type it themselves: " + q.typed
	if said != nil && (said.Action == "decline" || said.Action == "accept") {
		s.How = "The user said no, and nothing was done. Ask them what they want instead; do not try another way to do the same."
	}
}

// elicit is the question as clients put it. A yes has to be given: there is no
// default, and to send the form without it is no.
func (q question) elicit() *mcp.ElicitParams {
	return &mcp.ElicitParams{Mode: "form", Message: q.title + "\n\n" + q.full, RequestedSchema: json.RawMessage(
		`{"type":"object","properties":{"agree":{"type":"boolean","title":"I agree","description":"Yes, do exactly this"}},"required":["agree"]}`)}
}

func agrees(said *mcp.ElicitResult) bool {
	return said != nil && said.Action == "accept" && said.Content["agree"] == true
}

// How a call's person can be asked.
const (
	notAtAll = iota
	direct   // by a request of ours, in the middle of the call
	byReturn // by what we return; the call comes again with the answer
)

func (c *call) asks() int {
	able := c.request.ClientCapabilities()
	if able == nil || able.Elicitation == nil || able.Elicitation.Form == nil && able.Elicitation.URL != nil {
		return notAtAll
	}
	if c.request.ProtocolVersion() >= "2026-07-28" {
		return byReturn
	}
	return direct
}

// resume finds the question that a call brings the answer to; nil: it brings
// none.
func (c *call) resume(consent string) (a *asked, said *mcp.ElicitResult, err error) {
	if state := c.request.Params.RequestState; state != "" {
		said, _ = c.request.Params.InputResponses[answerName].(*mcp.ElicitResult)
		a = c.desk.take(state)
		if a == nil || a.call != c.digest {
			return nil, nil, mistake("this answer belongs to no open question", "call %s again without requestState", c.tool)
		}
		return a, said, nil
	}
	if consent == "" {
		return nil, nil, nil
	}
	switch {
	case c.asks() != notAtAll:
		return nil, nil, mistake("consent is not for the agent to give here: this client asks its user itself", "call %s again without consent", c.tool)
	case !c.desk.AllowWrites:
		return nil, nil, mistake("consent is not for the agent to give here: the user has not started gauze mcp with --allow-writes", "call %s again without consent, and give the user the command it answers with", c.tool)
	}
	a = c.desk.take(consent)
	switch {
	case a == nil:
		return nil, nil, mistake("this consent was not given out, is used up, or too old", "call %s again without consent, and show the user the new answer", c.tool)
	case a.call != c.digest:
		return nil, nil, mistake("this consent is for other arguments", "call %s again without consent, and show the user the new answer", c.tool)
	}
	return a, &mcp.ElicitResult{Action: "accept", Content: map[string]any{"agree": true}}, nil
}

// put keeps a question open; the oldest gives way.
func (d *desk) put(key string, a *asked) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.order = append(slices.DeleteFunc(d.order, func(k string) bool { return k == key }), key)
	d.open[key] = a
	if len(d.order) > openAtMost {
		delete(d.open, d.order[0])
		d.order = d.order[1:]
	}
}

// take closes a question: an answer counts once.
func (d *desk) take(key string) *asked {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.open[key]
	delete(d.open, key)
	d.order = slices.DeleteFunc(d.order, func(k string) bool { return k == key })
	if a == nil || time.Since(a.at) > openFor {
		return nil
	}
	return a
}

// candidate is a server that somebody may have to agree to before it is started
// or reached.
type candidate struct {
	from  trust.Source
	spec  launch.Spec // as it is written
	sends []string    // variables of the user's environment whose values go to its URL
}

func (s candidate) deed() deed {
	if s.spec.URL != "" {
		return deed{s.from, trust.Send}
	}
	return deed{s.from, trust.Start}
}

// agreedTo asks whether servers may be started or reached, unless somebody has
// agreed to them before or nobody need to, and goes on.
func agreedTo[Out any, P interface {
	*Out
	standing() *Standing
}](c *call, servers []candidate, typed string, then func(*call) (Out, error)) (out Out, err error) {
	q := question{title: "May Gauze run this on your machine, to see whether it works?", typed: typed, plain: true}
	sum := sha256.New()
	var open []launch.Spec
	var shown, full []string
	for _, s := range servers {
		if c.verdict(s.deed()) == trust.Allowed || c.desk.agreed(s.spec) {
			continue
		}
		whole, err := fleet.Whole(s.spec, s.sends...)
		if err != nil {
			return out, mistake("nothing was done: "+err.Error(), "shorten the command, or let the user run it in a terminal")
		}
		open = append(open, s.spec)
		q.deeds = append(q.deeds, s.deed())
		shown, full = append(shown, fleet.Outline(s.spec, s.sends...)), append(full, whole)
		fmt.Fprintln(sum, s.spec.Fingerprint())
	}
	if len(open) == 0 {
		return then(c)
	}
	if len(open) == 1 && open[0].URL != "" {
		q.title = "May Gauze connect to this address, to see whether it works?"
	}
	q.shown, q.full, q.token = strings.Join(shown, "\n"), strings.Join(full, "\n"), hex.EncodeToString(sum.Sum(nil))[:32]
	return ask[Out, P](c, q, func(c *call) (Out, error) {
		c.desk.approve(open)
		return then(c)
	})
}

// agreed reports whether somebody agreed to this very spec before.
func (d *desk) agreed(s launch.Spec) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.approved[s.Fingerprint()]
}

func (d *desk) approve(specs []launch.Spec) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range specs {
		d.approved[s.Fingerprint()] = true
	}
}
