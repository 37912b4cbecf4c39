package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/text/shell"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/workshop/installed"
	"github.com/gauze-mcp/gauze/internal/workshop/upgrade"
)

// releaseKey is set by the release build: the public key that verifies releases, base64 of its PKIX form.
var releaseKey string

// upgradeFlags are the flags of gauze upgrade.
type upgradeFlags struct {
	check   bool
	yes     bool
	version string
}

// upgradeCommand returns gauze upgrade, which upgrades this installation or says how.
func upgradeCommand() *cobra.Command {
	f := &upgradeFlags{}
	cmd := &cobra.Command{
		Use:   "upgrade",
		Short: "Upgrade gauze, or show the command that does",
		Long: "Upgrade gauze to the latest release. If gauze was installed by a package manager, only\n" +
			"show the package manager's command.\n\n" +
			"A downloaded gauze binary is replaced after you confirm. The release must be signed\n" +
			"with the key that is built into that binary and must not be older than the binary;\n" +
			"the new program must run and report its version. If anything fails, the installed\n" +
			"program stays as it is.\n\n" +
			"If gauze was started from a cache, for example by npx, this replaces an older copy that\n" +
			"wrapped servers use.\n\n" +
			"GAUZE_RELEASES is the address of a mirror that has /latest/download/FILE and\n" +
			"/download/vVERSION/FILE.",
		Example: "gauze upgrade\ngauze upgrade --check\ngauze upgrade --version 1.2.0",
		Args:    atMost(0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	cmd.Flags().BoolVar(&f.check, "check", false, "only report whether there is a newer release: exit status 1 if there is, 0 if not, 2 if the check fails")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask for confirmation")
	cmd.Flags().StringVar(&f.version, "version", "", "install this `version`, which may be older")
	return cmd
}

func (f *upgradeFlags) run(cmd *cobra.Command) error {
	f.version = strings.TrimPrefix(f.version, "v")
	switch {
	case f.version != "" && !installed.IsVersion(f.version):
		return usage(cmd, invalid("version", f.version, "must be a version such as 1.2.3"))
	case f.version != "" && f.check:
		return usage(cmd, errors.New("--check and --version cannot be used together"))
	case f.check:
		return f.compare(cmd)
	}
	here, err := installed.Here(thisBuild())
	switch {
	case err != nil:
		return err
	case here.Channel == installed.Download:
		return f.replace(cmd, here)
	case here.Channel == installed.Bundle:
		fmt.Fprintf(cmd.OutOrStdout(), "gauze %s (channel: bundle, %s)\nTo upgrade it, download the newest gauze_VERSION_%s.mcpb from here and open it in your client:\n\n    %s/latest\n",
			thisBuild().Version, here.Path, runtime.GOARCH, upgrade.Address)
		return nil
	}
	if here.Cached {
		if wrote, err := f.copy(cmd, here.Path, thisBuild().Version); wrote || err != nil {
			return err
		}
	}
	command, err := f.command(cmd, here)
	if err != nil || command == "" {
		return err
	}
	what := "To upgrade it"
	if f.version != "" {
		what = "To install gauze " + f.version
	}
	fmt.Fprintf(cmd.OutOrStdout(), "gauze %s (channel: %s, %s)\n%s:\n\n    %s\n",
		thisBuild().Version, here.Channel, here.Path, what, terminal.PaintFor(cmd.OutOrStdout()).Cyan(command))
	return nil
}

// copy replaces the copy of gauze in the user's data directory, if there is one, with the program at a
// path: if the copy is older or the user chose this version.
func (f *upgradeFlags) copy(cmd *cobra.Command, from, version string) (wrote bool, err error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return false, nil // nor a place for a copy
	}
	to := installed.This().CopyPath(home)
	if _, err := os.Stat(to); err != nil || f.version != "" && f.version != version {
		return false, nil
	}
	put := installed.Copy
	if f.version != "" {
		put = installed.CopyOver
	}
	if wrote, err = put(from, to, version); wrote {
		showCopied(cmd.OutOrStdout(), to, version)
	}
	return wrote, err
}

// releases returns where this gauze gets releases from, and how it verifies them.
func releases() upgrade.Releases {
	return upgrade.Releases{URL: os.Getenv("GAUZE_RELEASES"), Key: releaseKey, OS: runtime.GOOS, Arch: runtime.GOARCH}
}

// compare reports whether the latest release is newer than this gauze.
func (f *upgradeFlags) compare(cmd *cobra.Command) error {
	done := waiting(cmd, false, "the latest release")
	latest, err := releases().Find(cmd.Context(), "")
	done()
	if err != nil {
		return err
	}
	out, own := cmd.OutOrStdout(), thisBuild().Version
	if installed.Compare(latest.Version, own) > 0 {
		fmt.Fprintf(out, "gauze %s is available (installed: %s). To upgrade:\n\n    gauze upgrade\n", latest.Version, own)
		return exitStatus(1)
	}
	fmt.Fprintf(out, "gauze %s is up to date (latest release: %s).\n", own, latest.Version)
	return nil
}

// command returns the command that upgrades a gauze that a package manager installed, or "" after it has
// said that none is needed.
func (f *upgradeFlags) command(cmd *cobra.Command, here installed.Installation) (string, error) {
	if upgrade.IsPackage(string(here.Channel)) {
		return f.packageCommand(cmd, string(here.Channel))
	}
	command := here.Upgrade(f.version)
	if f.version != "" && command == here.Upgrade("") {
		return "", fmt.Errorf("invalid --version: %s installs only the latest version; nothing was changed\nnext: gauze upgrade", here.Channel)
	}
	return command, nil
}

// replace replaces a gauze that was downloaded.
func (f *upgradeFlags) replace(cmd *cobra.Command, here installed.Installation) error {
	ctx, release := untilSignal(cmd.Context(), func() {})
	defer release()
	done := waiting(cmd, false, "the release")
	found, err := releases().Find(ctx, f.version)
	done()
	if err != nil {
		return err
	}
	own, out := thisBuild().Version, cmd.OutOrStdout()
	switch order := installed.Compare(found.Version, own); {
	case order == 0:
		fmt.Fprintf(out, "gauze %s is up to date.\n", own)
		_, err := f.copy(cmd, here.Path, own)
		return err
	case order < 0 && f.version == "":
		return outdated(found, own)
	}
	place, err := upgrade.Replace(here.Path)
	if err != nil {
		return f.elsewhere(err, here.Path)
	}
	defer place.Close()
	fmt.Fprintf(out, "installed: gauze %s, %s\nnew:       gauze %s, signed, from %s\n", own, place.Path(), found.Version, found.Address)
	if err := f.confirm(cmd, place.Path()); err != nil {
		return err
	}
	progress := terminal.Progress(cmd.ErrOrStderr(), false)
	program, err := found.Program(ctx, func(done, total int64) { progress(downloaded(found.Archive, done, total)) })
	progress("")
	if err == nil {
		err = place.Put(ctx, program, found.Version)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s gauze %s is installed.\n", terminal.PaintFor(out).Green("✓"), found.Version)
	_, err = f.copy(cmd, place.Path(), found.Version)
	fmt.Fprintf(out, "Wrapped servers use it the next time their client starts them.\n\nTo undo:\n\n    gauze upgrade --version %s\n", own)
	return err
}

// downloaded describes the progress of a download.
func downloaded(name string, done, total int64) string {
	text := fmt.Sprintf("downloading %s: %d", name, done>>20)
	if total > 0 {
		text += fmt.Sprintf(" of %d", total>>20)
	}
	return text + " MB"
}

// confirm asks the user, unless --yes is set.
func (f *upgradeFlags) confirm(cmd *cobra.Command, path string) error {
	switch {
	case f.yes:
	case !interactive(cmd):
		fmt.Fprintf(cmd.ErrOrStderr(), "\ngauze upgrade: nothing was changed: confirmation requires a terminal. To upgrade without confirmation:\n\n    %s --yes\n", f.again())
		return exitStatus(1)
	case !ask(cmd, fmt.Sprintf("\nReplace %s?", path)):
		fmt.Fprintln(cmd.OutOrStdout(), "Nothing was changed.")
		return exitStatus(1)
	}
	return nil
}

// again returns this command line, without --yes.
func (f *upgradeFlags) again() string {
	if f.version != "" {
		return "gauze upgrade --version " + f.version
	}
	return "gauze upgrade"
}

// elsewhere adds to an error about a directory that is not writable what to run instead.
func (f *upgradeFlags) elsewhere(err error, path string) error {
	var dir *upgrade.DirError
	switch {
	case !errors.As(err, &dir):
		return err
	case !errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w\nnext: download gauze %s to a directory that you can write to: %s", err, cmp.Or(f.version, "again"), upgrade.Address)
	}
	command := strings.Replace(f.again(), "gauze", shell.Here().Quote(path), 1)
	if runtime.GOOS == "windows" {
		return fmt.Errorf("%w\nnext: run this in a terminal that was started as administrator: %s", err, command)
	}
	return fmt.Errorf("%w\nnext: sudo %s", err, command)
}
