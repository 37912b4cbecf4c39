package document

import (
	"fmt"
	"strings"
	"testing"
)

// Every value has its line and the keys that lead to it, in YAML and in JSON alike.
func TestPositions(t *testing.T) {
	const want = "1 \n2 servers\n3 servers.a\n4 servers.a.command\n4 servers.a.command[0]\n5 servers.a.command[1]\n6 servers.b\n"
	for name, text := range map[string]string{
		"YAML": "# a comment\nservers:\n  a:\n    command: [x,\n      y]\n  b: 1\n",
		"JSON": "{\n\"servers\": {\n\"a\": {\n\"command\": [\"x\",\n\"y\"]},\n\"b\": 1}}",
	} {
		root, problems := Read([]byte(text), "servers")
		if problems != nil {
			t.Fatal(problems)
		}
		var b strings.Builder
		b.WriteString("1 \n")
		var walk func(n *Node)
		walk = func(n *Node) {
			for _, f := range n.Fields {
				fmt.Fprintln(&b, f.Line, f.Key)
				walk(f.Value)
			}
			for _, item := range n.Items {
				fmt.Fprintln(&b, item.Line, item.Key)
			}
		}
		walk(root)
		if got := b.String(); got != want {
			t.Errorf("%s: got\n%swant\n%s", name, got, want)
		}
	}
}

// A key that is set twice is a problem, and the rest of the file is still read.
func TestAKeyTwice(t *testing.T) {
	root, problems := Read([]byte("a: 1\nb:\n  c: 1\n  c: 2\na: 3\nd: 4\n"), "a")
	const want = "f:4:3: \"c\" is set twice: remove this one or the one on line 3\nf:5:1: \"a\" is set twice: remove this one or the one on line 1"
	if got := problems.In("f").Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if problems[0].Key != "b.c" || len(root.Fields) != 3 || fmt.Sprint(root.Fields[0].Value.Scalar) != "1" {
		t.Errorf("%+v, %+v", problems[0], root.Fields)
	}
}

// A character that is not allowed is found where it is.
func TestAControlCharacterHasAPlace(t *testing.T) {
	for text, want := range map[string]string{"\x12": "1:1", "a: 1\nb: \x01": "2:4"} {
		_, problems := Read([]byte(text), "a mapping")
		if len(problems) != 1 || fmt.Sprintf("%d:%d", problems[0].Line, problems[0].Column) != want {
			t.Errorf("%q: %v, want %s", text, problems, want)
		}
	}
}
