package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/hub/names"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// owners says which server has what is not in a list.
type owners struct {
	links map[string]*member // resources that results have named, by URI
	tasks map[string]*member // by id; nil: two servers have a task with this id
}

func newOwners() owners {
	return owners{links: map[string]*member{}, tasks: map[string]*member{}}
}

// maxOwned is how many links and tasks are kept. Further ones take the place of any other.
const maxOwned = 10_000

// began notes that a server has a task.
func (o *owners) began(task string, of *member) {
	if owner, known := o.tasks[task]; known && owner != of {
		of = nil
	}
	keep(o.tasks, task, of)
}

func keep(in map[string]*member, key string, of *member) {
	if _, known := in[key]; !known && len(in) >= maxOwned {
		for any := range in {
			delete(in, any)
			break
		}
	}
	in[key] = of
}

// leave gives the links of a server that left to the one that has its place, and forgets its tasks.
func (o *owners) leave(of *member) {
	maps.DeleteFunc(o.tasks, func(_ string, owner *member) bool { return owner == of })
	for uri, owner := range o.links {
		if owner == of {
			delete(o.links, uri)
			o.linked(uri, of)
		}
	}
}

// linked notes that a result of a server has named a resource.
func (o *owners) linked(uri string, of *member) {
	if of = of.heir(); of != nil {
		keep(o.links, uri, of)
	}
}

// learn reads what the result of a call says about owners, and reports whether a task has begun that can be asked for.
func (o *owners) learn(result []byte, of *member) (task bool) {
	if bytes.Contains(result, []byte(`"taskId"`)) {
		began, _ := wire.Field(result, "task")
		raw, _ := wire.Field(began, "taskId")
		id, named := wire.Text(raw)
		if task = named && !of.gone; task {
			o.began(id, of)
		}
	}
	if !bytes.Contains(result, []byte(`"resource`)) {
		return task
	}
	content, _ := wire.Field(result, "content")
	_ = wire.Elements(content, func(item []byte) { // what is not an array names nothing
		resource, _ := wire.Field(item, "resource")
		for _, object := range [][]byte{item, resource} {
			raw, _ := wire.Field(object, "uri")
			if uri, ok := wire.Text(raw); ok {
				o.linked(uri, of)
			}
		}
	})
	return task
}

// problem is why a request is for no server.
type problem struct {
	code int
	text string
}

// target is where a request goes.
type target struct {
	member  *member   // nil: it is not known
	edit    wire.Edit // of its name
	lists   []string  // these have to be known to tell; nil: none has to
	unknown *problem  // why no server has it, if the lists do not tell
	uri     string    // of a resource that no server may have
}

// route returns the server that a request is for, and what changes in it. The caller holds the lock.
func (v *View) route(m *wire.Message) (to target, p *problem) {
	switch m.Method {
	case "tools/call":
		return v.byName(m.Params, "tools/list", "tool")
	case "prompts/get":
		return v.byName(m.Params, "prompts/list", "prompt")
	case "completion/complete":
		ref, _ := wire.Field(m.Params, "ref")
		if name, _ := wire.Field(ref, "name"); name != nil {
			return v.byName(ref, "prompts/list", "prompt")
		}
		return v.byURI(ref)
	}
	var fields [3][]byte
	_ = wire.Fields(m.Params, fields[:], "taskId", "uri", "name") // params that are ambiguous have none of them
	switch {
	case fields[0] != nil:
		return v.byTask(fields[0])
	case fields[1] != nil:
		return v.byURI(m.Params)
	case len(v.members) == 1:
		return target{member: v.members[0]}, nil
	}
	return to, &problem{codeUnknownMethod, fmt.Sprintf("%q is not supported here: it does not say which of the %d servers it is for", m.Method, len(v.members))}
}

// byName routes by the name of a tool or prompt, as the view advertises it.
func (v *View) byName(object []byte, method, kind string) (to target, p *problem) {
	raw, _ := wire.Field(object, "name")
	name, ok := wire.Text(raw)
	if !ok {
		return to, &problem{codeInvalidParams, "the " + kind + " has no name"}
	}
	owner, original := v.named(name, method)
	switch {
	case owner == nil:
		return target{lists: []string{method}, unknown: &problem{codeInvalidParams, v.unknown(name, method, kind)}}, nil
	case owner.Closed != "": // which the answer says
	case kind == "tool" && owner.Admits != nil && !owner.lists[method].known:
		return target{lists: []string{method}, unknown: &problem{codeInvalidParams, fmt.Sprintf("the server %q has not listed its tools yet, so gauze cannot tell whether this one is part of the view", owner.Key)}}, nil
	case kind == "tool" && owner.Admits != nil && !owner.offers(original):
		return to, &problem{codeInvalidParams, fmt.Sprintf("the tool %q of the server %q is not part of this view", original, owner.Key)}
	}
	return target{member: owner, edit: wire.Edit{Old: raw, New: quoted(original)}}, nil
}

