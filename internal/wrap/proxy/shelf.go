package proxy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// Shelf keeps what servers said about themselves, so that a session can begin while its server is
// down. whose identifies a server, an account and a kind of client. It contains secrets.
type Shelf interface {
	Get(whose string) []byte // nil: nothing is kept
	Put(whose string, content []byte)
}

// shelf is the kernel's shelf: it keeps portraits without secrets.
type shelf struct {
	kept      Shelf
	given     func() launch.Spec // how the server is started or reached now
	principal string
	words     *words
}

// Recall returns what a server said to a client of this kind that sent initialize or server/discover; nil: nothing is kept.
func Recall(kept Shelf, spec launch.Spec, principal, method string, version, capabilities []byte) []byte {
	if kept == nil {
		return nil
	}
	s := &shelf{kept: kept, given: func() launch.Spec { return spec }, principal: principal}
	if p := s.Get(s.Whose(method, version, capabilities)); p.Result != "" {
		return []byte(p.Result)
	}
	return nil
}

// Whose identifies the server, the account at it, and the kind of client that asks: a server may
// answer each differently.
func (s *shelf) Whose(method string, version, capabilities []byte) string {
	return fmt.Sprintf("%q", append(account(s.given()), s.principal, method, string(version), string(capabilities)))
}

// Get returns the portrait on the shelf, an empty one if there is none.
func (s *shelf) Get(whose string) (p kernel.Portrait) {
	if json.Unmarshal(s.kept.Get(whose), &p) != nil {
		return kernel.Portrait{}
	}
	return p
}

// Put keeps what is new in a portrait, without what contains a secret. Lists of the last one that
// this client has not asked for stay.
func (s *shelf) Put(whose string, p kernel.Portrait) {
	if s.noteEras(p); p.Modern {
		return
	}
	if p.Legacy {
		s.kept.Put(whose, []byte(`{"legacy":true}`))
		return
	}
	last, secrets := s.Get(whose), s.words.secrets.Load().Certain()
	if last.Result != p.Result {
		if holdsSecret(p.Result, secrets) {
			return
		}
		last = kernel.Portrait{}
	}
	fresh := last.Result == ""
	lists := map[string]string{}
	maps.Copy(lists, last.Lists)
	for method, list := range p.Lists {
		if lists[method] == list {
			continue
		}
		fresh, lists[method] = true, list
		if holdsSecret(list, secrets) {
			delete(lists, method)
		}
	}
	if content, err := json.Marshal(kernel.Portrait{Result: p.Result, Lists: lists}); fresh && err == nil {
		s.kept.Put(whose, content)
		if tools := lists[toolsList]; tools != "" && s.principal == "" {
			s.kept.Put(anyone(s.given()), []byte(tools))
			s.kept.Put(sameAccount(s.given()), []byte(tools))
		}
	}
}

const toolsList = "tools/list"

// Remembered returns the list of tools that a server last gave to any client of this user, nil if there is none.
func Remembered(kept Shelf, spec launch.Spec) []byte { return kept.Get(anyone(spec)) }

// Listed is Remembered for one account: started in the same directory with the same secrets, or reached with the same headers.
func Listed(kept Shelf, spec launch.Spec) []byte { return kept.Get(sameAccount(spec)) }

// sameAccount identifies a server and the account at it for all kinds of clients.
func sameAccount(spec launch.Spec) string { return fmt.Sprintf("%s %q", toolsList, account(spec)) }

// anyone identifies a server for all clients and accounts.
func anyone(spec launch.Spec) string {
	return fmt.Sprintf("%s %q", toolsList, append([]string{spec.URL, spec.Command}, spec.Args...))
}

// holdsSecret reports whether a text of JSON contains one of these secrets, or a string that looks
// like one.
func holdsSecret(text string, secrets redact.Secrets) bool {
	var all any
	if secrets.In(text) || json.Unmarshal([]byte(text), &all) != nil {
		return true
	}
	return anyString(all, func(value string) bool { return redact.Text(value) != value })
}

// anyString reports whether is holds for a string in decoded JSON. The names of members do not count.
func anyString(value any, is func(string) bool) bool {
	switch value := value.(type) {
	case string:
		return is(value)
	case []any:
		return slices.ContainsFunc(value, func(one any) bool { return anyString(one, is) })
	case map[string]any:
		for _, one := range value {
			if anyString(one, is) {
				return true
			}
		}
	}
	return false
}

// account returns what the same server may answer differently for: its directory and its secrets. Other
// variables do not count: many of them are new in each terminal.
func account(spec launch.Spec) []string {
	if spec.URL != "" {
		return []string{spec.Fingerprint()}
	}
	named := spec
	named.Env = nil
	here, _ := os.Getwd()
	all := []string{named.Fingerprint(), cmp.Or(spec.Dir, here)}
	for _, pair := range slices.Sorted(slices.Values(spec.Environment())) {
		if name, value, _ := strings.Cut(pair, "="); redact.NamesSecret(name, value) || len(redact.InnerSecrets(value)) > 0 {
			all = append(all, pair)
		}
	}
	return all
}
