package clientconfig

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/sample"
)

// Secrets in twelve shapes, in every place of a file where one can stand.
func TestNoProblemShowsASecret(t *testing.T) {
	shapes := []string{
		"ghp_%s0123456789abcdefghij", "sk-%s-0123456789abcdef", "xoxb-%s-1234567890", "AKIA%s0123456789AB", "eyJhbGciOiJIUzI1NiJ9.%s.c2ln", "glpat-%s12345678",
		"%s-plain-words-only", "postgres://me:%s@db.example/x", "hf_%sABCDEFGHIJKLMNOP", "%s0123456789abcdef0123456789abcdef", "Bearer %s.token", "-----BEGIN PRIVATE KEY-----%s-----END PRIVATE KEY-----",
	}
	templates := []string{
		`{"KEY": {"a": {"command": "uvx", "args": ["a"], "env": {"API_KEY": "SECRET", "N": 5}}}}`,
		`{"KEY": {"a": {"command": "uvx", "args": ["a", "--token", "SECRET", 7]}}}`,
		`{"KEY": {"a": {"command": "uvx", "args": ["--token=SECRET"], "env": {"T": "${X:-SECRET}"}}}}`,
		`{"KEY": {"a": {"command": "npx -y a SECRET"}}}`,
		`{"KEY": {"a": {"command": "npx", "args": "-y a SECRET"}}}`,
		`{"KEY": {"a": {"command": ["npx", "SECRET"]}}}`,
		`{"KEY": {"a": {"url": "https://me:SECRET@a.example:x/mcp"}}}`,
		`{"KEY": {"a": {"url": "https://a.example/mcp?key=SECRET#SECRET", "type": "SECRET"}}}`,
		`{"KEY": {"a": {"url": "SECRET", "headers": {"Authorization": "SECRET\nSECRET", "X": 5}}}}`,
		`{"KEY": {"a": {"url": "https://a.example/mcp", "http_headers": {"Authorization": "SECRET"}, "bearer_token": "SECRET"}}}`,
		`{"KEY": {"a": {"command": "$(echo SECRET)", "args": ["%SECRET%", "{{SECRET}}", "${env:A}SECRET"], "env": ["K=SECRET"]}}}`,
		`{"KEY": {"a": {"command": "docker", "args": ["run", "-e", "K=SECRET", "-it", "x"], "timeout": "SECRET", "disabled": "SECRET"}}}`,
		`{"KEY": {"a": {"command": {"path": "x", "args": ["SECRET"]}, "cwd": "~/SECRET", "env": "SECRET"}}}`,
		`{"KEY": [{"name": "a", "command": "SECRET"}], "KEY": {"b": "SECRET"}}`,
		`{"KEY": {"a": {"command": "x", "args": ["SECRET",], // SECRET` + "\n" + `}}}`,
		`{"KEY": {"a": {"command": "SECRET" "args": []}}}`,
		`{"inputs": [], "KEY": {"a": {"command": "x", "env": {"A": "${input:k}SECRET", "B": "<SECRET>", "C": "YOUR_SECRET"}}}}`,
		"[KEY.a]\ncommand = \"x\"\nbearer_token = \"SECRET\"\ntool_timeout_sec = -1\n[KEY.a.env]\nT = \"${T}SECRET\"\n",
		"KEY:\n  a:\n    name: a\n    type: sse\n    uri: \"SECRET\"\n    envs: {PATH: \"SECRET\", T: 5}\n    args: SECRET\n",
	}
	problems, variants := 0, 0
	for i, shape := range shapes {
		word := fmt.Sprintf("Canary%02dZq", i)
		secret := fmt.Sprintf(shape, word)
		forms := []string{word, secret, base64.StdEncoding.EncodeToString([]byte(secret)), hex.EncodeToString([]byte(secret)), url.QueryEscape(secret)}
		home := Home{OS: "linux", Home: "/home/me", Project: "/home/me/project", Environ: []string{"PATH=/bin", "T=" + secret, "ACME_TOKEN=" + secret, "A_API_KEY=" + secret}, Disk: memory{}}
		places := home.Places()
		if i > 0 { // one of each client will do
			places = slices.CompactFunc(places, func(a, b File) bool { return a.Client == b.Client })
		}
		for _, f := range places {
			for _, template := range templates {
				key := f.Place.Keys[len(f.Place.Keys)-1]
				if len(key) != 1 {
					continue
				}
				text := strings.ReplaceAll(strings.ReplaceAll(template, "KEY", key[0]), "SECRET", secret)
				variants++
				c := home.ReadText(f, []byte(text))
				all := append(c.Lint(), Across([]*Config{c, c})...)
				for _, p := range all {
					problems++
					shown := fmt.Sprint(p.Code, p.File, p.Server, p.What, p.Why, p.Next)
					for _, form := range forms {
						if strings.Contains(shown, form) {
							t.Fatalf("%s of %s shows a secret: %s\n%s", p.Code, f.Client.ID, shown, text)
						}
					}
				}
				for j := range c.Entries {
					_, err := c.Wrap(&c.Entries[j], WrapOptions{Remote: true})
					if err != nil && strings.Contains(err.Error(), word) {
						t.Fatalf("a skipped wrap shows a secret: %v", err)
					}
				}
			}
		}
	}
	t.Logf("%d files, %d problems", variants, problems)
	if problems < variants {
		t.Errorf("only %d problems in %d files", problems, variants)
	}
}

