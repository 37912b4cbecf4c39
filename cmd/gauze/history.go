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
	"github.com/gauze-mcp/gauze/internal/timeline"
)

// historyFlags are the flags of gauze history.
type historyFlags struct {
	server, tool, since string
	healed, all         bool
	follow, json        bool
	limit               int
	color               bool
}

// followInterval is the time between two looks for new events.
const followInterval = 500 * time.Millisecond

// historyCommand returns gauze history, which shows what was healed and what could not be.
func historyCommand() *cobra.Command {
	f := &historyFlags{}
	cmd := &cobra.Command{
		Use:   "history",
		Short: "Show what gauze healed, and what it could not heal",
		Long: "Show what happened to wrapped servers and their calls, newest last: crashes and how the\n" +
			"server came back, replayed, repaired and corrected calls, calls that failed, fixes.\n" +
			"gauze run, gauze serve and gauze task record these events, without arguments and results.\n" +
			"Events are kept for 30 days, and at most 64 MB of them.",
		Example: "gauze history\ngauze history --server notes --since 24h\ngauze history --healed --follow",
		Args:    atMost(0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	cmd.Flags().StringVar(&f.server, "server", "", "only the server with this `name`: NAME or CLIENT/NAME as in gauze list, or part of its command line")
	cmd.Flags().StringVar(&f.tool, "tool", "", "only calls of the tool with this `name`")
	cmd.Flags().StringVar(&f.since, "since", "", "only what ended since this `time`: a duration such as 24h or 7d, or a date such as 2026-11-14")
	cmd.Flags().BoolVar(&f.healed, "healed", false, "only what gauze healed: restored sessions, replayed and repaired calls, fixes")
	cmd.Flags().BoolVar(&f.all, "all", false, "also what needed no help: starts, stops, changes of state, cancelled calls")
	cmd.Flags().BoolVar(&f.follow, "follow", false, "continue with new events until interrupted")
	cmd.Flags().IntVar(&f.limit, "limit", 100, "maximum `number` of entries; 0 means no limit")
	cmd.Flags().BoolVar(&f.json, "json", false, "print every recorded event as a JSON object on a line")
	cmd.RegisterFlagCompletionFunc("server", completeServers) // fails only if it is done twice
	return cmd
}

func (f *historyFlags) run(cmd *cobra.Command) error {
	if f.limit < 0 {
		return usage(cmd, fmt.Errorf("invalid --limit %d: must be 0 or more", f.limit))
	}
	f.color = useColor(cmd.OutOrStdout())
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

// show prints what q chooses.
func (f *historyFlags) show(cmd *cobra.Command, j *journal.Journal, q journal.Query) error {
	out := cmd.OutOrStdout()
	names, err := j.Servers(cmd.Context())
	if err != nil {
		return err
	}
	selects := f.selection(names)
	if q.Servers, err = f.chosen(names, selects); err != nil {
		return err
	}
	newest, err := j.Events(cmd.Context(), journal.Query{Limit: 1})
	if err != nil {
		return err
	}
	shown, read, err := f.read(cmd.Context(), j, q)
	if err != nil {
		return err
	}
	if len(shown) == 0 && !f.follow {
		return f.nothing(out, len(names) == 0)
	}
	for _, line := range shown {
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	if !f.follow {
		return nil
	}
	q.After = max(lastOf(newest), lastOf(read))
	q.Servers = nil // a server that is started later may match
	return f.watch(cmd, j, q, read, selects)
}

// read returns the lines that q chooses, and the events that they were made of.
func (f *historyFlags) read(ctx context.Context, j *journal.Journal, q journal.Query) (lines [][]byte, records []journal.Record, err error) {
	if f.json {
		records, err = j.Events(ctx, q)
		return f.lines(records, q, 0), records, err
	}
	// Several events make one entry, so how many are needed is not known.
	for limit := 20 * q.Limit; ; limit *= 8 {
		records, err = j.Events(ctx, journal.Query{Servers: q.Servers, Since: q.Since, Limit: limit})
		if err != nil {
			return nil, nil, err
		}
		lines = f.lines(records, q, 0)
		if limit == 0 || len(records) < limit || len(lines) > q.Limit {
			if q.Limit > 0 {
				lines = lines[max(0, len(lines)-q.Limit):]
			}
			return lines, records, nil
		}
	}
}

// lines returns what q chooses of the events, and of what they mean, if it ended after an event.
func (f *historyFlags) lines(records []journal.Record, q journal.Query, after int) (lines [][]byte) {
	if f.json {
		for _, r := range records {
			if r.Seq > after && q.Chooses(r) {
				lines = append(lines, jsonLine(r))
			}
		}
		return lines
	}
	items := timeline.Items
	if f.all {
		items = timeline.All
	}
	for _, it := range items(records) {
		if it.Events[len(it.Events)-1].Seq > after && f.chooses(it) {
			lines = append(lines, historyEntry(it, paint(f.color)))
		}
	}
	return lines
}

// chooses reports whether the flags choose an item of a server that they choose.
func (f *historyFlags) chooses(it timeline.Item) bool {
	return (f.tool == "" || f.tool == it.Tool) && (!f.healed || slices.ContainsFunc(it.Events, journal.Query{Healed: true}.Chooses))
}

// maxHistoryText limits an entry, in which a server may be quoted.
const maxHistoryText = 400

// historyEntry formats an item as lines of at most 80 columns.
func historyEntry(it timeline.Item, p paint) []byte {
	at := it.Time.Local().Format("02 Jan 15:04:05")
	indent := strings.Repeat(" ", len(at)+2)
	text := plaintext.Wrap(plaintext.Cap(it.Server+": "+it.Sentence(), maxHistoryText), indent)
	return []byte(p.in("2", at) + strings.TrimPrefix(text, indent[2:]) + "\n")
}

// lastOf returns the number of the last record, 0 if there is none.
func lastOf(records []journal.Record) int {
	if len(records) == 0 {
		return 0
	}
	return records[len(records)-1].Seq
}

// maxFollowed is how many events are kept to find out what a new one belongs to.
const maxFollowed = 2000

// watch prints what is new until a signal. It reads each event once. An entry to which an event was
// added is printed again, if that changes it.
func (f *historyFlags) watch(cmd *cobra.Command, j *journal.Journal, q journal.Query, known []journal.Record, selects func(name string) bool) error {
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
		before := q.After
		q.After = max(q.After, lastOf(records))
		records = slices.DeleteFunc(records, func(r journal.Record) bool { return !selects(r.Server) })
		was := f.lines(known, q, 0)
		known = append(known, records...)
		for _, line := range f.lines(known, q, before) {
			if slices.ContainsFunc(was, func(old []byte) bool { return string(old) == string(line) }) {
				continue
			}
			if _, err := cmd.OutOrStdout().Write(line); err != nil {
				return err
			}
		}
		known = known[max(0, len(known)-maxFollowed):]
	}
}

// empty says what to do so that there are events.
func (f *historyFlags) empty(out io.Writer) error {
	if f.json {
		return nil
	}
	_, err := io.WriteString(out, "No events are recorded yet. gauze run, gauze serve and gauze task record them.\nTo wrap your servers:\n\n    gauze wrap --all\n")
	return err
}

// nothing says that there is nothing to show. unused means that nothing was ever recorded.
func (f *historyFlags) nothing(out io.Writer, unused bool) (err error) {
	switch {
	case unused:
		return f.empty(out)
	case f.json:
	case f.server == "" && f.tool == "" && f.since == "" && !f.all:
		_, err = fmt.Fprintln(out, "Nothing had to be healed. To see everything that was recorded:\n\n    gauze history --all")
	default:
		_, err = fmt.Fprintln(out, "No recorded event matches. To see everything that was recorded:\n\n    gauze history --all")
	}
	return err
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
