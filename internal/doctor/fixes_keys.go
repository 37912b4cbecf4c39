package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/redact"
)

// renewKey names the variable whose value was rejected, and where a person gets a new one.
func renewKey(p *plan) []Fix {
	name := p.rejectedVariable()
	if p.spec.URL != "" || name == "" {
		return nil
	}
	return []Fix{{Name: "renew " + name, Risk: Secret, About: "the value of " + name + " was rejected",
		Next: getKey("Create a new key", name) + fmt.Sprintf(` and set %s to it under "env" in the server's entry.`, name)}}
}

// getKey returns an instruction to get a value for a variable, with the page if it is known.
func getKey(verb, name string) string {
	if page := keyPage(name); page != "" {
		return verb + " at " + page
	}
	return verb
}

// rejectedVariable returns the variable of the server's key: the one that the evidence names, or
// else the only one that the entry sets, or "".
func (p *plan) rejectedVariable() string {
	var set, named []string
	text := p.c.words()
	for _, pair := range p.env {
		name, v, _ := strings.Cut(pair, "=")
		if loads(name) || !isVariable(name) || isPlaceholder(v) || !redact.NamesSecret(name, v) || keyPage(name) == "" && !variableName.MatchString(name) {
			continue
		}
		if ours, ok := p.Env(name); !ok || ours != v { // not simply inherited
			set = append(set, name)
		}
		if slices.Contains(oneVariable().FindAllString(text, -1), name) {
			named = append(named, name)
		}
	}
	for _, names := range [][]string{unique(named), unique(set)} {
		if len(names) == 1 {
			return names[0]
		}
	}
	return ""
}
