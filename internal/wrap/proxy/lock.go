package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/mend/repair"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/probe"
	"github.com/gauze-mcp/gauze/internal/wrap/stages/gate"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// Values of Known.Lock.
const (
	LockWarn  = "warn"  // the client gets list_changed, and the event is recorded
	LockAsk   = "ask"   // the same, and the user is asked before a call is sent; without an answer it is not
	LockBlock = "block" // the same, and the call is not sent
)

// locks reports whether some tools may not be called.
func (k Known) locks() bool { return k.Accepted != nil && (k.Lock == LockAsk || k.Lock == LockBlock) }

// lock is the stage that refuses calls of tools that the user has not accepted. The tools that a server lists first are
// accepted. Calls wait until the live server has listed its tools (kernel.Options.Sure), so that none of them is judged by
// what gauze remembers.
type lock struct {
	kernel.Bystander
	kernel *kernel.Session
	label  string
	asks   bool
	kept   Shelf
	whose  []string // identifies what this principal accepted, and then what the operator did

	asking sync.Mutex // one question at a time
}

// newLock returns the stage. What gauze remembers of the server is accepted, unless something else was before.
func newLock(o *Options, label string) *lock {
	of := o.Known.Written
	if of.URL == "" && of.Command == "" {
		of = o.Spec
	}
	l := &lock{label: label, asks: o.Known.Lock == LockAsk, kept: o.Known.Accepted, whose: []string{acceptedBy(of, o.Principal), acceptedBy(of, "")}}
	if o.Known.Shelf != nil && o.Principal == "" {
		if list := Remembered(o.Known.Shelf, o.Spec); len(list) > 0 {
			l.accepted(hashes(probe.ReadTools(list)))
		}
	}
	return l
}

// acceptedBy identifies the server whose tools were accepted, and by whom; the operator is the empty principal.
func acceptedBy(spec launch.Spec, principal string) string { return anyone(spec) + " " + principal }

// Accept makes tools those that the operator accepts of a server.
func Accept(kept Shelf, spec launch.Spec, tools []probe.Tool) {
	keepAccepted(kept, acceptedBy(spec, ""), hashes(tools))
}

// Reject records that the operator accepts no tool of a server, unless some were accepted: the first list would be.
func Reject(kept Shelf, spec launch.Spec) {
	if whose := acceptedBy(spec, ""); kept.Get(whose) == nil {
		keepAccepted(kept, whose, nil)
	}
}

// NotAccepted returns the tools among those of a server that are new or have changed since the operator accepted its
// tools, all of them if that has not happened.
func NotAccepted(kept Shelf, spec launch.Spec, tools []probe.Tool) []probe.Tool {
	var accepted map[string]string
	_ = json.Unmarshal(kept.Get(acceptedBy(spec, "")), &accepted) // what cannot be read accepts nothing
	now := hashes(tools)
	return slices.DeleteFunc(slices.Clone(tools), func(t probe.Tool) bool { return accepted[t.Name] == now[t.Name] })
}

// hashes returns the hashes of the definitions of tools, by name.
func hashes(tools []probe.Tool) map[string]string {
	all := map[string]string{}
	for _, t := range tools {
		hash := t.Definition
		if first, twice := all[t.Name]; twice {
			hash = both(first, hash)
		}
		all[t.Name] = hash
	}
	return all
}

func keepAccepted(kept Shelf, whose string, tools map[string]string) {
	text, _ := json.Marshal(tools) // cannot fail: it has nothing but strings
	kept.Put(whose, text)
}

// readLocked is gate.ReadTool with the whole definition: all entries with the name, because it is not known which one a model
// reads.
func readLocked(item []byte, before any) any {
	tool, ok := gate.ReadTool(item, nil).(*gate.Tool)
	if !ok { // a client may read it nevertheless
		tool = &gate.Tool{Schema: repair.Compile(nil)}
	}
	tool.Entry, tool.Hash = bytes.Clone(item), probe.Definition(item)
	if before, twice := before.(*gate.Tool); twice {
		tool.Entry, tool.Hash = slices.Concat(before.Entry, []byte("\n"), tool.Entry), both(before.Hash, tool.Hash)
	}
	return tool
}

// both returns the hash of two entries with one name.
func both(first, second string) string { return first + "+" + second }

// Arrive refuses a call of a tool that is not accepted.
func (l *lock) Arrive(c *kernel.Call) kernel.Ruling {
	if !c.IsTool() {
		return kernel.Pass
	}
	now := l.listed()
	hash, known := now[c.Tool()]
	if !known {
		return kernel.Pass // it waits for the list, or the server does not have it
	}
	accepted := l.accepted(now)
	if accepted[c.Tool()] == hash {
		return kernel.Pass
	}
	return kernel.Refuse(&fault.Fault{Code: fault.ToolLocked, Delivery: fault.Unsent, Detail: difference(accepted, now)})
}

