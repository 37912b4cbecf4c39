package fleet

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/wrap/probe"
)

// Limit is a tool, or a number of tools, that a client cannot use.
type Limit struct {
	Client string `json:"client"`
	Server string `json:"server,omitempty"` // the name of its entry; empty: all servers of the client together
	Tool   string `json:"tool,omitempty"`   // the longest of several
	Length int    `json:"length,omitempty"` // of the name of the tool as the client has it
	Tools  int    `json:"tools"`            // how many tools it concerns
	Max    int    `json:"max,omitempty"`    // what the client can use
	Cause  string `json:"cause"`
	Next   string `json:"next"`
}

// Limits returns what clients cannot use of the tools that are known: those that servers listed now, or that gauze
// remembers.
func (v *View) Limits(all []*Checked) (found []Limit) {
	var clients []*clientconfig.Client
	count, servers := map[*clientconfig.Client]int{}, map[*clientconfig.Client]int{}
	for _, c := range all {
		tools := v.toolsOf(c)
		if len(tools) == 0 || c.Disabled {
			continue
		}
		if !slices.Contains(clients, c.Client) {
			clients = append(clients, c.Client)
		}
		count[c.Client] += len(tools)
		servers[c.Client]++
		found = append(found, limitsOf(c.Client, c.Name, c.Client.Tools.Named, tools)...)
	}
	for _, c := range clients {
		if c.Tools.Max > 0 && count[c] > c.Tools.Max {
			found = append(found, Limit{Client: c.ID, Tools: count[c], Max: c.Tools.Max, Next: fewer,
				Cause: fmt.Sprintf("%s has %d tools from %s; with more than %d, it %s", c.Name, count[c], plaintext.Count(servers[c], "server"), c.Tools.Max, c.Tools.Then)})
		}
	}
	return found
}

const (
	fewer  = "disable servers, or list fewer tools: gauze wrap --up writes a file in which tools can be denied or searched"
	behind = "put the server behind gauze up (gauze wrap --up), which shortens names"
)

// toolsOf returns the tools of a server, as far as they are known.
func (v *View) toolsOf(c *Checked) []probe.Tool {
	if c.Tried || v.fleet.Listed == nil {
		return c.Attempt.Found.Tools
	}
	return v.fleet.Listed(c.Real())
}

// limitsOf returns what a client cannot use of the tools of one server.
func limitsOf(c *clientconfig.Client, entry, named string, tools []probe.Tool) (found []Limit) {
	l := c.Tools
	var long, odd []string
	prefix := utf8.RuneCountInString(strings.NewReplacer("ENTRY", entry, "TOOL", "").Replace(named))
	longest := ""
	for _, t := range tools {
		if n := utf8.RuneCountInString(t.Name); l.MaxLength > 0 && prefix+n > l.MaxLength {
			long = append(long, t.Name)
			if n > utf8.RuneCountInString(longest) {
				longest = t.Name
			}
		}
		if l.Plain && strings.ContainsFunc(t.Name, isOdd) {
			odd = append(odd, t.Name)
		}
	}
	if len(long) > 0 {
		length := prefix + utf8.RuneCountInString(longest)
		one := Limit{Client: c.ID, Server: entry, Tool: longest, Length: length, Tools: len(long), Max: l.MaxLength, Next: behind}
		one.Cause = fmt.Sprintf("%s has %d characters in %s%s; with more than %d, it %s", redact.Quote(longest), length, c.Name, alike(len(long)), l.MaxLength, l.Then)
		if left := utf8.RuneCountInString(entry) - (length - l.MaxLength); left > 0 && strings.Contains(named, "ENTRY") {
			one.Next = fmt.Sprintf("use a name with at most %s for the entry, or %s", plaintext.Count(left, "character"), behind)
		}
		found = append(found, one)
	}
	if len(odd) > 0 {
		found = append(found, Limit{Client: c.ID, Server: entry, Tool: odd[0], Tools: len(odd), Next: behind,
			Cause: fmt.Sprintf("the name %s has other characters than letters, digits, _ and -%s; with such a name, %s %s", redact.Quote(odd[0]), alike(len(odd)), c.Name, l.Then)})
	}
	return found
}

// alike mentions the other tools of which the same is true.
func alike(n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(" (also %s)", plaintext.Count(n-1, "more tool"))
}

func isOdd(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
}
