package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/views/live"
	"github.com/gauze-mcp/gauze/internal/views/logs"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
)

// logsFlags are the flags of gauze logs.
type logsFlags struct {
	since        string
	lines        int
	follow, json bool
}

// logsCommand returns gauze logs, which shows what a wrapped server printed.
func logsCommand() *cobra.Command {
	f := &logsFlags{}
	cmd := &cobra.Command{
		Use:   "logs [flags] SERVER",
		Short: "Show what a wrapped server printed, and what gauze did",
		Long: "Show what a wrapped server wrote to stderr, and to stdout apart from MCP messages, when\n" +
			"it started and exited, and what gauze did about it, newest last. Secrets are masked.\n\n" +
			"While gauze is running a server, it keeps the last 500 lines in memory. After that, the\n" +
			"journal keeps the starts and exits for 30 days, but not the output, which may repeat a\n" +
			"call's arguments. If GAUZE_JOURNAL=values is set in the environment of gauze run, the\n" +
			"journal also keeps the last 12 lines before each failure.",
		Example: "gauze logs notes\ngauze logs -f cursor/notes\ngauze logs --since 1h notes",
		Args:    oneServer,
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	cmd.Flags().BoolVarP(&f.follow, "follow", "f", false, "keep showing new lines until interrupted")
	cmd.Flags().IntVarP(&f.lines, "lines", "n", 100, "maximum `number` of lines; 0 means no limit")
	cmd.Flags().StringVar(&f.since, "since", "", "only lines since this `time`: a duration such as 24h or 7d, or a date such as 2026-11-14")
	cmd.Flags().BoolVar(&f.json, "json", false, "print each line as a JSON object")
	return cmd
}

func (f *logsFlags) run(cmd *cobra.Command, server string) error {
	if f.lines < 0 {
		return usage(cmd, fmt.Errorf("invalid --lines %d: must be 0 or more", f.lines))
	}
	since, err := sinceTime(f.since, time.Now())
	if err != nil {
		return usage(cmd, err)
	}
	dir, err := backup.StateDir()
	if err != nil {
		return err
	}
	l := &serverLogs{f: f, cmd: cmd, dir: dir, q: journal.Query{Since: since}, known: map[string]logs.Wrap{}}
	defer l.close()
	if err := l.choose(cmd.Context(), server); err != nil {
		return err
	}
	lines, err := l.read(cmd.Context())
	if err != nil {
		return err
	}
	lines = slices.DeleteFunc(lines, func(line logs.Line) bool { return line.Time.Before(since) || f.follow && line.Open })
	last := lines
	if f.lines > 0 {
		last = lines[max(0, len(lines)-f.lines):]
	}
	if err := l.print(last); err != nil {
		return err
	}
	if !f.follow {
		l.note(lines, server)
		return nil
	}
	return l.watch()
}

// serverLogs reads what is known about one server.
type serverLogs struct {
	f     *logsFlags
	cmd   *cobra.Command
	dir   string
	names []string // under which it is running or recorded
	j     *journal.Journal
	q     journal.Query
	known map[string]logs.Wrap // by id, as last seen
}

// open opens the journal if there is one.
func (l *serverLogs) open() error {
	path, err := journalPath()
	if err != nil || l.j != nil {
		return err
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	l.j, err = journal.Open(path)
	return err
}

func (l *serverLogs) close() {
	if l.j != nil {
		l.j.Close()
	}
}

// choose finds the names that the server has in the journal and among the wraps that are running.
func (l *serverLogs) choose(ctx context.Context, server string) error {
	running, err := live.All(ctx, l.dir)
	if err != nil {
		return err
	}
	var names []string
	for _, s := range running {
		names = append(names, s.Name)
		if s.ID == server {
			server = s.Name
		}
	}
	if err := l.open(); err != nil {
		fmt.Fprintf(l.cmd.ErrOrStderr(), "gauze logs: cannot read the journal: %v\n", err)
	}
	if l.j != nil {
		recorded, err := l.j.Servers(ctx)
		if err != nil {
			return err
		}
		names = append(names, recorded...)
	}
	slices.Sort(names)
	l.names, err = loggedAs(server, slices.Compact(names))
	if err != nil && l.f.follow && l.names != nil {
		err = nil // it may be started later
	}
	l.q.Servers = l.names
	return err
}

// read returns what is new since the last time.
func (l *serverLogs) read(ctx context.Context) ([]logs.Line, error) {
	running, err := live.All(ctx, l.dir)
	if err != nil {
		return nil, err
	}
	before := l.known
	l.known = map[string]logs.Wrap{}
	var wraps []logs.Wrap
	for _, s := range running {
		if !slices.Contains(l.names, s.Name) {
			continue
		}
		printed, err := live.Log(ctx, l.dir, s.ID)
		w := logs.Wrap{Server: s, Lines: printed}
		if err != nil {
			last, found := before[s.ID]
			if !found || errors.Is(err, live.ErrGone) {
				continue // it has ended, or is an older gauze; the journal has the rest
			}
			w = last // it does not answer now, and still has these lines when it does
		}
		l.known[s.ID] = w
		wraps = append(wraps, w)
	}
	var records []journal.Record
	if err := l.open(); err == nil && l.j != nil {
		if records, err = l.j.Events(ctx, l.q); err != nil {
			return nil, err
		}
		l.q.After = max(l.q.After, lastOf(records))
	}
	return slices.DeleteFunc(logs.Merge(wraps, records), func(line logs.Line) bool { return l.isOld(before, line) }), nil
}

// isOld reports whether a line is one that a server had printed before. What the journal has of a wrap
// that has ended is compared by its text: it was recorded later than it was printed.
func (l *serverLogs) isOld(before map[string]logs.Wrap, line logs.Line) bool {
	for id, w := range before {
		if w.Server.PID != line.PID || line.From == logs.Gauze {
			continue
		}
		_, running := l.known[id]
		if slices.ContainsFunc(w.Lines, func(old live.Line) bool {
			return !old.Open && old.Text == line.Text && (old.Time.Equal(line.Time) || !running)
		}) {
			return true
		}
	}
	return false
}

// watch prints what is new until a signal.
func (l *serverLogs) watch() error {
	ctx, release := untilSignal(l.cmd.Context(), func() { os.Exit(int(interrupted)) })
	defer release()
	look := time.NewTicker(followInterval)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
		}
		lines, err := l.read(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		lines = slices.DeleteFunc(lines, func(line logs.Line) bool { return line.Open })
		if err := l.print(lines); err != nil {
			return err
		}
	}
}

// print prints lines: when, where it comes from, what.
func (l *serverLogs) print(lines []logs.Line) error {
	out := l.cmd.OutOrStdout()
	paint := terminal.PaintFor(out)
	var b strings.Builder
	for _, line := range lines {
		if l.f.json {
			b.Write(jsonLine(line))
			continue
		}
		from := fmt.Sprintf("%-6s", line.From)
		if line.From == logs.Gauze {
			from = paint.Bold(from)
		}
		fmt.Fprintf(&b, "%s  %s  %s\n", paint.Faint(line.Time.Local().Format("02 Jan 15:04:05")), from, line.Text)
	}
	_, err := out.Write([]byte(b.String()))
	return err
}

// note says why there is nothing that the server printed.
func (l *serverLogs) note(lines []logs.Line, server string) {
	if l.f.json || slices.ContainsFunc(lines, func(line logs.Line) bool { return line.From != logs.Gauze }) {
		return
	}
	text := "it is not running, and gauze keeps a server's output only while the server is running.\n" +
		"To also record the last lines before a failure, set GAUZE_JOURNAL=values in the server's entry"
	if len(l.known) > 0 {
		text = "it has not printed anything since gauze started it"
	}
	if l.f.since != "" {
		text = "gauze has not recorded any output since then"
	}
	fmt.Fprintf(l.cmd.ErrOrStderr(), "gauze logs: no output from %s: %s\n", short(server, maxStatusName), text)
}
