package proxy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/redact"
	"github.com/gauze-mcp/gauze/internal/upstream"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// Shelf keeps what servers said about themselves, so that a session can begin while its server is
// down. whose identifies a server, an account and a kind of client. It contains secrets.
type Shelf interface {
	Get(whose string) []byte // nil: nothing is kept
	Put(whose string, content []byte)
}

// portrait is what a server said about itself, byte for byte: its lists are compared with those of
// the live server.
type portrait struct {
	Result string            `json:"result,omitempty"` // of initialize or server/discover
	Lists  map[string]string `json:"lists,omitempty"`  // results of what the client listed, by method
	Legacy bool              `json:"legacy,omitempty"` // it rejects server/discover
}

// likeness is the part of a session that is about portraits.
type likeness struct {
	whose   string
	intro   string // the result of initialize or server/discover
	told    string // the same, if it is from the shelf and no live server has confirmed it yet
	keeping bool   // the portrait is being put on the shelf
	again   bool   // and has changed since
}

// begun reports whether the session has begun with a live server.
func (s *Session) begun() bool { return s.memory.known() && s.told == "" }

// portray puts on the shelf what an answer says about the server.
func (s *Session) portray(c *call, result []byte) {
	if s.Shelf == nil {
		return
	}
	if opens(c.msg.Method) {
		s.whose, s.intro = s.whoseOf(c), string(result)
	} else if _, listed := kinds[c.msg.Method]; !listed {
		return
	}
	s.keepPortrait()
}

// portrayLegacy puts on the shelf that the server rejects server/discover.
func (s *Session) portrayLegacy(c *call) {
	if s.Shelf == nil || s.memory.known() || c.msg.Method != "server/discover" {
		return
	}
	whose := s.whoseOf(c)
	s.background.Go(func() {
		if s.recollect(whose).Result == "" { // else it only failed this time
			s.Shelf.Put(whose, []byte(`{"legacy":true}`))
		}
	})
}

// opens reports whether a method is what a client asks first.
func opens(method string) bool { return method == "initialize" || method == "server/discover" }

// keepPortrait puts the server's portrait on the shelf, in the background.
func (s *Session) keepPortrait() {
	if s.intro == "" || s.told != "" {
		return
	}
	if s.again = s.keeping; s.again {
		return
	}
	s.keeping = true
	s.background.Go(func() {
		for again := true; again; {
			s.mu.Lock()
			whose, p := s.whose, portrait{Result: s.intro, Lists: s.catalog.complete()}
			s.mu.Unlock()
			s.shelve(whose, p)
			s.mu.Lock()
			again = s.again
			s.again, s.keeping = false, again
			s.mu.Unlock()
		}
	})
}

