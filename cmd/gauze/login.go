package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/access/login"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/shell"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/views/timeline"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// loginCommandFlags are the flags of gauze login.
type loginCommandFlags struct {
	loginFlags
	noBrowser bool
	status    bool
	json      bool
}

// loginCommand returns gauze login, which logs the user in to a server at a URL.
func loginCommand() *cobra.Command {
	f := &loginCommandFlags{}
	cmd := &cobra.Command{
		Use:   "login SERVER | URL",
		Short: "Log in to a remote server, once for all clients",
		Long: "Log in to a remote MCP server with OAuth. Gauze opens the browser, stores the login for\n" +
			"this user and renews it. From then on, every gauze process on this machine uses it, no\n" +
			"matter which client started it. Running sessions use the new login immediately. An\n" +
			"existing login is replaced. SERVER is a name shown by gauze list.\n\n" +
			"Without a display, over SSH or with --no-browser, gauze prints an address that you can\n" +
			"open in a browser on any machine; then paste the address that the browser is\n" +
			"redirected to.\n\n" +
			"Exit status: 0 if you are logged in or no login is required, 1 if the login failed, 2\n" +
			"for invalid usage, 130 if it was cancelled with Ctrl-C.",
		Example: "gauze login https://mcp.example.com/mcp\n" +
			"gauze login cursor/linear --account work\n" +
			"gauze login --status",
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	f.add(flags)
	flags.BoolVar(&f.noBrowser, "no-browser", false, "print the address to open, and let you paste the address that the browser is redirected to")
	flags.BoolVar(&f.status, "status", false, "show the account, scopes and expiry of each login, and how it is stored")
	flags.BoolVar(&f.json, "json", false, "with --status, print JSON")
	rare(flags, "account", "scope", "no-browser", "status", "json", "client-id")
	return cmd
}

func (f *loginCommandFlags) run(cmd *cobra.Command, args []string) error {
	switch {
	case f.status:
		return f.showStatus(cmd, args)
	case f.json:
		return usage(cmd, errors.New("--json requires --status"))
	case len(args) == 0:
		return usage(cmd, errors.New("missing SERVER or URL: pass the server to log in to, such as https://example.com/mcp"))
	}
	at, err := remoteServer(args[0])
	if err != nil {
		return err
	}
	switch own := at.spec; {
	case own.Login.Mode == launch.LoginOff:
		return fmt.Errorf("%s does not use a login: its entry contains --login=off. Remove the flag from the entry, then log in", at.shown())
	case !own.LogsIn():
		return fmt.Errorf("%s has its own credential (%s), which is used instead of a login", at.shown(), credentialSource(own))
	}
	if err := f.normalize(); err != nil {
		return usage(cmd, err)
	}
	typed := f.Login
	f.fill(at.spec.Login)
	if at.spec.Login, err = f.login(); err != nil {
		return usage(cmd, err)
	}
	store, err := logins()
	if err != nil {
		return err
	}
	return f.logIn(cmd, at, login.Config{Store: store, Typed: typed})
}

// logins returns the logins of this user.
func logins() (*login.Store, error) {
	dir, err := backup.StateDir()
	if err != nil {
		return nil, err
	}
	return login.Open(dir), nil
}

// remote is a server at a URL, as the user named it.
type remote struct {
	name      redact.Foreign // that of a configured server, "" if the user gave a URL
	spec      launch.Spec
	account   string   // the one that the entry of the server uses
	up        bool     // the server is one of gauze up
	unwrapped []string // the servers of the name whose clients connect without gauze, as CLIENT/NAME
}

// shown returns the server for messages.
func (r remote) shown() string {
	if r.name == "" {
		return shownServer(r.spec).String()
	}
	return fmt.Sprintf("%s (%s)", r.name, shownServer(r.spec))
}

// command returns the command line that logs in to a server, as the user would type it.
func (r remote) command() string {
	return launch.LoginCommand(cmp.Or(string(r.name), shownServer(r.spec).String()), r.spec.Login.Account)
}

// toWrap says how clients that connect to servers without gauze get to use a login.
func toWrap(servers []string) string {
	if len(servers) == 0 {
		return ""
	}
	of, them := "its client connects", "it"
	if len(servers) > 1 {
		of, them = "their clients connect", "them"
	}
	text := fmt.Sprintf("Not wrapped: %s. This login has no effect there, because %s without gauze. To wrap %s:", redact.Quote(strings.Join(servers, ", ")), of, them)
	command := shell.Here().Line(append([]string{"gauze", "wrap", "--remote"}, servers...)...)
	return "\n" + terminal.Fold(text) + "\n\n" + terminal.Indent(plaintext.Clean(command)) + "\n"
}

// toChoose says how a server gets to use an account that its entry does not name.
func (r remote) toChoose() string {
	account := r.spec.Login.Account
	if r.name == "" || account == r.account {
		return ""
	}
	if r.up {
		return "\n" + terminal.Fold(fmt.Sprintf("The entry of %s uses %s. To use this login there, set its login: in the file of gauze up to %s.",
			r.name, accountWords(r.account), redact.Foreign(account))) + "\n"
	}
	return "\n" + terminal.Fold(fmt.Sprintf("The entry of %s uses %s. To use this login there, add --account=%s to its arguments, after run.",
		r.name, accountWords(r.account), redact.Foreign(account))) + "\n"
}

// remoteServer returns the server that the user named by its URL, or by its name in a client's file.
func remoteServer(word string) (r remote, err error) {
	if strings.Contains(word, "://") {
		r.spec.URL = word
		if err := launch.CheckURL(word); err != nil {
			return r, err
		}
		return r, nil
	}
	fl, err := fleetHere()
	if err != nil {
		return r, err
	}
	_, servers, err := chosen(fl, fleet.Choice{Names: []string{word}})
	if err != nil {
		if host, _, _ := strings.Cut(word, "/"); strings.ContainsAny(host, ".:") && launch.CheckURL("https://"+word) == nil {
			err = fmt.Errorf("%w. A URL must start with https:// or http://, such as https://%s", err, redact.Quote(word))
		}
		return r, err
	}
	return oneRemote(redact.Foreign(word), servers)
}

// oneRemote returns the only server at a URL among those of a name.
func oneRemote(word redact.Foreign, servers []*fleet.Server) (r remote, err error) {
	var ids []string
	for _, s := range servers {
		spec := s.Real()
		switch {
		case spec.URL == "":
			continue
		case s.Config.InProject():
			return r, fmt.Errorf("%s is configured by the project in this directory. If you trust its address, log in with its URL:\n\n    %s",
				redact.Quote(s.ID()), launch.LoginCommand(s.Shown(), spec.Login.Account))
		}
		ids = append(ids, redact.Quote(s.ID()))
		if r.spec.URL != "" && (login.Resource(r.spec.URL) != login.Resource(spec.URL) || r.spec.Login.Account != spec.Login.Account) {
			return r, fmt.Errorf("several servers named %q have different URLs or accounts: %s; use one of these names", word, strings.Join(ids, ", "))
		}
		if r.spec.URL == "" || !r.spec.LogsIn() && spec.LogsIn() {
			r.name, r.spec, r.account = word, spec, spec.Login.Account
		}
		r.up = fleet.OfUp(s.Entry)
		if !fleet.Through(s.Entry) {
			r.unwrapped = append(r.unwrapped, s.ID())
		}
	}
	if r.spec.URL == "" {
		return r, fmt.Errorf("%s is a local command and manages its own credentials; gauze login is for remote servers", word)
	}
	return r, nil
}

// credentialSource describes the credential that requests have without a login.
func credentialSource(spec launch.Spec) string {
	for _, h := range spec.Header {
		if strings.EqualFold(h.Name, "Authorization") {
			return "the Authorization header, from " + cmp.Or(h.Source, "its entry")
		}
	}
	return "a user name and password in the URL"
}

// logIn asks the user to log in, tests the login and describes it.
func (f *loginCommandFlags) logIn(cmd *cobra.Command, at remote, config login.Config) error {
	store := config.Store
	ctx, release := untilSignal(cmd.Context(), func() { os.Exit(int(interrupted)) })
	defer release()
	out, errOut := cmd.OutOrStdout(), cmd.ErrOrStderr()
	fmt.Fprintf(out, "Logging in to %s\n", at.shown())
	if before, err := store.Find(login.Resource(at.spec.URL), at.spec.Login.Account); err == nil && before.Ended == "" {
		fmt.Fprintf(out, "You are already logged in%s. This will replace that login.\n", as(before.Who))
	}
	source := login.New(at.spec.URL, at.spec.Login, config)
	done := waiting(cmd, false, at.shown()+" to report how to log in")
	page := f.show(cmd)
	err := source.Login(ctx, func(ctx context.Context, p login.Page) error {
		done()
		return page(ctx, p)
	})
	done()
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(errOut, "\ngauze login: cancelled; your logins were not changed")
		return interrupted
	case err != nil:
		return f.failed(ctx, cmd, at, err)
	}
	got, err := store.Find(login.Resource(at.spec.URL), at.spec.Login.Account)
	if err != nil {
		fmt.Fprintf(errOut, "gauze login: the login succeeded, but gauze cannot read it back: %s\n", redact.Passage(err.Error()))
		return exitStatus(1)
	}
	io.WriteString(out, showLoggedIn(at, got, time.Now()))
	done = waiting(cmd, false, at.shown()+" to answer")
	last, report := doctor.Examine(ctx, doctor.ThisMachine().Until(ctx), at.spec, doctor.ExamineOptions{Version: versionText()})
	done()
	switch {
	case ctx.Err() != nil:
		return interrupted
	case report.Healthy:
		fmt.Fprintf(out, "\nThe server accepts the login and lists %s.\n", plaintext.Count(len(last.Found.Tools), "tool"))
		io.WriteString(out, toWrap(at.unwrapped)+at.toChoose())
		return nil
	}
	fmt.Fprintf(errOut, "\ngauze login: you are logged in, but the server does not work:\n\n")
	io.WriteString(errOut, showTest(at.spec, last.Hidden(fleet.Hiding(at.spec)), report, false, "", terminal.PaintFor(errOut)))
	return exitStatus(1)
}

