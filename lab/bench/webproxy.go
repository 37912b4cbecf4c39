package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
)

const roleProxy = "_proxy"

// runProxy does the least that an HTTP proxy can do: it reads the whole request, forwards it and
// returns the response without looking at either. Anything that gauze costs beyond it is added by
// gauze.
func runProxy(args []string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "proxy: listening on http://%s/mcp\n", l.Addr())
	return http.Serve(l, newWebProxy(args[0]))
}

type webProxy struct {
	to  string
	web *http.Transport
}

func newWebProxy(to string) *webProxy {
	return &webProxy{to: to, web: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}}
}

func (p *webProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	req, err := http.NewRequestWithContext(r.Context(), r.Method, p.to, bytes.NewReader(body))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	req.Header = r.Header.Clone()
	res, err := p.web.RoundTrip(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer res.Body.Close()
	for name, values := range res.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(res.StatusCode)
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		io.Copy(w, res.Body)
		return
	}
	flush := http.NewResponseController(w)
	room := make([]byte, 4<<10)
	for {
		n, err := res.Body.Read(room)
		if n > 0 {
			w.Write(room[:n])
			flush.Flush()
		}
		if err != nil {
			return
		}
	}
}
