package clientconfig

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig/reference"
)

// TestMain reports a mistake in a client's file once, before tests that use the clients panic.
func TestMain(m *testing.M) {
	if _, err := readClients(knowledge); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestEveryFileOfKnowledgeIsRead(t *testing.T) {
	all, err := readClients(knowledge)
	if err != nil {
		t.Fatal(err)
	}
	orders := map[int]string{}
	for _, c := range all {
		if other, taken := orders[c.Order]; taken {
			t.Errorf("clients/%s.txt and clients/%s.txt have the same order %d: use the next free number", c.ID, other, c.Order)
		}
		orders[c.Order] = c.ID
	}
	for name, list := range map[string]int{"problems": len(problems().Kinds), "commands": len(common().Command), "flags": len(common().CodeFlags)} {
		if list == 0 {
			t.Errorf("there are no %s", name)
		}
	}
}

func TestAMistakeInAFileIsReportedWithItsLineAndARemedy(t *testing.T) {
	const start = "name: A\norder: 1\nreload: restart it\n"
	for text, want := range map[string]string{
		"name A":                                    `clients/a.txt:1: a colon is missing: use "key: value"`,
		"name: A\nfil: user":                        `clients/a.txt:2: the key "fil" is unknown: use one of approval, approves variables,`,
		"name: A\n  order: 1":                       "clients/a.txt:2: the line is indented by 2 spaces: use 0, or move it below its key",
		"name:":                                     "clients/a.txt:1: the value is missing: add it after the colon",
		"order: first":                              `clients/a.txt:1: "first" is not a number`,
		"comments: maybe":                           `clients/a.txt:1: "maybe" is unknown: use one of yes, no, or remove the line`,
		"gui path: no":                              `clients/a.txt:1: the value must be "yes"; otherwise, remove the line`,
		"expands: ${NAME}, <NAME>":                  `clients/a.txt:1: "<NAME>" is unknown: use one of ${NAME}, ${NAME:-default},`,
		"entry:\n  timeout: t\n    unit: ms":        `clients/a.txt:3: "ms" is not a duration such as 30s, 100ms or 5m`,
		"# only\n\nname: A":                         "clients/a.txt: name, order or reload is missing",
		start + "file: user":                        `clients/a.txt:4: "file" has no scope or no path`,
		start + "entry: b":                          `clients/a.txt: "entry: b" does not name a client with an entry of its own`,
		start + "entry:\n  timeout: t":              `clients/a.txt:5: "timeout" has no unit: add "unit: 1s" or "unit: 1ms"`,
		start + "entry:\n  type: t\n    stdio: s\n": `clients/a.txt:5: "type" has no value for remote servers: add "http: http"`,
		start + "entry:\n  type: t\n    http: h\n":  `clients/a.txt:5: "type" has no value for local servers: add "stdio: stdio"`,
	} {
		_, err := readClients(fstest.MapFS{"clients/a.txt": {Data: []byte(text)}})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// The README and docs/clients.md say how many clients there are, and the latter names all of them.
func TestTheDocumentsNameAllClients(t *testing.T) {
	var names []string
	for _, c := range clients() {
		names = append(names, c.Name)
	}
	number := strconv.Itoa(len(names))
	for page, want := range map[string][2]string{
		"README.md":       {`\d+ MCP clients`, number + " MCP clients"},
		"docs/clients.md": {`Gauze knows \d+ clients: .*`, "Gauze knows " + number + " clients: " + strings.Join(names, ", ") + "."},
	} {
		path := "../../../" + page
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		switch old := regexp.MustCompile(want[0]).FindString(string(text)); {
		case old == want[1]:
		case old == "" || !*update:
			t.Errorf("%s does not say %q: run go test -update", page, want[1])
		default:
			if err := os.WriteFile(path, []byte(strings.Replace(string(text), old, want[1], 1)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// The example in docs/clients.md is valid, and every key is described there.
func TestTheDocumentsDescribeEveryKey(t *testing.T) {
	text, err := os.ReadFile("../../../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(text), "```text\n")
	example, rest, _ := strings.Cut(example, "```\n")
	all, err := readClients(fstest.MapFS{"clients/acme-chat.txt": {Data: []byte(example)}})
	if err != nil || all[0].Fields.URL != "endpoint" || len(all[0].Places) != 2 {
		t.Errorf("the example is not valid: %v", err)
	}
	_, archive, _ := strings.Cut(rest, "```text\n")
	archive, _, _ = strings.Cut(archive, "```\n")
	files := txtar.Parse([]byte(archive)).Files
	if len(files) != 1 || files[0].Name != "home/.config/"+all[0].Places[0].App || !json.Valid(files[0].Data) {
		t.Errorf("the example's archive is not valid: %s", archive)
	}
	for _, of := range []any{Client{}, Place{}, Fields{}, Types{}, Timeout{}, LoginFields{}, Builtin{}, oldField{}, approvals{}, reference.Dialect{}, Paths{}} {
		for key := range keysOf(reflect.TypeOf(of)) {
			if key != "forms" && !strings.Contains(string(text), "`"+key+"`") {
				t.Errorf("docs/clients.md does not describe %q of %T", key, of)
			}
		}
	}
}

// A new client is one file and one archive.
func TestEveryClientHasAnArchive(t *testing.T) {
	var archived []string
	for _, a := range archives(t, "testdata/clients/*.txtar") {
		archived = append(archived, a.name())
	}
	for _, c := range clients() {
		if !slices.Contains(archived, c.ID) {
			t.Errorf("testdata/clients/%s.txtar is missing: write a file as the client writes it, and run go test -update", c.ID)
		}
	}
}