// Check is Arrive for a call that waited until the tools were listed.
func (l *lock) Check(c *kernel.Call) kernel.Ruling { return l.Arrive(c) }

// End accepts the first list.
func (l *lock) End(c *kernel.Call, e *kernel.EndedCall) {
	if now := l.listed(); c.Method() == toolsList && e.Outcome == kernel.OutcomeOK && len(now) > 0 {
		l.accepted(now)
	}
}

// listed returns the hashes of the tools that the live server lists, by name.
func (l *lock) listed() map[string]string {
	all := map[string]string{}
	for name, data := range kernel.Live(l.kernel) {
		if tool, ok := data.(*gate.Tool); ok {
			all[name] = tool.Hash
		}
	}
	return all
}

// accepted returns the tools that were accepted. If there are none yet, those of now are.
func (l *lock) accepted(now map[string]string) map[string]string {
	all, found := map[string]string{}, false
	for _, whose := range l.whose {
		text := l.kept.Get(whose)
		if text == nil {
			continue
		}
		var one map[string]string
		_ = json.Unmarshal(text, &one) // what cannot be read accepts nothing
		found = true
		for name, hash := range one {
			if _, known := all[name]; !known || hash == now[name] {
				all[name] = hash
			}
		}
	}
	if !found {
		keepAccepted(l.kept, l.whose[0], now)
		return now
	}
	return all
}

// Fail asks the user about a call that is refused, if the client can.
func (l *lock) Fail(c *kernel.Call, f *kernel.Failure) kernel.Ruling {
	if !l.asks || f.Fault == nil || f.Fault.Code != fault.ToolLocked || !l.canAsk() {
		return kernel.Pass
	}
	about := slices.Clone(c.ID())
	return kernel.Hold(func(ctx context.Context, h *kernel.Held) {
		l.asking.Lock()
		defer l.asking.Unlock()
		tool := h.Call().Tool()
		if l.mayCall(tool) || l.ask(ctx, about, h.Call()) {
			h.Continue()
		}
	})
}

// canAsk reports whether the client can ask its user.
func (l *lock) canAsk() bool {
	elicits, _ := wire.Field(l.kernel.Capabilities(), "elicitation")
	return elicits != nil
}

// mayCall reports whether a tool has been accepted meanwhile.
func (l *lock) mayCall(tool string) bool {
	now := l.listed()
	hash, known := now[tool]
	return known && l.accepted(now)[tool] == hash
}

// maxShown is the longest definition of a tool that a client's dialog can be expected to show.
const maxShown = 4000

// ask shows the user the tool of a call as the server lists it now, and asks whether it is accepted.
func (l *lock) ask(ctx context.Context, about []byte, c *kernel.Call) bool {
	tool, ok := kernel.Live(l.kernel)[c.Tool()].(*gate.Tool)
	if !ok {
		return false
	}
	definition := probe.Shown(tool.Entry)
	if len(definition) > maxShown {
		return false
	}
	message := fmt.Sprintf("The tool %s of the MCP server %s is not one that you accepted. It is now:\n\n%s\n\nAccept it?", redact.Quote(c.Tool()), l.label, definition)
	params, _ := json.Marshal(map[string]any{"message": message, "requestedSchema": map[string]any{"type": "object", "properties": map[string]any{}}})
	question, err := l.kernel.Ask(about, c, "elicitation/create", params)
	if err != nil {
		return false
	}
	select {
	case m := <-question.Answer():
		if action, _ := wire.Field(m.Result, "action"); string(action) != `"accept"` {
			return false
		}
	case <-ctx.Done():
		return false
	}
	now := l.listed()
	accepted := l.accepted(now)
	accepted[c.Tool()] = tool.Hash
	keepAccepted(l.kept, l.whose[0], accepted)
	hash, listed := now[c.Tool()] // a restarted server may not have listed it again; if it then has changed, the kernel ends the wait
	return !listed || hash == tool.Hash
}

// maxDiffering is how many tools of a difference are named.
const maxDiffering = 5

// difference names the tools that are new or have changed. Those that are gone do no harm.
func difference(accepted, now map[string]string) string {
	var changed, added []string
	for name, hash := range now {
		switch was, known := accepted[name]; {
		case !known:
			added = append(added, name)
		case was != hash:
			changed = append(changed, name)
		}
	}
	var all []string
	for _, kind := range []struct {
		is    string
		names []string
	}{{"changed", changed}, {"new", added}} {
		if n := len(kind.names); n > 0 {
			slices.Sort(kind.names)
			text := kind.is + ": " + redact.Quote(strings.Join(kind.names[:min(n, maxDiffering)], ", "))
			if n > maxDiffering {
				text += fmt.Sprintf(" and %d more", n-maxDiffering)
			}
			all = append(all, text)
		}
	}
	return strings.Join(all, "; ")
}
