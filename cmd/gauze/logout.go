package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/access/login"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
)

// logoutFlags are the flags of gauze logout.
type logoutFlags struct {
	account string
	all     bool
}

// logoutCommand returns gauze logout, which removes a login.
func logoutCommand() *cobra.Command {
	f := &logoutFlags{}
	cmd := &cobra.Command{
		Use:   "logout SERVER | URL",
		Short: "Log out of a remote server",
		Long: "Remove a login that gauze login stored. If the authorization server can revoke tokens,\n" +
			"gauze asks it to. The login is always removed from this machine. Running sessions can no\n" +
			"longer use it from their next request on.",
		Example: "gauze logout https://mcp.example.com/mcp\ngauze logout cursor/linear --account work\ngauze logout --all",
		Args:    atMost(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	cmd.Flags().StringVar(&f.account, "account", "", "`name` of the account to log out of")
	cmd.Flags().BoolVar(&f.all, "all", false, "log out of all accounts on the server or, without SERVER, on all servers")
	return cmd
}

func (f *logoutFlags) run(cmd *cobra.Command, args []string) error {
	switch {
	case f.all && f.account != "":
		return usage(cmd, errors.New("--all cannot be combined with --account"))
	case len(args) == 0 && !f.all:
		return usage(cmd, errors.New("missing SERVER or URL; --all logs out of all servers"))
	}
	store, err := logins()
	if err != nil {
		return err
	}
	all, unreadable := store.All() // a login that cannot be read can still be removed
	chosen, none, err := f.chosen(args, all)
	switch {
	case err != nil:
		return err
	case len(chosen) == 0 && unreadable != nil:
		fmt.Fprintf(cmd.ErrOrStderr(), "gauze logout: %s\n", redact.Passage(unreadable.Error()))
		return exitStatus(1)
	case len(chosen) == 0:
		fmt.Fprintf(cmd.ErrOrStderr(), "gauze logout: %s\n", none)
		return exitStatus(1)
	}
	failed := false
	for _, l := range chosen {
		failed = !f.logOut(cmd, store, l) || failed
	}
	if failed {
		return exitStatus(1)
	}
	return nil
}

// chosen returns the logins to remove, or why there is none.
func (f *logoutFlags) chosen(args []string, all []login.Login) (chosen []login.Login, none string, err error) {
	if len(args) == 0 {
		return all, "not logged in to any server", nil
	}
	at, err := remoteServer(args[0])
	if err != nil {
		return nil, "", err
	}
	account := cmp.Or(f.account, at.spec.Login.Account)
	var others []string
	for _, l := range all {
		switch {
		case l.Resource != login.Resource(at.spec.URL):
		case f.all || l.Account == account:
			chosen = append(chosen, l)
		default:
			others = append(others, accountWords(l.Account))
		}
	}
	none = "not logged in to " + at.shown()
	if len(others) > 0 {
		none += fmt.Sprintf(" with %s, only with %s; choose one with --account NAME, or use --all", accountWords(account), strings.Join(others, " and "))
	}
	return chosen, none, nil
}

// accountWords returns an account for a message.
func accountWords(account string) string {
	if account == "" {
		return "the default account"
	}
	return "the account " + redact.Quote(account)
}

// revokeTimeout is how long the authorization server may take to revoke a login.
const revokeTimeout = 10 * time.Second

// logOut removes a login and reports what happened to its tokens.
func (f *logoutFlags) logOut(cmd *cobra.Command, store *login.Store, l login.Login) (ok bool) {
	server := redact.Quote(l.Resource)
	if l.Account != "" {
		server += " (account " + redact.Quote(l.Account) + ")"
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), revokeTimeout)
	defer cancel()
	unlock, err := store.Lock(ctx, l.Resource, l.Account) // no process may store a renewed login after this
	if err == nil {
		defer unlock()
		if now, err := store.Find(l.Resource, l.Account); err == nil && now.Key == l.Key {
			l = now // renewed meanwhile
		}
	}
	done := waiting(cmd, false, "the authorization server to revoke the login")
	revoked := store.Revoke(ctx, l, nil)
	done()
	if err := store.Remove(l.Key); err != nil && !errors.Is(err, login.ErrNone) {
		fmt.Fprintf(cmd.ErrOrStderr(), "gauze logout: the login to %s could not be removed: %s\n", server, redact.Passage(err.Error()))
		return false
	}
	out := cmd.OutOrStdout()
	switch {
	case l.Ended != "" || l.Access == "":
		fmt.Fprintf(out, "Removed the login to %s, which could no longer be used.\n", server)
	case revoked != nil:
		fmt.Fprintf(out, "Logged out of %s on this machine. The tokens may remain valid until they expire:\n%s\n", server, terminal.Fold(redact.Passage(revoked.Error())))
	case l.RevocationURL == "":
		fmt.Fprintf(out, "Logged out of %s on this machine. The authorization server cannot revoke\ntokens, so they remain valid until they expire.\n", server)
	default:
		fmt.Fprintf(out, "Logged out of %s. The authorization server revoked the login.\n", server)
	}
	return true
}
