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

	"github.com/gauze-mcp/gauze/internal/agent/mcpserver"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/internal/workshop/trust"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// question is what the user is asked before an operation.
type question struct {
	title      string      // one line
	shown      string      // the complete diff or command, without secrets, for the agent
	full       string      // the same for the user only; shown if empty
	token      string      // identifies exactly what is confirmed
	typed      string      // the equivalent command for a terminal
	operations []operation // what would happen, for the table of package trust
	plain      bool        // shown is a command, which is never redacted
	hidden     bool        // shown does not show all that matters, so an agent cannot relay the question
}

// pending is a question that waits for an answer, with the operation that depends on it.
type pending struct {
	question
	call    string // hash of the tool and its arguments
	at      time.Time
	then    func(*call) (any, error)
	written []Written // before the question
}

// Values of ActionStatus.Status.
const (
	done         = "done"
	needsConsent = "needs_consent"
	needsPerson  = "needs_person"
	declined     = "declined"
	nothingToDo  = "nothing_to_do"
)

// ActionStatus is the part of a result that says whether the operation was done and, if not, what
// is missing.
type ActionStatus struct {
	Status  string `json:"status" jsonschema:"done, nothing_to_do, failed, dry_run, declined, needs_consent or needs_person"`
	Asks    string `json:"asks,omitempty"`
	Diff    string `json:"diff,omitempty"`
	Consent string `json:"consent,omitempty"`
	How     string `json:"how,omitempty"`
	plain   bool   // Diff is sent without redaction
}

func (s *ActionStatus) actionStatus() *ActionStatus { return s }

// unredacted returns the text that the user's decision is based on, if it must not be redacted: the
// author of a command could otherwise hide part of it by making it look like a secret.
func (s ActionStatus) unredacted() string {
	if !s.plain {
		return ""
	}
	return s.Diff
}

func (s ActionStatus) text() string {
	switch s.Status {
	case needsConsent:
		return fmt.Sprintf("Not done yet: the user must confirm this first.\n%s\n\n%s\n\nnext: %s", s.Asks, strings.TrimRight(s.Diff, "\n"), s.How)
	case needsPerson:
		return fmt.Sprintf("Not done: the user must confirm this, and this client cannot ask them.\n%s\n\n%s\n\nnext: %s", s.Asks, strings.TrimRight(s.Diff, "\n"), s.How)
	case declined:
		return "Nothing was done. " + s.How
	}
	return strings.TrimSpace(s.How)
}

// inputNeeded carries a question to the client in the modern protocol era, where the client repeats
// the call with the user's answer.
type inputNeeded struct {
	state    string
	question mcpserver.Question
}

func (*inputNeeded) Error() string { return "waiting for the user to answer" }

const (
	maxPending       = 32
	pendingTimeout   = 30 * time.Minute
	maxQuestionBytes = 32 << 10 // of a question
	answerName       = "consent"
)

// confirm asks the user and runs then if they agree, now or when their answer arrives.
func confirm[Out any, P interface {
	*Out
	actionStatus() *ActionStatus
}](c *call, q question, then func(*call) (Out, error)) (out Out, err error) {
	got, err := c.confirm(q, P(&out).actionStatus(), func(c *call) (any, error) { return then(c) })
	if got != nil {
		out = got.(Out)
	}
	return out, err
}

// confirm returns what then returned if it ran, or else sets s. A call that was cancelled does not run it,
// whatever the user answers.
func (c *call) confirm(q question, s *ActionStatus, then func(*call) (any, error)) (got any, err error) {
	if c.verdict(q.operations...) == trust.Never {
		return nil, fmt.Errorf("%s does not support this operation, even with confirmation", c.tool)
	}
	if q.full == "" {
		q.full = q.shown
	}
	run := func(c *call) (any, error) {
		if c.ctx.Err() != nil {
			return nil, c.ctx.Err()
		}
		return then(c)
	}
	s.Asks, s.Diff, s.plain = q.title, q.shown, q.plain
	if len(q.full) > maxQuestionBytes {
		s.Status, s.Diff = needsPerson, ""
		s.How = fmt.Sprintf("The change (%d kB) is too large to confirm in a dialog. Tell the user to review it in a terminal: %s", len(q.full)>>10, q.typed)
		s.How = redact.Passage(s.How)
		return nil, nil
	}
	switch c.askMode() {
	case askDirectly:
		said, err := c.request.Ask(c.ctx, q.form())
		if err != nil && c.ctx.Err() != nil {
			return nil, c.ctx.Err()
		}
		if err != nil || !answersForm(said) {
			said = mcpserver.Answer{}
		}
		if agrees(said) {
			return run(c)
		}
		s.refused(said, q)
		return nil, nil
	case askByResult:
		state := rand.Text()
		c.service.put(state, &pending{q, c.digest, time.Now(), run, c.written})
		return nil, &inputNeeded{state, q.form()}
	}
	if !c.service.AllowWrites || q.hidden {
		s.Status = needsPerson
		s.How = "Tell the user to run this in a terminal: " + q.typed
		return nil, nil
	}
	c.service.put(q.token, &pending{q, c.digest, time.Now(), run, c.written})
	s.Status, s.Consent = needsConsent, q.token
	s.How = fmt.Sprintf("Show this to the user. If they agree, call %s with %s", c.tool, c.again(q.token))
	return nil, nil
}

