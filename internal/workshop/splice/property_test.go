package splice

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/pelletier/go-toml/v2"

	"github.com/gauze-mcp/gauze/internal/testonly/sample"
)

// failedSeeds are seeds of TestEveryEditOfEveryDocument that failed once.
var failedSeeds []uint64

// bare is JSONC without its comments and trailing commas, found in another way
// than the reader finds them.
var lenient = regexp.MustCompile(`("(?:[^"\\]|\\.)*")|//[^\n]*|(?s:/\*.*?\*/)`)
var trailing = regexp.MustCompile(`("(?:[^"\\]|\\.)*")|,(\s*[\]}])`)

func bare(text []byte) []byte {
	return trailing.ReplaceAll(lenient.ReplaceAll(text, []byte("$1")), []byte("$1$2"))
}

// truth is what another library reads.
func truth(f Format, file []byte) (any, error) {
	text, _, err := decode(file)
	if err != nil {
		return nil, err
	}
	raw := []byte(text)
	var v any
	switch f {
	case JSONC:
		raw = bare(raw)
		fallthrough
	case JSON:
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber()
		err = decoder.Decode(&v)
	case TOML:
		m := map[string]any{}
		err = toml.Unmarshal(raw, &m)
		v = m
	case YAML:
		err = yaml.Unmarshal([]byte(strings.ReplaceAll(text, "\r\n", "\n")), &v)
	}
	return v, err
}

// common makes our values and those of a library alike.
func common(v any) any {
	switch v := v.(type) {
	case Map:
		m := map[string]any{}
		for _, member := range v {
			m[member.Name] = common(member.Value)
		}
		return m
	case map[string]any:
		m := map[string]any{}
		for name, value := range v {
			m[name] = common(value)
		}
		return m
	case []any:
		items := []any{}
		for _, item := range v {
			items = append(items, common(item))
		}
		return items
	case json.Number:
		var f float64
		text := strings.TrimPrefix(strings.ReplaceAll(string(v), "_", ""), "+")
		if n, err := fmt.Sscanf(text, "0x%x", new(int)); n == 1 && err == nil {
			var hex int
			fmt.Sscanf(text, "0x%x", &hex)
			return float64(hex)
		}
		fmt.Sscan(text, &f)
		return f
	case Clock:
		return "time"
	case string, bool, nil:
		return v
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	case float64:
		return v
	}
	return "time"
}

// spot is a value of a document and the way to it.
type spot struct {
	path []any
	node Node
}

func spots(n Node, path []any) []spot {
	all := []spot{{path, n}}
	step := func(s any, child Node) {
		all = append(all, spots(child, append(append([]any{}, path...), s))...)
	}
	for name, child := range n.Members() {
		step(name, child)
	}
	for i, child := range n.Items() {
		step(i, child)
	}
	return all
}

// with is a value with another one at the end of a path; gone takes it out.
type goneType struct{}

func with(v any, path []any, value any) any {
	if len(path) == 0 {
		return value
	}
	if name, isName := path[0].(string); isName {
		m := map[string]any{}
		for k, old := range v.(map[string]any) {
			m[k] = old
		}
		if inner := with(m[name], path[1:], value); inner == (goneType{}) {
			delete(m, name)
		} else {
			m[name] = inner
		}
		return m
	}
	items := append([]any{}, v.([]any)...)
	index := path[0].(int)
	if index == len(items) {
		items = append(items, nil)
	}
	inner := with(items[index], path[1:], value)
	if inner == (goneType{}) {
		return append(items[:index], items[index+1:]...)
	}
	items[index] = inner
	return items
}

// prune: TOML's tables go with the last of their members.
func prune(v any) any {
	m, isMap := v.(map[string]any)
	if !isMap {
		return v
	}
	out := map[string]any{}
	for name, value := range m {
		value = prune(value)
		if inner, ok := value.(map[string]any); ok && len(inner) == 0 {
			continue
		}
		if items, ok := value.([]any); ok && len(items) == 0 {
			continue
		}
		out[name] = value
	}
	return out
}

