package upfile

import (
	"fmt"
	"strings"
	"testing"
)

// A client of gauze connect need not have the tokens of those who come over HTTP.
func TestAFileIsValidWithoutTheTokensThemselves(t *testing.T) {
	p := newPerson(t)
	p.write("up.yaml", "servers:\n  notes: {command: [notes]}\ntokens:\n  ci: {env: NOT_SET}\n")
	f := p.mustRead("up.yaml")
	if len(f.Servers) != 1 || len(f.Tokens) != 1 {
		t.Errorf("%+v", f)
	}
}

func TestPinned(t *testing.T) {
	const own = "servers:\n  notes: {command: [notes]}\nprofiles: {p: {servers: [notes]}}\ntokens:\n"
	const general = "pQ7mX2vR9tK4bW8nZ3cL"
	values := map[string]string{"GENERAL": general + "\n", "GOOD": token, "SAME": " " + token + "\n", "SHORT": "kZ3n0Qw9xT7vL2mB8rH", "GUESS": strings.Repeat("a", 40), "SPACE": token + " " + token[3:], "EMPTY": ""}
	for name, test := range map[string]struct{ tokens, want string }{
		"none":      {"  {}\n", ""},
		"one":       {"  ci: {env: GOOD, profile: p}\n", ""},
		"not set":   {"  ci: {env: NOT_SET}\n", "5: tokens.ci.env: the environment variable NOT_SET is not set: set it to a random value, such as the output of openssl rand -hex 32"},
		"empty":     {"  ci: {env: EMPTY}\n", "5: tokens.ci.env: the environment variable EMPTY is not set: set it to a random value, such as the output of openssl rand -hex 32"},
		"short":     {"  ci: {env: SHORT}\n", "5: tokens.ci.env: the token in SHORT is weak: it must have at least 20 random characters; set it to a random value, such as the output of openssl rand -hex 32"},
		"guessable": {"  ci: {env: GUESS}\n", "5: tokens.ci.env: the token in GUESS is weak: it must have at least 20 random characters; set it to a random value, such as the output of openssl rand -hex 32"},
		"spaces":    {"  ci: {env: SPACE}\n", "5: tokens.ci.env: the token in SPACE contains spaces: remove them"},
		"twice":     {"  ci: {env: GOOD}\n  me: {env: SAME}\n", `6: tokens.me.env: the token in SAME is also that of "ci": set it to a random value, such as the output of openssl rand -hex 32`},
		"general":   {"  ci: {env: GENERAL, profile: p}\n", "5: tokens.ci.env: the token in GENERAL is also that of gauze up itself, which is for every server: set it to a random value, such as the output of openssl rand -hex 32"},
		"no name":   {"  \"\": {env: GOOD, profile: p}\n  me: {env: GOOD}\n", `6: tokens.me.env: the token in GOOD is also that of "": set it to a random value, such as the output of openssl rand -hex 32`},
		"all of them": {"  ci: {env: NOT_SET}\n  me: {env: SPACE}\n", "5: tokens.ci.env: the environment variable NOT_SET is not set: set it to a random value, such as the output of openssl rand -hex 32\n" +
			"6: tokens.me.env: the token in SPACE contains spaces: remove them"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPerson(t)
			path := p.write("up.yaml", own+test.tokens)
			pinned, err := p.mustRead("up.yaml").Pinned(func(name string) string { return values[name] }, []string{general})
			if test.want == "" {
				if profile, has := pinned[token]; err != nil || has != (name == "one") || has && profile != "p" {
					t.Errorf("%v, %v", pinned, err)
				}
				return
			}
			if err == nil || pinned != nil {
				t.Fatalf("%v, %v", pinned, err)
			}
			checkProblems(t, err, path, own+test.tokens)
			got := strings.ReplaceAll(err.Error(), path+":", "")
			if got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
			if strings.Contains(got, token) {
				t.Errorf("a token is shown:\n%s", got)
			}
		})
	}
}

// A server gets no token of gauze's clients, in whatever environment it starts, unless it refers to the variable.
func TestTokensAreNotForServers(t *testing.T) {
	p := newPerson(t, "CI=of gauze", "GENERAL=of gauze", "OTHER=1")
	p.write(".cursor/mcp.json", `{"mcpServers": {
		"entry": {"command": "entry"}, "refers": {"command": "refers", "env": {"X": "${env:CI}"}},
		"wrapped": {"command": "gauze", "args": ["run", "--", "inner"]}}}`)
	path := p.write("up.yaml", `
include: [cursor]
servers:
  given: {command: [given]}
  set: {command: [set], env: {X: "${CI}", GENERAL: mine}}
  remote: {url: "https://example.com/mcp", headers: {Authorization: "Bearer ${CI}"}}
tokens:
  ci: {env: CI}
`)
	f, err := Read(path, Options{Fleet: p.fleet, Private: []string{"GENERAL"}})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"given":   "[OTHER=2] []",
		"set":     "[OTHER=2 GENERAL=mine X=of client] []",
		"remote":  "[] [{Authorization Bearer of client the file of gauze up}]",
		"entry":   "[OTHER=2] []",
		"refers":  "[OTHER=2 CI=of client X=of client] []",
		"wrapped": "[OTHER=2] []",
	} {
		s := f.Server(key)
		spec, err := s.At(p.dir, []string{"CI=of client", "GENERAL=of client", "OTHER=2"})
		if got := fmt.Sprint(spec.Env, spec.Header); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", key, got, err, want)
		}
		want = strings.NewReplacer("of client", "of gauze", "OTHER=2", "PATH=/bin OTHER=1").Replace(want)
		if got := fmt.Sprint(s.Spec.Env, s.Spec.Header); got != want {
			t.Errorf("%s in the environment of gauze: %s, want %s", key, got, want)
		}
	}
}
