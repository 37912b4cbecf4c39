package agenttools

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/agent/mcpserver"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// hints are the annotations of a tool.
type hints struct{ readOnly, destructive, idempotent, openWorld bool }

// answer is what a tool returns: data, and a short text with the same content.
type answer interface{ text() string }

// add registers a tool. Its schemas are derived from the types. Arguments are validated against the
// input schema like those of any server behind Gauze: repaired where the meaning is clear, or
// rejected with every error and a call that would be valid.
//
// What it and other functions with type parameters do is in functions without them, because the
// compiler makes a copy for each type.
func add[In any, Out answer](svc *service, name, title, about string, h hints, run func(*call, In) (Out, error)) {
	t := tool{name: name, title: title, about: about, hints: h, in: reflect.TypeFor[In](), out: reflect.TypeFor[Out]()}
	t.run = func(c *call, arguments []byte) (answer, error) {
		var in In
		if err := json.Unmarshal(arguments, &in); err != nil {
			return nil, failure("invalid arguments for "+name+": "+redact.Quote(err.Error()), "send a JSON object that matches the input schema")
		}
		return run(c, in)
	}
	svc.add(t)
}

// tool is a tool without its types.
type tool struct {
	name, title, about string
	hints
	in, out reflect.Type // of what run receives and returns
	run     func(c *call, arguments []byte) (answer, error)
}

func (svc *service) add(t tool) {
	if len(operations[t.name]) == 0 {
		panic("agenttools: " + t.name + " is missing from the table of operations")
	}
	svc.tools = append(svc.tools, t)
}

// served returns a tool as it is offered.
func (svc *service) served(t tool) mcpserver.Tool {
	input := schemaOf(t.in).encoded()
	return mcpserver.Tool{
		Name: t.name, Title: t.title, Description: t.about, InputSchema: input, OutputSchema: outlineOf(t.out).encoded(),
		Annotations: mcpserver.Annotations{ReadOnly: t.readOnly, Destructive: t.destructive, Idempotent: t.idempotent, OpenWorld: t.openWorld},
		Unlisted:    !svc.AllTools && !slices.Contains(defaultTools, t.name),
		Run: func(ctx context.Context, request *mcpserver.Call) (*mcpserver.Result, error) {
			c := svc.newCall(ctx, t.name, request)
			in := admit(&svc.gate, t.name, input, t.readOnly || t.idempotent, request.Arguments)
			if in.refusal != "" {
				return c.failed(errors.New(in.refusal)), nil
			}
			c.note = in.note
			return t.finish(c, in.arguments)
		},
	}
}

// finish runs a call, or resumes it after the user has answered, and returns its result.
func (t tool) finish(c *call, arguments []byte) (*mcpserver.Result, error) {
	consent := c.identify(arguments)
	open, said, err := c.resume(consent)
	var out answer
	switch {
	case err != nil:
	case open == nil:
		out, err = t.run(c, arguments)
	case !agrees(said):
		none := reflect.New(t.out)
		s := none.Interface().(interface{ actionStatus() *ActionStatus }).actionStatus() // every tool that asks has one
		s.Asks = open.title
		s.refused(said, open.question)
		out = none.Elem().Interface().(answer)
	default:
		c.written = open.written
		var got any
		if got, err = open.then(c); err == nil {
			out = got.(answer)
		}
	}
	var input *inputNeeded
	var later *taskGoesOn
	switch {
	case errors.As(err, &later):
		return &mcpserver.Result{Task: later.id}, nil
	case c.ctx.Err() != nil && !c.applied && len(c.written) == 0:
		return nil, c.ctx.Err()
	case c.ctx.Err() != nil && (errors.As(err, &input) || errors.Is(err, c.ctx.Err())):
		return c.failed(c.cancelledLate()), nil
	case errors.As(err, &input):
		return &mcpserver.Result{Ask: map[string]mcpserver.Question{answerName: input.question}, State: input.state}, nil
	case err != nil:
		return c.failed(err), nil
	}
	return c.answered(out), nil
}

// cancelledLate returns the error of a call that was cancelled after it had changed files.
func (c *call) cancelledLate() error {
	if len(c.written) == 0 {
		return failure("the request was cancelled, and no file was changed", "call %s again if it is still needed", c.tool)
	}
	return failure("the request was cancelled after files were changed:"+writtenText(c.written), "tell the user what was changed")
}

// call is a tool call in progress.
type call struct {
	service *service
	ctx     context.Context
	tool    string
	request *mcpserver.Call
	digest  string // hash of the tool and its arguments without consent
	same    []byte // its arguments without consent
	note    string // what the gate adjusted, for the model
	// applied says that the call has begun to change files, and written what it changed so far. A cancellation
	// that arrives later does not hide that.
	applied bool
	written []Written

	mu      sync.Mutex
	steps   int
	told    time.Time
	secrets []redact.Secrets // values that no result may contain
}

func (svc *service) newCall(ctx context.Context, tool string, request *mcpserver.Call) *call {
	return &call{service: svc, ctx: ctx, tool: tool, request: request, secrets: []redact.Secrets{redact.EnvironSecrets(svc.Fleet.Home.Environ)}}
}

// identify stores the digest of the call and returns its consent token.
func (c *call) identify(arguments []byte) (consent string) {
	var all map[string]any
	_ = json.Unmarshal(arguments, &all) // it was decoded before
	consent, _ = all["consent"].(string)
	delete(all, "consent")
	canonical, _ := json.Marshal(all)
	sum := sha256.Sum256(append([]byte(c.tool+"\n"), canonical...))
	c.digest, c.same = hex.EncodeToString(sum[:]), canonical
	return consent
}

