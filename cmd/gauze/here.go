package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/hub/upfile"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/internal/workshop/installed"
)

// clientFlag adds --client, which selects servers by client.
func clientFlag(cmd *cobra.Command, clients *[]string) {
	cmd.Flags().StringSliceVar(clients, "client", nil, "only these clients: comma-separated `ids` (see gauze list --clients)")
}

// gauzeFlag adds --gauze, the path of our own binary in the entries of wrapped servers.
func gauzeFlag(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVar(path, "gauze", "", "`path` to the gauze binary, as written to configuration files (default: $GAUZE_BIN, or this binary)")
}

// setProgram tells a fleet the path at which clients find gauze: the given one, that of $GAUZE_BIN, or
// the one of this installation that an upgrade keeps. If this binary may be deleted at any time, that is
// a copy, which is made when the first file refers to it.
func setProgram(fl *fleet.Fleet, given string) error {
	if given == "" {
		given = os.Getenv("GAUZE_BIN")
	}
	if given != "" {
		path, err := filepath.Abs(given)
		if err == nil {
			err = checkProgram(path)
		}
		fl.Gauze = path
		return err
	}
	here, err := installed.Here(thisBuild())
	if err != nil {
		return fmt.Errorf("%w; set it with --gauze PATH", err)
	}
	if fl.Gauze = here.Stable; !here.Cached {
		if venv := venvOf(fl.Gauze); here.Channel == installed.Pip && venv != "" {
			fl.Copy = &fleet.Copy{
				Make: func() (bool, error) { return false, nil }, // it is there
				Note: "This gauze binary is in the virtual environment " + venv + ", which the entries will need. Run gauze uninstall before you delete it.",
			}
		}
		return checkProgram(fl.Gauze)
	}
	if fl.Gauze = fl.Home.Copy; fl.Gauze == "" {
		return errors.New("this gauze binary may be deleted at any time, and without a home directory gauze cannot keep a copy; use an installed copy of gauze: --gauze PATH")
	}
	fl.Copy = &fleet.Copy{
		Make: func() (bool, error) { return installed.Copy(here.Path, fl.Gauze, thisBuild().Version) },
		Note: fmt.Sprintf("This gauze binary is in %s, which may be deleted at any time. The entries will use a copy: %s", temporaryPlace(here), fl.Gauze),
	}
	return nil
}

// venvOf returns the virtual environment that a program is in, or "".
func venvOf(program string) string {
	dir := filepath.Dir(filepath.Dir(program))
	if _, err := os.Stat(filepath.Join(dir, "pyvenv.cfg")); err != nil {
		return ""
	}
	return dir
}

// renewCopy makes the copy of gauze that entries refer to if it is missing or older than this gauze, and
// says so.
func renewCopy(w io.Writer, fl *fleet.Fleet) error {
	if fl.Copy == nil || !slices.ContainsFunc(fl.Look().Servers, fl.StartsGauze) {
		return nil
	}
	wrote, err := fl.Copy.Make()
	if wrote {
		showCopied(w, fl.Gauze, thisBuild().Version)
	}
	return err
}

// showCopied says that the copy of gauze has changed.
func showCopied(w io.Writer, path, version string) {
	fmt.Fprintf(w, "%s The copy of gauze that clients start is now version %s: %s\n", terminal.PaintFor(w).Green("✓"), version, path)
}

// temporaryPlace says where a gauze is that may be deleted.
func temporaryPlace(here installed.Installation) string {
	switch here.Channel {
	case installed.Download, installed.Clone, installed.Go:
		return "a temporary directory"
	}
	return string(here.Channel) + "'s cache"
}

// checkProgram returns why clients cannot start the gauze at a path.
func checkProgram(path string) error {
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return fmt.Errorf("no program at %s", path)
	}
	if name := strings.TrimSuffix(strings.ToLower(filepath.Base(path)), ".exe"); name != "gauze" {
		return fmt.Errorf("the program at %s must be named gauze, because gauze recognizes wrapped servers by this name", path)
	}
	return nil
}

// fleetHere returns the fleet of the current user, with the servers of gauze up.
func fleetHere() (*fleet.Fleet, error) {
	fl, err := fleet.Here(versionText())
	if err != nil {
		return nil, err
	}
	if path, err := upFile(""); err == nil { // or it has no place
		fl.Up = upfile.InFleet(path)
	}
	return fl, nil
}

var toldUp sync.Once

// tellUp says, once, that the servers of gauze up are not known because its file has an error. err is what is
// reported anyway.
func tellUp(f *fleet.Fleet, view *fleet.View, err error) {
	if notFound, ok := errors.AsType[*fleet.NotFoundError](err); ok && notFound.Mistake != "" {
		return // which may be this one
	}
	for _, p := range view.Problems {
		if p.Client.ID == clientconfig.UpID && p.Severity == clientconfig.Error {
			toldUp.Do(func() {
				fmt.Fprintf(os.Stderr, "gauze: the servers of gauze up are not known, because its file has an error: %s:%d: %s\n", f.Tilde(p.File), p.Line, p.What)
			})
		}
	}
}

// chosen reads the files of the chosen clients, or of all, and returns the chosen servers.
func chosen(f *fleet.Fleet, c fleet.Choice) (*fleet.View, []*fleet.Server, error) {
	clients, err := fleet.Clients(c.Clients)
	if err != nil {
		return nil, nil, err
	}
	view := f.Look(clients...)
	servers, err := view.Choose(c)
	tellUp(f, view, err)
	return view, servers, err
}

// inUse returns the names of the clients that are installed here.
func inUse(f *fleet.Fleet) (names []string) {
	for _, c := range clientconfig.Clients() {
		if f.Home.Uses(c) {
			names = append(names, c.Name)
		}
	}
	return names
}
