package view

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/hub/names"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// said is what a server said about itself: the result of initialize or server/discover.
type said struct {
	key    string
	result []byte
}

// capabilities returns the union of what servers can do. Changes of lists are always announced: gauze does so for servers
// that do not. If some are not known yet, it is what most servers can do as well.
func capabilities(all []said, unknown bool) map[string]any {
	sum := map[string]any{"tools": map[string]any{}} // a server that has some may be added
	for _, s := range all {
		field, _ := wire.Field(s.result, "capabilities")
		var one map[string]any
		_ = json.Unmarshal(field, &one) // without capabilities there are none
		join(sum, one)
	}
	if unknown {
		join(sum, map[string]any{
			"prompts": map[string]any{}, "resources": map[string]any{"subscribe": true}, "logging": map[string]any{}, "completions": map[string]any{},
		})
	}
	for _, name := range []string{"tools", "prompts", "resources"} {
		if lists, ok := sum[name].(map[string]any); ok {
			lists["listChanged"] = true
		}
	}
	return sum
}

// join adds what is in more to sum. Where both have a value that is not an object, true wins, and else the first.
func join(sum, more map[string]any) {
	for name, value := range more {
		had, known := sum[name]
		inner, nested := value.(map[string]any)
		into, both := had.(map[string]any)
		switch {
		case nested && (!known || both):
			if !known {
				into = map[string]any{}
				sum[name] = into
			}
			join(into, inner)
		case !known || value == true && !both:
			sum[name] = value
		}
	}
}

// maxInstructions is how many characters the instructions of all servers may have together.
const maxInstructions = 8000

// instructions returns the instructions of all servers, one after another; each may have its share of what fits.
func instructions(all []said) string {
	texts := map[string]string{}
	for _, s := range all {
		raw, _ := wire.Field(s.result, "instructions")
		if text, _ := wire.Text(raw); strings.TrimSpace(text) != "" {
			texts[s.key] = strings.TrimSpace(text)
		}
	}
	var parts []string
	for _, s := range all {
		if text := texts[s.key]; text != "" {
			parts = append(parts, fmt.Sprintf("# %s (names begin with %s)\n%s", s.key, names.Advertised(s.key, ""), plaintext.Cap(text, maxInstructions/len(texts))))
		}
	}
	return strings.Join(parts, "\n\n")
}

// remembered returns what is known of the servers for a client that initializes, and whether some are not known. The
// caller holds the lock.
func (e *modern) remembered(params []byte) (all []said, unknown bool) {
	v := e.view
	var client [2][]byte
	_ = wire.Fields(params, client[:], "protocolVersion", "capabilities") // ambiguous params have neither
	for _, m := range v.members {
		var result []byte
		if m.Recall != nil {
			result = m.Recall("initialize", client[0], client[1])
		}
		if result != nil {
			all = append(all, said{m.Key, result})
		}
		unknown = unknown || result == nil && m.Closed == ""
	}
	return all, unknown
}

// introduction returns the result of initialize: no server has to run for it. The caller holds the lock.
func (e *modern) introduction(params []byte, version string) []byte {
	v := e.view
	all, unknown := e.remembered(params)
	result, _ := json.Marshal(struct { // cannot fail: it was decoded from JSON
		Version      string         `json:"protocolVersion"`
		Capabilities map[string]any `json:"capabilities"`
		Server       map[string]any `json:"serverInfo"`
		Instructions string         `json:"instructions,omitempty"`
	}{version, capabilities(all, unknown), v.serverInfo(), instructions(all)})
	return result
}

func (v *View) serverInfo() map[string]any {
	return map[string]any{"name": "gauze", "title": "Gauze", "version": v.options.Software}
}

// introduced returns what the servers said to server/discover. The caller holds the lock.
func (e *modern) discovered() (all []said) {
	v := e.view
	for _, m := range v.members {
		if m.intro.result != nil {
			all = append(all, said{m.Key, m.intro.result})
		}
	}
	return all
}

// discovery returns the result of server/discover. The caller holds the lock.
func (e *modern) discovery() []byte {
	v := e.view
	all := e.discovered()
	fresh := freshness{ttl: -1, public: !v.options.Private}
	for _, s := range all {
		fresh.add(s.result)
	}
	result, _ := json.Marshal(struct { // cannot fail: it was decoded from JSON
		Versions     []string       `json:"supportedVersions"`
		Capabilities map[string]any `json:"capabilities"`
		Instructions string         `json:"instructions,omitempty"`
	}{e.versions(), capabilities(all, false), instructions(all)})
	return fresh.stamp(result)
}

// versions returns the versions of the protocol that all servers have. The caller holds the lock.
func (e *modern) versions() (common []string) {
	for i, s := range e.discovered() {
		var versions []string
		field, _ := wire.Field(s.result, "supportedVersions")
		_ = json.Unmarshal(field, &versions) // without versions there are none
		if i == 0 {
			common = versions
			continue
		}
		common = slices.DeleteFunc(common, func(one string) bool { return !slices.Contains(versions, one) })
	}
	return common
}
