package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// crosstalk runs sessions of two principals with equal ids and equal progress tokens. Every message carries a mark of its
// owner, which is compared with the one who gets it. One of two servers has a process that the sessions of a principal
// share, until it asks something that cannot be attributed: that is refused, and each session gets its own.
type crosstalk struct {
	upStorm
	sessions int // of each principal
	talkers  []*talker

	next     atomic.Int64
	messages atomic.Int64 // received, with a mark
	mu       sync.Mutex
	kinds    map[string]int // messages received
	leaks    []string
	missing  []string
}

// runCrosstalk measures whether messages reach anyone but their owner.
func runCrosstalk(args []string) error {
	flags := flag.NewFlagSet("crosstalk", flag.ContinueOnError)
	x := &crosstalk{}
	x.silenceTimeout = 2 * time.Minute
	flags.IntVar(&x.calls, "calls", 10_000, "number of calls")
	flags.IntVar(&x.sessions, "sessions", 2, "number of sessions of each of the two principals")
	flags.IntVar(&x.callers, "callers", 8, "number of concurrent callers of each session")
	flags.StringVar(&x.gauze, "gauze", "", "use this binary instead of building one")
	if err := flags.Parse(args); err != nil {
		return err
	}
	b, err := newBinaries()
	if err != nil {
		return err
	}
	defer b.remove()
	if x.gauze == "" {
		if x.gauze, err = b.gauze(""); err != nil {
			return err
		}
	}
	began := time.Now()
	if err := x.run(b); err != nil {
		return err
	}
	fmt.Printf("%d calls of %d sessions of 2 principals: %d marked messages (%v), %d leaks, %d missing, %.1f s\n",
		x.calls, 2*x.sessions, x.messages.Load(), x.kinds, len(x.leaks), len(x.missing), time.Since(began).Seconds())
	if len(x.leaks)+len(x.missing) > 0 {
		return errors.New(strings.Join(append(x.leaks, x.missing...), "\n"))
	}
	return nil
}

// principals are the tokens of the two.
var principals = [2]string{rand.Text(), rand.Text()}

// run makes all calls.
func (x *crosstalk) run(b *binaries) (err error) {
	if x.dir, err = os.MkdirTemp(b.dir, "talk-"); err != nil {
		return err
	}
	x.self, x.kinds = b.self, map[string]int{}
	server := fmt.Sprintf("command: [%q, %s, -era, legacy, -resources, \"8\", -ledger, %q]", x.self, roleFaulty, x.ledger())
	text := fmt.Sprintf("servers:\n  s00: {%[1]s}\n  s01: {%[1]s, share: principal}\n", server)
	tokens := filepath.Join(x.dir, "tokens")
	if err := errors.Join(os.WriteFile(x.file(), []byte(text), 0o600), os.WriteFile(tokens, []byte(strings.Join(principals[:], "\n")), 0o600)); err != nil {
		return err
	}
	if x.up, err = startHTTP(x.command("up", "--token-file", tokens, "--listen", "127.0.0.1:0", "--quiet", "--no-dashboard", "--no-journal", x.file())); err != nil {
		return err
	}
	defer x.end()
	ctx, cancel := context.WithCancel(context.Background())
	var listening, calling sync.WaitGroup
	defer listening.Wait()
	defer cancel()
	for i := range 2 * x.sessions {
		t := &talker{x: x, principal: i % 2, session: i / 2}
		if err := t.open(ctx, &listening); err != nil {
			return err
		}
		x.talkers = append(x.talkers, t)
	}
	for _, t := range x.talkers {
		for range x.callers {
			calling.Go(func() {
				for int(x.next.Add(1)) <= x.calls {
					t.call(ctx)
				}
			})
		}
	}
	calling.Wait()
	for _, t := range x.talkers {
		t.awaitNews()
	}
	return nil
}

// talker is one session.
type talker struct {
	x                  *crosstalk
	principal, session int
	web                *webClient
	last               atomic.Int64
	due                atomic.Int64 // logs and updates that are to come
}

// mark is what every message of a call carries.
func (t *talker) mark(id string) string {
	return fmt.Sprintf("mark-%d-%d-%s.", t.principal, t.session, id)
}

var marks = regexp.MustCompile(`mark-(\d)-(\d)-(\d+)\.`)

// steps is how many steps of progress a call of the session reports: no other session has as many.
func (t *talker) steps() int { return 2 + 2*t.session + t.principal }

// uri is the resource that the session subscribes to, and no other.
func (t *talker) uri() string { return fmt.Sprintf("mem://%d", 2*t.session+t.principal) }

// open begins the session, subscribes and listens.
func (t *talker) open(ctx context.Context, listening *sync.WaitGroup) error {
	d := dialects[0]
	d.opening = []opening{
		{strings.Replace(initializeLine, `"capabilities":{}`, `"capabilities":{"elicitation":{},"sampling":{}}`, 1), true},
		{initializedLine, false},
		{fmt.Sprintf(`{"jsonrpc":"2.0","id":"s","method":"resources/subscribe","params":{"uri":%q}}`+"\n", t.uri()), true},
	}
	t.web = newWebClient(&d, t.x.up.url, t.x.callers)
	t.web.token = principals[t.principal]
	if err := t.web.open(ctx); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.web.url, nil)
	if err != nil {
		return err
	}
	t.web.address(req.Header, nil)
	res, err := t.web.web.Do(req)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		res.Body.Close()
		return fmt.Errorf("GET: %s", res.Status)
	}
	listening.Go(func() {
		defer res.Body.Close()
		readEvents(res.Body, func(line []byte) { t.receive("", line) })
	})
	return nil
}

