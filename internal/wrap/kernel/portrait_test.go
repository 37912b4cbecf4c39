package kernel_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver/faultyhttp"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// shelf is a Shelf in memory.
type shelf struct {
	mu   sync.Mutex
	kept map[string]string
}

func (s *shelf) Get(whose string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if content, ok := s.kept[whose]; ok {
		return []byte(content)
	}
	return nil
}

// Put keeps portraits, and not what is known of a server whoever asks: its versions of the protocol, and its tools.
func (s *shelf) Put(whose string, content []byte) {
	if strings.HasPrefix(whose, "eras ") || strings.HasPrefix(whose, "tools/list ") {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil {
		s.kept = map[string]string{}
	}
	s.kept[whose] = string(content)
}

// edit changes everything on the shelf.
func (s *shelf) edit(old, new string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for whose, content := range s.kept {
		s.kept[whose] = strings.ReplaceAll(content, old, new)
	}
}

func (s *shelf) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := ""
	for _, content := range s.kept {
		all += content + "\n"
	}
	return all
}

// same returns a shelf that has the one thing on s for everyone.
func (s *shelf) same() sameShelf { return sameShelf(strings.TrimSpace(s.String())) }

type sameShelf string

func (s sameShelf) Get(string) []byte  { return []byte(s) }
func (s sameShelf) Put(string, []byte) {}

// hello begins a session of the era as its client.
func (s *webStory) hello() message {
	s.t.Helper()
	if s.modern {
		return s.answer(s.request("server/discover", "{"+modernMeta+"}"))
	}
	m := s.answer(s.request("initialize", helloParams))
	s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return m
}

func (s *webStory) listTools() message {
	s.t.Helper()
	if s.modern {
		return s.answer(s.request("tools/list", "{"+modernMeta+"}"))
	}
	return s.answer(s.request("tools/list", "{}"))
}

// known is a server that was reached before, and is down now.
func known(t *testing.T, cfg faultyhttp.Config, o Options) (*faultyhttp.Server, *shelf) {
	t.Helper()
	kept := &shelf{}
	o.Known.Shelf = kept
	s := beginWeb(t, cfg, o)
	s.modern = cfg.Era == faultyhttp.Modern
	if m := s.hello(); m.Error != nil {
		t.Fatal(m.raw)
	}
	s.listTools()
	s.end()
	s.web.Stop()
	return s.web, kept
}

// later begins another session with a server.
func later(t *testing.T, web *faultyhttp.Server, modern bool, o Options) *webStory {
	s := &webStory{story: &story{t: t, ended: make(chan error, 1)}, web: web, modern: modern}
	o.Spec.URL = web.URL()
	s.run(o)
	return s
}

// remembers reports whether the tools are only remembered.
func (s *story) remembers() bool {
	return s.session.Inside().Remembered
}

// What a client asks before it has the answer to initialize is answered from the shelf as well.
func TestAListBehindInitializeIsRemembered(t *testing.T) {
	t.Parallel()
	web, kept := known(t, stateful, soon())
	o := soon()
	o.Known.Shelf = kept
	s := later(t, web, false, o)
	initialize := s.request("initialize", helloParams)
	var lists []string
	for range 10 {
		lists = append(lists, s.request("tools/list", "{}"))
	}
	if m := s.answer(initialize); m.Error != nil {
		t.Fatal(m.raw)
	}
	for _, id := range lists {
		if m := s.answer(id); !strings.Contains(m.raw, `"name":"append"`) {
			t.Fatal(m.raw)
		}
	}
}

func TestASessionBeginsWithoutItsServer(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]faultyhttp.Config{"legacy": stateful, "modern": {Era: faultyhttp.Modern}} {
		for says, change := range map[string]func(*faultyhttp.Server){"the same": func(*faultyhttp.Server) {}, "other tools": (*faultyhttp.Server).ChangeTools} {
			t.Run(name+", "+says, func(t *testing.T) {
				web, kept := known(t, cfg, soon())
				o := soon()
				o.Known.Shelf = kept
				s := later(t, web, cfg.Era == faultyhttp.Modern, o)
				if m := s.hello(); m.Error != nil || !strings.Contains(m.raw, `"tools":{"listChanged":true}`) || !strings.Contains(m.raw, "This server has named faults.") {
					t.Fatal(m.raw)
				}
				if m := s.listTools(); !strings.Contains(m.raw, `"name":"append"`) {
					t.Fatal(m.raw)
				}
				if s.want(event.Ready, 0); !s.remembers() {
					t.Error("a list from the shelf counts as live")
				}
				s.wantFault(s.start("append", `{"key":"k"}`), fault.ServerUnreachable)
				change(web)
				if err := web.StartAgain(); err != nil {
					t.Fatal(err)
				}
				s.await(event.Ready, 1)
				s.text(s.answer(s.start("append", `{"key":"k"}`)))
				s.wantDone("k", 1)
				s.want(event.Restored, 0) // nothing had crashed
				if n := s.session.Observe(false).Healed; n != 0 {
					t.Errorf("%d crashes were healed", n)
				}
				s.until("the tools are live", func() bool { return !s.remembers() })
				if says == "other tools" {
					s.await(event.ListChanged, 1)
					if !s.modern { // a modern client has to listen for it
						s.notice("notifications/tools/list_changed", 1)
					}
				}
			})
		}
	}
}