// shelve keeps what is new in a portrait, without what contains a secret. Lists of the last one that
// this client has not asked for stay.
func (s *Session) shelve(whose string, p portrait) {
	last, secrets := s.recollect(whose), s.secrets.Load().Certain()
	if last.Result != p.Result {
		if holdsSecret(p.Result, secrets) {
			return
		}
		last = portrait{}
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
	if content, err := json.Marshal(portrait{Result: p.Result, Lists: lists}); fresh && err == nil {
		s.Shelf.Put(whose, content)
	}
}

// recollect returns the portrait on the shelf, an empty one if there is none.
func (s *Session) recollect(whose string) (p portrait) {
	if json.Unmarshal(s.Shelf.Get(whose), &p) != nil {
		return portrait{}
	}
	return p
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

// whoseOf identifies the server, the account at it, and the kind of client that asks: a server may
// answer each differently.
func (s *Session) whoseOf(c *call) string {
	params, version, capabilities := c.msg.Params, "protocolVersion", "capabilities"
	if meta, _ := wire.Field(params, "_meta"); c.msg.Method != "initialize" {
		params, version, capabilities = meta, "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"
	}
	var client [2][]byte
	_ = wire.Fields(params, client[:], version, capabilities) // params that are not an object have neither
	return fmt.Sprintf("%q", append(account(s.Spec), s.Principal, c.msg.Method, string(client[0]), string(client[1])))
}

// account returns what the same server may answer differently for: its directory and its secrets.
func account(spec launch.Spec) []string {
	all := []string{spec.Fingerprint()}
	if spec.URL != "" {
		return all
	}
	here, _ := os.Getwd()
	all = append(all, cmp.Or(spec.Dir, here))
	for _, pair := range slices.Sorted(slices.Values(spec.Environment())) {
		if name, value, _ := strings.Cut(pair, "="); redact.NamesSecret(name, value) || len(redact.InnerSecrets(value)) > 0 {
			all = append(all, pair)
		}
	}
	return all
}

// unavailable answers a call that cannot wait for the server any longer: what a client asks first
// from the shelf, if the server was reached before, and lists from what is known of them.
func (s *Session) unavailable(c *call, t *upstream.Trouble) {
	if s.beginWithout(c, t) || s.fromCache(c) {
		return
	}
	f := troubled(t, c, time.Now())
	if c.state == sent {
		f.Delivery = fault.Unknown
	}
	if t != nil && f.Cause.Code == "" {
		evidence := t.Evidence
		s.later(func() { f.Cause = s.up.Cause(evidence) }) // slow; it runs before the answer is sent
	}
	s.fail(c, f)
}

// beginWithout begins a session without its server, which will be compared with its portrait as soon
// as it is there.
func (s *Session) beginWithout(c *call, t *upstream.Trouble) bool {
	if s.Shelf == nil || s.memory.known() || !opens(c.msg.Method) || asksPerson(t) {
		return false
	}
	whose := s.whoseOf(c)
	p := s.recollect(whose)
	switch {
	case p.Legacy:
		s.refuseDiscover(c)
		return true
	case p.Result == "":
		return false
	}
	if c.state == sent {
		s.replace(c.conn, "it did not answer "+c.msg.Method+", and a session began without it")
	}
	result := announcing([]byte(p.Result))
	s.learn(c, result)
	s.whose, s.intro, s.told = whose, p.Result, p.Result
	s.catalog.recall(p.Lists)
	s.move(c, done)
	s.counters.FromCache++
	s.later(func() { s.out.send(answer(c.id, reply(c.id, "result", result))) })
	return true
}

// asksPerson reports whether the server is there and wants a person to log in.
func asksPerson(t *upstream.Trouble) bool {
	return t == nil || t.Login != nil || t.Code == fault.AuthRequired || t.Code == fault.AuthDenied || t.Code == fault.LoginUnavailable
}

// announcing returns a result in which the server promises to announce changes of its lists: gauze
// does that for it.
func announcing(result []byte) []byte {
	var all, capabilities map[string]json.RawMessage
	if json.Unmarshal(result, &all) != nil || json.Unmarshal(all["capabilities"], &capabilities) != nil {
		return result
	}
	for _, name := range []string{"tools", "prompts", "resources"} {
		var one map[string]json.RawMessage
		if json.Unmarshal(capabilities[name], &one) == nil && one != nil {
			one["listChanged"] = json.RawMessage("true")
			capabilities[name], _ = json.Marshal(one) // it was just decoded
		}
	}
	all["capabilities"], _ = json.Marshal(capabilities)
	result, _ = json.Marshal(all)
	return result
}

// confirm compares a live server with what the client was told from the shelf, if it was.
func (s *Session) confirm(result []byte) (err error) {
	s.update(func() {
		if s.told == "" {
			return
		}
		if err = s.differs(result); err == nil {
			s.intro, s.told = string(result), ""
			s.keepPortrait()
		}
	})
	return err
}

// differs returns why the session cannot continue with a server that introduces itself with result:
// it lacks what the client was told.
func (s *Session) differs(result []byte) error {
	changed := func(what string, now, before []string) error {
		return &fault.Fault{Code: fault.SessionChanged, Detail: fmt.Sprintf("the server now has the %s %s; the session began with %s",
			what, redact.Quote(strings.Join(now, ", ")), redact.Quote(strings.Join(before, ", ")))}
	}
	if now, before := capabilitiesOf(result), capabilitiesOf([]byte(s.told)); !containsAll(now, before) {
		return changed("capabilities", now, before)
	}
	version, _ := wire.Field(s.memory.meta, "io.modelcontextprotocol/protocolVersion")
	if name, modern := wire.Text(version); modern && s.memory.modern {
		if now := versionsOf(result); !slices.Contains(now, name) {
			return changed("protocol versions", now, []string{name})
		}
	}
	return nil
}

func containsAll(all, some []string) bool {
	return !slices.ContainsFunc(some, func(one string) bool { return !slices.Contains(all, one) })
}

// versionsOf returns the protocol versions in the result of server/discover.
func versionsOf(result []byte) (all []string) {
	field, _ := wire.Field(result, "supportedVersions")
	_ = json.Unmarshal(field, &all) // without versions there are none
	return all
}

// capabilitiesOf returns the names of the capabilities in a result, in order.
func capabilitiesOf(result []byte) []string {
	field, _ := wire.Field(result, "capabilities")
	var all map[string]json.RawMessage
	_ = json.Unmarshal(field, &all) // without capabilities there are none
	return slices.Sorted(maps.Keys(all))
}

// complete returns the lists that are complete, each as one page, by method.
func (k *catalog) complete() map[string]string {
	all := map[string]string{}
	for method, l := range k.lists {
		if !l.whole {
			continue
		}
		if page := l.single(kinds[method].items); page != "" {
			all[method] = page
		}
	}
	return all
}

// single returns the pages of a list as one, with the items under key. It returns nothing if not all
// pages are there.
func (l *list) single(key string) string {
	first := l.pages[""]
	if len(l.pages) < 2 {
		return string(first)
	}
	var items []string
	for cursor, n := "", 0; n == 0 || cursor != ""; n++ {
		var values [2][]byte
		if l.pages[cursor] == nil || n == maxPages || wire.Fields(l.pages[cursor], values[:], key, "nextCursor") != nil {
			return ""
		}
		wire.Elements(values[0], func(item []byte) { items = append(items, string(item)) })
		cursor = nextCursor(values[1])
	}
	var others map[string]json.RawMessage
	if json.Unmarshal(first, &others) != nil {
		return ""
	}
	delete(others, "nextCursor")
	others[key] = json.RawMessage("null")
	text, _ := json.Marshal(others)
	return strings.Replace(string(text), `"`+key+`":null`, `"`+key+`":[`+strings.Join(items, ",")+`]`, 1)
}

// recall fills the catalogue from a portrait. Only what a live server lists is more than remembered.
func (k *catalog) recall(lists map[string]string) {
	for method, list := range lists {
		k.learn(method, "", []byte(list))
	}
	k.remembered = true
}
