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

	"github.com/gauze-mcp/gauze/internal/journal"
	"github.com/gauze-mcp/gauze/internal/plaintext"
	"github.com/gauze-mcp/gauze/internal/redact"
)

// historyFlags are the flags of gauze history.
type historyFlags struct {
	server, tool, since  string
	healed, follow, json bool
	limit                int
}

// followInterval is the time between two looks for new events.
const followInterval = 500 * time.Millisecond

// historyCommand returns gauze history, which shows recorded events.
func historyCommand() *cobra.Command {
	f := &historyFlags{}
	cmd := &cobra.Command{
		Use:   "history",
		Short: "Show what happened to wrapped servers",
		Long: "Show the events that gauze run and gauze serve recorded, newest last: exits, restarts,\n" +
			"replayed and repaired calls, fixes. Arguments and results of calls are never recorded.\n" +
			"Events are kept for 30 days, and at most 64 MB of them.",
		Example: "gauze history\ngauze history --server notes --since 24h\ngauze history --healed --follow",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	cmd.Flags().StringVar(&f.server, "server", "", "only servers with this `name`, or whose command line contains it")
	cmd.Flags().StringVar(&f.tool, "tool", "", "only calls of the tool with this `name`")
	cmd.Flags().StringVar(&f.since, "since", "", "only events since this `time`: a duration such as 24h or 7d, or a date such as 2026-11-14")
	cmd.Flags().BoolVar(&f.healed, "healed", false, "only what gauze healed: restored sessions, replayed and repaired calls, fixes")
	cmd.Flags().BoolVar(&f.follow, "follow", false, "continue with new events until interrupted")
	cmd.Flags().IntVar(&f.limit, "limit", 100, "maximum `number` of events; 0 means no limit")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object per line")
	cmd.RegisterFlagCompletionFunc("server", completeServers) // fails only if it is done twice
	return cmd
}

func (f *historyFlags) run(cmd *cobra.Command) error {
	if f.limit < 0 {
		return usage(cmd, fmt.Errorf("invalid --limit %d: must be 0 or more", f.limit))
	}
	q := journal.Query{Tool: f.tool, Healed: f.healed, Limit: f.limit}
	var err error
	if q.Since, err = sinceTime(f.since, time.Now()); err != nil {
		return usage(cmd, err)
	}
	path, err := journalPath()
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) && !f.follow {
		return f.empty(out)
	}
	j, err := journal.OpenChecked(path)
	if err != nil {
		return err
	}
	defer j.Close()
	if s := j.Salvaged(); s != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "gauze history: %s\n", s)
	}
	return f.show(cmd, j, q)
}

// show prints the events that q chooses.
func (f *historyFlags) show(cmd *cobra.Command, j *journal.Journal, q journal.Query) error {
	out := cmd.OutOrStdout()
	names, err := j.Servers(cmd.Context())
	if err != nil {
		return err
	}
	if q.Servers, err = f.chosen(names); err != nil {
		return err
	}
	newest, err := j.Events(cmd.Context(), journal.Query{Limit: 1})
	if err != nil {
		return err
	}
	records, err := j.Events(cmd.Context(), q)
	if err != nil {
		return err
	}
	if len(records) == 0 && !f.follow {
		if len(names) == 0 {
			return f.empty(out)
		}
		if !f.json {
			fmt.Fprintln(out, "No recorded event matches. All events: gauze history")
		}
		return nil
	}
	if err := f.print(out, records); err != nil || !f.follow {
		return err
	}
	q.After = max(lastOf(newest), lastOf(records))
	if !slices.Contains(names, f.server) {
		q.Servers = nil // a server that is started later may match
	}
	return f.watch(cmd, j, q)
}

// lastOf returns the number of the last record, 0 if there is none.
func lastOf(records []journal.Record) int {
	if len(records) == 0 {
		return 0
	}
	return records[len(records)-1].Seq
}

// watch prints new events until a signal. It reads each one once, also those that q does not choose.
func (f *historyFlags) watch(cmd *cobra.Command, j *journal.Journal, q journal.Query) error {
	ctx, release := untilSignal(cmd.Context(), func() { os.Exit(int(interrupted)) })
	defer release()
	look := time.NewTicker(followInterval)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
		}
		records, err := j.Events(ctx, journal.Query{After: q.After})
		if errors.Is(err, context.Canceled) {
			return nil
		}
		if err != nil {
			return err
		}
		q.After = max(q.After, lastOf(records))
		records = slices.DeleteFunc(records, func(r journal.Record) bool { return !q.Chooses(r) || !strings.Contains(r.Server, f.server) })
		if err := f.print(cmd.OutOrStdout(), records); err != nil {
			return err
		}
	}
}

func (f *historyFlags) print(out io.Writer, records []journal.Record) error {
	p := paint(useColor(out))
	for _, r := range records {
		line := []byte(historyLine(r, p) + "\n")
		if f.json {
			line = jsonLine(r)
		}
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// empty says what to do so that there are events.
func (f *historyFlags) empty(out io.Writer) error {
	if f.json {
		return nil
	}
	_, err := io.WriteString(out, "No events are recorded yet. gauze run and gauze serve record them. To wrap your servers:\n\n    gauze wrap --all\n")
	return err
}

// chosen returns the recorded names that --server selects, nil for all: the name itself, else those
// that contain it.
func (f *historyFlags) chosen(names []string) (chosen []string, err error) {
	if f.server == "" {
		return nil, nil
	}
	for _, name := range names {
		if name == f.server {
			return []string{name}, nil
		}
		if strings.Contains(name, f.server) {
			chosen = append(chosen, name)
		}
	}
	if len(chosen) > 0 || f.follow || len(names) == 0 {
		return append(chosen, f.server), nil
	}
	if near := plaintext.Nearest(f.server, names); len(near) > 0 {
		return nil, fmt.Errorf("no events of a server named %q; did you mean %q?", redact.Quote(f.server), near[0])
	}
	return nil, fmt.Errorf("no events of a server named %q; servers with events: %s", redact.Quote(f.server), plaintext.Cap(strings.Join(names, ", "), 300))
}

// sinceTime reads a duration before now or a date.
func sinceTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	var days int
	if n, err := fmt.Sscanf(text, "%dd", &days); err == nil && n == 1 && fmt.Sprintf("%dd", days) == text && days > 0 {
		return now.AddDate(0, 0, -days), nil
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("invalid --since %q: must be a duration such as 24h or 7d, or a date such as 2026-11-14", redact.Quote(text))
}
