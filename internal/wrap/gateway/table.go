package gateway

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// table has the sessions of both eras and the requests that they serve.
type table struct {
	options     *Options
	guard       *guard
	housekeeper *housekeeper

	life    context.Context // parent of the contexts of all sessions
	end     context.CancelFunc
	running sync.WaitGroup // goroutines of sessions
	// writes counts the calls of all sessions that may write: their servers share what they write
	// to.
	writes atomic.Uint64

	mu        sync.Mutex    // guards everything below, and life.open and life.used of each session
	session   proxy.Options // of new sessions: Options.Session, as Renew has changed it
	ownLogins bool          // see Options.OwnLogins
	sessions  map[string]*session
	shared    map[principal]*shared
	lives     map[*life]bool // all that have not ended
	lookedAt  time.Time      // when servers that no call waits for were last looked at
	accounts  map[string]*account
	past      proxy.Counters // of the sessions that have ended
	seen      proxy.Observation
	began     uint64 // total number of sessions
	draining  bool

	places    quota         // sessions in the table
	processes quota         // sessions in the table, and those that have not ended
	asked     int           // requests being served that a drain waits for
	quiet     chan struct{} // closed when draining and no request is being served
}

func newTable(g *Gateway) *table {
	t := &table{
		options:     &g.Options,
		session:     g.Session,
		guard:       &g.guard,
		housekeeper: &g.housekeeper,
		ownLogins:   g.OwnLogins(),
		places:      g.guard.quota(g.MaxSessions),
		processes:   g.guard.quota(2 * g.MaxSessions),
		quiet:       make(chan struct{}),
		sessions:    map[string]*session{},
		shared:      map[principal]*shared{},
		lives:       map[*life]bool{},
		accounts:    map[string]*account{},
	}
	t.life, t.end = context.WithCancel(context.Background())
	return t
}
