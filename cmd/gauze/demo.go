package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/access/httpguard"
	"github.com/gauze-mcp/gauze/internal/mend/modelconfig"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/views/dashboard"
	"github.com/gauze-mcp/gauze/internal/views/demo"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

func demoCommand() *cobra.Command {
	var withModel, stay, noDashboard bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch gauze heal a broken server",
		Long: "Break a built-in server and watch gauze recover. The demo kills the server before and\n" +
			"during a call, makes it hang, slows it down and has it print stray output. A client\n" +
			"sends invalid calls, which are corrected by rules and by a scripted model. A task is\n" +
			"stopped and resumed. At the end, gauze compares the responses with what the server\n" +
			"actually did. If they differ, the exit status is nonzero. A dashboard shows everything\n" +
			"in a browser; its address is printed first. In a terminal, the dashboard keeps running\n" +
			"until you press Ctrl-C.",
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o := demo.Options{Color: terminal.PaintFor(os.Stdout)}
			if withModel {
				if err := useModel(&o); err != nil {
					return err
				}
			}
			ctx, release := untilSignal(cmd.Context(), func() { os.Exit(int(interrupted)) })
			defer release()
			if !noDashboard {
				end, err := showDemo(cmd, &o, stay || terminal.Is(os.Stdin) && terminal.Is(os.Stdout))
				if err != nil {
					return err
				}
				defer end()
			}
			return demo.Run(ctx, cmd.OutOrStdout(), o)
		},
	}
	cmd.Flags().BoolVar(&stay, "stay", false, "keep the dashboard running until Ctrl-C, even without a terminal")
	cmd.Flags().BoolVar(&noDashboard, "no-dashboard", false, "do not serve a dashboard for the demo")
	cmd.Flags().BoolVar(&withModel, "model", false, "ask your configured model (GAUZE_MODEL) instead of a scripted one")
	return cmd
}

// showDemo serves a dashboard of the demo alone, and prints its address.
func showDemo(cmd *cobra.Command, o *demo.Options, stay bool) (end func(), err error) {
	dir, err := os.MkdirTemp("", "gauze-demo-state-")
	if err != nil {
		return nil, err
	}
	if err := os.Setenv("GAUZE_STATE_DIR", dir); err != nil { // what the demo does stays out of the user's history
		return nil, err
	}
	listener, err := listenDashboard("")
	if err != nil {
		return nil, err
	}
	site, err := beginSite("", listener.Addr())
	if err != nil {
		return nil, err
	}
	site.in.Again = "gauze demo" // its state directory is its own
	door, closeDoor, err := site.open(dashboard.Options{Fleet: noClients(dir)})
	if err != nil {
		return nil, err
	}
	server := httpguard.Server(door)
	go server.Serve(httpguard.LimitConns(listener, maxDashboardConns))
	fmt.Fprintf(cmd.OutOrStdout(), "Watch it in a browser: %s\n", site.address())
	o.StateDir = dir
	o.Show = func(s *proxy.Session, events *event.Stream) func() {
		recorded := recordEvents(events, false)
		hide := observeSession(s, "demo", recorded).announce()
		return func() { hide(); recorded.finish() }
	}
	if stay {
		o.Stay = func(ctx context.Context) {
			fmt.Fprintf(cmd.OutOrStdout(), "  See what was healed:             %s\n  Press Ctrl-C to exit.\n", site.address())
			<-ctx.Done()
		}
	}
	return func() {
		closeDoor() // streams first
		server.Close()
		os.RemoveAll(dir)
	}, nil
}

// noClients returns a fleet without the user's clients. The demo must not change their files: the
// copies that gauze undo restores would be removed with the state of the demo.
func noClients(dir string) func() (*fleet.Fleet, error) {
	return func() (*fleet.Fleet, error) {
		f, err := userFleet()
		if err == nil {
			f.Home = clientconfig.Home{OS: runtime.GOOS, Home: dir, Project: dir}
		}
		return f, err
	}
}

// useModel lets the demo ask the user's model.
func useModel(o *demo.Options) error {
	config, ok, err := modelconfig.Load("")
	switch {
	case err != nil:
		return err
	case !ok:
		return errors.New("no model is configured. Set GAUZE_MODEL, for example to openai:NAME, then test the model:\n\n    gauze model check")
	}
	if o.Model, err = config.Open(); err != nil {
		return err
	}
	o.ModelTimeout = config.Timeout
	return nil
}
