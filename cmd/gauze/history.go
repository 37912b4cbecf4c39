package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/views/timeline"
)

// historyFlags are the flags of gauze history.
type historyFlags struct {
	server, tool, since string
	healed, all         bool
	follow, json        bool
	limit               int
	color               terminal.Paint
}

// followInterval is the time between two looks for new events.
const followInterval = 500 * time.Millisecond

// historyCommand returns gauze history, which shows what was healed and what could not be.
func historyCommand() *cobra.Command {
	f := &historyFlags{}
	cmd := &cobra.Command{
		Use:   "history",
		Short: "Show what gauze healed, and what it could not heal",
		Long: "Show what happened to wrapped servers and their calls, newest last: crashes and\n" +
			"recoveries; replayed, repaired, corrected and failed calls; fixes. gauze run, gauze serve\n" +
			"and gauze task record these events, but not arguments or results. Events are kept for 30\n" +
			"days, up to 200,000 events or 64 MB.",
		Example: "gauze history\ngauze history --server notes --since 24h\ngauze history --healed --follow",
		Args:    atMost(0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	cmd.Flags().StringVar(&f.server, "server", "", "only the server with this `name`: NAME or CLIENT/NAME as shown by gauze list, or part of its command line")
	cmd.Flags().StringVar(&f.tool, "tool", "", "only calls to the tool with this `name`")
	cmd.Flags().StringVar(&f.since, "since", "", "only events since this `time`: a duration such as 24h or 7d, or a date such as 2026-11-14")
	cmd.Flags().BoolVar(&f.healed, "healed", false, "only what gauze healed: restored sessions, saved and repaired calls, fixes, renewed logins")
	cmd.Flags().BoolVar(&f.all, "all", false, "also show routine events: starts, stops, state changes, cancelled calls")
	cmd.Flags().BoolVar(&f.follow, "follow", false, "keep showing new events until interrupted")
	cmd.Flags().IntVar(&f.limit, "limit", 100, "maximum `number` of entries; 0 means no limit")
	cmd.Flags().BoolVar(&f.json, "json", false, "print recorded events as JSON, one object per line")
	cmd.RegisterFlagCompletionFunc("server", completeServers) // fails only if it is done twice
	return cmd
}

func (f *historyFlags) run(cmd *cobra.Command) error {
	if f.limit < 0 {
		return usage(cmd, fmt.Errorf("invalid --limit %d: must be 0 or more", f.limit))
	}
	f.color = terminal.PaintFor(cmd.OutOrStdout())
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
	err = f.open(cmd, journal.Open, path, q)
	if errors.Is(err, journal.ErrDamaged) {
		err = f.open(cmd, journal.OpenChecked, path, q) // keeps what is intact
	}
	return err
}

// open opens the journal and prints what q chooses.
func (f *historyFlags) open(cmd *cobra.Command, open func(string) (*journal.Journal, error), path string, q journal.Query) error {
	j, err := open(path)
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
	w := &follower{f: f, out: out, known: read}
	if err := w.print(shown...); err != nil || !f.follow {
		return err
	}
	if f.json {
		w.q = q // the others are part of entries, of which those that q chooses are shown
	}
	w.q.After, w.q.Limit = max(lastOf(newest), lastOf(read)), 0
	w.q.Servers = nil // a server that is started later may match
	return w.watch(cmd, j, selects)
}

// read returns the lines that q chooses, and the events that they were made of.
func (f *historyFlags) read(ctx context.Context, j *journal.Journal, q journal.Query) (lines [][]byte, records []journal.Record, err error) {
	if f.json {
		records, err = j.Events(ctx, q)
		return f.lines(records, time.Now()), records, err
	}
	// Several events make one entry, so how many are needed is not known.
	for limit := 20 * q.Limit; ; limit *= 8 {
		records, err = j.Events(ctx, journal.Query{Servers: q.Servers, Since: q.Since, Limit: limit})
		if err != nil {
			return nil, nil, err
		}
		lines = f.lines(records, time.Now())
		if limit == 0 || len(records) < limit || len(lines) > q.Limit {
			if q.Limit > 0 {
				lines = lines[max(0, len(lines)-q.Limit):]
			}
			return lines, records, nil
		}
	}
}

// lines returns the events, or the entries that the flags choose of what they mean.
func (f *historyFlags) lines(records []journal.Record, now time.Time) (lines [][]byte) {
	if f.json {
		for _, r := range records {
			lines = append(lines, jsonLine(r))
		}
		return lines
	}
	for _, it := range timeline.Fold(f.items(records)) {
		lines = append(lines, f.entry(it, it.Repeated(now)))
	}
	return lines
}

// items returns what the flags choose of the events' meaning.
func (f *historyFlags) items(records []journal.Record) []timeline.Item {
	items := timeline.Items
	if f.all {
		items = timeline.All
	}
	return slices.DeleteFunc(items(records), func(it timeline.Item) bool { return !f.chooses(it) })
}

// chooses reports whether the flags choose an item of a server that they choose.
func (f *historyFlags) chooses(it timeline.Item) bool {
	return (f.tool == "" || f.tool == it.Tool) && (!f.healed || it.Helped())
}

// maxHistoryText limits an entry, in which a server may be quoted.
const maxHistoryText = 400

// entry formats an item as lines of at most 80 columns. often says how often it happened.
func (f *historyFlags) entry(it timeline.Item, often string) []byte {
	text := plaintext.Cap(it.Server+": "+it.Sentence(), maxHistoryText)
	if often != "" {
		text += " (" + often + ")"
	}
	at := it.Time.Local().Format("02 Jan 15:04:05")
	indent := strings.Repeat(" ", len(at)+2)
	return []byte(f.color.Faint(at) + strings.TrimPrefix(plaintext.Wrap(text, indent), indent[2:]) + "\n")
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

// follower is gauze history --follow.
type follower struct {
	f       *historyFlags
	q       journal.Query
	out     io.Writer
	known   []journal.Record
	entries folded
}

// watch prints what is new until a signal. It reads each event once.
func (w *follower) watch(cmd *cobra.Command, j *journal.Journal, selects func(name string) bool) error {
	ctx, release := untilSignal(cmd.Context(), func() { os.Exit(int(interrupted)) })
	defer release()
	look := time.NewTicker(followInterval)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return w.finish()
		case <-look.C:
		}
		records, err := j.Events(ctx, w.q)
		if errors.Is(err, context.Canceled) {
			return w.finish()
		}
		if err != nil {
			return err
		}
		w.q.After = max(w.q.After, lastOf(records))
		records = slices.DeleteFunc(records, func(r journal.Record) bool { return !selects(r.Server) })
		if err := w.take(records); err != nil {
			return err
		}
	}
}

// take prints what events add. An entry to which an event was added is printed again, if that changes
// more than numbers.
func (w *follower) take(added []journal.Record) error {
	if w.f.json {
		return w.print(w.f.lines(added, time.Time{})...)
	}
	said := map[string]string{} // the gist of an item, by its id
	for _, it := range w.f.items(w.known) {
		said[it.ID] = it.Gist()
	}
	before := lastOf(w.known)
	w.known = append(w.known, added...)
	var lines [][]byte
	w.entries.write = func(line string) { lines = append(lines, []byte(line)) }
	for _, it := range w.f.items(w.known) {
		if lastOf(it.Events) > before && said[it.ID] != it.Gist() {
			w.entries.say(it.Gist(), it.Time, func(often string) string { return string(w.f.entry(it, often)) })
		}
	}
	w.known = w.known[max(0, len(w.known)-maxFollowed):]
	return w.print(lines...)
}

// finish prints what was held back.
func (w *follower) finish() error {
	var lines [][]byte
	w.entries.write = func(line string) { lines = append(lines, []byte(line)) }
	w.entries.release(time.Now())
	return w.print(lines...)
}

func (w *follower) print(lines ...[]byte) error {
	for _, line := range lines {
		if _, err := w.out.Write(line); err != nil {
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
		_, err = fmt.Fprintln(out, "No recorded events match. To see everything that was recorded:\n\n    gauze history --all")
	}
	return err
}

// sinceTime reads a duration before now or a date.
func sinceTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if number, ok := strings.CutSuffix(text, "d"); ok {
		if days, err := strconv.Atoi(number); err == nil && days > 0 && strconv.Itoa(days) == number {
			return now.AddDate(0, 0, -days), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, invalid("since", text, "must be a duration such as 24h or 7d, or a date such as 2026-11-14")
}