// failed explains a login that failed. Often the reason is not the login: the server needs none, or
// cannot be reached.
func (f *loginCommandFlags) failed(ctx context.Context, cmd *cobra.Command, at remote, failure error) error {
	without := at.spec
	without.Login = launch.Login{Mode: launch.LoginOff}
	done := waiting(cmd, false, at.shown()+" to answer")
	_, report := doctor.Examine(ctx, doctor.ThisMachine().Until(ctx), without, doctor.ExamineOptions{Version: versionText()})
	done()
	if ctx.Err() == nil && report.Healthy {
		fmt.Fprintf(cmd.OutOrStdout(), "%s works without a login. There is nothing to do.\n", at.shown())
		return nil
	}
	errOut := cmd.ErrOrStderr()
	if d := report.Diagnosis; d != nil && d.Category != doctor.AuthFailed && d.Category != doctor.Unknown {
		fmt.Fprint(errOut, "gauze login: not logged in, because the server does not work:\n\n"+showDiagnosis(*d, terminal.PaintFor(errOut)))
		return exitStatus(1)
	}
	says := redact.Passage(at.spec.Secrets().Redact(failure.Error()))
	if question, ok := errors.AsType[login.Unanswered](failure); ok {
		says = plaintext.Clean(question.Error())
	}
	fmt.Fprintf(errOut, "gauze login: not logged in: %s\n", says)
	return exitStatus(1)
}

