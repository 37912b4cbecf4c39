package clientconfig

import (
	"fmt"
	"strings"
	"testing"
)

func BenchmarkReadAndLintFiftyServers(b *testing.B) {
	var entries []string
	for i := range 50 {
		entries = append(entries, fmt.Sprintf(`    "s%d": { "command": "npx", "args": ["-y", "@example/s%d"], "env": { "TOKEN": "${env:TOKEN_%d}", "PORT": 80 } }`, i, i, i))
	}
	text := []byte("{\n  \"mcpServers\": {\n" + strings.Join(entries, ",\n") + "\n  }\n}\n")
	home := Home{OS: "linux", Home: "/home/me", Environ: []string{"PATH=/bin"}, Disk: memory{}}
	client, _ := ByID("cursor")
	f := home.Places(client)[0]
	for b.Loop() {
		if found := home.ReadText(f, text).Lint(); len(found) != 100 {
			b.Fatal(len(found))
		}
	}
}
