package clientconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/sample"
	"github.com/gauze-mcp/gauze/internal/workshop/splice"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// defect spoils an entry as people do; it reports whether it found something
// to spoil.
type defect struct {
	name  string
	spoil func(g *generator, f Fields, m *splice.Map) bool
}

func renaming(of func(Fields) string, to string) func(*generator, Fields, *splice.Map) bool {
	return func(_ *generator, f Fields, m *splice.Map) bool { return renameKey(m, of(f), to) }
}

func renameKey(m *splice.Map, from, to string) bool {
	i := indexOf(*m, from)
	if i < 0 || indexOf(*m, to) >= 0 || from == to {
		return false
	}
	(*m)[i].Name = to
	return true
}

func replacing(of func(Fields) string, with any) func(*generator, Fields, *splice.Map) bool {
	return func(_ *generator, f Fields, m *splice.Map) bool { return replace(m, of(f), with) }
}

func replace(m *splice.Map, key string, with any) bool {
	i := indexOf(*m, key)
	if i < 0 {
		return false
	}
	(*m)[i].Value = with
	return true
}

func adding(key string, value any) func(*generator, Fields, *splice.Map) bool {
	return func(_ *generator, f Fields, m *splice.Map) bool {
		if indexOf(*m, key) >= 0 {
			return false
		}
		*m = append(*m, splice.Member{Name: key, Value: value})
		return true
	}
}

func dropping(of func(Fields) string) func(*generator, Fields, *splice.Map) bool {
	return func(_ *generator, f Fields, m *splice.Map) bool {
		i := indexOf(*m, of(f))
		if i < 0 {
			return false
		}
		*m = slices.Delete(*m, i, i+1)
		return true
	}
}

func indexOf(m splice.Map, name string) int {
	return slices.IndexFunc(m, func(m splice.Member) bool { return m.Name == name })
}

func command(f Fields) string { return f.Command }
func args(f Fields) string    { return f.Args }
func env(f Fields) string     { return f.Env }
func address(f Fields) string { return f.URL }
func headers(f Fields) string { return f.Headers }
func typed(f Fields) string   { return f.Types.Field }
func named(name string) func(Fields) string {
	return func(Fields) string { return name }
}
func limit(f Fields) string {
	if len(f.Timeouts) == 0 {
		return ""
	}
	return f.Timeouts[0].Field
}

// defects are the kinds; file adds those of a whole file.
var defects = []defect{
	{"cmd", renaming(command, "cmd")}, {"command", renaming(command, "command")}, {"executable", renaming(command, "executable")},
	{"arguments", renaming(args, "arguments")}, {"environment", renaming(env, "environment")}, {"env", renaming(env, "env")}, {"envs", renaming(env, "envs")},
	{"uri", renaming(address, "uri")}, {"url", renaming(address, "url")}, {"serverUrl", renaming(address, "serverUrl")}, {"httpUrl", renaming(address, "httpUrl")},
	{"http_headers", renaming(headers, "http_headers")}, {"headers", renaming(headers, "headers")},
	{"transport", renaming(typed, "transport")}, {"type", renaming(typed, "type")}, {"no type", dropping(typed)},
	{"streamable-http", replacing(typed, "streamable-http")}, {"streamableHttp", replacing(typed, "streamableHttp")}, {"remote", replacing(typed, "remote")},
	{"local", replacing(typed, "local")}, {"stdio", replacing(typed, "stdio")}, {"http", replacing(typed, "http")}, {"grpc", replacing(typed, "grpc")}, {"type 5", replacing(typed, 5)},
	{"line", replacing(command, "npx -y 'acme server'")}, {"list", replacing(command, []any{"npx", "-y", "acme"})}, {"text", replacing(command, "npx")}, {"number", replacing(command, 7)},
	{"args text", replacing(args, "-y acme")}, {"args number", replacing(args, []any{"acme", 8080, true})}, {"args null", replacing(args, nil)},
	{"env numbers", replacing(env, splice.Map{{Name: "PORT", Value: 8080}, {Name: "DEBUG", Value: true}, {Name: "NODE_TLS_REJECT_UNAUTHORIZED", Value: 0}})},
	{"env list", replacing(env, []any{"A=b", "C=d"})}, {"env text", replacing(env, "A=b")},
	{"header number", replacing(headers, splice.Map{{Name: "X-Team", Value: 7}})},
	{"timeout text", replacing(limit, "60")}, {"timeout negative", replacing(limit, -5)}, {"timeout large", replacing(limit, 120000)}, {"timeout small", replacing(limit, 45)}, {"timeout odd", replacing(limit, 7201)},
	{"disabled", adding("disabled", true)}, {"enabled", adding("enabled", false)}, {"isActive", adding("isActive", false)},
	{"a slip", func(g *generator, f Fields, m *splice.Map) bool { return renameKey(m, f.Args, "agrs") }},
	{"another slip", func(g *generator, f Fields, m *splice.Map) bool {
		return f.Types.Field != "" && renameKey(m, f.Headers, "haeders")
	}},
	{"${VAR}", replacing(env, splice.Map{{Name: "T", Value: "${ACME_TOKEN}"}})}, {"${env:VAR}", replacing(env, splice.Map{{Name: "T", Value: "x${env:ACME_TOKEN}"}})},
	{"{env:VAR}", replacing(env, splice.Map{{Name: "T", Value: "{env:ACME_TOKEN}"}})}, {"$VAR", replacing(env, splice.Map{{Name: "ACME_TOKEN", Value: "$ACME_TOKEN"}})},
	{"in a header", replacing(headers, splice.Map{{Name: "Authorization", Value: "Bearer ${ACME_TOKEN}"}})},
	{"a placeholder", replacing(env, splice.Map{{Name: "API_KEY", Value: "YOUR_API_KEY"}})},
	{"a secret", replacing(env, splice.Map{{Name: "API_KEY", Value: canary}})},
	{"~", replacing(args, []any{"~/notes", "--root=~/x"})}, {"./", replacing(args, []any{"./server.js"})},
	{"docker -it", docker("run", "-it", "--rm", "acme/server")}, {"docker", docker("run", "--rm", "acme/server")}, {"docker -d", docker("run", "-i", "-d", "-t", "acme/server")},
	{"no tools", dropping(named("tools"))}, {"no name", dropping(named("name"))}, {"source", adding("source", "custom")},
	{"nested", replacing(command, splice.Map{{Name: "path", Value: "uvx"}, {Name: "args", Value: []any{"acme"}}})},
	{"both", func(g *generator, f Fields, m *splice.Map) bool {
		return adding(f.URL, "https://b.example/mcp")(g, f, m)
	}},
	{"bad URL", replacing(address, "a.example/mcp")}, {"nothing", dropping(command)}, {"an unknown key", adding("x-custom", splice.Map{{Name: "deep", Value: []any{1, nil, "é"}}})},
}

