package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/views/live"
	"github.com/gauze-mcp/gauze/internal/views/timeline"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
)

// statusFlags are the flags of gauze status.
type statusFlags struct {
	server      string
	watch, json bool
}

// statusCommand returns gauze status, which shows the wraps that run on this machine.
func statusCommand() *cobra.Command {
	f := &statusFlags{}
	cmd := &cobra.Command{
		Use:   "status [flags] [SERVER]",
		Short: "Show the wrapped servers that are running",
		Long: "Show a line for each wrapped server that is running, no matter which client started\n" +
			"it: its state, how long it has been up, its tools, calls and their 95th-percentile latency,\n" +
			"how often gauze healed it, and its restarts with the reason for the last one. The last line\n" +
			"sums up the week. With SERVER, show only servers with this name, in more detail.\n\n" +
			"The exit status is 1 if the state of a server is dead, and otherwise 0.",
		Example: "gauze status\ngauze status notes\ngauze status --watch\ngauze status --json",
		Args:    atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				f.server = args[0]
			}
			return f.run(cmd)
		},
	}
	cmd.Flags().BoolVar(&f.watch, "watch", false, "update every second until interrupted; if the output is not a terminal, print what changes")
	cmd.Flags().BoolVar(&f.json, "json", false, "print an array of JSON objects")
	return cmd
}

func (f *statusFlags) run(cmd *cobra.Command) error {
	dir, err := backup.StateDir()
	if err != nil {
		return err
	}
	w := &week{}
	defer w.close()
	if f.watch {
		return f.keepShowing(cmd, dir, w)
	}
	done := waiting(cmd, f.json, "a gauze process that is not responding")
	servers, err := f.servers(cmd.Context(), dir)
	done()
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	text := f.text(out, servers, w.sentence(cmd, servers, f.server))
	if !f.json {
		text = append(text, ownUnlistedText()...)
	}
	if _, err := out.Write(text); err != nil {
		return err
	}
	if slices.ContainsFunc(servers, func(s live.Server) bool { return s.State == health.Dead.String() }) {
		return exitStatus(1)
	}
	return nil
}

// servers returns the wraps that SERVER chooses.
func (f *statusFlags) servers(ctx context.Context, dir string) ([]live.Server, error) {
	all, err := live.All(ctx, dir)
	if err != nil || f.server == "" {
		return all, err
	}
	chosen, err := named(all, f.server)
	if err != nil && f.watch {
		return nil, nil // it may be started later
	}
	return chosen, err
}

// named returns the wraps whose server has a name or is configured with it (CLIENT/NAME), or else those whose name
// contains it.
func named(all []live.Server, name string) (chosen []live.Server, err error) {
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	choose := func(is func(live.Server) bool) []live.Server {
		return slices.DeleteFunc(slices.Clone(all), func(s live.Server) bool { return !is(s) })
	}
	if chosen = choose(func(s live.Server) bool { return s.Name == name || s.ID == name }); len(chosen) > 0 {
		return chosen, nil
	}
	m := matchName(name, names)
	if chosen = choose(func(s live.Server) bool { return m.isOwn(s.Name) }); len(chosen) > 0 {
		return chosen, nil
	}
	if chosen = choose(func(s live.Server) bool { return slices.Contains(m.near, s.Name) }); len(chosen) > 0 {
		return chosen, nil
	}
	return nil, notFound("no running server is named", name, names, "\nTo see the running ones: gauze status")
}

// text returns the whole output.
func (f *statusFlags) text(out io.Writer, servers []live.Server, sums string) []byte {
	if f.json {
		if servers == nil {
			servers = []live.Server{}
		}
		return jsonLine(servers)
	}
	width, _ := terminal.Size(out)
	t := statusTable{now: time.Now(), color: terminal.PaintFor(out), width: width, detail: f.server != ""}
	text := t.text(servers)
	if sums != "" {
		text += "\n" + terminal.FoldList(sums, "", t.lineWidth()) + "\n"
	}
	return []byte(text)
}

// statusInterval is the time between two looks of gauze status --watch.
const statusInterval = time.Second

// keepShowing shows the servers again and again until a signal.
func (f *statusFlags) keepShowing(cmd *cobra.Command, dir string, w *week) error {
	ctx, release := untilSignal(cmd.Context(), func() { os.Exit(int(interrupted)) })
	defer release()
	out := cmd.OutOrStdout()
	tick := time.NewTicker(statusInterval)
	defer tick.Stop()
	shown := map[string]string{}
	for first := true; ; first = false {
		servers, err := f.servers(ctx, dir)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		var text []byte
		switch {
		case f.json:
			text = f.text(out, servers, "")
		default:
			if _, height := terminal.Size(out); height > 0 {
				text = redrawn(f.text(out, servers, w.sentence(cmd, servers, f.server)), height, first)
			} else {
				text = changedLines(servers, shown, time.Now())
			}
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// redrawn returns a text that replaces what is on a terminal with this number of lines.
func redrawn(text []byte, height int, first bool) []byte {
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if fits := max(1, height-2); len(lines) > fits { // the cursor has a line
		lines = append(lines[:fits:fits], fmt.Sprintf("… %s more", plaintext.Count(len(lines)-fits, "line")))
	}
	begin := "\x1b[H"
	if first {
		begin = "\x1b[2J\x1b[H"
	}
	return []byte(begin + strings.Join(lines, "\x1b[K\n") + "\x1b[K\n\x1b[J")
}

// changedLines returns a line for each server that is new, has changed or has ended. shown is what
// was printed before.
func changedLines(servers []live.Server, shown map[string]string, now time.Time) []byte {
	var b strings.Builder
	at := now.Format("15:04:05  ")
	running := map[string]bool{}
	for _, s := range servers {
		running[s.ID] = true
		line := fmt.Sprintf("%s: %s, %s", label(s), s.State, facts(s))
		if shown[s.ID] != line {
			shown[s.ID] = line
			b.WriteString(at + line + "\n")
		}
	}
	for id, line := range shown {
		if !running[id] {
			name, _, _ := strings.Cut(line, ": ")
			b.WriteString(at + name + ": ended\n")
			delete(shown, id)
		}
	}
	return []byte(b.String())
}

// week sums up the last seven days.
type week struct {
	j      *journal.Journal
	opened bool
	sums   timeline.Weekly
}

// sentence returns the sums of the servers that are shown, empty if there is nothing to say or the
// journal cannot be read, which is reported once.
func (w *week) sentence(cmd *cobra.Command, servers []live.Server, server string) string {
	if err := w.open(); err != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "gauze status: cannot summarize the week: %v\n", err)
	}
	if w.j == nil {
		if len(servers) == 0 {
			return "" // gauze was never used here
		}
		return timeline.Sums{}.Week(live.Unsummed(servers))
	}
	if server != "" {
		w.sums.Keep = func(r journal.Record) bool { return strings.Contains(r.Server, server) }
	}
	sums, err := w.sums.Sums(cmd.Context(), w.j.Events, time.Now())
	if err != nil {
		return ""
	}
	return sums.Week(live.Unsummed(servers))
}

// open opens the journal once, and does not create it.
func (w *week) open() error {
	if w.opened {
		return nil
	}
	w.opened = true
	path, err := journalPath()
	if err != nil {
		return err
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		w.opened = false // it may be created later
		return nil
	}
	w.j, err = journal.Open(path)
	return err
}

func (w *week) close() {
	if w.j != nil {
		w.j.Close()
	}
}