// within: are the bytes of a, in their order, among those of b?
func within(a, b string) bool {
	i := 0
	for j := 0; i < len(a) && j < len(b); j++ {
		if a[i] == b[j] {
			i++
		}
	}
	return i == len(a)
}

var commentNumber = regexp.MustCompile(`(?://|#) c\d+,`)

func TestEveryEditOfEveryDocument(t *testing.T) {
	for name, format := range formats {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seeds, tally := sample.Seeds(sample.Seed(t), 10_000, failedSeeds...), map[string]int{}
			sample.Each(t, seeds, func(seed uint64) { // a new document and one edit there and back
				if trial := begin(t, format, seed, tally); trial != nil {
					trial.run()
				}
			})
			t.Log(tally)
			if tally["refused"]*50 > tally["edits"] {
				t.Errorf("%d of %d edits were refused", tally["refused"], tally["edits"])
			}
			if tally["identical"] < len(seeds)/10 {
				t.Errorf("only %d edits were undone", tally["identical"])
			}
		})
	}
}

// trial is one document, read by us and by another library.
type trial struct {
	*testing.T
	*rand.Rand
	format Format
	file   []byte
	d      *Document
	old    map[string]any
	all    []spot
	tally  map[string]int
}

func begin(t *testing.T, format Format, seed uint64, tally map[string]int) *trial {
	file := document(format, seed)
	known, err := truth(format, file)
	if err != nil {
		t.Fatalf("another library does not read this: %v\n%s", err, file)
	}
	d, err := Parse(format, file)
	if err != nil {
		t.Errorf("%v in\n%s", err, file)
		return nil
	}
	old, _ := common(known).(map[string]any)
	if old == nil {
		old = map[string]any{}
	}
	if read := common(d.Root().Value()); !reflect.DeepEqual(read, any(old)) {
		t.Errorf("read\n%v, not\n%v\n%s", read, old, d.text)
		return nil
	}
	return &trial{t, sample.Random(seed, 99), format, file, d, old, spots(d.Root(), nil), tally}
}

func (t *trial) run() {
	story := t.IntN(6)
	if story < 2 || len(t.all) == 1 {
		t.comesAndGoes(t.all[t.IntN(len(t.all))])
		return
	}
	s := t.all[1+t.IntN(len(t.all)-1)]
	switch story {
	case 2, 3:
		t.changesAndBack(s)
	case 4:
		t.goes(s)
	case 5:
		t.isRenamed(s)
	}
}

// reads: does the other library read what is wanted?
func (t *trial) reads(what string, next *Document, want any) {
	t.Helper()
	after, err := truth(t.format, next.Bytes())
	if after == nil {
		after = map[string]any{} // an empty file
	}
	after = common(after)
	if t.format == TOML && strings.HasPrefix(what, "remove") {
		after, want = prune(after), prune(want)
	}
	if err != nil || !reflect.DeepEqual(after, want) {
		t.Errorf("%s: %v\n%s\n--- became\n%s\n%v\nwant\n%v", what, err, t.d.text, next.text, after, want)
	}
}

func (t *trial) refused(err error) bool {
	t.Helper()
	t.tally["edits"]++
	if err == nil {
		return false
	}
	t.tally["refused"]++
	if refusal, ok := err.(*RefusedError); !ok || t.format == JSON || t.format == JSONC {
		t.Errorf("%v\n%s", err, t.d.text)
	} else {
		t.tally["refused: "+refusal.Why]++
	}
	return true
}

func (s spot) empty() bool { return len(s.node.n.resolve().children) == 0 }

func (s spot) to(step any) []any { return append(append([]any{}, s.path...), step) }

