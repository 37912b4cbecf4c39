package clientconfig_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
)

// A file of Cursor's that has a mistake in it is found, read, mended and
// wrapped. Nothing is written: that is for others.
func Example() {
	dir, err := os.MkdirTemp("", "home")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Mkdir(filepath.Join(dir, ".cursor"), 0o755); err != nil {
		panic(err)
	}
	file := `{ "mcpServers": { "notes": { "cmd": "npx", "args": ["-y", "notes"] } } }`
	if err := os.WriteFile(filepath.Join(dir, ".cursor", "mcp.json"), []byte(file), 0o600); err != nil {
		panic(err)
	}

	home := clientconfig.Home{OS: "linux", Home: dir, Environ: os.Environ()}
	for _, found := range home.Find() {
		config := home.Read(found)
		for _, p := range config.Lint() {
			fmt.Printf("%s %s: %s\n", p.Severity, p.Code, p.What)
		}
		config, _ = config.Mend(clientconfig.Shown)
		for i := range config.Entries {
			entry := &config.Entries[i]
			fmt.Println(entry.Name, "runs", entry.Spec)
			edit, err := config.Wrap(entry, clientconfig.WrapOptions{})
			if err != nil {
				fmt.Println("left alone:", err)
				continue
			}
			wrapped, err := edit.Apply(config.Format(), config.Text)
			fmt.Println(string(wrapped), err)
		}
	}
	// Output:
	// error field-name: “cmd” is named “command” in Cursor
	// notes runs npx -y notes
	// { "mcpServers": { "notes": { "command": "gauze", "args": ["run", "--name=notes", "--", "npx", "-y", "notes"] } } } <nil>
}
