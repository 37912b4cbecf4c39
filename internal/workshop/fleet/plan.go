package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
)

// Plan is a change to files that has not been made yet.
type Plan struct {
	Changes []Change
	Skipped []Skip
	Purge   string // what is deleted after the change, so that it cannot be undone; "" for nothing
	Whole   bool   // the files change together, or none of them does; the same is true of the undo
}

// Change is the planned change to one file.
type Change struct {
	backup.Change
	Client  *clientconfig.Client
	Servers []string             // servers whose entries change
	Consent clientconfig.Consent // the strictest of all its parts
	Shared  bool                 // others use the file: it is in a project, or in a repository of settings
	Note    string               // what others who use the file need after the change, or ""
	Logins  []string             // servers whose login is gauze's after the change, one for each URL
	secrets []redact.Secrets
	file    *clientconfig.Config
	names   bool // the file refers to Fleet.Gauze
}

// Skip is a server that stays as it is, and why.
type Skip struct {
	Server string `json:"server"`
	Why    string `json:"why"`

	pending bool // it needs a change that this plan does not make
}

// Empty reports whether the plan has no changes.
func (p Plan) Empty() bool { return len(p.Changes) == 0 }

// Pending reports whether a skipped server needs a change that this plan does not make.
func (p Plan) Pending() bool {
	return slices.ContainsFunc(p.Skipped, func(s Skip) bool { return s.pending })
}

// Servers returns the number of entries that change.
func (p Plan) Servers() (n int) {
	for _, c := range p.Changes {
		n += len(c.Servers)
	}
	return n
}

// Consent returns a token for exactly this plan: all files, with every byte before and after, and what is
// deleted.
func (p Plan) Consent() string {
	sum := sha256.New()
	for _, c := range p.Changes {
		fmt.Fprintln(sum, c.Fingerprint())
	}
	io.WriteString(sum, p.Purge)
	return hex.EncodeToString(sum.Sum(nil))[:32]
}

// Diff returns the diff of the whole plan, without secrets.
func (p Plan) Diff() string {
	var b strings.Builder
	for _, c := range p.Changes {
		b.WriteString(c.Diff())
	}
	return b.String()
}

// Notes returns what the user must know about the changes beside the diff.
func (p Plan) Notes() (all []string) {
	for _, c := range p.Changes {
		if c.Note != "" && !slices.Contains(all, c.Note) {
			all = append(all, c.Note)
		}
	}
	return all
}

// Diff returns the diff of one change.
func (c Change) Diff() string {
	return maskedDiff(backup.Unified(c.Path, c.Old, c.New), c.secrets...)
}

// inWorkTree reports whether the file, with links resolved, is in a git work tree.
func inWorkTree(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false // it does not exist yet
	}
	for dir := filepath.Dir(real); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// NeedsReview reports whether a general confirmation is not enough: the change affects what is run,
// reached or sent, or a file that others use.
func (c Change) NeedsReview() bool { return c.Consent > clientconfig.Form || c.Shared }

// SplitByReview splits a plan into the changes that a general confirmation covers and the rest,
// which must be reviewed. If the user named the change itself, that covers files of their own.
func (p Plan) SplitByReview(named bool) (may, rest Plan) {
	may.Skipped, may.Purge, rest.Purge, may.Whole, rest.Whole = p.Skipped, p.Purge, p.Purge, p.Whole, p.Whole
	mustReview := func(c Change) bool { return c.Shared || c.NeedsReview() && !named }
	all := p.Whole && slices.ContainsFunc(p.Changes, mustReview)
	for _, c := range p.Changes {
		if all || mustReview(c) {
			rest.Changes = append(rest.Changes, c)
		} else {
			may.Changes = append(may.Changes, c)
		}
	}
	return may, rest
}

// ErrConsent reports that the confirmed plan is not the current one.
var ErrConsent = errors.New("the files changed after the diff was confirmed; review the new diff")

// Apply writes the changes if consent is for exactly this plan. If one file cannot be written, the
// others still are, or those of a whole plan are restored.
func (f *Fleet) Apply(p Plan, consent string) (made []backup.Entry, err error) {
	if consent != p.Consent() {
		return nil, ErrConsent
	}
	if f.Up != nil {
		if err := f.Up.Check(f, p); err != nil {
			return nil, err
		}
	}
	if f.Copy != nil && slices.ContainsFunc(p.Changes, func(c Change) bool { return c.names }) {
		if _, err := f.Copy.Make(); err != nil {
			return nil, fmt.Errorf("no file was changed: %w", err)
		}
	}
	var refused []error
	group := groupOf(len(p.Changes))
	for _, c := range p.Changes {
		c.Change.Group, c.Change.Whole = group, p.Whole
		entry, err := f.Store.Write(c.Change)
		if errors.Is(err, backup.ErrSame) {
			continue
		}
		if err != nil && p.Whole {
			return nil, errors.Join(err, f.takeBack(made))
		}
		if err != nil {
			refused = append(refused, err)
			continue
		}
		made = append(made, entry)
	}
	return made, errors.Join(refused...)
}

