package splice_test

import (
	"fmt"

	"github.com/gauze-mcp/gauze/internal/workshop/splice"
)

func Example() {
	file := []byte("{\n  // mine\n  \"servers\": {\n    \"fs\": {\"command\": \"npx\", \"args\": [\"-y\", \"files\"]} // keep\n  },\n}\n")
	d, err := splice.Parse(splice.JSONC, file)
	if err != nil {
		fmt.Println(err) // *splice.SyntaxError: line, column, what, hint
		return
	}
	for name, server := range d.Root().Members() {
		line, _ := server.Place()
		fmt.Println(name, line, server.Kind() == splice.MapKind)
	}
	wrapped, err := d.Set([]any{"servers", "fs"}, splice.Map{
		{Name: "command", Value: "gauze"},
		{Name: "args", Value: []string{"run", "--", "npx", "-y", "files"}},
	})
	if err != nil {
		fmt.Println(err) // *splice.RefusedError: nothing was changed, and why
		return
	}
	fmt.Print(string(wrapped.Bytes()))
	// Output:
	// servers 3 true
	// {
	//   // mine
	//   "servers": {
	//     "fs": {"command": "gauze", "args": ["run", "--", "npx", "-y", "files"]} // keep
	//   },
	// }
}