// quoted returns a name as JSON.
func quoted(name string) []byte {
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			raw, _ := json.Marshal(name) // cannot fail: a string
			return raw
		}
	}
	raw := make([]byte, 0, len(name)+2)
	return append(append(append(raw, '"'), name...), '"')
}

// named returns the server of an advertised name, and the name it has there; nil: none has it.
func (v *View) named(name, method string) (owner *member, original string) {
	for _, m := range v.members {
		if !strings.HasPrefix(name, m.Key) {
			continue // all its names begin with it: most servers are not looked at
		}
		if original, listed := m.lists[method].names[name]; listed {
			return m, original
		}
	}
	// The server may accept what it has not listed, and knows how to mend a name that is almost right.
	for _, m := range v.members {
		if rest, found := strings.CutPrefix(name, names.Advertised(m.Key, "")); found && names.Advertised(m.Key, rest) == name {
			return m, rest
		}
	}
	if key, _, found := strings.Cut(name, names.Advertised("", "")); found && names.ValidKey(key) {
		return nil, "" // it is for a server that is not part of the view, and for no other
	}
	return v.unprefixed(name, method), name
}

// offers reports whether the server lists a tool, and it is part of the view. A name that is only almost right could be
// mended to one that is not.
func (m *member) offers(tool string) bool {
	_, listed := m.lists["tools/list"].byName[tool]
	return listed && m.admits(tool)
}

// unprefixed returns the only server that has listed a name without its prefix: models shorten names.
func (v *View) unprefixed(name, method string) (found *member) {
	for _, m := range v.members {
		for _, original := range m.lists[method].names {
			if original != name {
				continue
			}
			if found != nil {
				return nil
			}
			found = m
		}
	}
	return found
}

// unknown says that no server has a name.
func (v *View) unknown(name, method, kind string) string {
	var all []string
	for _, m := range v.members {
		for advertised := range m.lists[method].names {
			all = append(all, advertised)
		}
	}
	slices.Sort(all)
	text := fmt.Sprintf("no server has a %s %q", kind, name)
	if near := plaintext.Nearest(name, all); len(near) > 0 {
		text += fmt.Sprintf("; did you mean %q?", near[0])
	}
	return text
}

// byURI routes by the owner of a resource.
func (v *View) byURI(object []byte) (to target, p *problem) {
	raw, _ := wire.Field(object, "uri")
	uri, ok := wire.Text(raw)
	if !ok {
		return to, &problem{codeInvalidParams, "the resource has no uri"}
	}
	for _, owner := range []*member{v.lister(uri), v.owners.links[uri], v.byTemplate(uri)} {
		if owner != nil {
			return target{member: owner}, nil
		}
	}
	if offering := v.offering("resources/list"); len(offering) == 1 {
		return target{member: offering[0]}, nil
	}
	code := codeNoResource
	if v.initialize == nil {
		code = codeInvalidParams
	}
	return target{lists: announced["notifications/resources/list_changed"], unknown: &problem{code, fmt.Sprintf("no server has listed the resource %q, or a template for it", uri)}, uri: uri}, nil
}

// byTemplate returns the server whose template fits best: it has the longest beginning in common with the URI.
func (v *View) byTemplate(uri string) (found *member) {
	longest := 0
	for _, m := range v.members {
		for template := range m.lists["resources/templates/list"].names {
			head, rest, variable := strings.Cut(template, "{")
			tail := rest[strings.LastIndexByte(rest, '}')+1:]
			fits := variable && len(uri) >= len(head)+len(tail) && strings.HasPrefix(uri, head) && strings.HasSuffix(uri, tail)
			if fits && len(head) > longest {
				found, longest = m, len(head)
			}
		}
	}
	return found
}

// offering returns the servers that may have something to list.
func (v *View) offering(method string) (all []*member) {
	for _, m := range v.members {
		if l := m.lists[method]; m.Closed == "" && !m.otherEra() && !(l.known && l.none) {
			all = append(all, m)
		}
	}
	return all
}

// byTask routes by the server that began a task.
func (v *View) byTask(raw []byte) (to target, p *problem) {
	id, _ := wire.Text(raw)
	owner, known := v.owners.tasks[id]
	switch {
	case owner != nil:
		return target{member: owner}, nil
	case known:
		return to, &problem{codeInvalidParams, fmt.Sprintf("two servers have a task with the id %q, so gauze cannot tell which one is meant", id)}
	}
	return to, &problem{codeInvalidParams, fmt.Sprintf("no task with the id %q was begun in this session", id)}
}
