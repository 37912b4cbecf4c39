// Package view is one client's session with several servers. To the client it looks like one server, to each
// server like one client.
//
//	view.go     View: how a session begins and ends
//	introduction.go  what the servers say about themselves, as one
//	client.go   messages from the client
//	modern.go   requests without a session
//	listen.go   streams of notifications, without a session
//	route.go    which server a request is for: by name, URI or task
//	member.go   one server: opened at its first use, introduced, fed in order
//	lists.go    lists of all servers as one
//	waits.go    requests that wait for answers of servers
//	search.go   a few tools that find and call the others, instead of a long list
//	answers.go  messages from the servers
//	outbox.go   messages to the client
//	change.go   other servers than before, in the same session
//
// Only names, ids and progress tokens are replaced; URIs stay as they are, and so does every other byte. What happens to a
// call is decided by its server's own session (proxy.Session): proof, replay, repair. A view only carries.
//
// No server waits for another. Each has a queue of its own (member.feed), a list waits for a server that has
// never answered for ListWait at most, and no lock is held while a session is called.
//
// A view has one era: the versions of the protocol with sessions, or those without if all servers have them (modern.go).
package view

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// Server is a session with one server; *proxy.Session is one.
type Server interface {
	Attend(ctx context.Context) error // until ctx ends and nothing of the server is left
	FromClient(line []byte)           // may block while the server does not read, but not with an answer, or progress before one
	Flush()
	Hurry()
}

// Member is a server of a view.
type Member struct {
	Key     string                             // begins the names of its tools and prompts
	Version int                                // members with the same key and version are the same server
	Admits  func(tool string) bool             // whether a tool is part of the view; nil: all are
	Filter  string                             // identifies Admits
	Idle    time.Duration                      // how long it is kept running without use; 0: as long as the session
	Closed  string                             // why it is not used, for people and models; empty: it is
	Open    func(tell func(proxy.Told)) Server // makes a session, which is not running yet

	// Recall returns what the server said to a client of this kind that sent initialize or server/discover; nil: that is not known.
	// It may be nil itself.
	Recall func(method string, version, capabilities []byte) []byte
	// Listed returns the result of tools/list that the server last gave to a client of any kind with the same account; nil: that
	// is not known. It may be nil itself.
	Listed func() []byte
}

// Options configures a View.
type Options struct {
	Members  []Member         // in the order of their lists
	Software string           // version of gauze
	Tell     func(proxy.Told) // receives the messages to a client that exchanges messages, as proxy.Options.Tell
	List     string           // ListDirect, the default, ListSearch or ListAuto
	ListWait time.Duration    // how long a list waits for a server that has never answered; default 2s
	Private  bool             // other clients may see other servers
	Merge    time.Duration    // within which changed lists are announced once; default 250ms
}

// View is a session of one client with several servers.
type View struct {
	options Options
	out     outbox

	life    context.Context // ends when the session ends
	end     context.CancelFunc
	running sync.WaitGroup

	mu         sync.Mutex // guards everything below
	members    []*member
	opened     map[*member]bool // with a session that runs, also those that left
	carrier    carrier          // the goroutine that holds the lock
	initialize []byte           // the client's params; nil: it has not initialized
	modern     modern
	level      []byte               // the log level that the client asked for, params of logging/setLevel
	last       uint64               // number of the latest id of ours
	calls      map[string]*call     // in progress at a server, by the raw id they have there
	asked      map[string]*call     // the same, and those that wait for lists, by the client's raw id
	questions  map[string]*question // of servers, by the raw id they have at the client
	lasting    map[string]*call     // calls whose task goes on, by the raw id they had at their server
	decided    bool                 // searching is
	searching  bool                 // tools are searched instead of listed
	owners     owners
	changed    map[string]*change // lists whose change is about to be announced, by notification
	emptied    chan struct{}      // closed when the client has left and nothing is due; nil: it has not left
}

