package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	"github.com/gauze-mcp/gauze/lab/programs"
	"github.com/gauze-mcp/gauze/lab/realparts"
	"github.com/gauze-mcp/gauze/lab/windows"
)

// windowsRoom is the package whose tests require gauze.exe and the parts of a Windows machine.
const windowsRoom = "./internal/windowsrun"

// windowsTest runs the tests of every package under wine and prints the counts of each.
func windowsTest(ctx context.Context, out io.Writer) (tally, error) {
	folder, err := windows.Install(ctx, out)
	if err != nil {
		return tally{}, err
	}
	defer folder.Close()
	listed, err := quietly(ctx, nil, "go", "list", "./...")
	if err != nil {
		return tally{}, err
	}
	packages := slices.DeleteFunc(strings.Fields(string(listed)), func(pkg string) bool {
		return strings.HasSuffix(pkg, strings.TrimPrefix(windowsRoom, "."))
	})
	gauze := filepath.Join(folder.Temp(), "gauze.exe") // tests under wine cannot build it
	if _, err := quietly(ctx, windowsBuild, "go", "build", "-o", gauze, "./cmd/gauze"); err != nil {
		return tally{}, err
	}
	f := newFollower(out)
	err = f.underWine(ctx, folder, []string{programs.Env + "=" + windows.Path(gauze)}, packages...)
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
	err = f.underWine(ctx, folder, []string{"CI=true", "GAUZE_WINDOWS=" + windows.Path(dir)}, "-v", windowsRoom)
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
		if _, err := quietly(ctx, windowsBuild, "go", "build", "-o", filepath.Join(dir, to), pkg); err != nil {
			return err
		}
	}
	return nil
}

var windowsBuild = []string{"GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0"}

// underWine runs go test for Windows and follows its output, one package after another, because
// they share one wine server.
func (f *follower) underWine(ctx context.Context, folder *windows.Folder, env []string, args ...string) error {
	tree, err := os.Getwd()
	if err != nil {
		return err
	}
	argv := []string{"go", "test", "-json", "-count=1", "-p", "1", "-timeout", "20m", "-exec", folder.Launcher()}
	cmd := folder.Command(ctx, tree, append(argv, args...)...)
	cmd.Env = append(append(cmd.Env, windowsBuild...), faultyserver.EnvAlone+"=", programs.Env+"=", programs.EnvTests+"=") // not the Linux binaries
	cmd.Env = append(cmd.Env, env...)
	return f.run(cmd)
}
