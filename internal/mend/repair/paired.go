package repair

import (
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
)

// Secrets whose name is not the key they are under.

// paired returns the secrets whose name is a value next to them, as in {"name": "Authorization",
// "value": "..."}, ["X-Api-Key", "..."] and ["--password", "..."].
func paired(path []string, value any) (secrets []string) {
	switch v := value.(type) {
	case map[string]any:
		if len(v) <= maxShown {
			secrets = pairedFields(v)
		}
	case []any:
		tuple := len(v) == 2 && len(path) > 0 && isIndex(path[len(path)-1])
		for i := 1; i < len(v); i++ {
			name, ok := v[i-1].(string)
			isName := ok && (tuple || strings.HasPrefix(name, "-"))
			if text, scalar := scalarText(v[i]); isName && scalar && namesSecret(name, text) {
				secrets = append(secrets, text)
			}
		}
	}
	return secrets
}

func pairedFields(object map[string]any) (secrets []string) {
	named := func(text string) bool {
		for key, value := range object {
			if name, ok := value.(string); ok && nameKeys[foldKey(key)] && namesSecret(name, text) {
				return true
			}
		}
		return false
	}
	for key, value := range object {
		if text, ok := scalarText(value); ok && valueKeys[foldKey(key)] && named(text) {
			secrets = append(secrets, text)
		}
	}
	return secrets
}

var nameKeys = wordSet(`name key header field variable var param parameter k`)

func namesSecret(name, text string) bool {
	return text != "" && len(name) <= 200 && secretName(strings.TrimLeft(name, "-"), text)
}

// secretParts returns the parts of a text that are secrets, such as the password in a URL. A server
// may quote them alone.
func secretParts(text string) (parts []string) {
	clean := plaintext.Clean(bounded(text, 8<<10))
	around := strings.Split(redact.Text(clean), redact.Redacted)
	if len(around) < 2 {
		return nil
	}
	rest, ok := strings.CutPrefix(clean, around[0])
	for _, next := range around[1:] {
		if !ok {
			return parts
		}
		end := len(rest)
		if next != "" {
			if end = strings.Index(rest, next); end < 0 {
				return parts
			}
		}
		_, password, _ := strings.Cut(rest[:end], ":") // of user:password in a URL
		for _, hidden := range []string{rest[:end], password} {
			if len(hidden) >= 4 && hidden != text && !slices.Contains(parts, hidden) {
				parts = append(parts, hidden)
			}
		}
		rest = rest[min(end+len(next), len(rest)):]
	}
	return parts
}
