package view

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gauze-mcp/gauze/internal/hub/search"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// How tools are listed.
const (
	ListDirect = "direct" // all of them
	ListSearch = "search" // three tools instead, which find and call the others
	ListAuto   = "auto"   // search if there are more than autoLimit, and the client does not search itself
)

// autoLimit is how many tools clients cope with.
const autoLimit = 40

// The tools of search. There are two to call others, so that a client can let its user allow all that read.
const (
	findTools = "find_tools"
	callRead  = "call_read"
	callWrite = "call_write"
)

// searchTools is the list of tools while searching.
var searchTools = []byte(`{"tools":[` +
	`{"name":"` + findTools + `","description":"Finds tools of the connected servers. Search before you decide that something cannot be done. Returns the names of the best matches with their descriptions and input schemas; call them with call_read or call_write.","inputSchema":{"type":"object","properties":{"query":{"type":"string","description":"What you want to do, in a few words"},"limit":{"type":"integer","minimum":1,"maximum":50,"description":"How many tools to return (default 8)"}},"required":["query"]},"annotations":{"readOnlyHint":true,"openWorldHint":false}},` +
	`{"name":"` + callRead + `","description":"Calls a read-only tool, by the name that find_tools returned.","inputSchema":` + callSchema + `,"annotations":{"readOnlyHint":true}},` +
	`{"name":"` + callWrite + `","description":"Calls any tool, also one that changes something, by the name that find_tools returned.","inputSchema":` + callSchema + `,"annotations":{"readOnlyHint":false,"destructiveHint":true}}` +
	`]}`)

// SearchList returns the list of tools that clients get instead of a long one.
func SearchList() []byte { return searchTools }

const callSchema = `{"type":"object","properties":{"name":{"type":"string","description":"Name of the tool"},"arguments":{"type":"object","description":"Its arguments, as its input schema says"}},"required":["name"]}`

// decideSearch decides whether tools are searched instead of listed. Once every server has listed its tools it stays so
// until the file changes. The caller holds the lock.
func (v *View) decideSearch() bool {
	if v.decided || v.options.List != ListAuto {
		return v.searching
	}
	count, all := 0, true
	for _, m := range v.members {
		l := m.lists["tools/list"]
		count, all = count+len(l.items), all && (l.known || m.Closed != "" || m.otherEra())
	}
	v.searching = count > autoLimit && !v.clientSearches()
	v.decided = all
	return v.searching
}

// clientSearches reports whether the client is known to search long lists of tools itself. The caller holds the lock.
func (v *View) clientSearches() bool {
	info, _ := wire.Field(v.initialize, "clientInfo")
	if v.initialize == nil {
		info, _ = wire.Field(v.modern.meta, wire.MetaClient)
	}
	raw, _ := wire.Field(info, "name")
	name, _ := wire.Text(raw)
	return strings.HasPrefix(strings.ToLower(name), "claude-code")
}

// searched handles a call of a tool while tools are searched. The caller holds the lock.
func (v *View) searched(m *wire.Message) {
	var params [2][]byte
	_ = wire.Fields(m.Params, params[:], "name", "arguments") // ambiguous params have none of them
	switch name, _ := wire.Text(params[0]); name {
	case findTools:
		v.find(m, params[1])
	case callRead:
		v.found(m, params, true)
	case callWrite:
		v.found(m, params, false)
	default:
		v.forward(m) // a name that the client has from elsewhere
	}
}

