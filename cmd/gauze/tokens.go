package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/disk/remembered"
	"github.com/gauze-mcp/gauze/internal/hub"
	"github.com/gauze-mcp/gauze/internal/hub/upfile"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/sorting"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/probe"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// tokensFlags are the flags of gauze tokens.
type tokensFlags struct {
	clients []string
	file    string
	timeout time.Duration
	json    bool
	known   map[string][]probe.Tool // by what identifies a server
}

// tokensCommand returns gauze tokens, which shows what the tools of servers cost.
func tokensCommand() *cobra.Command {
	f := &tokensFlags{known: map[string][]probe.Tool{}}
	cmd := &cobra.Command{
		Use:   "tokens [flags] [SERVER...]",
		Short: "Show how much of a model's context the tools of each server fill",
		Long: "Show how many tools each server lists, and how much of a model's context their names,\n" +
			"descriptions and input schemas fill: for each client, and for gauze up with its\n" +
			"profiles. Tokens are estimated: models count differently.\n\n" +
			"What gauze remembers of a server is used as it is. Other servers are started, except\n" +
			"those of a project that you have not confirmed.",
		Example: "gauze tokens\ngauze tokens --client cursor\ngauze tokens github",
		Args:    cobra.ArbitraryArgs,
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	clientFlag(cmd, &f.clients)
	cmd.Flags().StringVar(&f.file, "file", "", "`path` of the file of gauze up (default: the one that gauze up uses)")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, timeoutUsage)
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

// costs is the output of --json.
type costs struct {
	Clients []clientCost `json:"clients"`
	Up      *upCost      `json:"up,omitempty"`
}

type clientCost struct {
	Client  string       `json:"client"`
	Servers []serverCost `json:"servers"` // the largest first
	Sum     hub.Cost     `json:"sum"`

	name string
}

type serverCost struct {
	Name string `json:"name"`
	hub.Cost
	Largest []toolCost `json:"largest"`
	Not     string     `json:"not,omitempty"` // why it is not known
}

type toolCost struct {
	Name   string `json:"name"`
	Bytes  int    `json:"bytes"`
	Tokens int    `json:"tokens"`
}

// upCost is what clients of gauze up get.
type upCost struct {
	File    string         `json:"file"`
	Servers []serverCost   `json:"servers"`
	Views   []hub.ViewCost `json:"views"` // all servers, then each profile
}

func (f *tokensFlags) run(cmd *cobra.Command, names []string) error {
	fl, err := fleetHere()
	if err != nil {
		return err
	}
	if len(names)+len(f.clients) == 0 {
		fl.Up = nil // it has a part of its own
	}
	_, servers, err := chosen(fl, fleet.Choice{Names: names, Clients: f.clients})
	if err != nil {
		return err
	}
	var file *upfile.File
	if f.file != "" || len(names)+len(f.clients) == 0 {
		if file, err = f.readFile(fl); err != nil {
			return err
		}
	}
	c := costs{Clients: []clientCost{}}
	if c.Clients, err = f.ofClients(cmd, fl, servers, names); err != nil {
		return err
	}
	if file != nil {
		if c.Up, err = f.ofFile(cmd, file); err != nil {
			return err
		}
	}
	return present(cmd, f.json, c, func(p terminal.Paint) string { return costText{fl, p}.text(c) })
}

// readFile reads the file of gauze up; nil: the user has none.
func (f *tokensFlags) readFile(fl *fleet.Fleet) (*upfile.File, error) {
	path, err := upFile(f.file)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); f.file == "" && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return upfile.Read(path, upfile.Options{Fleet: fl})
}

// recall returns the tools of a server that are known already.
func (f *tokensFlags) recall(spec launch.Spec) ([]probe.Tool, bool) {
	whose := whoseTools(spec)
	if _, found := f.known[whose]; !found {
		if tools := rememberedTools(spec); tools != nil {
			f.known[whose] = tools
		}
	}
	tools, found := f.known[whose]
	return tools, found
}

// rememberedTools returns the tools of a server as it last listed them to a client of gauze; nil: it has not.
func rememberedTools(spec launch.Spec) []probe.Tool {
	dir, err := backup.StateDir()
	if err != nil {
		return nil
	}
	return probe.ReadTools(proxy.Remembered(remembered.In(dir), spec))
}

// whoseTools identifies a server by its command or URL.
func whoseTools(spec launch.Spec) string {
	return fmt.Sprintf("%q", append([]string{spec.URL, spec.Command}, spec.Args...))
}

