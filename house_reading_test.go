package gauze_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

// easyRooms are the packages whose code is kept short: what they know is data.
var easyRooms = []string{
	"doctor", "repair", "internal/workshop/doctor", "internal/workshop/clientconfig", "internal/workshop/splice",
	"internal/mend/repair", "internal/mend/correct", "internal/disk/journal",
}

// No function has more than 60 lines and no line more than 140 columns, unless a pattern or a sentence
// alone makes it that long.
func TestFunctionsAndLinesAreShort(t *testing.T) {
	const maxLines, maxColumns, sentence = 60, 140, 90
	all := rooms(t)
	for _, room := range easyRooms {
		if len(all[room]) == 0 {
			t.Errorf("%s has no files", room)
		}
		for file := range all[room] {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			files := token.NewFileSet()
			parsed, err := parser.ParseFile(files, file, text, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			said := map[int]bool{} // lines with a long text
			ast.Inspect(parsed, func(node ast.Node) bool {
				switch n := node.(type) {
				case *ast.BasicLit:
					if n.Kind == token.STRING && len(n.Value) > sentence {
						said[files.Position(n.Pos()).Line] = true
					}
				case *ast.FuncDecl:
					if lines := files.Position(n.End()).Line - files.Position(n.Pos()).Line + 1; lines > maxLines {
						t.Errorf("%s: %s has %d lines, more than %d", files.Position(n.Pos()), n.Name.Name, lines, maxLines)
					}
				}
				return true
			})
			for i, line := range strings.Split(string(text), "\n") {
				if columns := utf8.RuneCountInString(line); columns > maxColumns && !said[i+1] {
					t.Errorf("%s:%d has %d columns, more than %d", file, i+1, columns, maxColumns)
				}
			}
		}
	}
}
