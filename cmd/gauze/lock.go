package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// lockFlags are the flags of gauze lock; gauze verify and gauze restore share them.
type lockFlags struct {
	file    string
	clients []string
	timeout time.Duration
}

func (f *lockFlags) add(cmd *cobra.Command) {
	clientFlag(cmd, &f.clients)
	cmd.Flags().StringVar(&f.file, "file", fleet.LockFile, "`path` of the lock file")
}

func (f *lockFlags) addTimeout(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, timeoutUsage)
}

// lockCommand returns gauze lock, which records what servers are like.
func lockCommand() *cobra.Command {
	f := &lockFlags{}
	cmd := &cobra.Command{
		Use:   "lock [flags] [SERVER...]",
		Short: "Record the current state of servers",
		Long: "Test the servers and record them in a lock file: each server's command, the version that\n" +
			"ran, the names of its variables and other fields, and a hash of every tool definition.\n" +
			"Values are recorded only as keyed hashes, so the file can be shared.\n" +
			"gauze verify compares servers with the file; gauze restore restores their entries.\n\n" +
			"Servers that belong to the project are started only if you specify them as CLIENT/NAME.",
		Example: "gauze lock\ngauze lock github notes --file team.lock.json",
		Args:    cobra.ArbitraryArgs,
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.add(cmd)
	f.addTimeout(cmd)
	return cmd
}

func (f *lockFlags) run(cmd *cobra.Command, names []string) error {
	fl, err := fleetHere()
	if err != nil {
		return err
	}
	old, text, err := f.read(true)
	if err != nil {
		return err
	}
	view, servers, err := chosen(fl, fleet.Choice{Names: names, Clients: f.clients})
	if err != nil {
		return err
	}
	all, err := f.check(cmd, fl, servers, names)
	if err != nil {
		return err
	}
	lock, left, err := fl.Lock(all, time.Now())
	if err != nil {
		return err
	}
	acceptAll(all)
	lock = lock.Chosen(fleet.Choice{Names: names})
	out := cmd.OutOrStdout()
	for _, c := range left {
		v := c.Verdict()
		fmt.Fprintf(out, "– %s not recorded: %s\n", plaintext.Clean(c.ID()), v.Cause)
	}
	if len(lock.Servers) == 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), "gauze lock: no server could be recorded, so the lock file was not written. To see what is wrong:\n\n    gauze doctor")
		return exitStatus(1)
	}
	tools := 0
	for _, s := range lock.Servers {
		tools += len(s.Tools)
	}
	recorded := fmt.Sprintf("Recorded %s with %s", plaintext.Count(len(lock.Servers), "server"), plaintext.Count(tools, "tool"))
	if len(names)+len(f.clients) > 0 { // keep the servers that were not chosen
		lock = old.With(lock)
	}
	if err := lock.Check(view.Secrets()); err != nil {
		return fmt.Errorf("%s: %w", plaintext.Clean(f.file), err)
	}
	_, err = fl.Store.Write(backup.Change{Path: f.file, Old: text, New: lock.Bytes(), Mode: 0o644, About: "lock"})
	if err != nil && !errors.Is(err, backup.ErrSame) {
		return err
	}
	fmt.Fprintf(out, "%s in %s. To compare the servers with it later:\n\n    gauze verify\n", recorded, plaintext.Clean(f.file))
	if len(left) > 0 && len(names) > 0 {
		return exitStatus(1)
	}
	return nil
}

// acceptAll makes the tools of servers those that gauze run --lock and gauze up accept.
func acceptAll(all []*fleet.Checked) {
	dir, err := backup.StateDir()
	if err != nil {
		return
	}
	for _, c := range all {
		if c.Tried && c.Report.Healthy && !fleet.OfUp(c.Entry) { // those of gauze up --confirm are shown before
			proxy.Accept(acceptedTools(dir), c.Real(), c.Attempt.Found.Tools)
			proxy.Accept(acceptedTools(dir), c.Written(), c.Attempt.Found.Tools) // as gauze up knows it
		}
	}
}

// read reads the lock file. With fresh, it may be missing.
func (f *lockFlags) read(fresh bool) (l fleet.Lock, text []byte, err error) {
	l, text, err = fleet.OpenLock(f.file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && fresh:
		return l, nil, nil
	case errors.Is(err, fs.ErrNotExist):
		return l, nil, fmt.Errorf("no lock file %s; to create it, run: gauze lock", f.file)
	}
	return l, text, err
}

// check tests servers and shows a line of progress.
func (f *lockFlags) check(cmd *cobra.Command, fl *fleet.Fleet, servers []*fleet.Server, named []string) ([]*fleet.Checked, error) {
	return checked(cmd, fl, servers, fleet.CheckOptions{Timeout: f.timeout, Ask: confirmProject(cmd, named, ""), Logins: true}, false)
}

// checked tests servers in parallel and shows a line of progress.
func checked(cmd *cobra.Command, fl *fleet.Fleet, servers []*fleet.Server, o fleet.CheckOptions, quiet bool) ([]*fleet.Checked, error) {
	if o.Timeout < 0 {
		return nil, fmt.Errorf("invalid --timeout %v: must be a positive duration, such as 30s", o.Timeout)
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
	defer stop()
	fl.Machine.Until(ctx)
	show, pause := pausable(terminal.Progress(cmd.ErrOrStderr(), quiet))
	o.Agree = paused(pause, o.Agree)
	if ask := o.Ask; ask != nil {
		o.Ask = func(s *fleet.Server) error {
			defer pause()()
			return ask(s)
		}
	}
	var names []string
	at := map[*fleet.Server]int{}
	for i, s := range servers {
		names, at[s] = append(names, s.ID()), i
	}
	list := newChecklist(show, names)
	o.Tell = func(s *fleet.Server, is string) { list.say(at[s], s.Hide(is)) }
	o.Done = func(c *fleet.Checked) { list.finish(at[c.Server]) }
	all := fl.Check(ctx, servers, o)
	show("")
	if ctx.Err() != nil {
		return nil, interrupted
	}
	return all, nil
}