// ofClients returns the costs of the servers of clients.
func (f *tokensFlags) ofClients(cmd *cobra.Command, fl *fleet.Fleet, servers []*fleet.Server, names []string) ([]clientCost, error) {
	var unknown []*fleet.Server
	for _, s := range servers {
		if _, found := f.recall(s.Real()); !found {
			unknown = append(unknown, s)
		}
	}
	not := map[*fleet.Server]string{}
	if len(unknown) > 0 {
		all, err := checked(cmd, fl, unknown, fleet.CheckOptions{Timeout: f.timeout, Ask: confirmProject(cmd, names, ""), Logins: true}, f.json)
		if err != nil {
			return nil, err
		}
		for _, c := range all {
			if c.Tried && c.Report.Healthy {
				f.known[whoseTools(c.Real())] = c.Attempt.Found.Tools
			} else {
				not[c.Server] = c.WhyNot()
			}
		}
	}
	all := []clientCost{}
	for _, s := range servers {
		if s.Disabled || s.Builtin != "" {
			continue
		}
		if len(all) == 0 || all[len(all)-1].Client != s.Client.ID {
			all = append(all, clientCost{Client: s.Client.ID, name: s.Client.Name})
		}
		one, tools := &all[len(all)-1], []probe.Tool(nil)
		if not[s] == "" {
			tools, _ = f.recall(s.Real())
		}
		one.Servers = append(one.Servers, costOf(plaintext.Clean(s.Name), tools, not[s]))
		one.Sum = one.Sum.Plus(hub.CostOf(tools))
	}
	for _, one := range all {
		sortCosts(one.Servers)
	}
	return all, nil
}

// maxLargest is how many of the largest tools are named.
const maxLargest = 3

// costOf returns the cost of a server.
func costOf(name string, tools []probe.Tool, not string) serverCost {
	c := serverCost{Name: name, Cost: hub.CostOf(tools), Not: not, Largest: []toolCost{}}
	tools = slices.Clone(tools)
	sorting.Stable(tools, func(a, b probe.Tool) int { return b.Tokens - a.Tokens })
	for _, t := range tools[:min(len(tools), maxLargest)] {
		c.Largest = append(c.Largest, toolCost{plaintext.Clean(t.Name), t.Bytes, t.Tokens})
	}
	return c
}

func sortCosts(all []serverCost) {
	sorting.Stable(all, func(a, b serverCost) int { return b.Tokens - a.Tokens })
}

// ofFile returns the costs of the servers of a file of gauze up, and of its profiles.
func (f *tokensFlags) ofFile(cmd *cobra.Command, file *upfile.File) (*upCost, error) {
	not, err := f.start(cmd, file)
	if err != nil {
		return nil, err
	}
	up, tools := &upCost{File: file.Path, Servers: []serverCost{}}, map[string][]probe.Tool{}
	for _, s := range file.Servers {
		tools[s.Key], _ = f.recall(s.Spec)
		one := costOf(s.Key, slices.DeleteFunc(slices.Clone(tools[s.Key]), func(t probe.Tool) bool { return !s.Tools.Admits(t.Name) }), not[s.Key])
		one.Cost = hub.ServerCost(s, tools[s.Key]) // under longer names
		up.Servers = append(up.Servers, one)
	}
	sortCosts(up.Servers)
	up.Views = hub.Costs(file, tools)
	return up, nil
}

// start lists the tools of the servers of a file that are not known, and returns why some still are not.
func (f *tokensFlags) start(cmd *cobra.Command, file *upfile.File) (not map[string]string, err error) {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
	defer stop()
	not = map[string]string{}
	var unknown []upfile.Server
	for _, s := range file.Servers {
		_, found := f.recall(s.Spec)
		if not[s.Key] = s.Pending; !found && s.Pending == "" {
			unknown = append(unknown, s)
		}
	}
	var running sync.WaitGroup
	var mu sync.Mutex // guards known and not
	places := make(chan struct{}, maxParallel)
	for _, s := range unknown {
		running.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			r := f.list(ctx, s.Spec)
			mu.Lock()
			defer mu.Unlock()
			if not[s.Key] = r.Stopped; r.OK() {
				f.known[whoseTools(s.Spec)] = r.Found.Tools
			}
		})
	}
	running.Wait()
	if ctx.Err() != nil {
		return nil, interrupted
	}
	return not, nil
}

// list starts or reaches a server once.
func (f *tokensFlags) list(ctx context.Context, spec launch.Spec) probe.Result {
	return probe.Run(ctx, spec, probe.Options{Timeout: f.timeout, Version: versionText()}).Hidden(fleet.Hiding(spec))
}
