package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/gauze-mcp/gauze/lab/bench/minimal"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

// peer is another proxy that users can install.
type peer struct {
	Name  route  `json:"name"`
	About string `json:"about"`
	dial  func(server []string) (*lineClient, error)
}

// installPeers installs the peers. Their configuration files are in dir.
func installPeers(dir string) ([]peer, error) {
	fastMCP, mcpProxy, err := realparts.Peers(context.Background(), os.Stderr)
	if err != nil {
		return nil, err
	}
	return []peer{
		{"fastmcp", "from PyPI, a stdio proxy in Python", func(server []string) (*lineClient, error) {
			config := filepath.Join(dir, "fastmcp.json")
			text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"echo": map[string]any{"command": server[0], "args": server[1:]}}})
			if err != nil {
				return nil, err
			}
			if err := os.WriteFile(config, text, 0o600); err != nil {
				return nil, err
			}
			return dial(slices.Concat(fastMCP, []string{"run", config, "--no-banner", "--log-level", "ERROR"}))
		}},
		{"mcp-proxy", "from npm, an HTTP front in Node.js, called over HTTP", func(server []string) (*lineClient, error) {
			return dialFront(func(port string) []string {
				return slices.Concat(mcpProxy, []string{"--host", "127.0.0.1", "--port", port, "--server", "stream", "--"}, server)
			})
		}},
	}, nil
}

// dialFront starts an HTTP front at a free port and returns a client that posts each line to it.
func dialFront(argv func(port string) []string) (*lineClient, error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	free.Close()
	line := argv(port)
	cmd := exec.Command(line[0], line[1:]...)
	out, answers := io.Pipe()
	p := &poster{cmd: cmd, out: answers, web: newWebClient(&dialects[0], "http://127.0.0.1:"+port+"/mcp", 64)}
	c := &lineClient{cmd: cmd, in: p, out: bufio.NewReaderSize(out, minimal.MaxLine)}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			conn.Close()
			break
		}
		if ctx.Err() != nil {
			return nil, c.abandon(err)
		}
		time.Sleep(time.Millisecond)
	}
	if err := p.web.open(ctx); err != nil {
		return nil, c.abandon(err)
	}
	c.startup = time.Since(begin)
	return c, nil
}

// poster is the input of an HTTP front: each line is posted, and the responses are written to out.
type poster struct {
	cmd     *exec.Cmd
	web     *webClient
	out     *io.PipeWriter
	writing sync.Mutex
}

func (p *poster) Write(line []byte) (int, error) {
	text := slices.Clone(line)
	go func() {
		err := p.web.send(context.Background(), text, func(answer []byte) {
			p.writing.Lock()
			defer p.writing.Unlock()
			p.out.Write(append(answer, '\n'))
		})
		if err != nil {
			p.out.CloseWithError(err)
		}
	}()
	return len(line), nil
}

// Close stops the front, which does not end with its input.
func (p *poster) Close() error {
	p.web.close()
	return p.cmd.Process.Signal(syscall.SIGTERM)
}
