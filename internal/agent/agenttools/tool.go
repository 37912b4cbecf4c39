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
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze/internal/agent/mcptasks"
	"github.com/gauze-mcp/gauze/internal/mend/repair"
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
	t := tool{name: name, title: title, about: about, hints: h, out: reflect.TypeFor[Out]()}
	t.run = func(c *call, arguments []byte) (answer, error) {
		var in In
		if err := json.Unmarshal(arguments, &in); err != nil {
			return nil, failure("invalid arguments for "+name+": "+redact.Quote(err.Error()), "send a JSON object that matches the input schema")
		}
		return run(c, in)
	}
	svc.add(t, schemaOf(reflect.TypeFor[In]()))
}

// tool is a tool without its types.
type tool struct {
	name, title, about string
	hints
	out reflect.Type // what run returns
	run func(c *call, arguments []byte) (answer, error)
}

func (svc *service) add(t tool, input *jsonschema.Schema) {
	if len(operations[t.name]) == 0 {
		panic("agenttools: " + t.name + " is missing from the table of operations")
	}
	raw, err := json.Marshal(input)
	if err != nil {
		panic(err) // cannot happen with our own types
	}
	tier := repair.Silent
	if t.readOnly {
		tier = repair.Told
	}
	svc.server.AddTool(&mcp.Tool{
		Name: t.name, Title: t.title, Description: t.about, InputSchema: input, OutputSchema: outlineOf(t.out),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: t.readOnly, DestructiveHint: &t.destructive, IdempotentHint: t.idempotent, OpenWorldHint: &t.openWorld},
	}, func(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		c := svc.newCall(ctx, t.name, request)
		defer c.end()
		schema := repair.Compile(raw)
		out := schema.Arguments(request.Params.Arguments, repair.Options{Tool: t.name, Tier: tier})
		if out.Verdict == repair.Refused {
			return c.failed(errors.New(schema.Explain(t.name, out, 1).Text)), nil
		}
		arguments := out.Arguments
		if len(arguments) == 0 {
			arguments = []byte("{}")
		}
		return t.finish(c, arguments)
	})
}

// finish runs a call, or resumes it after the user has answered, and returns its result.
func (t tool) finish(c *call, arguments []byte) (*mcp.CallToolResult, error) {
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
		var got any
		if got, err = open.then(c); err == nil {
			out = got.(answer)
		}
	}
	var input *inputNeeded
	var later *taskGoesOn
	switch {
	case errors.As(err, &later):
		return mcptasks.Defer(later.id), nil
	case errors.As(err, &input):
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{answerName: input.params}, RequestState: input.state}, nil
	case c.ctx.Err() != nil:
		return nil, c.ctx.Err()
	case err != nil:
		return c.failed(err), nil
	}
	return c.answered(out), nil
}

// outlineOf returns the schema of a type without the fields of nested objects: they explain
// themselves, and every byte of tools/list is in the context of every session.
func outlineOf(t reflect.Type) *jsonschema.Schema {
	s := schemaOf(t)
	s.AdditionalProperties = nil
	for name, property := range s.Properties {
		s.Properties[name] = &jsonschema.Schema{Type: property.Type, Types: property.Types, Description: property.Description}
	}
	return s
}

// schemaOf returns the schema of a type. Lists are never null.
func schemaOf(t reflect.Type) *jsonschema.Schema {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[json.RawMessage](): {}}})
	if err != nil {
		panic(err) // cannot happen with our own types
	}
	plain(s)
	return s
}

func plain(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) == 2 && s.Types[0] == "null" && s.Types[1] != "string" {
		s.Type, s.Types = s.Types[1], nil
	}
	for _, property := range s.Properties {
		plain(property)
	}
	plain(s.Items)
	plain(s.AdditionalProperties)
}

// call is a tool call in progress.
type call struct {
	service *service
	ctx     context.Context
	tool    string
	request *mcp.CallToolRequest
	digest  string // hash of the tool and its arguments without consent
	stop    context.CancelFunc

	mu      sync.Mutex
	steps   int
	told    time.Time
	secrets []redact.Secrets // values that no result may contain
}

func (svc *service) newCall(ctx context.Context, tool string, request *mcp.CallToolRequest) *call {
	c := &call{service: svc, tool: tool, request: request}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(svc.ctx, cancel) // the SDK waits for calls at shutdown but does not cancel them
	c.ctx, c.stop = ctx, func() { stop(); cancel() }
	c.secrets = []redact.Secrets{redact.EnvironSecrets(svc.Fleet.Home.Environ)}
	return c
}

func (c *call) end() { c.stop() }

// identify stores the digest of the call and returns its consent token.
func (c *call) identify(arguments []byte) (consent string) {
	var all map[string]any
	_ = json.Unmarshal(arguments, &all) // it was decoded before
	consent, _ = all["consent"].(string)
	delete(all, "consent")
	canonical, _ := json.Marshal(all)
	sum := sha256.Sum256(append([]byte(c.tool+"\n"), canonical...))
	c.digest = hex.EncodeToString(sum[:])
	return consent
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
	token := c.request.Params.GetProgressToken()
	if token == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.told) < 100*time.Millisecond && c.steps > 20 { // throttle a server that reports often
		return
	}
	c.steps++
	c.told = time.Now()
	_ = c.request.Session.NotifyProgress(c.ctx, &mcp.ProgressNotificationParams{
		Meta: mcptasks.Related(mcptasks.IDOf(c.request)), ProgressToken: token, Progress: float64(c.steps), Message: redact.Quote(c.hide(fmt.Sprintf(format, args...))),
	}) // the client may be gone
}

// answered returns a successful result, with known secrets redacted once more.
func (c *call) answered(out answer) *mcp.CallToolResult {
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
	return &mcp.CallToolResult{StructuredContent: value, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
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
func (c *call) failed(err error) *mcp.CallToolResult {
	text := c.hide(redact.Text(err.Error()))
	var unknown *fleet.NotFoundError
	if errors.As(err, &unknown) {
		text += "\nnext: call list_servers for all names; use CLIENT/NAME for a server of one client"
	}
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// failure returns an error that ends with the next step.
func failure(what, next string, args ...any) error {
	return errors.New(what + "\nnext: " + fmt.Sprintf(next, args...))
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