// A server that is no longer what the client was told cannot be used in this session.
func TestASessionEndsIfItsServerIsDifferent(t *testing.T) {
	t.Parallel()
	for says, x := range map[string]struct {
		cfg      faultyhttp.Config
		old, new string
		names    []string
	}{
		"version":            {stateful, `"protocolVersion":"2025-06-18"`, `"protocolVersion":"2025-03-26"`, []string{"2025-03-26", "2025-06-18"}},
		"capability":         {stateful, `"capabilities":{`, `"capabilities":{"completions":{},`, []string{"completions, ", "now has the capabilities"}},
		"capability, modern": {faultyhttp.Config{Era: faultyhttp.Modern}, `"capabilities":{`, `"capabilities":{"completions":{},`, []string{"completions, "}},
	} {
		t.Run(says, func(t *testing.T) {
			web, kept := known(t, x.cfg, soon())
			kept.edit(strings.ReplaceAll(x.old, `"`, `\"`), strings.ReplaceAll(x.new, `"`, `\"`))
			o := soon()
			o.Known.Shelf = kept
			s := later(t, web, x.cfg.Era == faultyhttp.Modern, o)
			if m := s.hello(); m.Error != nil {
				t.Fatal(m.raw)
			}
			if err := web.StartAgain(); err != nil {
				t.Fatal(err)
			}
			s.await(event.GaveUp, 1)
			m := s.wantFault(s.start("append", `{"key":"k"}`), fault.SessionChanged)
			for _, name := range x.names {
				if !strings.Contains(m.raw, name) {
					t.Errorf("no %q in %s", name, m.raw)
				}
			}
			s.wantDone("k", 0)
		})
	}
}

// What is kept is for the same server, account and kind of client.
func TestAPortraitIsForOneKindOfClient(t *testing.T) {
	t.Parallel()
	web, kept := known(t, stateful, soon())
	for says, x := range map[string]struct {
		change func(*Options)
		params string
	}{
		"a different principal":        {func(o *Options) { o.Principal = "b" }, helloParams},
		"a different credential":       {func(o *Options) { o.Spec.Header = []launch.Header{{Name: "X-Key", Value: "b"}} }, helloParams},
		"a different protocol version": {func(*Options) {}, strings.Replace(helloParams, "2025-06-18", "2025-03-26", 1)},
		"different capabilities":       {func(*Options) {}, strings.Replace(helloParams, `"elicitation":{}`, `"sampling":{}`, 1)},
	} {
		t.Run(says, func(t *testing.T) {
			o := soon()
			o.Known.Shelf = kept
			x.change(&o)
			s := later(t, web, false, o)
			s.wantFault(s.request("initialize", x.params), fault.ServerUnreachable)
		})
	}
}

// Nothing is kept that contains a secret of the user's.
func TestNoSecretIsKept(t *testing.T) {
	t.Parallel()
	o := soon()
	o.Spec.Header = []launch.Header{{Name: "X-Key", Value: "named faults"}} // the server repeats it
	if _, kept := known(t, stateful, o); kept.String() != "" {
		t.Error(kept.String())
	}
	o.Spec.Header[0].Value = canary
	if _, kept := known(t, stateful, o); !strings.Contains(kept.String(), "append") || strings.Contains(kept.String(), canary) {
		t.Error(kept.String())
	}
}

// A process that cannot start is as good as a server that cannot be reached.
func TestASessionBeginsWithoutItsProcess(t *testing.T) {
	t.Parallel()
	_, kept := known(t, stateful, soon())
	o := unprobed()
	o.Known.Shelf = kept.same()
	o.Doctor = certain{doctorWith(func(int, launch.Spec) upstream.Treated { return upstream.Treated{} })}
	o.Spec = failing("no key")
	s := (&story{t: t, ended: make(chan error, 1)}).run(o)
	s.initialize()
	if m := s.answer(s.request("tools/list", "{}")); !strings.Contains(m.raw, `"name":"append"`) {
		t.Error(m.raw)
	}
	if m := s.wantFault(s.start("append", `{"key":"k"}`), fault.ServerExitsEarly); !strings.Contains(m.raw, "It is unwell.") {
		t.Error(m.raw)
	}
}

// A client that tries the modern era first is told again that the server is a legacy one.
func TestAPortraitOfALegacyServer(t *testing.T) {
	t.Parallel()
	kept := &shelf{}
	o := soon()
	o.Known.Shelf = kept
	s := beginWeb(t, stateful, o)
	if m := s.answer(s.request("server/discover", "{"+modernMeta+"}")); m.Error == nil {
		t.Fatal(m.raw)
	}
	s.initialize()
	s.end()
	s.web.Stop()
	s = later(t, s.web, false, o)
	if m := s.answer(s.request("server/discover", "{"+modernMeta+"}")); m.Error == nil || m.Error.Code != -32601 {
		t.Error(m.raw)
	}
	if m := s.hello(); m.Error != nil {
		t.Error(m.raw)
	}
}
