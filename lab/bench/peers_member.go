package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// asker is a session that answers one request at a time.
type asker interface {
	ask(method, params string) (answer string, took time.Duration, err error)
	close()
}

// member is a client of many servers.
type member struct {
	sessions []asker                 // sessions has one for all servers, or one for each.
	tool     func(server int) string // tool returns the name that the client sees of a server's tool echo.
}

// memberPatience is how long a client waits for its tools.
const memberPatience = 5 * time.Minute

// wait asks for the list of tools until the tools of all servers are in it.
func (m *member) wait(servers int) error {
	deadline := time.Now().Add(memberPatience)
	for {
		missing := ""
		lists := make([]string, len(m.sessions))
		for i, s := range m.sessions {
			var err error
			if lists[i], _, err = s.ask("tools/list", "{}"); err != nil {
				return err
			}
		}
		for i := range servers {
			if !strings.Contains(lists[i%len(lists)], `"`+m.tool(i)+`"`) {
				missing = m.tool(i)
			}
		}
		if missing == "" {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s is still missing in the list of tools: %.300s", missing, lists[0])
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// calls calls echo of the first servers in turn and returns the median of the latencies.
func (m *member) calls(servers, calls int, argument string) (time.Duration, error) {
	var took []time.Duration
	for i := range calls {
		server := i % servers
		answer, d, err := m.sessions[server%len(m.sessions)].ask("tools/call", fmt.Sprintf(`{"name":%q,"arguments":{%q:"hello"}}`, m.tool(server), argument))
		if err != nil || !strings.Contains(answer, "hello") || strings.Contains(answer, `"isError":true`) {
			return 0, fmt.Errorf("call %d, %s: %.300s %w", i, m.tool(server), answer, err)
		}
		took = append(took, d)
	}
	return median(took), nil
}

func (m *member) close() {
	if m == nil {
		return
	}
	for _, s := range m.sessions {
		go s.close() // the end of the visit waits for all processes
	}
}

// eventually tries to begin a session until it succeeds.
func eventually(dial func() (asker, error)) (asker, error) {
	deadline := time.Now().Add(memberPatience)
	for {
		s, err := dial()
		if err == nil || time.Now().After(deadline) {
			return s, err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// webAsker is a session over Streamable HTTP.
type webAsker struct {
	web *webClient
	id  int
}

func dialWeb(url string) (asker, error) {
	web := newWebClient(&dialect{era: "legacy", opening: dialects[0].opening[:2]}, url, 2)
	ctx, cancel := context.WithTimeout(context.Background(), memberPatience)
	defer cancel()
	return &webAsker{web: web}, web.open(ctx)
}

func (a *webAsker) ask(method, params string) (answer string, took time.Duration, err error) {
	a.id++
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), memberPatience)
	defer cancel()
	line := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, a.id, method, params)
	err = a.web.send(ctx, line, func(message []byte) {
		if rawID(message) != nil {
			answer, took = string(message), time.Since(began)
		}
	})
	return answer, took, err
}

func (a *webAsker) close() { a.web.close() }

// eventAsker is a session over HTTP with server-sent events, the transport before Streamable HTTP.
type eventAsker struct {
	post   string
	body   io.Closer
	events *bufio.Reader
	id     int
}

func dialEvents(at string) (asker, error) {
	res, err := http.Get(at)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		res.Body.Close()
		return nil, fmt.Errorf("%s: HTTP %d", at, res.StatusCode)
	}
	a := &eventAsker{body: res.Body, events: bufio.NewReaderSize(res.Body, 64<<10)}
	place, err := a.next()
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(at)
	if err != nil {
		return nil, err
	}
	endpoint, err := base.Parse(string(place))
	if err != nil {
		return nil, err
	}
	a.post = endpoint.String()
	if err := a.send(initializeLine); err != nil {
		return nil, err
	}
	if _, err := a.answer(); err != nil {
		return nil, err
	}
	return a, a.send(initializedLine)
}

// next returns the data of the next event.
func (a *eventAsker) next() ([]byte, error) {
	for {
		line, err := a.events.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			return bytes.TrimSpace(data), nil
		}
	}
}

// answer returns the next message that is not a notification.
func (a *eventAsker) answer() (string, error) {
	for {
		message, err := a.next()
		if err != nil || rawID(message) != nil {
			return string(message), err
		}
	}
}

func (a *eventAsker) send(line string) error {
	res, err := http.Post(a.post, "application/json", strings.NewReader(line))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode >= 300 {
		err = fmt.Errorf("HTTP %d: %.200s", res.StatusCode, text)
	}
	return err
}

func (a *eventAsker) ask(method, params string) (string, time.Duration, error) {
	a.id++
	began := time.Now()
	if err := a.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, a.id, method, params)); err != nil {
		return "", 0, err
	}
	text, err := a.answer()
	return text, time.Since(began), err
}

func (a *eventAsker) close() { a.body.Close() }
