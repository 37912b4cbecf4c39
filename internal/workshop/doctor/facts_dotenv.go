package doctor

import (
	"path/filepath"
	"strings"
)

// Hidden is a secret value. It prints as a placeholder.
type Hidden struct{ value string }

func (Hidden) String() string               { return "(hidden)" }
func (Hidden) GoString() string             { return "(hidden)" }
func (Hidden) MarshalText() ([]byte, error) { return []byte("(hidden)"), nil }

// Reveal returns the value itself, for the environment of a child process.
func (h Hidden) Reveal() string { return h.value }

// Dotenv is a .env file of a project.
type Dotenv struct {
	Path   string
	Values map[string]Hidden
}

// Dotenvs returns the .env files of a directory and of those above it in the same project, the
// nearest first.
func (m *Machine) Dotenvs(dir string) []Dotenv {
	return once(m, "dotenv\n"+dir, func() []Dotenv {
		var files []Dotenv
		for _, dir := range m.upwards(dir) {
			for _, name := range []string{".env.local", ".env"} {
				path := filepath.Join(dir, name)
				if text, err := readSmall(path); err == nil && isOurs(path) && isOurs(dir) {
					files = append(files, Dotenv{path, parseDotenv(string(text))})
				}
			}
		}
		return files
	})
}

// parseDotenv reads NAME=value lines as dotenv does, without expanding anything. It skips example
// values.
func parseDotenv(text string) map[string]Hidden {
	values := map[string]Hidden{}
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "export ")
		name, value, ok := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		if !ok || strings.HasPrefix(line, "#") || !isVariable(name) {
			continue
		}
		value = strings.TrimSpace(value)
		if quote := strings.IndexAny(value, `"'`); quote == 0 && strings.IndexByte(value[1:], value[0]) >= 0 {
			value, _, _ = strings.Cut(value[1:], value[:1])
		} else if at := strings.Index(value, " #"); at >= 0 {
			value = strings.TrimSpace(value[:at])
		}
		if value != "" && !isPlaceholder(value) {
			values[name] = Hidden{value}
		}
	}
	return values
}

// isPlaceholder reports whether a value is only a placeholder.
func isPlaceholder(value string) bool {
	lower := strings.ToLower(value)
	if len(references(value)) > 0 {
		return true
	}
	for _, sign := range []string{"your_", "your-", "<your", "changeme", "change_me", "replace_me", "xxxx", "placeholder", "..."} {
		if strings.Contains(lower, sign) {
			return true
		}
	}
	return strings.HasPrefix(value, "<") && strings.HasSuffix(value, ">")
}

// isVariable reports whether a word can be the name of a variable.
func isVariable(name string) bool {
	for i, r := range name {
		if !(r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || i > 0 && r >= '0' && r <= '9') {
			return false
		}
	}
	return name != "" && len(name) <= 128
}
