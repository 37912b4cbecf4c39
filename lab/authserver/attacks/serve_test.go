package attacks

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serve starts gauze serve for a server, as erin. Everybody has a token of their own: their name.
func (w *world) serve(target string) (address string) {
	w.Helper()
	var tokens strings.Builder
	for name := range w.people {
		tokens.WriteString(principal(name) + "\n")
	}
	file := filepath.Join(w.erin.home, "tokens")
	if err := os.WriteFile(file, []byte(tokens.String()), 0o600); err != nil {
		w.Fatal(err)
	}
	cmd := exec.Command(gauze(w.T), "serve", "--listen=127.0.0.1:0", "--token-file="+file, "--url", target)
	cmd.Env, cmd.Dir = w.erin.env(), w.erin.home
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		w.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	for address == "" && lines.Scan() {
		address = listening.FindString(lines.Text())
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for lines.Scan() {
			w.erin.hear(lines.Text())
		}
	}()
	w.Cleanup(func() {
		cmd.Process.Kill()
		<-done
		cmd.Wait()
	})
	if address == "" {
		w.Fatal("gauze serve names no address")
	}
	return address
}

var listening = regexp.MustCompile(`http://127\.0\.0\.1:\d+/mcp`)

// principal returns the token of a person for gauze serve.
func principal(name string) string { return "principal-" + name + "-0123456789abcdef0123456789abcdef" }

// via calls the tool of a server through gauze serve.
func (p *person) via(serve, target string) error {
	p.world.Helper()
	ctx, cancel := p.begin(target)
	defer cancel()
	err := p.connect(ctx, &mcp.StreamableClientTransport{Endpoint: serve, HTTPClient: &http.Client{Transport: asPrincipal(p.name)}}, func(s *session) error { return s.call() })
	p.end()
	return err
}

// asPrincipal sends requests with the token of a person.
type asPrincipal string

func (name asPrincipal) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+principal(string(name)))
	return http.DefaultTransport.RoundTrip(r)
}
