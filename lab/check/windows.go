package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/gauze-mcp/gauze/internal/testonly/sample"
	"github.com/gauze-mcp/gauze/lab/programs"
	"github.com/gauze-mcp/gauze/lab/realparts"
	"github.com/gauze-mcp/gauze/lab/windows"
)

// labUnderWine are the laboratory's packages whose tests run on every system.
var labUnderWine = []string{"./bench/...", "./conformance"}

// windowsTest runs the tests of every package of the product under wine, and those of the laboratory
// that are for every system, and prints the counts of each.
func windowsTest(ctx context.Context, out io.Writer) (tally, error) {
	folder, err := windows.Install(ctx, out)
	if err != nil {
		return tally{}, err
	}
	defer folder.Close()
	gauze := filepath.Join(folder.Temp(), "gauze.exe") // tests under wine cannot build it
	if _, err := quietly(ctx, "", windowsBuild, "go", "build", "-o", gauze, "./cmd/gauze"); err != nil {
		return tally{}, err
	}
	f := newFollower(out)
	env := []string{programs.Gauze.Env + "=" + windows.Path(gauze), sample.EnvAll + "="} // small samples: wine is slow
	err = errors.Join(
		f.underWine(ctx, folder, ".", env, "./..."),
		f.underWine(ctx, folder, "lab", env, labUnderWine...))
	f.table()
	return f.total(), err
}

// windowsReal runs gauze.exe as Windows users run it. Its tests print their counts.
func windowsReal(ctx context.Context, out io.Writer) (tally, error) {
	folder, err := windows.Install(ctx, out)
	if err != nil {
		return tally{}, err
	}
	defer folder.Close()
	parts, err := realparts.InstallWindows(ctx, out)
	if err != nil {
		return tally{}, err
	}
	dir := filepath.Join(folder.Temp(), "parts")
	if err := layOut(ctx, dir, parts); err != nil {
		return tally{}, err
	}
	f := newFollower(out)
	f.verbose = true
	err = f.underWine(ctx, folder, "lab", []string{"GAUZE_WINDOWS=" + windows.Path(dir)}, "-v", "./windows")
	return f.total(), err
}

// layOut copies the parts, because npm changes them, and builds the programs next to them.
func layOut(ctx context.Context, dir string, parts realparts.Windows) error {
	for to, from := range map[string]string{"node": parts.Node, "project/node_modules": filepath.Join(parts.Project, "node_modules")} {
		if err := os.CopyFS(filepath.Join(dir, to), os.DirFS(from)); err != nil {
			return err
		}
	}
	for to, pkg := range map[string]string{"gauze.exe": "./cmd/gauze", "faultyserver.exe": "./internal/testonly/faultyserver/standalone"} {
		if _, err := quietly(ctx, "", windowsBuild, "go", "build", "-o", filepath.Join(dir, to), pkg); err != nil {
			return err
		}
	}
	return nil
}

var windowsBuild = []string{"GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0"}

// underWine runs go test for Windows in a module of the tree and follows its output, one package after
// another, because they share one wine server.
func (f *follower) underWine(ctx context.Context, folder *windows.Folder, dir string, env []string, args ...string) error {
	tree, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	argv := slices.Concat([]string{"go"}, always, []string{"-count=1", "-p", "1", "-exec", folder.Launcher()}, args)
	cmd := folder.Command(ctx, tree, argv...)
	cmd.Env = append(cmd.Env, windowsBuild...)
	for _, p := range programs.All {
		cmd.Env = append(cmd.Env, p.Env+"=") // not the Linux binaries
	}
	cmd.Env = append(cmd.Env, env...)
	return f.run(cmd)
}
