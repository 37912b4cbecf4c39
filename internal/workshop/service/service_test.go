package service

import (
	"bytes"
	"encoding/xml"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the definitions to testdata")

// given has what has to be quoted in each format.
var given = map[string]Spec{
	"linux": {Program: "/opt/my gauze/gauze", Args: []string{"up", "--listen", "127.0.0.1:8080", `/home/me/a "b" $HOME 100% \ up.yaml`}, File: "/home/me/100%.yaml",
		Env: []string{"PATH=/usr/bin:/home/me/b%n"}, EnvFile: "/home/me/.config/gauze/up.env", Home: "/home/me"},
	"darwin": {Program: "/opt/my gauze/gauze", Args: []string{"up", "/Users/me/a <b> & 'c'.yaml"}, File: "/Users/me/a <b> & 'c'.yaml",
		Env: []string{"PATH=/usr/bin:/a&b"}, Home: "/Users/me", UID: "501"},
	"windows": {Program: `C:\Program Files\gauze.exe`, Args: []string{"up", "--idle", "10m", `C:\Users\me\R & D\up.yaml`}, File: `C:\Users\me\R & D\up.yaml`,
		State: `C:\Users\me\AppData\Local\gauze`, User: `DESK\me`},
}

func TestDefinitions(t *testing.T) {
	for goos, spec := range given {
		d := For(goos, spec)
		var b strings.Builder
		b.WriteString(d.Kind + "\n" + d.Path + "\n")
		for _, list := range [][]Command{d.Start, d.Stop, d.Forget} {
			for _, c := range list {
				b.WriteString(c.Line(goos) + "\n")
			}
			b.WriteString("\n")
		}
		b.WriteString(d.Content)
		path := filepath.Join("testdata", goos+".golden")
		if *update {
			if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := b.String(); got != strings.ReplaceAll(string(want), "\r\n", "\n") {
			t.Errorf("%s: got\n%s\nwant\n%s", goos, got, want)
		}
		if !IsOurs(d.Bytes()) || string(Plain(d.Bytes())) != d.Content {
			t.Errorf("%s: what was written is not recognized", goos)
		}
	}
	if IsOurs([]byte("[Unit]\nDescription=gauze-up\n")) {
		t.Error("a foreign unit is taken for ours")
	}
}

// What is XML is read back as it was given.
func TestDefinitionsAreXML(t *testing.T) {
	for _, goos := range []string{"darwin", "windows"} {
		content := strings.Replace(For(goos, given[goos]).Content, `encoding="UTF-16"`, "", 1)
		d := xml.NewDecoder(bytes.NewReader([]byte(content)))
		var text strings.Builder
		for {
			token, err := d.Token()
			if token == nil {
				if err.Error() != "EOF" {
					t.Error(goos, err)
				}
				break
			}
			if data, ok := token.(xml.CharData); ok {
				text.Write(data)
			}
		}
		if file := given[goos].File; !strings.Contains(text.String(), file) {
			t.Errorf("%s: %s does not have %s", goos, text.String(), file)
		}
	}
}

func TestArgument(t *testing.T) {
	for word, want := range map[string]string{
		"": `""`, "a": "a", `C:\a\`: `C:\a\`, "a b": `"a b"`, `a b\`: `"a b\\"`, `a"b`: `"a\"b"`, `a\"b c`: `"a\\\"b c"`,
	} {
		if got := argument(word); got != want {
			t.Errorf("%s: got %s, want %s", word, got, want)
		}
	}
}

func TestCarry(t *testing.T) {
	got := Carry([]string{"PATH=/bin", "SECRET=x", "XDG_STATE_HOME=", "GAUZE_STATE_DIR=/s"})
	if want := "GAUZE_STATE_DIR=/s PATH=/bin"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
}
