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

	"github.com/gauze-mcp/gauze/internal/faultyserver"
)

// Server is an MCP server over HTTP. All methods may be called at any time, by anyone.
type Server struct {
	cfg    Config
	ledger *faultyserver.Ledger // nil without Config.Ledger

	running sync.Mutex // held by who starts or stops
	address string     // chosen at the first start, kept for all others

	mu      sync.Mutex
	gen     *generation // nil before the first start
	starts  int
	conns   map[*conn]bool
	dialled int
	armed   []*armed
	seen    map[string]int // how often a call that names its own fault was met, by key
	entries []faultyserver.Entry
	store   map[string]string // nil until the ledger was read
	turned  bool              // change_tools was called an odd number of times

	requests    []Request
	initializes int
	news        chan struct{} // closed and replaced when a request was recorded

	gates map[string]*gate
}

// generation is the server between a start and a stop: what it knows dies with it.
type generation struct {
	number   int
	ctx      context.Context
	cancel   context.CancelFunc
	listener net.Listener
	web      *http.Server
	work     sync.WaitGroup // the accept loop, handlers, running calls
	dead     bool           // set before anything is closed: from here on no effect happens

	sessions map[string]*session
	common   *session // of everybody who has no session: modern and stateless clients
	listens  map[*listen]bool
}

// New returns a server that is not started yet.
func New(cfg Config) *Server {
	cfg.fillIn()
	s := &Server{cfg: cfg, conns: map[*conn]bool{}, seen: map[string]int{}, news: make(chan struct{}), gates: map[string]*gate{}}
	if cfg.Ledger == "" {
		s.store = map[string]string{}
	}
	return s
}

// Start opens the port.
func (s *Server) Start() error { return s.StartAgain() }

// StartAgain opens the port once more, the same one, with nothing remembered but the effects.
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
		ErrorLog:    log.New(io.Discard, "", 0), // broken connections are what this server is for
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

// listen opens the address of all generations. A port of its own choice is below those the system gives to outgoing
// connections: a client that dials while the server is stopped could be given that very port, and would be connected
// to itself.
func (s *Server) listen() (*net.TCPListener, error) {
	address := s.address
	if address == "" {
		address = s.cfg.Listen
	}
	if address != "" {
		return s.listenAt(address)
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

// URL is the endpoint a client is given; it stays the same over all starts.
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

// Stop kills: connections are reset, calls end where they are, sessions are forgotten, and who dials is refused. When
// it returns nothing of the old generation runs any more.
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

// Restart is Stop and StartAgain.
func (s *Server) Restart() error {
	s.running.Lock()
	defer s.running.Unlock()
	s.stop()
	return s.start()
}

// Close is Stop for good.
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

// ExpireSessions forgets all sessions; connections, open streams and running calls stay.
func (s *Server) ExpireSessions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gen != nil {
		s.gen.sessions = map[string]*session{}
	}
}

// enter lets a handler in, unless the generation is dead.
func (s *Server) enter(g *generation) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g.dead {
		return false
	}
	g.work.Add(1)
	return true
}
