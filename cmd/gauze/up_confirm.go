package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

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
// whether it may be started. Without a terminal, consent must be the hash of what is shown. Only to show
// its tools, which may wait as well, is a server started.
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
	case s.Pending == "" && (s.Lock == proxy.LockAsk || s.Lock == proxy.LockBlock):
		return acceptUp(cmd, f, s, consent)
	case s.Pending == "":
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s does not wait for confirmation.\n", s.Key)
		return err
	}
	whole, err := s.Whole()
	if err != nil {
		return fmt.Errorf("%s belongs to the project, and %w", s.Key, err)
	}
	shown := fleet.Fold(plaintext.Visible(s.Key+", from "+s.Source)+", belongs to the project:") + "\n\n  " + whole + "\n\n"
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

// acceptUp shows the tools of a server that are not accepted, and accepts them if the user agrees. The server is started
// for that. Without a terminal, consent must be the hash of what is shown.
func acceptUp(cmd *cobra.Command, f *upfile.File, s *upfile.Server, consent string) error {
	dir, err := backup.StateDir()
	if err != nil {
		return err
	}
	r := probe.Run(cmd.Context(), s.Spec, probe.Options{Version: versionText()}).Hidden(fleet.Hiding(s.Spec))
	if !r.OK() {
		return fmt.Errorf("the tools of %s were not accepted, because it did not list them: %s", s.Key, r.Stopped)
	}
	out := cmd.OutOrStdout()
	fresh := proxy.NotAccepted(acceptedTools(dir), s.Written(), r.Found.Tools)
	if len(fresh) == 0 {
		_, err := fmt.Fprintf(out, "The tools of %s are those that you accepted.\n", s.Key)
		return err
	}
	shown := fleet.Fold(fmt.Sprintf("%s has %s that you have not accepted:", s.Key, plaintext.Count(len(fresh), "tool"))) + "\n\n"
	hash := sha256.New()
	for _, tool := range fresh {
		shown += fleet.Fold("  "+strings.ReplaceAll(probe.Shown(tool.Raw), "\n", "\n  ")) + "\n\n"
		fmt.Fprintf(hash, "%q %s\n", tool.Name, tool.Definition)
	}
	must := hex.EncodeToString(hash.Sum(nil))[:32]
	ask := askerOf(cmd)
	switch {
	case consent == must:
	case ask == nil:
		line := shell.Here().Line("gauze", "up", "--confirm", s.Key, "--consent", must, f.Path)
		fmt.Fprintf(cmd.ErrOrStderr(), "%sTo accept them as they are:\n\n    %s\n\n", shown, plaintext.Clean(line))
		return exitStatus(1)
	case !ask(shown + "Accept them? You will be asked again when they change."):
		proxy.Reject(acceptedTools(dir), s.Written())
		return fmt.Errorf("you did not accept the tools of %s, so calls of those above are not sent", s.Key)
	}
	proxy.Accept(acceptedTools(dir), s.Written(), r.Found.Tools)
	_, err = fmt.Fprintf(out, "Accepted %s of %s.\n", plaintext.Count(len(fresh), "tool"), s.Key)
	return err
}

func unknownUpServer(f *upfile.File, key string) error {
	var keys []string
	for _, s := range f.Servers {
		keys = append(keys, s.Key)
	}
	return fmt.Errorf("no server named %q in %s%s", redact.Quote(key), f.Path, document.DidYouMean(key, keys))
}
