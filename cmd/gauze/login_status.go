package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/access/login"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/views/timeline"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// shownLogin is a login in the output of gauze login --status. It has no field for a token.
type shownLogin struct {
	login.Status
	Servers   []string `json:"servers"`             // the configured servers that use it, as CLIENT/NAME
	Unwrapped []string `json:"unwrapped,omitempty"` // those at its URL that do not, because their clients connect without gauze
	Store     string   `json:"store"`               // "keyring" or "file"
	Command   string   `json:"command,omitempty"`
}

// showStatus shows the logins: all, or those of one server.
func (f *loginCommandFlags) showStatus(cmd *cobra.Command, args []string) error {
	other := f.loginFlags
	if other.Account = ""; f.noBrowser || other.given() != "" {
		return usage(cmd, fmt.Errorf("--status cannot be combined with %s", cmp.Or(other.given(), "--no-browser")))
	}
	store, err := logins()
	if err != nil {
		return err
	}
	all, unreadable := store.All()
	var at remote
	if len(args) > 0 {
		if at, err = remoteServer(args[0]); err != nil {
			return err
		}
	}
	shown := []shownLogin{}
	wrapped, unwrapped := namesByLogin()
	for _, l := range all {
		otherServer := len(args) > 0 && l.Resource != login.Resource(at.spec.URL)
		if otherServer || f.Account != "" && l.Account != f.Account {
			continue
		}
		key := login.Key{Resource: l.Resource, Account: l.Account}
		s := shownLogin{Status: l.Status(), Servers: append([]string{}, wrapped[key]...), Unwrapped: unwrapped[key], Store: storedIn(store, l)}
		if s.Began.IsZero() {
			s.Ended = "cannot read the login"
		}
		if s.Ended != "" {
			s.Command = launch.LoginCommand(l.Resource, l.Account)
		}
		shown = append(shown, s)
	}
	err = present(cmd, f.json, struct {
		Logins []shownLogin `json:"logins"`
	}{shown}, func(p terminal.Paint) string {
		if len(shown) == 0 && unreadable == nil {
			return showNoLogin(at, args)
		}
		return showLogins(shown, time.Now(), p)
	})
	if err == nil && unreadable != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "gauze login: %s\n", redact.Passage(unreadable.Error()))
		return exitStatus(1)
	}
	return err
}

// showLogins formats logins for a terminal.
func showLogins(all []shownLogin, now time.Time, p terminal.Paint) string {
	var b strings.Builder
	for i, s := range all {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(s.show(now, p))
	}
	return b.String()
}

// storedIn returns what protects the tokens of a login.
func storedIn(store *login.Store, l login.Login) string {
	if store.Encrypted(l.Key) {
		return "keyring"
	}
	return "file"
}

// namesByLogin returns the configured servers at URLs by the login that they use, or would use if
// they were wrapped. The keys have no issuer. It only reads files, and none is needed.
func namesByLogin() (wrapped, unwrapped map[login.Key][]string) {
	wrapped, unwrapped = map[login.Key][]string{}, map[login.Key][]string{}
	fl, err := fleetHere()
	if err != nil {
		return wrapped, unwrapped
	}
	for _, s := range fl.Look().Servers {
		if notToWrap := s.Foreign() || s.Disabled || s.Config.Place.Old != ""; notToWrap && !fleet.Through(s.Entry) {
			continue
		}
		if spec := s.Real(); spec.URL != "" && spec.LogsIn() {
			names := unwrapped
			if fleet.Through(s.Entry) {
				names = wrapped
			}
			key := login.Key{Resource: login.Resource(spec.URL), Account: spec.Login.Account}
			names[key] = append(names[key], redact.Quote(s.ID()))
		}
	}
	return wrapped, unwrapped
}

// showNoLogin says how to log in.
func showNoLogin(at remote, args []string) string {
	if len(args) > 0 {
		return fmt.Sprintf("Not logged in to %s. To log in:\n\n    %s\n", at.shown(), at.command())
	}
	return "Not logged in to any server. To log in to a remote server:\n\n    gauze login URL\n\nTo see your clients' servers:\n\n    gauze list\n"
}

// show formats a login for a terminal.
func (s shownLogin) show(now time.Time, p terminal.Paint) string {
	var b strings.Builder
	mark := p.Green("✓")
	expired := !s.Expires.IsZero() && s.Expires.Before(now)
	if renewed := s.Renewable || s.Grant != ""; s.Ended != "" || expired && !renewed {
		mark = p.Red("✗")
	}
	fmt.Fprintf(&b, "%s %s\n", mark, p.Bold(redact.Quote(s.Resource)))
	row := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "    %-9s  %s\n", name, terminal.FoldAfter(text, "\n"+strings.Repeat(" ", 15)))
		}
	}
	row("servers", strings.Join(s.Servers, ", "))
	row("account", redact.Quote(s.Account))
	row("user", redact.Quote(s.Who))
	row("issuer", redact.Quote(s.Issuer))
	row("scopes", shownScopes(s.Scopes))
	if !s.Began.IsZero() {
		row("logged in", timeline.Age(now.Sub(s.Began))+" ago")
	}
	if s.Ended != "" {
		row("ended", redact.Quote(s.Ended))
		fmt.Fprintf(&b, "\n    To log in again:\n\n        %s\n", s.Command)
		return b.String()
	}
	row("expires", s.expiry(now))
	if !s.Refreshed.IsZero() {
		row("renewed", timeline.Age(now.Sub(s.Refreshed))+" ago")
	}
	row("stored", map[string]string{"keyring": "in a file that is encrypted with a key in the system keyring", "file": "in a file that only you can read"}[s.Store])
	if next := toWrap(s.Unwrapped); next != "" {
		b.WriteString("\n" + strings.ReplaceAll(terminal.Indent(strings.TrimSpace(next)), "\n    \n", "\n\n") + "\n")
	}
	return b.String()
}

// expiry says when a login expires, and whether gauze renews it.
func (s shownLogin) expiry(now time.Time) string {
	left := s.Expires.Sub(now)
	switch {
	case s.Grant != "" && s.Expires.IsZero():
		return "unknown; gauze logs in again when it is run with --grant " + s.Grant
	case s.Grant != "" && left <= 0:
		return timeline.Age(-left) + " ago; gauze logs in again when it is run with --grant " + s.Grant
	case s.Grant != "":
		return "in " + timeline.Age(left) + "; gauze logs in again when it is run with --grant " + s.Grant
	case s.Expires.IsZero() && s.Renewable:
		return "unknown; gauze renews the login if the server rejects it"
	case s.Expires.IsZero():
		return "unknown; gauze cannot renew the login, because the server did not issue a refresh token"
	case s.Renewable && left <= 0:
		return timeline.Age(-left) + " ago; gauze renews the login the next time it is used"
	case s.Renewable:
		return "in " + timeline.Age(left) + "; gauze renews the login automatically"
	case left <= 0:
		return timeline.Age(-left) + " ago; the server did not issue a refresh token, so you have to log in again"
	}
	return "in " + timeline.Age(left) + "; gauze cannot renew the login, because the server did not issue a refresh token"
}
