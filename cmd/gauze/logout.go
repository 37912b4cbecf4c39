package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/login"
	"github.com/gauze-mcp/gauze/internal/redact"
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
			"gauze asks it to; the login is removed from this machine in any case. Running sessions\n" +
			"lose it with their next request.",
		Example: "gauze logout https://mcp.example.com/mcp\ngauze logout cursor/linear --account work\ngauze logout --all",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	cmd.Flags().StringVar(&f.account, "account", "", "`name` of the account to log out")
	cmd.Flags().BoolVar(&f.all, "all", false, "log out all accounts of the server or, without SERVER, of all servers")
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
	all, err := store.All()
	if err != nil {
		return err
	}
	chosen, err := f.chosen(args, all)
	if err != nil {
		return err
	}
	if len(chosen) == 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), "gauze logout: not logged in to any server")
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

// chosen returns the logins to remove.
func (f *logoutFlags) chosen(args []string, all []login.Login) (chosen []login.Login, err error) {
	if len(args) == 0 {
		return all, nil
	}
	at, err := remoteServer(args[0])
	if err != nil {
		return nil, err
	}
	account := f.account
	if account == "" {
		account = at.spec.Login.Account
	}
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
	switch {
	case len(chosen) > 0:
		return chosen, nil
	case len(others) > 0:
		return nil, fmt.Errorf("not logged in to %s with this account; there is a login with %s. Choose one with --account, or all with --all", at.shown(), strings.Join(others, ", "))
	}
	return nil, fmt.Errorf("not logged in to %s", at.shown())
}

// accountWords returns an account for a message.
func accountWords(account string) string {
	if account == "" {
		return "the default account"
	}
	return "the account " + redact.Quote(account)
}

// logOut removes a login and reports what happened to its tokens.
func (f *logoutFlags) logOut(cmd *cobra.Command, store *login.Store, l login.Login) (ok bool) {
	source := login.New(l.Resource, launch.Login{Account: l.Account}, login.Config{Store: store})
	revoked, err := source.Logout(cmd.Context())
	shown := redact.Quote(l.Resource)
	if l.Account != "" {
		shown += " (account " + redact.Quote(l.Account) + ")"
	}
	switch {
	case revoked && err == nil:
		fmt.Fprintf(cmd.OutOrStdout(), "Logged out of %s. The authorization server revoked the login.\n", shown)
	case err == nil:
		fmt.Fprintf(cmd.OutOrStdout(), "Logged out of %s on this machine.\n", shown)
	}
	return err == nil
}
