package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gauze-mcp/gauze/internal/disk/files"
	"github.com/gauze-mcp/gauze/internal/hub/upfile"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/internal/workshop/service"
)

// installFlags are the flags with which gauze up becomes a service of the user's session.
type installFlags struct{ install, uninstall, yes bool }

func (f *installFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.install, "install", false, "start gauze up with these flags whenever you log in, and now: as a systemd user unit, launchd agent or Windows task, which is shown first")
	flags.BoolVar(&f.uninstall, "uninstall", false, "stop and remove what --install installed")
	flags.BoolVarP(&f.yes, "yes", "y", false, "with --install or --uninstall: do not ask for confirmation")
}

func (f *installFlags) given() bool { return f.install || f.uninstall }

// check rejects flags that do not fit together.
func (f *installFlags) check(tokenEnv string) error {
	switch {
	case f.install && f.uninstall:
		return errors.New("use either --install or --uninstall")
	case f.yes && !f.given():
		return errors.New("--yes requires --install or --uninstall")
	case f.install && tokenEnv != "":
		return fmt.Errorf("a service does not have the variable %s of your shell: use --token-file instead of --token-env", tokenEnv)
	}
	return nil
}

// installUp makes gauze up a service of the user's session, after showing its definition, and starts it.
func (f *upFlags) installUp(cmd *cobra.Command, path string) error {
	file, err := upfile.Read(path, upfile.Options{})
	if err != nil {
		return err
	}
	chosen, err := f.chosenTokens()
	if err != nil {
		return err
	}
	if err := f.checkListen(len(chosen) > 0, ""); err != nil {
		return err
	}
	d, prepare, err := f.definition(cmd.Flags(), path)
	if err != nil {
		return err
	}
	was, err := serviceFile(d)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if string(service.Plain(was)) == d.Content {
		fmt.Fprintf(out, "%s is up to date.\n", d.Path)
	} else {
		diff := backup.Unified(d.Path, service.Plain(was), []byte(d.Content))
		io.WriteString(out, showPatch(diff, terminal.PaintFor(out))+serviceNotes(d, file))
		if err := f.service.confirm(cmd, "Install this "+d.Kind+" and start it?"); err != nil {
			return err
		}
		if err := prepare(); err != nil {
			return err
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(d.Path), 0o700), files.Replace(d.Path, d.Bytes())); err != nil {
			return err
		}
		fmt.Fprintf(out, "wrote %s\n", d.Path)
	}
	if f.tokenFile == "" && !f.noToken { // a new token is shown here, and not in a log
		own, err := serveTokens()
		if err != nil {
			return err
		}
		if own.new {
			own.announce(out, cmd.ErrOrStderr(), "gauze", "http://"+f.listen+"/mcp")
		}
	}
	if err := startService(cmd, d, path); err != nil {
		return err
	}
	fmt.Fprint(out, "gauze up is installed and running.\n\nTo undo:\n\n    gauze up --uninstall\n")
	if d.Keep != "" {
		fmt.Fprintf(out, "\n%s\n", d.Keep)
	}
	return nil
}

// serviceWait is how long a service may take until it answers: launchd starts one that has just ended 10 s later. The tests set
// it.
var serviceWait = 20 * time.Second

// startService starts the service and waits until its gauze up answers: a service that was started may end immediately.
func startService(cmd *cobra.Command, d service.Definition, path string) error {
	place, err := upPlace(path)
	if err != nil {
		return err
	}
	before := place.Holder(cmd.Context())
	if err := carryOutAll(cmd, d.Start); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), serviceWait)
	defer cancel()
	if place.Changed(ctx, before) {
		return nil
	}
	if now := place.Holder(cmd.Context()); now != 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "gauze up is installed, but a gauze up that does not belong to the service already serves %s: process %d. Stop it, and run this command again.\n", plaintext.Clean(path), now)
		return exitStatus(1)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "gauze up is installed and was started, but did not answer within %v. To see what it says:\n\n    %s\n\nTo undo:\n\n    gauze up --uninstall\n",
		serviceWait, plaintext.Clean(d.Log.Line(runtime.GOOS)))
	return exitStatus(1)
}

// uninstallUp stops and removes the service.
func (f *upFlags) uninstallUp(cmd *cobra.Command) error {
	d, _, err := f.definition(cmd.Flags(), upfile.DefaultPath())
	if err != nil {
		return err
	}
	was, err := serviceFile(d)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if was == nil {
		fmt.Fprintf(out, "gauze up is not installed as a service: %s does not exist.\n", d.Path)
		return nil
	}
	if err := f.service.confirm(cmd, fmt.Sprintf("Stop gauze up and remove the %s %s?", d.Kind, d.Path)); err != nil {
		return err
	}
	stopped := carryOutAll(cmd, d.Stop)
	if err := os.Remove(d.Path); err != nil {
		return err
	}
	fmt.Fprintf(out, "removed %s\n", d.Path)
	return errors.Join(stopped, carryOutAll(cmd, d.Forget))
}

