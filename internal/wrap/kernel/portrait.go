package kernel

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// Shelf keeps what servers said about themselves, so that a session can begin while its server is
// down. whose identifies a server, an account and a kind of client. It keeps no secrets.
type Shelf interface {
	Whose(method string, version, capabilities []byte) string
	Get(whose string) Portrait // an empty one if there is none
	Put(whose string, p Portrait)
}

// Portrait is what a server said about itself, byte for byte: its lists are compared with those of
// the live server.
type Portrait struct {
	Result string            `json:"result,omitempty"` // of initialize or server/discover
	Lists  map[string]string `json:"lists,omitempty"`  // results of what the client listed, by method
	Legacy bool              `json:"legacy,omitempty"` // it rejects server/discover
	Modern bool              `json:"-"`                // it rejects initialize, so that it has no session
}

// likeness is the part of a session that is about portraits.
type likeness struct {
	s       *Session
	delayed *delay // why no session has begun; nil: it has, or nothing keeps it from that
	whose   string
	intro   string // the result of initialize or server/discover
	told    string // the same, if it is from the shelf and no live server has confirmed it yet
	keeping bool   // the portrait is being put on the shelf
	again   bool   // and has changed since
	other   bool   // the server is started in another way than when whose was determined
}

// begun reports whether the session has begun with a live server.
func (l *likeness) begun() bool { return l.s.memory.known() && l.told == "" }

// portray puts on the shelf what an answer says about the server.
func (l *likeness) portray(c *Call, result []byte) {
	if l.s.config.Shelf == nil {
		return
	}
	if opens(c.msg.Method) {
		l.whose, l.intro, l.other = l.whoseOf(c), string(result), false
	} else if _, listed := kinds[c.msg.Method]; !listed {
		return
	}
	l.keepPortrait()
}

// portrayLegacy puts on the shelf that the server rejects server/discover. failure is its error, if it has answered: a modern
// server rejects a version that it does not have, and a request that does not say what the client can do.
func (l *likeness) portrayLegacy(c *Call, failure []byte) {
	code, _ := wire.Field(failure, "code")
	meta, _ := wire.Field(c.msg.Params, "_meta")
	capabilities, _ := wire.Field(meta, wire.MetaCapabilities)
	if l.s.config.Shelf == nil || l.s.memory.known() || c.msg.Method != "server/discover" || string(code) == "-32022" || capabilities == nil {
		return
	}
	whose := l.whoseOf(c)
	l.s.work.background.Go(func() {
		if l.s.config.Shelf.Get(whose).Result == "" { // else it only failed this time
			l.s.config.Shelf.Put(whose, Portrait{Legacy: true})
		}
	})
}

// portrayModern puts on the shelf that the server rejects initialize, as one does that has no versions with sessions.
func (l *likeness) portrayModern(c *Call, failure []byte) {
	code, _ := wire.Field(failure, "code")
	if l.s.config.Shelf == nil || l.s.memory.known() || c.msg.Method != "initialize" || string(code) != "-32601" && string(code) != "-32022" {
		return
	}
	whose := l.whoseOf(c)
	l.s.work.background.Go(func() { l.s.config.Shelf.Put(whose, Portrait{Modern: true}) })
}

// opens reports whether a method is what a client asks first.
func opens(method string) bool { return method == "initialize" || method == "server/discover" }

// keepPortrait puts the server's portrait on the shelf, in the background.
func (l *likeness) keepPortrait() {
	if l.intro == "" || l.told != "" || l.other {
		return
	}
	if l.again = l.keeping; l.again {
		return
	}
	l.keeping = true
	l.s.work.background.Go(func() {
		for again := true; again; {
			l.s.mu.Lock()
			whose, p := l.whose, Portrait{Result: l.intro, Lists: l.s.catalog.complete()}
			l.s.mu.Unlock()
			l.s.config.Shelf.Put(whose, p)
			l.s.mu.Lock()
			again = l.again
			l.again, l.keeping = false, again
			l.s.mu.Unlock()
		}
	})
}

// whoseOf identifies the server, the account at it, and the kind of client that asks: a server may
// answer each differently.
func (l *likeness) whoseOf(c *Call) string {
	params, version, capabilities := c.msg.Params, "protocolVersion", "capabilities"
	if meta, _ := wire.Field(params, "_meta"); c.msg.Method != "initialize" {
		params, version, capabilities = meta, wire.MetaVersion, wire.MetaCapabilities
	}
	var client [2][]byte
	_ = wire.Fields(params, client[:], version, capabilities) // params that are not an object have neither
	return l.s.config.Shelf.Whose(c.msg.Method, client[0], client[1])
}

// unavailable answers a call that cannot wait for the server any longer: what a client asks first
// from the shelf, if the server was reached before, and lists from what is known of them.
func (l *likeness) unavailable(c *Call, t *upstream.Trouble) {
	if l.beginWithout(c, t) || l.s.client.fromCache(c) {
		return
	}
	f := troubled(t, c, time.Now())
	if c.state == sent {
		f.Delivery = fault.Unknown
	}
	if t != nil && f.Cause.Code == "" {
		evidence := t.Evidence
		l.s.later(func() { f.Cause = l.s.up.Cause(evidence) }) // slow; it runs before the answer is sent
	}
	l.s.fail(c, f)
}

// beginWithout begins a session without its server, which will be compared with its portrait as soon
// as it is there.
func (l *likeness) beginWithout(c *Call, t *upstream.Trouble) bool {
	known := l.s.memory.known()
	// A server that sleeps is introduced to each modern client that comes.
	another := l.s.sleep.asleep && l.s.memory.modern && c.msg.Method == "server/discover"
	if l.s.config.Shelf == nil || known && !another || !opens(c.msg.Method) || asksPerson(t) {
		return false
	}
	whose := l.whoseOf(c)
	p := l.s.config.Shelf.Get(whose)
	switch {
	case p.Legacy:
		l.s.watcher.refuseDiscover(c)
		return true
	case p.Result == "":
		return false
	}
	if c.state == sent {
		l.s.watcher.replace(c.conn, "it did not answer "+c.msg.Method+", and the session started without it")
	}
	result := announcing([]byte(p.Result))
	l.s.learn(c, result)
	l.whose, l.intro, l.told = whose, p.Result, p.Result
	if !known {
		l.s.catalog.recall(p.Lists)
	}
	l.s.counters.FromCache++
	l.s.reply(c, result, OutcomeOK)
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
func (l *likeness) confirm(result []byte) (err error) {
	l.s.update(func() {
		if l.told == "" {
			return
		}
		if err = l.differs(result); err == nil {
			l.intro, l.told = string(result), ""
			l.keepPortrait()
		}
	})
	return err
}

// differs returns why the session cannot continue with a server that introduces itself with result:
// it lacks what the client was told.
func (l *likeness) differs(result []byte) error {
	changed := func(what string, now, before []string) error {
		return &fault.Fault{Code: fault.SessionChanged, Detail: fmt.Sprintf("the server now has the %s %s; the session started with %s",
			what, l.s.config.Words.Quote(strings.Join(now, ", ")), l.s.config.Words.Quote(strings.Join(before, ", ")))}
	}
	if now, before := capabilitiesOf(result), capabilitiesOf([]byte(l.told)); !containsAll(now, before) {
		return changed("capabilities", now, before)
	}
	version, _ := wire.Field(l.s.memory.meta, wire.MetaVersion)
	if name, modern := wire.Text(version); modern && l.s.memory.modern {
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