func docker(words ...string) func(*generator, Fields, *splice.Map) bool {
	return func(_ *generator, f Fields, m *splice.Map) bool {
		if f.Argv {
			return replace(m, f.Command, append([]any{"docker"}, list(words)...))
		}
		return indexOf(*m, f.Args) >= 0 && replace(m, f.Command, "docker") && replace(m, f.Args, list(words))
	}
}

const canary = "sk-canary0123456789abcdefCANARY"

// generator makes files in the styles people have.
type generator struct {
	*rand.Rand
	crlf, wide, tight bool
	depth             int
}

func (g *generator) pick(n int) bool { return g.IntN(n) == 0 }

// json writes a value in the style of the file.
func (g *generator) json(v any, comments bool) string {
	open := func(l, r string, items []string) string {
		if len(items) == 0 {
			return l + r
		}
		if g.tight || !g.wide && g.depth > 2 {
			return l + strings.Join(items, ", ") + r
		}
		pad := strings.Repeat("  ", g.depth+1)
		for i := range items {
			items[i] = pad + items[i]
			if i < len(items)-1 {
				items[i] += ","
			}
			if comments && g.pick(6) {
				items[i] += " // é"
			}
		}
		return l + "\n" + strings.Join(items, "\n") + "\n" + strings.Repeat("  ", g.depth) + r
	}
	var items []string
	switch v := v.(type) {
	case splice.Map:
		for _, m := range v {
			g.depth++
			value := g.json(m.Value, comments)
			g.depth--
			items = append(items, quote(m.Name)+": "+value)
		}
		return open("{", "}", items)
	case []any:
		for _, item := range v {
			g.depth++
			items = append(items, g.json(item, false))
			g.depth--
		}
		return open("[", "]", items)
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// servers are entries for a place, some of them spoiled.
func (g *generator) servers(t *testing.T, f File, fields Fields) (all splice.Map, spoiled map[string][]string, want map[string]launch.Spec) {
	spoiled, want = map[string][]string{}, map[string]launch.Spec{}
	for i := range 1 + g.IntN(4) {
		spec := launch.Spec{Command: "/usr/bin/uvx", Args: []string{"acme", "--n", fmt.Sprint(g.IntN(99))}, Env: []string{"MODE=ro"}}
		if g.pick(3) {
			spec = launch.Spec{URL: "https://a.example/mcp", Header: []launch.Header{{Name: "X-Team", Value: "blue"}}}
		}
		name := fmt.Sprintf("server-%d", i)
		entry, err := f.Client.Render(spec, RenderOptions{Fields: &fields, Name: name, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		for range g.IntN(3) {
			d := defects[g.IntN(len(defects))]
			if d.spoil(g, fields, &entry) {
				spoiled[name] = append(spoiled[name], d.name)
			}
		}
		all = append(all, splice.Member{Name: name, Value: entry})
		want[name] = spec
	}
	return all, spoiled, want
}

// file writes a whole file; whole tells that it was spoiled as such.
func (g *generator) file(t *testing.T, f File, fields Fields) (text []byte, spoiled map[string][]string, want map[string]launch.Spec, whole bool) {
	servers, spoiled, want := g.servers(t, f, fields)
	key := f.Place.Keys[len(f.Place.Keys)-1]
	if len(key) == 0 {
		key = f.Place.Keys[0]
	}
	name := key[len(key)-1]
	if len(key) == 1 && g.pick(15) {
		name, whole = []string{"servers", "mcp-servers", "mcpServers"}[g.IntN(3)], true
	}
	var value any = servers
	if f.Place.List != g.pick(30) {
		var items []any
		for _, m := range servers {
			items = append(items, append(splice.Map{{Name: "name", Value: m.Name}}, slices.DeleteFunc(slices.Clone(m.Value.(splice.Map)), func(m splice.Member) bool { return m.Name == "name" })...))
		}
		value = items
		whole = whole || !f.Place.List
	} else if f.Place.List {
		whole = true
	}
	root := splice.Map{{Name: "before", Value: "x: [y], {z}"}, {Name: name, Value: value}, {Name: "after", Value: splice.Map{{Name: "deep", Value: []any{1, "é"}}}}}
	for _, outer := range slices.Backward(key[:len(key)-1]) {
		if outer == inProject {
			outer = "/home/me/project"
		}
		root[1] = splice.Member{Name: outer, Value: splice.Map{root[1]}}
	}
	if format := f.Format(); format == splice.TOML || format == splice.YAML {
		d, err := splice.Parse(format, nil)
		for _, m := range root {
			if err == nil {
				d, err = d.Set([]any{m.Name}, m.Value)
			}
		}
		if err != nil {
			return nil, nil, nil, false // nothing TOML can say
		}
		return d.Bytes(), spoiled, want, whole
	}
	comments := f.Client.Comments == Yes || g.pick(10)
	body := g.json(root, comments) + "\n"
	if g.pick(10) {
		at := strings.LastIndex(body, "}")
		body, whole = body[:at]+", "+body[at:], true
	}
	if g.crlf {
		body = strings.ReplaceAll(body, "\n", "\r\n")
	}
	if g.pick(20) {
		body, whole = "\ufeff"+body, true
	}
	return []byte(body), spoiled, want, whole || comments && f.Client.Comments != Yes
}

// failedSeeds are seeds of TestGeneratedFilesAreMendedAndNothingElse that failed once.
var failedSeeds []uint64

// Files with defects of sixty kinds: what is not mended keeps its
// bytes, mending twice is mending once, what is only spelled wrong is the same
// server again, and what works can be wrapped and given back.
func TestGeneratedFilesAreMendedAndNothingElse(t *testing.T) {
	t.Parallel()
	home := Home{OS: "linux", Home: "/home/me", Project: "/home/me/project", Environ: []string{"PATH=/bin", "ACME_TOKEN=" + canary}, Disk: memory{}}
	s := story{t: t, home: home, kinds: map[string]bool{}}
	s.places = slices.DeleteFunc(home.Places(), func(f File) bool { return f.Place.Old != "" || f.Place.Borrowed })
	sample.Each(t, sample.Seeds(sample.Seed(t), 10_000, failedSeeds...), s.of)
	t.Logf("%d files, %d kinds of defects, %d fixes, %d spelled right again, %d wrapped and given back", s.files, len(s.kinds), s.fixes, s.restored, s.wraps)
	if len(s.kinds) < 45 || s.fixes < s.files/2 || s.wraps < s.files/5 || s.restored < s.files/10 {
		t.Errorf("too little happened: %d kinds, %d fixes, %d restored, %d wraps", len(s.kinds), s.fixes, s.restored, s.wraps)
	}
}

// story counts what happened to generated files.
type story struct {
	t                             *testing.T
	home                          Home
	places                        []File
	files, fixes, wraps, restored int
	kinds                         map[string]bool
}

// of tells the story of one file.
func (s *story) of(seed uint64) {
	t, g := s.t, &generator{Rand: sample.Random(seed, 6)}
	f := s.places[g.IntN(len(s.places))]
	g.crlf, g.wide, g.tight = g.pick(5), g.pick(2), g.pick(4)
	fields := f.Client.Fields
	if f.Place.Fields != nil {
		fields = *f.Place.Fields
	}
	text, spoiled, want, whole := g.file(t, f, fields)
	if text == nil {
		return
	}
	s.files++
	for _, names := range spoiled {
		for _, name := range names {
			s.kinds[name] = true
		}
	}
	before := s.home.ReadText(f, text)
	after, made := before.Mend(Shown)
	s.fixes += len(made)
	if again, more := after.Mend(Shown); len(more) > 0 || !bytes.Equal(again.Text, after.Text) {
		t.Fatalf("%s %v: mended twice is not mended once (%s)\n%s\n%s", f.Client.ID, spoiled, more[0].Code, after.Text, again.Text)
	}
	if len(made) == 0 && !bytes.Equal(before.Text, after.Text) {
		t.Fatalf("%s: changed without a fix", f.Client.ID)
	}
	for _, p := range slices.Concat(before.Lint(), after.Lint()) {
		if shown := fmt.Sprint(p.What, p.Why, p.Next, p.Server); strings.Contains(strings.ToLower(shown), "canary") {
			t.Fatalf("%s shows a secret: %s", p.Code, shown)
		}
	}
	if !whole {
		untouched(t, f, before, after, spoiled)
		s.restored += sameAgain(t, f, before, after, spoiled, want)
	}
	if g.pick(3) {
		s.wraps += wrapAll(t, s.home, f, after)
	}
}

// onlySpelled are the defects after which the same server is meant.
var onlySpelled = []string{"cmd", "command", "executable", "arguments", "environment", "env", "envs", "uri", "url", "serverUrl", "httpUrl", "http_headers", "headers",
	"type", "no type", "streamable-http", "streamableHttp", "remote", "local", "stdio", "http", "timeout text", "timeout negative", "timeout large", "a slip", "another slip", "source"}

// sameAgain compares the servers of entries that were spelled wrong in one way.
func sameAgain(t *testing.T, f File, before, after *Config, spoiled map[string][]string, want map[string]launch.Spec) (count int) {
	t.Helper()
	for _, e := range after.Entries {
		names := spoiled[e.Name]
		if len(names) != 1 || !slices.Contains(onlySpelled, names[0]) || e.Wrapped {
			continue
		}
		w := want[e.Name]
		if e.Spec.Command != w.Command || !slices.Equal(e.Spec.Args, w.Args) || e.Spec.URL != w.URL || len(w.Header) != len(e.Spec.Header) || w.Command != "" && !slices.Contains(e.Spec.Env, "MODE=ro") {
			t.Errorf("%s, %v: %s is another server\n%s\n%s", f.Client.ID, names, e.Name, before.Text, after.Text)
		}
		count++
	}
	return count
}

// untouched compares the bytes of what nobody spoiled.
func untouched(t *testing.T, f File, before, after *Config, spoiled map[string][]string) {
	t.Helper()
	for _, name := range []string{"before", "after"} {
		a, _ := before.Doc.At(name)
		b, ok := after.Doc.At(name)
		if !ok || a.Raw() != b.Raw() {
			t.Fatalf("%s: %q is not as it was\n%s", f.Client.ID, name, after.Text)
		}
	}
	fixed := map[string]bool{}
	for _, p := range before.Lint() {
		fixed[p.Server] = fixed[p.Server] || p.Fix != nil
	}
	for i, e := range before.Entries {
		if spoiled[e.Name] != nil || fixed[e.Name] {
			continue
		}
		if i >= len(after.Entries) || after.Entries[i].src.outer.Raw() != e.src.outer.Raw() {
			t.Fatalf("%s: %s is not as it was\n%s\n%s", f.Client.ID, e.Name, before.Text, after.Text)
		}
	}
}

func wrapAll(t *testing.T, home Home, f File, c *Config) (wrapped int) {
	t.Helper()
	now := c
	ours := map[int]bool{}
	for i := range now.Entries {
		edit, err := now.Wrap(&now.Entries[i], WrapOptions{Gauze: "/opt/my tools/gauze", Remote: true})
		var skipped Skipped
		if errors.As(err, &skipped) {
			continue
		}
		text, err := edit.Apply(now.Format(), now.Text)
		if err != nil {
			t.Fatal(err)
		}
		now = home.ReadText(f, text)
		wrapped++
		ours[i] = true
	}
	for i := range now.Entries {
		if !ours[i] {
			continue
		}
		edit, err := now.Unwrap(&now.Entries[i])
		if err != nil {
			t.Fatalf("%s: %v\n%s", f.Client.ID, err, now.Text)
		}
		text, err := edit.Apply(now.Format(), now.Text)
		if err != nil {
			t.Fatal(err)
		}
		now = home.ReadText(f, text)
	}
	if !bytes.Equal(now.Text, c.Text) {
		t.Fatalf("%s: not given back\n%s\n%s", f.Client.ID, c.Text, now.Text)
	}
	return wrapped
}
