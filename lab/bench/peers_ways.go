package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// ways are all ways, each as its documentation describes it. Those with a description are programs of others.
var ways = []way{
	{name: "direct", begin: eachItself},
	{name: "gauze", begin: throughGauze("session")},
	{name: "gauze-shared", begin: throughGauze("principal")},
	{name: "mcp-hub", about: "(npm), one address with server-sent events", begin: (*visit).mcpHub},
	{name: "mcp-proxy", about: "(PyPI), one address for each server", begin: (*visit).mcpProxy},
}

// environ is the environment of what the visit starts. Nothing writes to the user's home.
func (v *visit) environ(more ...string) []string {
	return append([]string{v.mark, "HOME=" + v.dir, "XDG_STATE_HOME=" + v.dir, "XDG_CONFIG_HOME=" + v.dir, "XDG_DATA_HOME=" + v.dir, "XDG_CACHE_HOME=" + v.dir}, more...)
}

// eachItself: each client starts all servers at the same time, as clients do.
func eachItself(v *visit) (func() (*member, error), error) {
	return func() (*member, error) {
		m := &member{sessions: make([]asker, v.servers), tool: func(int) string { return "echo" }}
		failed := make([]error, v.servers)
		var starting sync.WaitGroup
		for i := range m.sessions {
			starting.Go(func() { m.sessions[i], failed[i] = dialTo(io.Discard, v.server, v.environ()...) })
		}
		starting.Wait()
		if err := errors.Join(failed...); err != nil {
			return nil, err // the end of the visit stops the others
		}
		return m, nil
	}, nil
}

// throughGauze: each client has one entry, gauze connect. The first one starts gauze up.
func throughGauze(share string) func(*visit) (func() (*member, error), error) {
	return func(v *visit) (func() (*member, error), error) {
		var b strings.Builder
		b.WriteString("servers:\n")
		command, err := json.Marshal(v.server)
		if err != nil {
			return nil, err
		}
		for i := range v.servers {
			fmt.Fprintf(&b, "  s%02d: {command: %s, share: %s}\n", i, command, share)
		}
		file := filepath.Join(v.dir, "up.yaml")
		return func() (*member, error) {
			c, err := dialTo(io.Discard, []string{v.gauze, "connect", "--file", file}, v.environ("GAUZE_STATE_DIR="+filepath.Join(v.dir, "state"))...)
			return alone(c, err, "__")
		}, os.WriteFile(file, []byte(b.String()), 0o600)
	}
}

// alone returns a client with one session, in which tools have their server and a separator before their names.
func alone(session asker, err error, separator string) (*member, error) {
	if err != nil {
		return nil, err
	}
	return &member{[]asker{session}, func(server int) string { return fmt.Sprintf("s%02d%secho", server, separator) }}, nil
}

func (v *visit) mcpHub() (func() (*member, error), error) {
	base, err := v.daemon(func(port, file string) []string {
		return slices.Concat(v.gateways.McpHub, []string{"--port", port, "--config", file})
	})
	return func() (*member, error) {
		s, err := eventually(func() (asker, error) { return dialEvents(base + "/mcp") }) // it listens before it accepts clients
		return alone(s, err, "__")
	}, err
}

// mcpProxy: a client still has one entry for each server.
func (v *visit) mcpProxy() (func() (*member, error), error) {
	base, err := v.daemon(func(port, file string) []string {
		return slices.Concat(v.gateways.McpProxy, []string{"--host", "127.0.0.1", "--port", port, "--pass-environment", "--log-level", "ERROR", "--named-server-config", file})
	})
	return func() (*member, error) {
		m := &member{tool: func(int) string { return "echo" }}
		for i := range v.servers {
			s, err := dialWeb(fmt.Sprintf("%s/servers/s%02d/mcp", base, i))
			if err != nil {
				return nil, err
			}
			m.sessions = append(m.sessions, s)
		}
		return m, nil
	}, err
}

// daemon writes a file with the servers, starts a gateway at a free port of this machine, and waits until it listens.
func (v *visit) daemon(argv func(port, file string) []string) (base string, err error) {
	entries := map[string]any{}
	for i := range v.servers {
		entries[fmt.Sprintf("s%02d", i)] = map[string]any{"command": v.server[0], "args": v.server[1:]}
	}
	text, err := json.Marshal(map[string]any{"mcpServers": entries})
	if err != nil {
		return "", err
	}
	file := filepath.Join(v.dir, "servers.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return "", err
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	at := free.Addr().String()
	free.Close()
	_, port, _ := net.SplitHostPort(at)
	line := argv(port, file)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env, cmd.Dir = append(os.Environ(), v.environ()...), v.dir
	output := &tailBuffer{}
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		return "", err
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	for {
		if conn, err := net.Dial("tcp", at); err == nil {
			conn.Close()
			return "http://" + at, nil
		}
		select {
		case err := <-exited:
			return "", fmt.Errorf("%v exited: %v\n%s", line, err, output)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