func (s *ActionStatus) refused(said mcpserver.Answer, q question) {
	s.Status, s.Diff = declined, ""
	s.How = "The user did not answer. They can run this themselves: " + q.typed
	if said.Action == "decline" || said.Action == "accept" {
		s.How = "The user declined. Ask them how to proceed; do not attempt the same thing another way."
	}
}

// form returns the question as a form. The user must agree explicitly: nothing is preselected, and a form
// without an answer counts as no.
func (q question) form() mcpserver.Question {
	return mcpserver.Question{Message: plaintext.Visible(q.title) + "\n\n" + fleet.Fold(q.full), Schema: json.RawMessage(
		`{"type":"object","properties":{"agree":{"type":"boolean","title":"I agree","description":"Allow exactly this"}},"required":["agree"]}`)}
}

// answersForm reports whether an answer fits the form. One that does not counts as none: the dialog is broken.
func answersForm(said mcpserver.Answer) bool {
	_, ok := said.Content["agree"].(bool)
	return ok || said.Action != "accept" || said.Content == nil
}

func agrees(said mcpserver.Answer) bool {
	return said.Action == "accept" && said.Content["agree"] == true
}

// Ways of asking the user during a call.
const (
	cannotAsk   = iota
	askDirectly // by a request from the server during the call
	askByResult // by the result; the client repeats the call with the answer
)

func (c *call) askMode() int {
	switch {
	case !c.request.CanAsk():
		return cannotAsk
	case c.request.Modern():
		return askByResult
	}
	return askDirectly
}

// resume returns the pending question that a call answers, or nil if it answers none.
func (c *call) resume(consent string) (a *pending, said mcpserver.Answer, err error) {
	if state := c.request.State; state != "" {
		a = c.service.take(state)
		if a == nil || a.call != c.digest {
			return nil, said, failure("this response does not match a pending question", "call %s again without requestState", c.tool)
		}
		return a, c.request.Answers[answerName], nil
	}
	if consent == "" {
		return nil, said, nil
	}
	switch {
	case c.askMode() != cannotAsk:
		return nil, said, failure("the `consent` argument is not accepted: this client asks the user directly", "call %s again without consent", c.tool)
	case !c.service.AllowWrites:
		return nil, said, failure("the `consent` argument is not accepted: gauze mcp was started without --allow-writes", "call %s again without consent and give the user the command in the result", c.tool)
	}
	a = c.service.take(consent)
	switch {
	case a == nil:
		return nil, said, failure("this consent token is unknown, already used or expired", "call %s again without consent and show the user the new result", c.tool)
	case a.call != c.digest:
		return nil, said, failure("this consent token is for different arguments", "call %s again without consent and show the user the new result", c.tool)
	}
	return a, mcpserver.Answer{Action: "accept", Content: map[string]any{"agree": true}}, nil
}

// put adds a pending question and drops the oldest if there are too many.
func (svc *service) put(key string, a *pending) {
	svc.mu.Lock()
	defer svc.mu.Unlock()
	svc.order = append(slices.DeleteFunc(svc.order, func(k string) bool { return k == key }), key)
	svc.open[key] = a
	if len(svc.order) > maxPending {
		delete(svc.open, svc.order[0])
		svc.order = svc.order[1:]
	}
}

// take removes a pending question, so that an answer counts once.
func (svc *service) take(key string) *pending {
	svc.mu.Lock()
	defer svc.mu.Unlock()
	a := svc.open[key]
	delete(svc.open, key)
	svc.order = slices.DeleteFunc(svc.order, func(k string) bool { return k == key })
	if a == nil || time.Since(a.at) > pendingTimeout {
		return nil
	}
	return a
}