// comesAndGoes: something new is added, added again, and removed.
func (t *trial) comesAndGoes(s spot) {
	var path []any
	switch s.node.Kind() {
	case MapKind:
		path = s.to([]string{"new", "new one", "n.e.w", "né\"w"}[t.IntN(4)])
	case ListKind:
		path = s.to(len(s.node.Items()))
	default:
		return
	}
	value := []any{"text", 5, true, Map{{"command", "npx"}, {"args", []any{"-y", "x"}}, {"env", Map{{"A", "1"}}}}, []any{"a", "b"}, Map{}}[t.IntN(6)]
	next, err := t.d.Set(path, value)
	if t.refused(err) {
		return
	}
	want, _ := plain(t.format, value)
	what := fmt.Sprintf("set %q", path)
	t.reads(what, next, with(t.old, path, common(want)))
	if !within(t.d.text, next.text) && !s.empty() {
		t.Errorf("%s: bytes were lost\n%s\n--- became\n%s", what, t.d.text, next.text)
	}
	if len(commentNumber.FindAllString(t.d.text, -1)) != len(commentNumber.FindAllString(next.text, -1)) {
		t.Errorf("%s: comments were lost\n%s\n--- became\n%s", what, t.d.text, next.text)
	}
	if again, err := next.Set(path, value); err != nil || again.text != next.text {
		t.Errorf("%s twice: %v\n%s", what, err, next.text)
	}
	back, err := next.Remove(path)
	n := s.node.n
	switch {
	case err != nil:
		t.Errorf("%s and back: %v\n%s\n--- became\n%s", what, err, t.d.text, next.text)
	case bytes.Equal(back.Bytes(), t.file):
		t.tally["identical"]++
	case n.scattered && n.origin == originImplied && n.kind == MapKind && len(s.path) > 0:
		t.tally["got a header of its own"]++
	case s.empty():
		t.tally["was empty"]++
	default:
		t.Errorf("%s is not undone\n%q\n--- became\n%q\n--- became\n%q", what, t.d.text, next.text, back.text)
	}
}

// changesAndBack: a value becomes another one, a list grows at its front, as
// when a server is wrapped; then it is what it was.
func (t *trial) changesAndBack(s spot) {
	var value any = "something else"
	switch {
	case s.node.Kind() == ListKind && !s.empty() && !s.node.n.scattered:
		value = append([]any{"run", "--"}, s.node.Value().([]any)...)
	case s.node.Kind() >= ListKind:
		return
	}
	next, err := t.d.Set(s.path, value)
	if t.refused(err) {
		return
	}
	what := fmt.Sprintf("replace %q", s.path)
	want, _ := plain(t.format, value)
	t.reads(what, next, with(t.old, s.path, common(want)))
	back, err := next.Set(s.path, s.node.Value())
	if err != nil {
		t.Errorf("%s and back: %v\n%s", what, err, next.text)
		return
	}
	t.reads(what+" and back", back, any(t.old))
	// Escapes and texts of many lines are not written again as they were, nor
	// can one know that quotes were not needed.
	usual := s.node.Kind() == ListKind || !strings.ContainsAny(s.node.Raw(), "\\\n~") && !strings.Contains(s.node.Raw(), "'''") && s.node.Raw() != ""
	if t.format == YAML && s.node.Kind() == StringKind && s.node.n.style == 0 && !plainYAML(s.node.n.text) {
		usual = false
	}
	if usual && !bytes.Equal(back.Bytes(), t.file) {
		t.Errorf("%s is not undone\n%s\n--- became\n%s\n--- became\n%s", what, t.d.text, next.text, back.text)
	}
}

func (t *trial) goes(s spot) {
	next, err := t.d.Remove(s.path)
	if t.refused(err) {
		return
	}
	what := fmt.Sprintf("remove %q", s.path)
	t.reads(what, next, with(t.old, s.path, goneType{}))
	text := strings.NewReplacer(" {}", "", " []", "", "{}", "", "[]", "").Replace(next.text)
	if !within(text, t.d.text) {
		t.Errorf("%s added something\n%s\n--- became\n%s", what, t.d.text, next.text)
	}
}

func (t *trial) isRenamed(s spot) {
	name, isName := s.path[len(s.path)-1].(string)
	if !isName {
		return
	}
	next, err := t.d.Rename(s.path, "new: name")
	if t.refused(err) {
		return
	}
	path := append(append([]any{}, s.path[:len(s.path)-1]...), "new: name")
	t.reads("rename", next, with(with(t.old, s.path, goneType{}), path, common(s.node.Value())))
	back, err := next.Rename(path, name)
	if err != nil {
		t.Errorf("rename %q and back: %v\n%s", s.path, err, next.text)
		return
	}
	t.reads("rename and back", back, any(t.old))
}
