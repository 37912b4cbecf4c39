package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze/fault"
)

// clientName is the name under which this program is the client that the story types.
const clientName = "call"

// clientIfAsked acts as the client if this process was started under its name, and then does not
// return.
func clientIfAsked() {
	if filepath.Base(os.Args[0]) != clientName {
		return
	}
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: call SERVER TOOL ARGUMENTS")
		os.Exit(2)
	}
	if err := call(context.Background(), os.Args[1], os.Args[2], json.RawMessage(os.Args[3])); err != nil {
		fmt.Fprintln(os.Stderr, "call:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// entriesFile is where the client reads how servers are started, as Cursor does.
const entriesFile = ".cursor/mcp.json"

// call starts a configured server as any client does, calls one of its tools, and prints its progress
// and its answer. Of what the server writes to its log, it shows the lines of gauze.
func call(ctx context.Context, server, tool string, arguments json.RawMessage) error {
	command, err := commandOf(server)
	if err != nil {
		return err
	}
	log, err := command.StderrPipe()
	if err != nil {
		return err
	}
	var steps progress
	client := mcp.NewClient(&mcp.Implementation{Name: clientName, Version: "1"}, &mcp.ClientOptions{ProgressNotificationHandler: steps.show})
	shown := make(chan struct{})
	go func() { defer close(shown); showGauze(log) }()
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: command}, nil)
	if err != nil {
		return err
	}
	if _, err := session.ListTools(ctx, nil); err != nil {
		return err
	}
	params := &mcp.CallToolParams{Name: tool, Arguments: arguments}
	params.SetProgressToken(1)
	result, err := session.CallTool(ctx, params)
	if err != nil {
		return err
	}
	steps.wait()
	for _, content := range result.Content {
		if text, ok := content.(*mcp.TextContent); ok {
			fmt.Println("←", text.Text)
		}
	}
	err = session.Close()
	<-shown
	return err
}

// progress is how far a call got. The SDK reports it beside the answer, not before it.
type progress struct {
	mu    sync.Mutex
	ended chan struct{} // ended is closed at the last step; nil: the call has no steps.
}

func (p *progress) show(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Printf("← step %v of %v\n", r.Params.Progress, r.Params.Total)
	if p.ended == nil {
		p.ended = make(chan struct{})
	}
	if r.Params.Progress >= r.Params.Total {
		close(p.ended)
	}
}

// wait waits until the last step of a call with steps is shown.
func (p *progress) wait() {
	p.mu.Lock()
	ended := p.ended
	p.mu.Unlock()
	if ended != nil {
		<-ended
	}
}

// commandOf reads the entry of a server.
func commandOf(server string) (*exec.Cmd, error) {
	text, err := os.ReadFile(filepath.Join(os.Getenv("HOME"), entriesFile))
	if err != nil {
		return nil, err
	}
	var file struct {
		MCPServers map[string]struct {
			Command string
			Args    []string
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	entry, ok := file.MCPServers[server]
	if !ok {
		return nil, fmt.Errorf("%s has no server %q", entriesFile, server)
	}
	return exec.Command(entry.Command, entry.Args...), nil
}

// showGauze prints the lines of gauze's log.
func showGauze(log io.Reader) {
	for lines := bufio.NewScanner(log); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), fault.LogMark) {
			fmt.Println(lines.Text())
		}
	}
}