// again returns the arguments that repeat a call with a consent token, or says which they are if they
// are long or contain a secret.
func (c *call) again(consent string) string {
	const maxShown = 500 // bytes
	same := string(c.same)
	if len(same) > maxShown || redact.Text(same) != same || c.hide(same) != same {
		return fmt.Sprintf("the same arguments and \"consent\": %q", consent)
	}
	same = strings.TrimSuffix(same, "}")
	if same != "{" {
		same += ","
	}
	return fmt.Sprintf("%s\"consent\":%q}", same, consent)
}

// hideSecretsOf registers the known secrets of all servers for redaction. Values that are only
// suspected to be secret are not included: server output is already redacted, and in our own
// messages they may be a name.
func (c *call) hideSecretsOf(view *fleet.View) {
	c.secrets = append(c.secrets, view.Secrets().Certain())
}

func (c *call) hide(text string) string {
	for _, s := range c.secrets {
		text = s.Redact(text)
	}
	return text
}

// progress sends a progress notification if the client asked for them.
func (c *call) progress(format string, args ...any) {
	if !c.request.WantsProgress() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.told) < 100*time.Millisecond && c.steps > 20 { // throttle a server that reports often
		return
	}
	c.steps++
	c.told = time.Now()
	c.request.Progress(c.steps, redact.Quote(c.hide(fmt.Sprintf(format, args...))))
}

// answered returns a successful result, with known secrets redacted once more.
func (c *call) answered(out answer) *mcpserver.Result {
	data, err := json.Marshal(out)
	var value any
	if err == nil {
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.UseNumber() // a float64 would round the numbers in arguments
		err = decoder.Decode(&value)
	}
	if err != nil {
		return c.failed(err)
	}
	value = c.redacted(value)
	text := c.hide(out.text())
	if d, ok := out.(interface{ unredacted() string }); ok && d.unredacted() != "" {
		value.(map[string]any)["diff"] = d.unredacted()
		before, after, _ := strings.Cut(out.text(), d.unredacted())
		text = c.hide(before) + d.unredacted() + c.hide(after)
	}
	if c.note != "" {
		text += "\n\n" + c.note
	}
	return &mcpserver.Result{Structured: value, Text: text}
}

func (c *call) redacted(value any) any {
	switch v := value.(type) {
	case string:
		return c.hide(v)
	case []any:
		for i := range v {
			v[i] = c.redacted(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = c.redacted(v[key])
		}
	}
	return value
}

// failed returns an error result that the model can act on.
func (c *call) failed(err error) *mcpserver.Result {
	var unknown *fleet.NotFoundError
	if errors.As(err, &unknown) {
		err = c.notFound(unknown)
	}
	return &mcpserver.Result{IsError: true, Text: c.hide(redact.Text(err.Error()))}
}

// notFound words an unknown server in terms of these tools.
func (c *call) notFound(e *fleet.NotFoundError) error {
	text, next := e.Error(), "call list_servers with {} for all names"
	switch {
	case len(e.Near) > 0:
	case len(e.Have) > 0:
		text = fmt.Sprintf("no server named %q; the servers are %s", redact.Quote(e.Name), strings.Join(e.Have, ", "))
	case e.Mistake != "":
		text = fmt.Sprintf("no server named %q: %s", redact.Quote(e.Name), e.Mistake)
	default:
		text = fmt.Sprintf("no server named %q: gauze did not find any servers in the clients' files", redact.Quote(e.Name))
	}
	if c.tool == "check_health" || c.tool == "heal_server" {
		next = "call " + c.tool + " with {} for all servers and files, or list_servers with {} for their names"
	}
	return failure(text, "%s", next)
}

// failure returns an error that ends with the next step.
func failure(what, next string, args ...any) error {
	return errors.New(what + "\nnext: " + fmt.Sprintf(next, args...))
}

// names is a server or client, or several: with commas between them, or as a list in JSON.
type names string

func (n names) list() (all []string) {
	if all, ok := n.exactly(); ok {
		return all
	}
	for name := range strings.SplitSeq(string(n), ",") {
		if name = strings.TrimSpace(name); name != "" {
			all = append(all, name)
		}
	}
	return all
}

// exactly returns the names of a list in JSON.
func (n names) exactly() (all []string, ok bool) {
	if !strings.HasPrefix(strings.TrimSpace(string(n)), "[") || json.Unmarshal([]byte(n), &all) != nil {
		return nil, false
	}
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return slices.DeleteFunc(all, func(name string) bool { return name == "" }), true
}

// choose returns the servers with these names. A name may contain a comma itself. The names in a list are
// never the parts of one.
func choose(view *fleet.View, server, client names) ([]*fleet.Server, error) {
	choice := fleet.Choice{Names: server.list(), Clients: client.list()}
	if _, exact := server.exactly(); !exact && len(choice.Names) > 1 {
		whole := fleet.Choice{Names: []string{string(server)}, Clients: choice.Clients}
		if chosen, err := view.Choose(whole); err == nil {
			return chosen, nil
		}
	}
	return view.Choose(choice)
}

// seconds converts a timeout argument.
func seconds(n float64) (time.Duration, error) {
	if n < 0 || n > 600 {
		return 0, failure(fmt.Sprintf("invalid timeout_seconds %v: must be between 1 and 600", n), `for example {"timeout_seconds": 30}`)
	}
	return time.Duration(n * float64(time.Second)), nil
}

func orDefault(given *bool, otherwise bool) bool {
	if given == nil {
		return otherwise
	}
	return *given
}