// New returns a View; Serve or Attend runs it.
func New(o Options) *View {
	if o.ListWait == 0 {
		o.ListWait = 2 * time.Second
	}
	if o.Merge == 0 {
		o.Merge = 250 * time.Millisecond
	}
	v := &View{options: o, opened: map[*member]bool{}, last: proxy.RandomID(), calls: map[string]*call{}, asked: map[string]*call{}, questions: map[string]*question{},
		owners: newOwners(), lasting: map[string]*call{}, searching: o.List == ListSearch, changed: map[string]*change{}}
	v.modern = modern{view: v, listeners: map[string]*wanted{}}
	v.out.tell = o.Tell
	v.life, v.end = context.WithCancel(context.Background())
	for _, m := range o.Members {
		v.members = append(v.members, newMember(v, m))
	}
	return v
}

// Serve connects the client on in and out until in or ctx ends, and returns when nothing of the servers is left.
// A client that closes its side gets the responses that are due.
func (v *View) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	stop := v.out.start(out)
	left := make(chan error, 1)
	go func() { left <- v.listen(in) }() // not waited for: a blocked read of stdin cannot be interrupted
	var err error
	select {
	case err = <-left:
		select {
		case <-v.whenEmpty():
		case <-v.out.failed:
		case <-ctx.Done():
		}
	case <-v.out.failed:
		err = errors.New("the client disconnected")
	case <-ctx.Done():
	}
	v.leave()
	stop()
	return err
}

// stopping is the error of a request that comes too late.
func stopping(method string) []byte {
	return (&fault.Fault{Code: fault.Stopping, Delivery: fault.Unsent, Method: method, At: time.Now()}).RPCError()
}

// Attend is Serve for a client that exchanges messages: they come in through FromClient, from any goroutine, and
// go out through Options.Tell. It returns when ctx has ended and nothing of the servers is left.
func (v *View) Attend(ctx context.Context) error {
	<-ctx.Done()
	v.leave()
	return nil
}

// leave ends the sessions with all servers and waits for them.
func (v *View) leave() {
	v.out.release()
	v.mu.Lock()
	v.end()
	for notification, c := range v.changed {
		c.timer.Stop()
		delete(v.changed, notification)
	}
	for _, m := range v.members {
		m.wake.Broadcast()
		if m.stream.rest != nil {
			m.stream.rest.Stop()
		}
	}
	v.mu.Unlock()
	v.running.Wait()
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range v.asked { // what reached a server's session has been answered by it
		v.finish(c)
		v.out.fail(c.id, stopping(""))
	}
}

// Hurry makes an end that is in progress skip its waits.
func (v *View) Hurry() {
	v.mu.Lock()
	opened := slices.Collect(maps.Keys(v.opened))
	v.mu.Unlock()
	for _, m := range opened {
		m.server.Hurry()
	}
}

// whenEmpty returns a channel that is closed when no request of the client is in progress.
func (v *View) whenEmpty() <-chan struct{} {
	v.mu.Lock()
	v.emptied = make(chan struct{})
	open := v.questions
	v.questions = map[string]*question{}
	v.checkEmpty()
	v.mu.Unlock()
	for _, q := range open {
		q.member.reply(unanswered(q.id, clientLeft))
	}
	return v.emptied
}

func (v *View) checkEmpty() {
	if v.emptied != nil && len(v.asked) == 0 {
		select {
		case <-v.emptied:
		default:
			close(v.emptied)
		}
	}
}

// listen reads the client's messages until it closes its side.
func (v *View) listen(in io.Reader) error {
	lines := wire.NewReader(in, 0)
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			if last := bytes.TrimSpace(lines.Unfinished()); len(last) > 0 {
				v.fromClient(last, false)
			}
			return nil
		}
		if long, is := errors.AsType[*wire.TooLong](err); is {
			v.out.refuse(wire.LooseID(long.Head), codeInvalidRequest, "the message is too long: "+strconv.Itoa(long.Length)+" bytes")
			continue
		}
		if err != nil {
			return err
		}
		v.fromClient(line, false)
	}
}

// FromClientHTTP is FromClient for a message that came over HTTP.
func (v *View) FromClientHTTP(line []byte, _ http.Header) { v.FromClient(line) }

// Flush does nothing: messages are sent as they come.
func (v *View) Flush() {}

// nextID returns a new raw id. The caller holds the lock.
func (v *View) nextID() []byte {
	v.last++
	return proxy.AppendID(nil, v.last)
}