// Exclusively runs do with a fleet whose files no other gauze process changes meanwhile, so that what
// do plans is still right when it is applied. Other gauze processes wait.
func (f *Fleet) Exclusively(do func(*Fleet) error) error {
	store, release, err := f.Store.Hold()
	if err != nil {
		return err
	}
	defer release()
	held := *f
	held.Store = store
	return do(&held)
}

// draft is a plan in progress: files as they would be.
type draft struct {
	fleet *Fleet
	plan  Plan
	at    map[string]int // index of a path in the plan's changes
}

func (f *Fleet) draft() *draft { return &draft{fleet: f, at: map[string]int{}} }

// trial returns a copy of the draft, which can be given up.
func (d *draft) trial() *draft {
	t := *d
	t.plan.Changes, t.at = slices.Clone(d.plan.Changes), maps.Clone(d.at)
	return &t
}

// now returns a file as planned so far.
func (d *draft) now(c *clientconfig.Config) *clientconfig.Config {
	if i, touched := d.at[c.Path]; touched {
		return c.Home.ReadText(c.File, d.plan.Changes[i].New)
	}
	return c
}

// edit plans an edit of one server's entry.
func (d *draft) edit(c *clientconfig.Config, server string, consent clientconfig.Consent, about string, e clientconfig.Edit) error {
	now := d.now(c)
	text, err := e.Apply(c.Format(), now.Text)
	if err == nil {
		d.replace(c, server, consent, about, text)
	}
	return err
}

// replace sets the planned content of a file.
func (d *draft) replace(c *clientconfig.Config, server string, consent clientconfig.Consent, about string, text []byte) {
	i, touched := d.at[c.Path]
	if !touched {
		i = len(d.plan.Changes)
		d.at[c.Path] = i
		change := Change{Client: c.Client, Shared: c.InProject() || inWorkTree(c.Path), Change: backup.Change{Path: c.Path, Old: c.Text, Within: d.fleet.within(c),
			Seen: &backup.Identity{Named: c.Named, Behind: c.Behind}}}
		if !c.Exists {
			change.Old = nil
		}
		d.plan.Changes = append(d.plan.Changes, change)
	}
	change := &d.plan.Changes[i]
	change.New = text
	change.Consent = max(change.Consent, consent)
	change.Servers = append(change.Servers, server)
	if change.About != "" && about != "" {
		change.About += "; "
	}
	change.About += about
	change.file = c
}

// note adds what the user must know about the change of a file.
func (d *draft) note(c *clientconfig.Config, text string) {
	change := &d.plan.Changes[d.at[c.Path]]
	change.Note = strings.TrimSpace(change.Note + " " + text)
}

func (d *draft) skip(server, why string) {
	d.plan.Skipped = append(d.plan.Skipped, Skip{Server: server, Why: why})
}

// postpone skips a server that still needs a change.
func (d *draft) postpone(server, why string) {
	d.plan.Skipped = append(d.plan.Skipped, Skip{Server: server, Why: why, pending: true})
}

// finish drops changes that cancel each other out.
func (d *draft) finish() Plan {
	kept := d.plan.Changes[:0]
	for _, c := range d.plan.Changes {
		if c.Old == nil || string(c.Old) != string(c.New) {
			then := c.file.Home.ReadText(c.file.File, c.New)
			c.secrets = append(diffSecrets(c.file), diffSecrets(then)...)
			if c.names = d.fleet.named(then); c.names && d.fleet.Copy != nil {
				c.Note = strings.TrimSpace(c.Note + " " + d.fleet.Copy.Note)
			}
			if then.ByName() && !c.file.ByName() {
				c.Note = strings.TrimSpace(c.Note + " " + d.fleet.needsPath())
			}
			kept = append(kept, c)
		}
	}
	d.plan.Changes = kept
	return d.plan
}

// Copy makes a copy of gauze at the path that files refer to, because the running one may be deleted.
type Copy struct {
	Make func() (wrote bool, err error) // unless the same or a newer gauze is there
	Note string                         // what the user must know about it
}

// named reports whether an entry of a file starts the gauze at Fleet.Gauze.
func (f *Fleet) named(c *clientconfig.Config) bool {
	return slices.ContainsFunc(c.Entries, func(e clientconfig.Entry) bool { return e.Spec.Command == f.Gauze })
}

// StartsGauze reports whether a server's entry starts the gauze at Fleet.Gauze.
func (f *Fleet) StartsGauze(s *Server) bool { return s.Spec.Command == f.Gauze }

// needsPath says that gauze must be found by its name, and what to do if it is not.
func (f *Fleet) needsPath() string {
	const note = "A project's files refer to gauze by name, so everyone who uses them needs gauze on their PATH."
	if _, err := exec.LookPath("gauze"); err == nil || f.Gauze == "" {
		return note
	}
	return note + " It is not on yours; add " + filepath.Dir(f.Gauze) + " to it."
}

// within returns the directory that links of a file must not leave.
func (f *Fleet) within(c *clientconfig.Config) string {
	if c.InProject() {
		return c.Home.Root()
	}
	if way, err := filepath.Rel(f.Home.Home, c.Path); err != nil || !filepath.IsLocal(way) {
		return "" // moved by a variable, or in the Windows home: use the file's own directory
	}
	return f.Home.Home
}