// Files that are made to hurt end in an answer, soon.
func TestHostileFilesEndSoon(t *testing.T) {
	home := Home{OS: "linux", Home: "/home/me", Project: "/home/me/project", Environ: []string{"PATH=/bin"}, Disk: memory{}}
	many := func(n int, one string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, one, i)
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"deep":            `{"mcpServers": ` + strings.Repeat(`{"a":`, 100000),
		"deep and closed": `{"mcpServers": {"a": ` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "}}",
		"a long text":     `{"mcpServers": {"a": {"command": "` + strings.Repeat("x ", 1<<20) + `"}}}`,
		"many servers":    `{"mcpServers": {` + strings.TrimSuffix(many(1000, `"s%d": {"cmd": "npx -y a", "args": "b", "env": {"A": 1}},`), ",") + "}}",
		"many members":    `{"mcpServers": {"a": {` + strings.TrimSuffix(many(1000, `"comand%d": "x",`), ",") + "}}}",
		"many duplicates": `{"mcpServers": {` + strings.TrimSuffix(strings.Repeat(`"a": {"command": "x"},`, 1000), ",") + "}}",
		"many references": `{"mcpServers": {"a": {"command": "x", "args": ["` + strings.Repeat("${A}$B{env:C}", 20000) + `"]}}}`,
		"many arguments":  `{"mcpServers": {"a": {"command": "docker", "args": ["run"` + strings.Repeat(`, "-e"`, 20000) + `]}}}`,
		"many comments":   "{" + strings.Repeat("// x\n", 20000) + `"mcpServers": {}}`,
		"controls":        "{\"mcpServers\": {\"\\u001b[31m\\u202eevil\\u0000\": {\"comand\\u0007\": \"\\u001b]0;x\\u0007\", \"type\": \"\\n\\n\"}}}",
		"not text":        "{\"mcpServers\": {\"a\": \"\xff\xfe\"}}",
		"wide text":       "\xff\xfe{\x00}\x00",
		"nothing":         "",
		"null":            "null",
		"a list":          "[]",
		"null servers":    `{"mcpServers": null}`,
		"a number":        `{"mcpServers": 5}`,
		"null entries":    `{"mcpServers": {"a": null, "b": 5, "c": [], "d": {}}}`,
		"null members":    `{"mcpServers": {"a": {"command": null, "args": null, "env": null, "url": null, "headers": null, "type": null, "timeout": null, "disabled": null, "tools": null, "transport": null}}}`,
		"empty names":     `{"mcpServers": {"": {"": "", "command": "", "args": [""], "env": {"": ""}}}}`,
		"huge numbers":    `{"mcpServers": {"a": {"command": "x", "timeout": 1e400}, "b": {"command": "x", "timeout": 99999999999999999999999}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			for _, id := range []string{"cursor", "claude-code", "cline", "kiro"} {
				client, _ := ByID(id)
				f := home.Places(client)[0]
				if id == "claude-code" {
					f = home.Places(client)[1]
				}
				c := home.ReadText(f, []byte(text))
				for _, p := range c.Lint() {
					if shown := p.What + p.Why + p.Next + p.Server; strings.ContainsAny(shown, "\x1b\x00\x07\n\u202e") || len(shown) > 2000 {
						t.Errorf("%s: %q", p.Code, shown)
					}
				}
				if len(text) < 10000 {
					after, _ := c.Mend(Shown)
					if again, made := after.Mend(Shown); len(made) > 0 || string(again.Text) != string(after.Text) {
						t.Errorf("mended twice is not mended once: %s, %s", after.Text, again.Text)
					}
				}
			}
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// Bytes at random, and random cuts and swaps of good files, never panic.
func TestDamagedFilesNeverPanic(t *testing.T) {
	home := Home{OS: "linux", Home: "/home/me", Project: "/home/me/project", Environ: []string{"PATH=/bin"}, Disk: memory{}}
	g := sample.Random(sample.Seed(t), 2)
	count := 0
	for _, a := range archives(t, "testdata/*/*.txtar") {
		h := homeOf(a.Archive)
		for _, f := range h.Find() {
			good, _ := h.Disk.ReadFile(f.Path)
			for range 10 {
				text := slices.Clone(good)
				for range 1 + g.IntN(3) {
					if len(text) == 0 {
						break
					}
					from := g.IntN(len(text))
					to := min(len(text), from+g.IntN(12))
					switch g.IntN(3) {
					case 0:
						text = slices.Delete(text, from, to)
					case 1:
						text[from] = `{}[]",:=-# $`[g.IntN(12)]
					default:
						text = slices.Insert(text, from, good[g.IntN(len(good)):]...)
					}
				}
				c := home.ReadText(f, text)
				after, _ := c.Mend(Shown)
				for i := range after.Entries {
					_, _ = after.Wrap(&after.Entries[i], WrapOptions{Remote: true})
					_, _ = after.Unwrap(&after.Entries[i])
				}
				count++
			}
		}
	}
	if count < 500 {
		t.Errorf("only %d files", count)
	}
}
