package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/hub/upfile"
	"github.com/gauze-mcp/gauze/internal/text/document"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/shell"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/internal/wrap/probe"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// confirmUp shows a server of the file of gauze up that waits for confirmation, and asks the user
// whether it may be started. Without a terminal, consent must be the hash of what is shown. No server
// is started.
func confirmUp(cmd *cobra.Command, path, key, consent string) error {
	fl, err := fleet.Here(versionText())
	if err != nil {
		return err
	}
	path = cmp.Or(path, upfile.DefaultPath())
	f, err := upfile.Read(path, upfile.Options{Fleet: fl})
	if err != nil {
		return err
	}
	s := f.Server(key)
	switch {
	case s == nil:
		return unknownUpServer(f, key)
	case s.Unusable() != "":
		return errors.New(s.Pending)
	case s.Pending == "" && s.Lock != "":
		return acceptUp(cmd, s)
	case s.Pending == "":
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s does not wait for confirmation.\n", s.Key)
		return err
	}
	whole, err := s.Whole()
	if err != nil {
		return fmt.Errorf("%s belongs to the project, and %w", s.Key, err)
	}
	shown := fleet.Fold(fleet.Visible(s.Key+", from "+s.Source)+", belongs to the project:") + "\n\n  " + whole + "\n\n"
	ask := askerOf(cmd)
	switch {
	case consent == s.Consent():
	case ask == nil:
		line := shell.Here().Line("gauze", "up", "--confirm", s.Key, "--consent", s.Consent(), f.Path)
		fmt.Fprintf(cmd.ErrOrStderr(), "%sTo allow gauze to use it as it is:\n\n    %s\n\n", shown, plaintext.Clean(line))
		return exitStatus(1)
	case !ask(shown + startQuestion(s.Written(), whole)):
		return fmt.Errorf("%s stays as it is: you did not allow it to run", s.Key)
	}
	s.Confirm()
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is confirmed, and may be started until its entry changes.\n", s.Key)
	return err
}

// acceptUp accepts the tools of a server as they are now, for which it is started once.
func acceptUp(cmd *cobra.Command, s *upfile.Server) error {
	dir, err := backup.StateDir()
	if err != nil {
		return err
	}
	r := probe.Run(cmd.Context(), s.Spec, probe.Options{Version: versionText()}).Hidden(fleet.Hiding(s.Spec))
	if !r.OK() {
		return fmt.Errorf("the tools of %s were not accepted, because it did not list them: %s", s.Key, r.Stopped)
	}
	proxy.Accept(acceptedTools(dir), s.Spec, r.Found.Tools)
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "Accepted %s of %s as they are now.\n", plaintext.Count(len(r.Found.Tools), "tool"), s.Key)
	return err
}

func unknownUpServer(f *upfile.File, key string) error {
	var keys []string
	for _, s := range f.Servers {
		keys = append(keys, s.Key)
	}
	return fmt.Errorf("no server named %q in %s%s", redact.Quote(key), f.Path, document.DidYouMean(key, keys))
}