// candidate is a server that may need confirmation before it is started or reached.
type candidate struct {
	from  trust.Source
	spec  launch.Spec // as written, references not expanded
	thing trust.Thing // what the user is shown
	sends []string    // variables of the user's environment whose values go to its URL

	server *fleet.Server // the project's server; nil if an agent named it
}

// ofProject returns a project's server.
func ofProject(s *fleet.Server) candidate {
	return candidate{from: trust.Project, spec: s.Written(), sends: s.Sends(), thing: s.Thing(), server: s}
}

// ofAgent returns a server that an agent named.
func ofAgent(spec launch.Spec) candidate {
	return candidate{from: trust.Agent, spec: spec, thing: given(spec)}
}

// given returns what an agent named as a thing. It is started outside of the project.
func given(spec launch.Spec) trust.Thing {
	return trust.Thing{Kind: trust.ServerEntry, Where: "given by an agent", Bytes: spec.Fingerprint()}
}

func (s candidate) operation() operation {
	if s.spec.URL != "" {
		return operation{s.from, trust.Send}
	}
	return operation{s.from, trust.Start}
}

// texts returns what the agent and the user are shown.
func (s candidate) texts(f *fleet.Fleet) (outline, whole string, err error) {
	if s.server != nil {
		whole, err = s.server.Whole()
		return s.server.Outline(), whole, err
	}
	whole, err = fleet.Whole(s.spec, s.sends...)
	outline = fleet.Outline(s.spec, s.sends...)
	if stored := f.StoredLogin(s.spec); stored != "" {
		outline, whole = outline+"\n  may use a stored login", whole+"\n  may use "+stored
	}
	return outline, whole, err
}

// confirmStart asks whether the servers may be started or reached, unless no confirmation is needed
// or it was given before, and then runs then.
func confirmStart[Out any, P interface {
	*Out
	actionStatus() *ActionStatus
}](c *call, servers []candidate, typed string, then func(*call) (Out, error)) (out Out, err error) {
	q, open, err := c.startQuestion(servers, typed)
	if err != nil {
		return out, err
	}
	if len(open) == 0 {
		return then(c)
	}
	return confirm[Out, P](c, q, func(c *call) (Out, error) {
		c.agree(open)
		return then(c)
	})
}

// startQuestion returns which of the servers need confirmation, and what the user is asked.
func (c *call) startQuestion(servers []candidate, typed string) (q question, open []candidate, err error) {
	q = question{title: "Allow Gauze to run this on your machine as a test?", typed: typed, plain: true}
	sum := sha256.New()
	var shown, full []string
	for _, s := range servers {
		if c.verdict(s.operation()) == trust.Allowed || c.service.agreed(s.thing) {
			continue
		}
		outline, whole, err := s.texts(c.service.Fleet)
		if err != nil {
			return q, nil, failure("nothing was done: "+err.Error(), "shorten the command, or ask the user to run it in a terminal")
		}
		open = append(open, s)
		q.operations = append(q.operations, s.operation())
		shown, full = append(shown, outline), append(full, whole)
		fmt.Fprintln(sum, s.thing.Hash())
	}
	if len(open) == 1 && open[0].spec.URL != "" {
		q.title = "Allow Gauze to connect to this URL to test the server?"
	}
	q.shown, q.full, q.token = strings.Join(shown, "\n"), strings.Join(full, "\n"), hex.EncodeToString(sum.Sum(nil))[:32]
	return q, open, nil
}

// agreed reports whether the user has seen exactly this and allowed it, here or anywhere else.
func (svc *service) agreed(t trust.Thing) bool { return svc.session.Seen(t) || svc.Fleet.Seen.Seen(t) }

// agree remembers that the user allowed these servers: permanently if the client asked them, and while this
// process runs if the agent says so (AllowWrites).
func (c *call) agree(servers []candidate) {
	for _, s := range servers {
		c.rememberServer(s)
	}
}

// rememberServer remembers that the user allowed a server. What an agent named is remembered while this
// process runs: it may run a file that the agent changes later, and no entry of the user's has it.
func (c *call) rememberServer(s candidate) {
	if s.from == trust.Agent {
		c.service.session.Agreed(s.thing, s.spec.Label())
		return
	}
	c.remember(s.thing, s.spec.Label())
}

func (c *call) remember(t trust.Thing, about string) {
	c.service.session.Agreed(t, about)
	if c.askMode() != cannotAsk {
		c.service.Fleet.Seen.Agreed(t, about)
	}
}
