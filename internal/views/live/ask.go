package live

import (
	"bufio"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/gauze-mcp/gauze/internal/disk/sockets"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/sorting"
)

// ErrGone means that a wrap has ended.
var ErrGone = errors.New("the gauze process has exited")

// maxAsked is how many wraps are asked at the same time. Those that do not answer must not delay the
// others.
const maxAsked = 512

// All asks every wrap of this user, whose state directory is dir, and returns them by name. A wrap
// that has ended is left out; one that does not answer has StateSilent.
func All(ctx context.Context, dir string) ([]Server, error) {
	files, err := announced(liveDir(dir))
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var all []Server
	var asking sync.WaitGroup
	places := make(chan struct{}, maxAsked)
	for _, f := range files {
		id, found := strings.CutSuffix(f.Name(), fileSuffix)
		if !found {
			continue
		}
		asking.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			s, err := one(ctx, dir, id)
			if err != nil {
				return
			}
			mu.Lock()
			all = append(all, s)
			mu.Unlock()
		})
	}
	asking.Wait()
	sorting.Stable(all, func(a, b Server) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID))
	})
	return all, ctx.Err()
}

// announced returns the files in the directory of the announcements.
func announced(dir string) ([]fs.DirEntry, error) {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = sockets.IsDir(dir, info)
	}
	if err != nil {
		return nil, err
	}
	return os.ReadDir(dir)
}

// one asks one wrap, and describes one that does not answer by its announcement.
func one(ctx context.Context, dir, id string) (s Server, err error) {
	about, err := read(dir, id)
	if err != nil {
		return s, err
	}
	err = ask(ctx, dir, id, about, "server", &s)
	if err != nil && !errors.Is(err, ErrGone) {
		s = Server{Name: about.Name, PID: about.PID, Since: about.Since, State: StateSilent}
		err = nil
	}
	s.received(id)
	return s, err
}

// received makes what a wrap said about itself fit to be shown: it may be a different version, or a
// different program.
func (s *Server) received(id string) {
	s.ID = id
	for _, text := range []*string{&s.Name, &s.Client, &s.Via, &s.Version, &s.State, &s.LastReason} {
		*text = plaintext.Clean(*text)
	}
	if s.File != nil {
		s.File.received()
	}
}

// One returns everything about one wrap. The error is ErrGone if it has ended.
func One(ctx context.Context, dir, id string) (d Detail, err error) {
	about, err := read(dir, id)
	if err != nil {
		return d, err
	}
	err = ask(ctx, dir, id, about, "detail", &d)
	d.Server.received(id)
	return d, err
}

// Log returns the last lines that the server of one wrap printed, over all its restarts, oldest first.
// The error is ErrGone if the wrap has ended.
func Log(ctx context.Context, dir, id string) (lines []Line, err error) {
	about, err := read(dir, id)
	if err != nil {
		return nil, err
	}
	err = ask(ctx, dir, id, about, "log", &lines)
	for i := range lines {
		lines[i].From, lines[i].Text = plaintext.Clean(lines[i].From), plaintext.Clean(lines[i].Text)
	}
	return lines, err
}

// Restart replaces the server of one wrap.
func Restart(ctx context.Context, dir, id string) error {
	about, err := read(dir, id)
	if err != nil {
		return err
	}
	return ask(ctx, dir, id, about, "restart", nil)
}

// read reads the file of a wrap.
func read(dir, id string) (about announcement, err error) {
	if id == "" || strings.ContainsFunc(id, func(r rune) bool { return r != '-' && (r < '0' || r > '9') }) {
		return about, fmt.Errorf("%w: invalid id %q", ErrGone, id)
	}
	path := filepath.Join(liveDir(dir), id+fileSuffix)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return about, ErrGone
	}
	if err != nil {
		return about, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return about, fmt.Errorf("%w: %s was not written by a gauze process", ErrGone, path)
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return about, ErrGone
	}
	if err != nil {
		return about, err
	}
	if err := json.Unmarshal(text, &about); err != nil {
		return about, err
	}
	if !sockets.IsLocal(about.Network, about.Address, id+socketSuffix) {
		return about, fmt.Errorf("%w: the address in %s does not belong to a gauze process", ErrGone, path)
	}
	return about, nil
}

// ask asks a wrap one question. If the wrap was killed, its files are removed. That is so if nothing
// listens at its address, or something that does not know the token while the process has ended. A
// wrap that removed its file meanwhile has ended.
func ask(ctx context.Context, dir, id string, about announcement, question string, value any) error {
	text, err := exchange(ctx, about, question)
	var said remoteError
	switch {
	case err == nil && value == nil:
		return nil
	case err == nil:
		return json.Unmarshal(text, value)
	case errors.As(err, &said) || ctx.Err() != nil:
		return err
	case !sockets.IsRefused(err) && isRunning(about.PID):
		if _, gone := read(dir, id); errors.Is(gone, ErrGone) {
			return ErrGone
		}
		return err
	}
	// On this host, a socket in the file system that refuses has no listener in any container.
	refused := about.Network == "unix" && errors.Is(err, syscall.ECONNREFUSED)
	if !about.onHost() || !refused && !about.inSpace() {
		return ErrGone // or it runs on a different machine, or in a different container
	}
	os.Remove(filepath.Join(liveDir(dir), id+fileSuffix))
	os.Remove(filepath.Join(liveDir(dir), id+socketSuffix))
	return ErrGone
}

// remoteError is an error that the wrap reported.
type remoteError string

func (e remoteError) Error() string { return string(e) }

// exchange sends a question to a wrap and returns its answer.
func exchange(ctx context.Context, about announcement, question string) (json.RawMessage, error) {
	timeout := askTimeout
	if question == "restart" || question == "reload" {
		timeout = restartTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("gauze (pid %d) did not answer within %v", about.PID, timeout))
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, about.Network, about.Address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	nonce := rand.Text()
	if err := json.NewEncoder(conn).Encode(request{nonce, question, sockets.Proof(about.Token, "request", nonce, question)}); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(io.LimitReader(conn, maxResponse)).ReadBytes('\n')
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	var r response
	if err := json.Unmarshal(line, &r); err != nil {
		return nil, err
	}
	switch {
	case !hmac.Equal(r.Proof, sockets.Proof(about.Token, "response", nonce, r.Error, string(r.Value))):
		return nil, errors.New("another program answered")
	case r.Error != "":
		return nil, remoteError(plaintext.Clean(r.Error))
	}
	return r.Value, nil
}