// show returns how the user gets to the address at which to log in.
func (f *loginCommandFlags) show(cmd *cobra.Command) login.Show {
	out := cmd.OutOrStdout()
	paste := login.Paste(cmd.InOrStdin(), out)
	hidden := f.noBrowser || headless(runtime.GOOS, os.Getenv)
	return func(ctx context.Context, p login.Page) error {
		fmt.Fprintln(out, redact.Passage(p.Who()))
		if err := agree(cmd, p); err != nil {
			return err
		}
		if hidden {
			return paste(ctx, p)
		}
		if err := login.OpenBrowser(p.Opens); err != nil {
			fmt.Fprintf(out, "The browser could not be opened: %s\n", redact.Passage(err.Error()))
			return paste(ctx, p)
		}
		fmt.Fprintf(out, "\nOpening your browser. If it does not open, open this address yourself:\n\n%s\n\nWaiting for the browser. Press Ctrl-C to cancel.\n", terminal.Indent(p.Address))
		return nil
	}
}

// agree asks the user about what is doubtful in a login. The question is not cut, and has no secrets.
func agree(cmd *cobra.Command, p login.Page) error {
	warning := plaintext.Clean(p.Warning())
	switch {
	case warning == "":
		return nil
	case !interactive(cmd):
		return login.Unanswered(warning + " If that is what you want, run the command again with " + shell.Here().Line(p.Flags()...))
	}
	fmt.Fprintf(cmd.OutOrStdout(), "\n%s\n\n", terminal.Fold(warning))
	if !ask(cmd, "Log in anyway?") {
		return errors.New("you declined")
	}
	return nil
}

