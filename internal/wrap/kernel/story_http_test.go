package kernel_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver/faultyhttp"
)

// webStory is a story whose server is behind a URL.
type webStory struct {
	*story
	web    *faultyhttp.Server
	modern bool
}

// start sends a tool call of the era and returns its id.
func (s *webStory) start(tool, arguments string) string {
	s.t.Helper()
	if s.modern {
		return s.startModern(tool, arguments)
	}
	return s.story.start(tool, arguments)
}

// stateful is the usual legacy server: sessions, answers as streams.
var stateful = faultyhttp.Config{Era: faultyhttp.Legacy, Stateful: true}

// beginWeb starts a session in front of a faulty HTTP server.
func beginWeb(t *testing.T, cfg faultyhttp.Config, o Options) *webStory {
	t.Helper()
	web := faultyhttp.New(cfg)
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	s := &webStory{story: &story{t: t, ended: make(chan error, 1)}, web: web}
	if o.Spec.URL == "" {
		o.Spec.URL = web.URL()
	}
	t.Cleanup(func() { web.Close() })
	s.run(o)
	return s
}

// eras runs a test in front of a legacy and a modern server.
func eras(t *testing.T, f func(t *testing.T, s *webStory)) { erasWith(t, unprobed, f) }

// erasWith is eras with options.
func erasWith(t *testing.T, options func() Options, f func(t *testing.T, s *webStory)) {
	t.Run("legacy", func(t *testing.T) {
		s := beginWeb(t, stateful, options())
		s.initialize()
		f(t, s)
	})
	t.Run("modern", func(t *testing.T) {
		s := beginWeb(t, faultyhttp.Config{Era: faultyhttp.Modern}, options())
		s.modern = true
		s.discover()
		f(t, s)
	})
}

// restart kills the server and starts it again.
func (s *webStory) restart() {
	s.t.Helper()
	if err := s.web.Restart(); err != nil {
		s.t.Fatal(err)
	}
}

// asked is how often a tool's call reached the server.
func (s *webStory) asked(tool string) (n int) {
	for _, r := range s.web.Requests() {
		if r.Method == "tools/call" && r.Tool == tool {
			n++
		}
	}
	return n
}

// wantDone checks how often something was really done.
func (s *webStory) wantDone(key string, n int) {
	s.t.Helper()
	if got := s.web.Effects()[key]; got != n {
		s.t.Errorf("%s was done %d times, want %d\n%s", key, got, n, s.told())
	}
}

// webState is what the server knows of the session.
func (s *webStory) webState() (state faultyhttp.State) {
	s.t.Helper()
	text := s.text(s.answer(s.start("state", "")))
	if err := json.Unmarshal([]byte(text), &state); err != nil {
		s.t.Fatalf("%v in %s", err, text)
	}
	return state
}

// wantLife makes a call that must succeed.
func (s *webStory) wantLife() {
	s.t.Helper()
	if got := s.text(s.answer(s.start("echo", `{"text":"alive"}`))); !strings.Contains(got, "alive") {
		s.t.Errorf("%q\n%s", got, s.told())
	}
}

// faulty starts a call that asks for its own fault, the first time only.
func (s *webStory) faulty(tool, key string, f faultyhttp.Fault) string {
	return s.start(tool, fmt.Sprintf(`{"key":%q,"text":%q,"value":"v","fault":%q,"times":1}`, key, key, f))
}
