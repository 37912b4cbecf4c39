package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/hub/upfile"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

const (
	maxUpSource = 24 // characters
	maxUpTarget = 30
)

// checkUp reads the file of gauze up, by default the user's own, and prints what is in it, or
// everything that is wrong with it. general are the tokens of gauze up itself. No server is started.
func checkUp(w io.Writer, path string, general ...string) error {
	fl, err := fleet.Here(versionText())
	if err != nil {
		return err
	}
	path = cmp.Or(path, upfile.DefaultPath())
	f, err := upfile.Read(path, upfile.Options{Fleet: fl})
	var problems upfile.Problems
	if errors.As(err, &problems) {
		fmt.Fprintf(w, "%s is not valid, so nothing of it is used. It has %s:\n\n", plaintext.Clean(path), plaintext.Count(len(problems), "problem"))
		upProblems(w, problems)
		return exitStatus(1)
	}
	if err != nil {
		return err
	}
	if _, err := io.WriteString(w, upText(path, f)); err != nil {
		return err
	}
	return upFaults(w, f, general)
}

// upFaults prints what keeps a valid file from being used in full, and returns an exit status if there
// is such a thing.
func upFaults(w io.Writer, f *upfile.File, general []string) (err error) {
	if len(f.Missing) > 0 {
		fmt.Fprintf(w, "\n%s\n\n", plaintext.UpperFirst(missingText))
		upProblems(w, f.Missing)
		err = exitStatus(1)
	}
	var problems upfile.Problems
	if _, wrong := f.Pinned(os.Getenv, general); errors.As(wrong, &problems) {
		fmt.Fprint(w, "\ngauze connect can use the file, but gauze up cannot serve it over HTTP:\n\n")
		upProblems(w, problems)
		err = exitStatus(1)
	}
	return err
}

// upProblems prints a line for each problem.
func upProblems(w io.Writer, problems upfile.Problems) {
	for i := range problems {
		fmt.Fprintln(w, plaintext.Clean(problems[i:i+1].Error()))
	}
}

// upText describes a valid file.
func upText(path string, f *upfile.File) string {
	var b strings.Builder
	waiting := slices.DeleteFunc(slices.Clone(f.Servers), func(s upfile.Server) bool { return s.Pending == "" })
	fmt.Fprintf(&b, "%s is valid. It has %s", plaintext.Clean(path), plaintext.Count(len(f.Servers), "server"))
	if len(waiting) > 0 {
		fmt.Fprintf(&b, ", of which %d cannot be started yet", len(waiting))
	}
	b.WriteString(".\n")
	section := func(rows [][]string) {
		if len(rows) > 1 {
			text, _ := terminal.Table(rows, nil)
			b.WriteString("\n" + text)
		}
	}
	section(upServers(f))
	section(upProfiles(f))
	section(upRenamed(f))
	section(upSkipped(f))
	b.WriteString(upWaiting(waiting))
	b.WriteString(unlistedText(f))
	return b.String()
}

// upWaiting returns the commands that confirm the servers that wait for it.
func upWaiting(waiting []upfile.Server) string {
	text := ""
	for _, s := range waiting {
		if s.Unusable() == "" {
			text += "    " + plaintext.Clean(s.ConfirmCommand()) + "\n"
		}
	}
	if text == "" {
		return ""
	}
	return "\nA project configures servers that you have not confirmed. To review and confirm them:\n\n" + text
}

// upServers returns the table of servers.
func upServers(f *upfile.File) [][]string {
	rows := [][]string{{"SERVER", "FROM", "COMMAND OR HOST", "TOOLS", "STATE"}}
	for i := range f.Servers {
		s := &f.Servers[i]
		state := "ready"
		switch {
		case s.Unusable() != "":
			state = s.Unusable()
		case s.Pending != "":
			state = "waits for confirmation"
		case len(s.Unset) > 0:
			state = "ready, but not set: " + strings.Join(s.Unset, ", ")
		}
		rows = append(rows, []string{s.Key, short(s.Source, maxUpSource), short(upTarget(s), maxUpTarget), upFilter(s.Tools), plaintext.Clean(state)})
	}
	return rows
}

// upTarget returns the command line or the host of a server without secrets.
func upTarget(s *upfile.Server) string {
	if s.Spec.URL != "" {
		return s.Spec.Label()
	}
	return s.Shown()
}

// upFilter describes which tools are listed.
func upFilter(f upfile.Filter) string {
	var all []string
	if len(f.Allow) > 0 {
		all = append(all, fmt.Sprintf("%d allowed", len(f.Allow)))
	}
	if len(f.Deny) > 0 {
		all = append(all, fmt.Sprintf("%d denied", len(f.Deny)))
	}
	return cmp.Or(strings.Join(all, ", "), "all")
}

// upProfiles returns the table of profiles.
func upProfiles(f *upfile.File) [][]string {
	rows := [][]string{{"PROFILE", "SERVERS", "TOOLS", "LIST", "TOKENS"}}
	for _, p := range f.Profiles {
		rows = append(rows, []string{p.Name, short(strings.Join(p.Servers, ", "), maxUpTarget), upFilter(p.Tools), p.List, upTokens(f, p.Name)})
	}
	if tokens := upTokens(f, ""); tokens != "-" {
		rows = append(rows, []string{"(all)", "all", "all", upfile.ListDirect, tokens})
	}
	return rows
}

// upTokens returns the names of the tokens for a profile.
func upTokens(f *upfile.File, profile string) string {
	var all []string
	for _, t := range f.Tokens {
		if t.Profile == profile {
			all = append(all, plaintext.Clean(t.Name))
		}
	}
	return cmp.Or(strings.Join(all, ", "), "-")
}

// upRenamed returns the table of included entries whose key is not the one that their name proposes.
func upRenamed(f *upfile.File) [][]string {
	rows := [][]string{{"RENAMED", "FROM", "BECAUSE"}}
	for i := range f.Servers {
		if s := &f.Servers[i]; s.Renamed != "" {
			rows = append(rows, []string{s.Key, short(s.Source, maxUpSource), plaintext.Clean(s.Renamed)})
		}
	}
	return rows
}

// upSkipped returns the table of included entries that are left out.
func upSkipped(f *upfile.File) [][]string {
	rows := [][]string{{"LEFT OUT", "BECAUSE"}}
	for _, skip := range f.Skipped {
		rows = append(rows, []string{short(skip.Source, maxUpSource), plaintext.Clean(skip.Why)})
	}
	return rows
}
