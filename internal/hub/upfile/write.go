package upfile

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/hub/names"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/workshop/splice"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// Given is a server as a file has it. In Env and in headers ${NAME} refers to a variable.
type Given struct {
	Key   string
	From  []string // where it comes from, for a comment
	Spec  launch.Spec
	Tools Filter
}

// sample is a key that no server can have.
const sample = "SAMPLE"

// fresh is a file without servers. The server in it shows how others are written, and is removed.
const fresh = `# The servers of gauze up, for all clients that run gauze connect.
# gauze up --check shows what is in this file.
servers:
  ` + sample + `:
    command: [sample]
`

// extend returns the text of a file with more servers. Every other byte of it stays. No text is a file
// that does not exist.
func extend(text []byte, servers []Given) ([]byte, error) {
	isNew := len(bytes.TrimSpace(text)) == 0
	if isNew {
		text = []byte(fresh)
	}
	d, err := splice.Parse(splice.YAML, text)
	for _, s := range servers {
		if err == nil {
			d, err = d.Set([]any{"servers", s.Key}, s.entry())
		}
	}
	if err == nil && isNew {
		d, err = d.Remove([]any{"servers", sample})
	}
	for _, s := range servers {
		if err == nil {
			d, err = commented(d, s)
		}
	}
	if err != nil {
		return nil, err
	}
	return d.Bytes(), nil
}

// commented adds a comment that says where a server comes from, at the end of the line with its key. A
// file that may be JSON gets none.
func commented(d *splice.Document, s Given) (*splice.Document, error) {
	keys := d.Keys("servers", s.Key)
	text := string(d.Bytes())
	if len(keys) != 1 || len(s.From) == 0 || strings.HasPrefix(text, "\ufeff") {
		return d, nil
	}
	at := keys[0].From
	if before := text[strings.LastIndexByte(text[:at], '\n')+1 : at]; strings.TrimLeft(before, " ") != "" || strings.HasPrefix(text, "{") {
		return d, nil
	}
	end := at + strings.IndexAny(text[at:]+"\n", "\r\n")
	return splice.Parse(splice.YAML, []byte(text[:end]+"  # from "+plaintext.Clean(strings.Join(s.From, ", "))+text[end:]))
}

// entry returns a server as it is written.
func (s Given) entry() (entry splice.Map) {
	put := func(name string, value any) { entry = append(entry, splice.Member{Name: name, Value: value}) }
	pairs := func(name string, all splice.Map) {
		if len(all) > 0 {
			put(name, all)
		}
	}
	var env, headers, tools splice.Map
	for _, pair := range s.Spec.Env {
		name, value, _ := strings.Cut(pair, "=")
		env = append(env, splice.Member{Name: name, Value: value})
	}
	for _, h := range s.Spec.Header {
		headers = append(headers, splice.Member{Name: h.Name, Value: h.Value})
	}
	if s.Spec.URL != "" {
		put("url", s.Spec.URL)
		pairs("headers", headers)
		pairs("login", loginEntry(s.Spec.Login))
	} else {
		put("command", list(append([]string{s.Spec.Command}, s.Spec.Args...)))
		pairs("env", env)
		if s.Spec.Dir != "" {
			put("cwd", s.Spec.Dir)
		}
	}
	if len(s.Tools.Allow) > 0 {
		tools = append(tools, splice.Member{Name: "allow", Value: list(s.Tools.Allow)})
	}
	if len(s.Tools.Deny) > 0 {
		tools = append(tools, splice.Member{Name: "deny", Value: list(s.Tools.Deny)})
	}
	pairs("tools", tools)
	return entry
}

// loginEntry returns a login as it is written, without a secret.
func loginEntry(l launch.Login) (entry splice.Map) {
	for _, m := range []splice.Member{{Name: "mode", Value: l.Mode}, {Name: "client-id", Value: l.ClientID}, {Name: "redirect-url", Value: l.RedirectURL}} {
		if m.Value != "" {
			entry = append(entry, m)
		}
	}
	if len(l.Scopes) > 0 {
		entry = append(entry, splice.Member{Name: "scopes", Value: list(l.Scopes)})
	}
	return entry
}

func list(words []string) []any {
	all := make([]any, len(words))
	for i, word := range words {
		all[i] = word
	}
	return all
}

// same reports whether two specs, as files have them, are of the same server.
func same(a, b launch.Spec) bool { return plainly(a).Fingerprint() == plainly(b).Fingerprint() }

// plainly returns a spec without what depends on where it is written.
func plainly(s launch.Spec) launch.Spec {
	s.Env, s.Header, s.Others = append([]string{}, s.Env...), slices.Clone(s.Header), nil
	slices.Sort(s.Env)
	for i := range s.Header {
		s.Header[i].Source = ""
	}
	slices.SortStableFunc(s.Header, func(a, b launch.Header) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// keyFor returns a free key for the server that a client knows by this name.
func keyFor(name, client string, taken func(string) bool) string {
	key := names.Key(name)
	if !taken(key) {
		return key
	}
	if with := names.Key(key + "-" + client); !taken(with) {
		return with
	}
	for i := 2; ; i++ {
		if next := fmt.Sprintf("%s-%d", key[:min(len(key), names.MaxKeyLen-4)], i); !taken(next) {
			return next
		}
	}
}