// call makes one call. All sessions use the same ids, and the id as the progress token.
func (t *talker) call(ctx context.Context) {
	n := t.last.Add(1)
	id := fmt.Sprint(n)
	mark := t.mark(id)
	server := key(int(n / 6 % 2))
	tool, arguments := "echo", fmt.Sprintf(`{"text":%q}`, mark)
	switch n % 6 {
	case 1:
		tool, arguments = "progress", fmt.Sprintf(`{"n":%d}`, t.steps())
	case 2:
		tool, arguments = "ask", fmt.Sprintf(`{"method":"elicitation/create","params":{"message":%q,"requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}`, mark)
	case 3:
		tool, arguments = "ask", fmt.Sprintf(`{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":%q}}],"maxTokens":16}}`, mark)
	case 4:
		server = key(0) // of a shared process, both sessions of the principal get it
		tool, arguments = "notify", fmt.Sprintf(`{"message":%q}`, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"`+mark+`"}}`)
		t.due.Add(1)
	case 5:
		server, tool, arguments = key(0), "touch", fmt.Sprintf(`{"uri":%q}`, t.uri())
		t.due.Add(1)
	}
	line := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"progressToken":%s}}}`+"\n", id, server+"__"+tool, arguments, id)
	ctx, cancel := context.WithTimeout(ctx, t.x.silenceTimeout)
	defer cancel()
	answers, steps := 0, 0
	err := t.web.send(ctx, line, func(line []byte) {
		switch t.receive(id, line) {
		case "answer":
			answers++
			refused := server == key(1) && tool == "ask" && bytes.Contains(line, []byte("several clients use this server"))
			if (tool == "echo" || tool == "ask") && !refused && !bytes.Contains(line, []byte(mark)) {
				t.x.miss("%s of %s: %s", tool, mark, line)
			}
		case "progress":
			steps++
		}
	})
	if err != nil || answers != 1 || tool == "progress" && steps != t.steps() {
		t.x.miss("%s of %s: %d answers, %d steps, %v", tool, mark, answers, steps, err)
	}
}

// receive checks a message that the session got, on the stream of a call or on its own, and returns its kind.
func (t *talker) receive(id string, line []byte) (kind string) {
	method := string(quotedAfter(line, `"method":"`))
	switch {
	case method == "" || !bytes.HasPrefix(bytes.TrimSpace(line), []byte(`{"jsonrpc"`)):
		kind = "answer"
		if string(rawID(line)) != id {
			t.x.leak("the response to %s on the stream of %s: %s", rawID(line), t.mark(id), line)
		}
	case method == "notifications/progress":
		kind = "progress"
		if !bytes.Contains(line, []byte(`"progressToken":`+id+`,`)) || !bytes.Contains(line, fmt.Appendf(nil, `"total":%d`, t.steps())) {
			t.x.leak("progress on the stream of %s: %s", t.mark(id), line)
		}
	case method == "notifications/resources/updated":
		kind = "update"
		t.due.Add(-1)
		if !bytes.Contains(line, []byte(`"`+t.uri()+`"`)) {
			t.x.leak("%s got %s", t.mark(""), line)
		}
	case method == "notifications/message":
		kind = "log"
		t.due.Add(-1)
	case method == "elicitation/create" || method == "sampling/createMessage":
		kind = "question"
		go t.reply(bytes.Clone(line))
	default:
		return "other"
	}
	for _, m := range marks.FindAllSubmatch(line, -1) {
		wrong := string(m[1]) != fmt.Sprint(t.principal) || string(m[2]) != fmt.Sprint(t.session)
		if wrong || kind == "answer" && string(m[3]) != id { // a question of a server on stdio does not tell for which call it is
			t.x.leak("%s got %s", t.mark(id), line)
		}
	}
	t.x.messages.Add(1)
	t.x.mu.Lock()
	t.x.kinds[kind]++
	t.x.mu.Unlock()
	return kind
}

// reply answers a question with its own mark.
func (t *talker) reply(question []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), t.x.silenceTimeout) // the call whose stream it came on may end before
	defer cancel()
	mark := marks.Find(question)
	result := fmt.Sprintf(`{"action":"accept","content":{"name":%q}}`, mark)
	if bytes.Contains(question, []byte("sampling/")) {
		result = fmt.Sprintf(`{"role":"assistant","content":{"type":"text","text":%q},"model":"m"}`, mark)
	}
	if err := t.web.send(ctx, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", rawID(question), result), func([]byte) {}); err != nil {
		t.x.miss("the reply to %s: %v", question, err)
	}
}

// awaitNews waits for the logs and updates that are to come.
func (t *talker) awaitNews() {
	for begin := time.Now(); t.due.Load() != 0; time.Sleep(pollInterval) {
		if time.Since(begin) > t.x.silenceTimeout {
			t.x.miss("%d logs and updates of %s did not come", t.due.Load(), t.mark(""))
			return
		}
	}
}

func (x *crosstalk) leak(format string, args ...any) { x.note(&x.leaks, format, args...) }
func (x *crosstalk) miss(format string, args ...any) { x.note(&x.missing, format, args...) }

func (x *crosstalk) note(in *[]string, format string, args ...any) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(*in) < 20 {
		*in = append(*in, fmt.Sprintf("%.600s", fmt.Sprintf(format, args...)))
	}
}