// headless reports whether no browser can be opened where the user is.
func headless(system string, env func(string) string) bool {
	display := env("DISPLAY") != "" || env("WAYLAND_DISPLAY") != ""
	switch {
	case env("BROWSER") != "", display, env("WSL_DISTRO_NAME") != "":
		return false
	case env("SSH_CONNECTION") != "":
		return true
	}
	return system != "windows" && system != "darwin"
}

// as returns " as NAME", or nothing if the name is not known.
func as(who string) string {
	if who == "" {
		return ""
	}
	return " as " + redact.Quote(who)
}

// showLoggedIn describes a login that was just made.
func showLoggedIn(at remote, l login.Login, now time.Time) string {
	var b strings.Builder
	s := l.Status()
	account := ""
	if s.Account != "" {
		account = fmt.Sprintf(" (account %s)", redact.Quote(s.Account))
	}
	fmt.Fprintf(&b, "\nLogged in%s at %s%s.\n", as(s.Who), redact.Quote(s.Issuer), account)
	if len(s.Scopes) > 0 {
		fmt.Fprintln(&b, terminal.Fold("Scopes: "+shownScopes(s.Scopes)))
	}
	if missing := l.Missing(); len(missing) > 0 {
		fmt.Fprintln(&b, terminal.Fold("Requested but not granted: "+shownScopes(missing)))
	}
	switch renewed := s.Renewable; {
	case at.spec.Login.Grant != "":
		fmt.Fprintln(&b, terminal.Fold("Gauze renews the login automatically when it is started with the same --grant, --client-id and secret."))
	case renewed && s.Expires.IsZero():
		fmt.Fprintln(&b, "Gauze renews the login automatically.")
	case renewed:
		fmt.Fprintf(&b, "The access token expires in %s. Gauze renews it automatically.\n", timeline.Age(s.Expires.Sub(now)))
	case s.Expires.IsZero():
		fmt.Fprintln(&b, terminal.Fold("The server did not report when the login expires, and did not issue a refresh token. When it expires, gauze cannot renew it, and you will have to log in again."))
	default:
		fmt.Fprintln(&b, terminal.Fold(fmt.Sprintf("The login expires in %s. The server did not issue a refresh token, so gauze cannot renew it: you will have to log in again.", timeline.Age(s.Expires.Sub(now)))))
	}
	return b.String()
}

// shownScopes returns scopes for a line of text.
func shownScopes(scopes []string) string {
	sorted := slices.Sorted(slices.Values(scopes))
	return redact.Quote(strings.Join(sorted, ", "))
}
