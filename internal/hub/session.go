package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/gauze-mcp/gauze/internal/hub/upfile"
	"github.com/gauze-mcp/gauze/internal/hub/view"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// Client is where a session comes from: processes of servers get its directory and its environment, never those of another
// client. The zero value is gauze itself.
type Client struct {
	Dir       string
	Env       []string
	Principal string // who it is, if clients are different users
}

// spec returns how a server is started or reached for the client.
func (c Client) spec(s *upfile.Server) (launch.Spec, error) {
	if c.Env == nil {
		return s.At("", os.Environ())
	}
	return s.At(c.Dir, c.Env)
}

// viewSession is a session with several servers, for changes of the file.
type viewSession struct {
	profile string
	client  Client
}

// Serve serves a client on in and out: everything, a profile, or one server, whose names are then as it has them.
func (h *Hub) Serve(ctx context.Context, from Client, server, profile string, in io.Reader, out io.Writer) error {
	if server != "" {
		return h.serveOne(ctx, from, server, in, out)
	}
	v, closed, err := h.view(profile, from, nil)
	if err != nil {
		return err
	}
	defer closed()
	return v.Serve(ctx, in, out)
}

// serveOne serves a client with one server.
func (h *Hub) serveOne(ctx context.Context, from Client, key string, in io.Reader, out io.Writer) error {
	s, spec, err := h.joinOne(from, key)
	if err != nil {
		return err
	}
	defer s.joined.Done()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	leave := func() { end(errChanged) }
	if client, ok := in.(leaver); ok {
		leave = client.Leave
	}
	with := s.open(spec, from.Principal, nil)
	defer h.follow(&one{key, from, s.version, leave}, with)()
	if err = with.Serve(ctx, in, out); context.Cause(ctx) == errChanged {
		return errChanged
	}
	return err
}

var errChanged = errors.New("what the file of gauze up says about the server has changed: connect again")

// leaver is a client that can be asked to disconnect and come again, with its session. It does not block.
type leaver interface{ Leave() }

// joinOne returns a server, which stays until the client's session has ended, and how it is started for the client.
func (h *Hub) joinOne(from Client, key string) (*server, launch.Spec, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.servers[key]
	if s == nil {
		p, _ := h.profile("")
		missing := ""
		if len(h.file.Missing) > 0 { // it may be in one of these files
			missing = "; " + strings.ReplaceAll(h.file.Missing.Error(), "\n", "; ")
		}
		return nil, launch.Spec{}, fmt.Errorf("%s has no server %q%s%s", h.file.Path, key, didYouMean(key, p.Servers), missing)
	}
	switch {
	case s.Pending != "":
		return nil, launch.Spec{}, fmt.Errorf("the server %q is not started: %s", key, s.Pending)
	case filters(s.Tools):
		return nil, launch.Spec{}, fmt.Errorf("only some tools of the server %q are allowed (tools in %s), and gauze connect %s would have all of them: use a profile instead (gauze connect --profile NAME)", key, h.file.Path, key)
	}
	spec, err := from.spec(&s.Server)
	if err == nil {
		s.joined.Add(1)
	}
	return s, spec, err
}

// view returns the session of a client with the servers of a profile, and a function to call when it has ended.
func (h *Hub) view(profile string, from Client, tell func(proxy.Told)) (v *view.View, closed func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p, ok := h.profile(profile)
	if !ok {
		var known []string
		for _, p := range h.file.Profiles {
			known = append(known, p.Name)
		}
		return nil, nil, fmt.Errorf("%s has no profile %q%s", h.file.Path, profile, didYouMean(profile, known))
	}
	v = view.New(view.Options{Members: h.members(profile, from), Software: h.options.Software, List: p.List, Tell: tell, Private: len(h.tokens) > 0, ListWait: h.options.ListWait})
	h.open[v] = &viewSession{profile: profile, client: from}
	return v, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.open, v)
	}, nil
}

// didYouMean returns the end of a sentence that names what a misspelled word may stand for.
func didYouMean(word string, known []string) string {
	if near := plaintext.Nearest(word, known); len(near) > 0 {
		return fmt.Sprintf("; did you mean %q?", near[0])
	}
	return ""
}
