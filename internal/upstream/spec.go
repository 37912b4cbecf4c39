package upstream

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Spec says how a server is launched: a plain value.
type Spec struct {
	Command string
	Args    []string
	Dir     string   // empty: ours
	Env     []string // nil: ours, less our own settings
}

// String is the command line, as a person would type it.
func (s Spec) String() string {
	words := make([]string, 0, 1+len(s.Args))
	for _, word := range append([]string{s.Command}, s.Args...) {
		if word == "" || strings.ContainsAny(word, " \t\n\"'\\$") {
			word = strconv.Quote(word)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// Environment is what the server would have got without us.
func (s Spec) Environment() []string {
	if s.Env != nil {
		return s.Env
	}
	var env []string
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "GAUZE_") {
			env = append(env, pair)
		}
	}
	return env
}

// Downloads reports whether the command may fetch a package before the server
// starts, which takes as long as it takes.
func (s Spec) Downloads() bool {
	name := strings.ToLower(filepath.Base(s.Command))
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".cmd"), ".exe")
	switch name {
	case "npx", "uvx", "bunx", "pnpx", "pipx", "docker", "podman", "npm", "pnpm", "yarn", "bun", "uv", "deno", "go", "cargo", "dotnet", "sh", "bash", "zsh", "cmd":
		return true
	}
	return false
}

// StartTimeout is how long the first answer may take: 10 s, and 60 s if the
// command may download first. Activity on stderr extends it (StartTimeoutMax).
func (s Spec) StartTimeout() time.Duration {
	if s.Downloads() {
		return 60 * time.Second
	}
	return 10 * time.Second
}

// StartTimeoutMax ends the extension by activity: a download that takes longer
// than three minutes is better explained than waited for.
const StartTimeoutMax = 180 * time.Second
