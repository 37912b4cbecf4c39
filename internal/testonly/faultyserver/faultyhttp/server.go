package faultyhttp

import (
	"context"
	"errors"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// Server is an MCP server over HTTP. Its methods are safe for concurrent use.
type Server struct {
	cfg    Config
	ledger *faultyserver.Ledger // nil without Config.Ledger

	running sync.Mutex // held while starting or stopping
	address string     // chosen at the first start and kept

	mu           sync.Mutex
	gen          *generation // nil before the first start
	starts       int
	conns        map[*conn]bool
	dialled      int
	armed        []*armed
	seen         map[string]int // how often a call that requests its own fault was received, by key
	entries      []faultyserver.Entry
	store        map[string]string // nil until the ledger has been read
	toolsChanged bool              // change_tools was called an odd number of times
	declared     map[string]string // hints by the name of a tool, instead of its own
	issued       int               // number of tokens
	valid        map[string]bool   // tokens

	requests    []Request
	initializes int
	recorded    chan struct{} // closed and replaced when a request is recorded

	gates map[string]*gate
}

// generation is the server between a start and a stop. Its state is lost when it stops.
type generation struct {
	number   int
	ctx      context.Context
	cancel   context.CancelFunc
	listener net.Listener
	web      *http.Server
	work     sync.WaitGroup // the accept loop, handlers, running calls
	dead     bool           // set before anything is closed: from then on no effect happens

	sessions map[string]*session
	common   *session // shared by all clients without a session: modern and stateless ones
	listens  map[*listen]bool
}

// New returns a server that has not been started.
func New(cfg Config) *Server {
	cfg.fillIn()
	s := &Server{cfg: cfg, conns: map[*conn]bool{}, seen: map[string]int{}, valid: map[string]bool{}, declared: map[string]string{}, recorded: make(chan struct{}), gates: map[string]*gate{}}
	if cfg.Ledger == "" {
		s.store = map[string]string{}
	}
	return s
}

// Start opens the port.
func (s *Server) Start() error { return s.StartAgain() }

// StartAgain opens the same port again. Nothing is kept except the effects.
func (s *Server) StartAgain() error {
	s.running.Lock()
	defer s.running.Unlock()
	return s.start()
}

func (s *Server) start() error {
	s.mu.Lock()
	alive := s.gen != nil && !s.gen.dead
	s.mu.Unlock()
	if alive {
		return errors.New("faultyhttp: already started")
	}
	if s.cfg.Ledger != "" && s.ledger == nil {
		ledger, err := faultyserver.OpenLedger(s.cfg.Ledger)
		if err != nil {
			return err
		}
		s.ledger = ledger
	}
	listener, err := s.listen()
	if err != nil {
		return err
	}
	g := &generation{sessions: map[string]*session{}, listens: map[*listen]bool{}}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.listener = &resettable{TCPListener: listener, s: s, g: g}
	g.web = &http.Server{
		Handler:     http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(g, w, r) }),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		ErrorLog:    log.New(io.Discard, "", 0), // broken connections are expected
	}
	s.mu.Lock()
	s.starts++
	g.number = s.starts
	g.common = s.newSession("", "")
	s.gen = g
	s.mu.Unlock()
	g.work.Go(func() { _ = g.web.Serve(g.listener) })
	return nil
}

// listen opens the address of all generations. A port that it chooses is below the range of
// ephemeral ports: a client that dials while the server is stopped could otherwise be given that
// port itself and would connect to itself.
func (s *Server) listen() (*net.TCPListener, error) {
	if s.address != "" {
		return s.listenAgain()
	}
	if s.cfg.Listen != "" {
		return s.listenAt(s.cfg.Listen)
	}
	var err error
	for range 100 {
		var l *net.TCPListener
		if l, err = s.listenAt("127.0.0.1:" + strconv.Itoa(20_000+rand.IntN(12_000))); err == nil {
			return l, nil
		}
	}
	return nil, err
}

// listenAgain opens the address of the generation before. A process that was being started when that
// one stopped has a copy of its socket until it runs its own program, which takes a while on a busy
// machine.
func (s *Server) listenAgain() (l *net.TCPListener, err error) {
	retry := time.NewTicker(time.Millisecond)
	defer retry.Stop()
	for deadline := time.Now().Add(patience.Limit()); time.Now().Before(deadline); <-retry.C {
		if l, err = s.listenAt(s.address); err == nil {
			return l, nil
		}
	}
	return nil, err
}

func (s *Server) listenAt(address string) (*net.TCPListener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.address = l.Addr().String()
	s.mu.Unlock()
	return l.(*net.TCPListener), nil
}

// URL returns the endpoint for clients. It is the same for all starts.
func (s *Server) URL() string {
	path := "/mcp"
	if s.cfg.Transport == OldSSE {
		path = "/sse"
	}
	return s.origin() + path
}

func (s *Server) origin() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return "http://" + s.address
}

// Stop kills the server: it resets connections, ends calls immediately, forgets sessions and
// refuses new connections. When it returns, nothing of the old generation is running.
func (s *Server) Stop() {
	s.running.Lock()
	defer s.running.Unlock()
	s.stop()
}

func (s *Server) stop() {
	s.mu.Lock()
	g := s.gen
	if g == nil || g.dead {
		s.mu.Unlock()
		return
	}
	g.dead = true
	g.sessions = map[string]*session{}
	s.mu.Unlock()
	_ = g.listener.Close()
	s.DropConnections()
	g.cancel()
	_ = g.web.Close()
	g.work.Wait()
}

// Restart calls Stop and StartAgain.
func (s *Server) Restart() error {
	s.running.Lock()
	defer s.running.Unlock()
	s.stop()
	return s.start()
}

// Close stops the server permanently.
func (s *Server) Close() error {
	s.running.Lock()
	defer s.running.Unlock()
	s.stop()
	if s.ledger == nil {
		return nil
	}
	ledger := s.ledger
	s.ledger = nil
	return ledger.Close()
}

// ExpireSessions forgets all sessions. Connections, open streams and running calls remain.
func (s *Server) ExpireSessions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gen != nil {
		s.gen.sessions = map[string]*session{}
	}
}

// enter admits a handler unless the generation has been stopped.
func (s *Server) enter(g *generation) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g.dead {
		return false
	}
	g.work.Add(1)
	return true
}