// definition returns the service, and a function that makes the copy of gauze that it runs, if it runs one.
func (f *upFlags) definition(flags *pflag.FlagSet, path string) (d service.Definition, prepare func() error, err error) {
	fl, err := fleet.Here(versionText())
	if err != nil {
		return d, nil, err
	}
	if err := setProgram(fl, ""); err != nil {
		return d, nil, err
	}
	prepare = func() error { return nil }
	if fl.Copy != nil {
		prepare = func() error { _, err := fl.Copy.Make(); return err }
	}
	state, err := backup.StateDir()
	if err != nil {
		return d, nil, err
	}
	config, err := os.UserConfigDir()
	if err != nil {
		return d, nil, err
	}
	args := []string{"up"}
	flags.Visit(func(flag *pflag.Flag) { args = append(args, serviceWords(flag)...) })
	return service.For(runtime.GOOS, service.Spec{
		Program: fl.Gauze, Args: append(args, path), File: path, Env: service.Carry(os.Environ()), EnvFile: filepath.Join(config, "gauze", "up.env"),
		Home: fl.Home.Home, Config: config, State: state, User: os.Getenv("USERDOMAIN") + `\` + os.Getenv("USERNAME"), UID: strconv.Itoa(os.Getuid()),
	}), prepare, nil
}

// serviceWords returns a flag for the command line of the service.
func serviceWords(flag *pflag.Flag) (words []string) {
	switch list, several := flag.Value.(pflag.SliceValue); {
	case slices.Contains([]string{"install", "uninstall", "yes"}, flag.Name):
	case several:
		for _, value := range list.GetSlice() {
			words = append(words, "--"+flag.Name+"="+value)
		}
	case flag.Name == "token-file":
		if path, err := filepath.Abs(flag.Value.String()); err == nil {
			words = append(words, "--"+flag.Name+"="+path)
		}
	default:
		words = append(words, "--"+flag.Name+"="+flag.Value.String())
	}
	return words
}

// serviceFile returns the content of the file of a service, nil if there is none. One that gauze did not write is an error.
func serviceFile(d service.Definition) ([]byte, error) {
	foreign := fmt.Errorf("there is a service named %s that gauze up did not install; nothing was changed\nnext: remove it first, or keep it: %s", service.Name, d.Path)
	info, err := os.Lstat(d.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if d.Exists != nil {
			if said, err := exec.Command(d.Exists[0], d.Exists[1:]...).Output(); err == nil && strings.Contains(string(service.Plain(said)), "<Task") {
				return nil, foreign
			}
		}
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, foreign
	}
	content, err := os.ReadFile(d.Path)
	if err == nil && !service.IsOurs(content) {
		err = foreign
	}
	return content, err
}

// installedService returns the file of the service that gauze up --install installed, "" if there is none.
func installedService(fl *fleet.Fleet) string {
	config, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	d := service.For(runtime.GOOS, service.Spec{Home: fl.Home.Home, Config: config, State: filepath.Dir(fl.Store.Dir)})
	if content, err := os.ReadFile(d.Path); err != nil || !service.IsOurs(content) {
		return ""
	}
	return d.Path
}

// serviceNotes returns what the user must know about the service beside its definition: which variables of the
// environment it lacks.
func serviceNotes(d service.Definition, file *upfile.File) string {
	needed := file.Uses()
	if len(needed) == 0 {
		return ""
	}
	how := "set them for your whole session"
	if strings.Contains(d.Content, "EnvironmentFile=") {
		how = "set them, as NAME=VALUE, in the EnvironmentFile above"
	}
	return plaintext.Clean(fmt.Sprintf("\nThe file refers to %s, which a service does not get from your shell: %s.", strings.Join(needed, ", "), how)) + "\n"
}

// confirm asks the user, or says how to confirm.
func (f *installFlags) confirm(cmd *cobra.Command, question string) error {
	switch {
	case f.yes:
		return nil
	case !interactive(cmd):
		fmt.Fprintln(cmd.ErrOrStderr(), "\ngauze up: nothing was changed: confirmation requires a terminal, or --yes")
		return exitStatus(1)
	case !ask(cmd, "\n"+question):
		fmt.Fprintln(cmd.OutOrStdout(), "Nothing was changed.")
		return exitStatus(1)
	}
	return nil
}

// carryOutAll runs commands one after another. If one cannot be run or fails, it says which are left to the user.
func carryOutAll(cmd *cobra.Command, all []service.Command) error {
	for i, c := range all {
		said, err := exec.Command(c.Words[0], c.Words[1:]...).CombinedOutput()
		if err == nil || c.MayFail && !errors.Is(err, exec.ErrNotFound) {
			continue
		}
		why := plaintext.Clean(strings.TrimSpace(string(said)))
		if why == "" {
			why = err.Error()
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "gauze up: %s failed: %s\nTo do the rest yourself:\n\n", strings.Join(c.Words, " "), why)
		for _, left := range all[i:] {
			fmt.Fprintf(cmd.ErrOrStderr(), "    %s\n", left.Line(runtime.GOOS))
		}
		return exitStatus(1)
	}
	return nil
}