// found makes the call that call_read or call_write names. The caller holds the lock.
func (v *View) found(m *wire.Message, params [2][]byte, reads bool) {
	var inner [2][]byte
	_ = wire.Fields(params[1], inner[:], "name", "arguments") // ambiguous ones have none of them
	tool, ok := wire.Text(inner[0])
	if !ok {
		v.out.answer(m.ID, failedResult(`The argument "name" is missing: pass the name of a tool that `+findTools+` returned, and its arguments in "arguments".`))
		return
	}
	edits := []wire.Edit{{Old: params[0], New: inner[0]}, {Old: params[1], New: inner[1]}}
	if inner[1] == nil {
		edits[1].New = []byte("{}")
	}
	call, _, err := wire.Scan(wire.Replace(nil, m.Raw, edits...))
	switch {
	case err != nil:
		v.out.refuse(m.ID, codeInvalidParams, "the call is not valid: "+err.Error())
	case !reads || v.onlyReads(tool):
		v.forward(&call)
	default: // perhaps it is not known yet
		v.once(m.ID, []string{"tools/list"}, answered, func() {
			if owner, _ := v.named(tool, "tools/list"); owner == nil {
				v.out.refuse(m.ID, codeInvalidParams, v.unknown(tool, "tools/list", "tool"))
			} else if !v.onlyReads(tool) {
				v.out.answer(m.ID, failedResult(fmt.Sprintf("%s is not declared as read-only, so it was not called. Use %s.", tool, callWrite)))
			} else {
				v.forward(&call)
			}
		})
	}
}

// onlyReads reports whether a tool is listed, and declared to change nothing. The caller holds the lock.
func (v *View) onlyReads(name string) bool {
	owner, original := v.named(name, "tools/list")
	if owner == nil || owner.lists["tools/list"].presume { // it may have changed
		return false
	}
	annotations, _ := wire.Field(owner.lists["tools/list"].byName[original], "annotations")
	hint, _ := wire.Field(annotations, "readOnlyHint")
	return string(hint) == "true"
}

// find answers find_tools. The caller holds the lock.
func (v *View) find(m *wire.Message, arguments []byte) {
	var asked struct {
		Query string
		Limit int
	}
	if json.Unmarshal(arguments, &asked) != nil || asked.Query == "" {
		v.out.answer(m.ID, failedResult(`The argument "query" is missing: say in a few words what you want to do.`))
		return
	}
	if asked.Limit < 1 || asked.Limit > 50 {
		asked.Limit = 8
	}
	v.once(m.ID, []string{"tools/list"}, answered, func() { v.out.answer(m.ID, v.findings(asked.Query, asked.Limit)) })
}

// findings returns the result of find_tools: the best tools as they would be listed. The caller holds the lock.
func (v *View) findings(query string, limit int) []byte {
	var items [][]byte
	var tools []search.Tool
	for _, m := range v.members {
		for _, item := range m.lists["tools/list"].items {
			items, tools = append(items, item), append(tools, described(item))
		}
	}
	found := search.New(tools).Find(query, limit)
	if len(found) == 0 {
		var keys []string
		for _, m := range v.members {
			keys = append(keys, m.Key)
		}
		return textResult(fmt.Sprintf("None of the %d tools matches the query. Try different words. Available servers: %s.", len(tools), strings.Join(keys, ", ")))
	}
	text := fmt.Sprintf("%d of %d tools, the best match first:\n", len(found), len(tools))
	for _, i := range found {
		text += string(items[i]) + "\n"
	}
	return textResult(text)
}

// described returns what is searched of a tool.
func described(item []byte) search.Tool {
	var t struct {
		Name, Title, Description string
		InputSchema              struct {
			Properties map[string]struct{ Description string }
		}
	}
	_ = json.Unmarshal(item, &t) // what cannot be read is not searched
	out := search.Tool{Name: t.Name, Description: t.Title + " " + t.Description}
	for name, property := range t.InputSchema.Properties {
		out.Arguments = append(out.Arguments, name+" "+property.Description)
	}
	return out
}

func textResult(text string) []byte   { return toolResult(text, false) }
func failedResult(text string) []byte { return toolResult(text, true) }

func toolResult(text string, failed bool) []byte {
	type content struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	result, _ := json.Marshal(struct { // cannot fail: it has nothing but strings
		Content []content `json:"content"`
		IsError bool      `json:"isError,omitempty"`
	}{[]content{{"text", text}}, failed})
	return result
}
