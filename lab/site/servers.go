package main

import (
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"io/fs"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/lab/realparts"
)

// servers returns the Markdown of the page about the real servers and clients of the laboratory. It has
// what is installed and what is asserted, and no result: a version in which an assertion fails does not
// pass its checks.
func (s *site) servers() ([]byte, error) {
	_, every, err := s.read("lab/realtest/server_test.go", "everyServer")
	if err != nil {
		return nil, err
	}
	about, _, err := s.read("lab/realtest/doc.go", "")
	if err != nil {
		return nil, err
	}
	same, _, err := s.read("lab/differential/doc.go", "")
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString(`# Tested with real software

The checks of Gauze install real servers and clients, in these versions, and run them behind Gauze. This page lists them and what the checks assert; it is made from the lists that the checks use.

## What is asserted

### Compared with the server alone

`)
	b.WriteString(same.prose + "\n" + source("lab/differential"))
	b.WriteString(`
### Killed, stopped and made noisy

Real client libraries call the servers through the gauze binary while something goes wrong, on Linux.

| test | what must hold |
| --- | --- |
`)
	for _, row := range about.rows {
		fmt.Fprintf(&b, "| %s | %s |\n", escapeMarkdown(row[0]), escapeMarkdown(row[1]))
	}
	b.WriteString("\n" + source("lab/realtest"))
	b.WriteString(`
## Servers

*Compared* and *killed* are the two kinds of checks above. *Each check* is what CI runs for every change, ` + "`go -C lab run ./check`" + `; *everything* is the longer run, with ` + "`-all`" + `.

| server | version | from | compared | killed |
| --- | --- | --- | --- | --- |
`)
	for _, part := range realparts.Servers() {
		killed := "–"
		if slices.Contains(every, part.Name) {
			killed = "each check"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", part.Name, part.Version, part.From, orDash(part.When), killed)
	}
	b.WriteString("\n## Clients\n\n| client | version | from | what it does |\n| --- | --- | --- | --- |\n")
	for _, part := range realparts.Clients() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", part.Name, part.Version, part.From, part.When)
	}
	modules, err := fs.ReadFile(s.tree, "lab/go.mod")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(modules)) {
		if f := strings.Fields(line); len(f) == 2 && slices.Contains(goClients, f[0]) {
			fmt.Fprintf(&b, "| `%s` | %s | Go | calls servers through gauze |\n", f[0], f[1])
		}
	}
	return []byte(b.String()), nil
}

// goClients are the client libraries that the laboratory links.
var goClients = []string{"github.com/mark3labs/mcp-go", "github.com/modelcontextprotocol/go-sdk"}

// source returns the sentence that links a package.
func source(dir string) string {
	return fmt.Sprintf("The tests are in [%s](%s/tree/main/%[1]s).\n", dir, repository)
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

// packageText is what a package comment says: paragraphs, and rows of a name and a text.
type packageText struct {
	prose string
	rows  [][2]string
}

// read reads a Go file of the tree: its package comment, and the names of the real parts in the list of a
// variable.
func (s *site) read(file, variable string) (text packageText, parts []string, err error) {
	source, err := fs.ReadFile(s.tree, file)
	if err != nil {
		return text, nil, err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ParseComments)
	if err != nil {
		return text, nil, err
	}
	text = textOfPackage(parsed.Doc.Text())
	if variable == "" {
		return text, nil, nil
	}
	kinds := map[string]string{} // by variable, the constant of its part
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		list, ok := spec.Values[0].(*ast.CompositeLit)
		if !ok {
			return true
		}
		for _, element := range list.Elts {
			switch e := element.(type) {
			case *ast.KeyValueExpr:
				if key, ok := e.Key.(*ast.Ident); ok && key.Name == "part" {
					kinds[spec.Names[0].Name] = e.Value.(*ast.SelectorExpr).Sel.Name
				}
			case *ast.Ident:
				if spec.Names[0].Name == variable {
					parts = append(parts, realparts.NameOf(kinds[e.Name]))
				}
			}
		}
		return true
	})
	if len(parts) == 0 {
		return text, nil, fmt.Errorf("%s: no list %s", file, variable)
	}
	return text, parts, nil
}

// textOfPackage reads a package comment. Its rows are lines of code with a name, spaces and a text.
func textOfPackage(doc string) (text packageText) {
	var b strings.Builder
	for _, block := range new(comment.Parser).Parse(doc).Content {
		switch block := block.(type) {
		case *comment.Paragraph:
			var words strings.Builder
			for _, t := range block.Text {
				if plain, ok := t.(comment.Plain); ok {
					words.WriteString(string(plain))
				}
			}
			if b.Len() > 0 { // the first says what the package is
				fmt.Fprintf(&b, "%s\n\n", paragraph(words.String()))
			} else {
				b.WriteString("\n")
			}
		case *comment.Code:
			for _, line := range strings.Split(strings.TrimSpace(block.Text), "\n") {
				name, about, _ := strings.Cut(line, "  ")
				text.rows = append(text.rows, [2]string{name, strings.TrimSpace(about)})
			}
		}
	}
	text.prose = strings.TrimSpace(b.String()) + "\n"
	return text
}
