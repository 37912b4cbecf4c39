package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// temporalBinary runs tasks on a Temporal cluster. It is separate because Temporal's libraries are
// larger than gauze.
const temporalBinary = "gauze-temporal"

// workerCommand returns gauze worker, which is carried out by the separate binary.
func workerCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "worker [flags]",
		Short: "Run the tasks of a Temporal cluster on this machine",
		Long: "Run the tasks of a Temporal cluster on this machine until interrupted. Each task has\n" +
			"its own server processes here, wrapped by gauze as usual. If the worker dies, its tasks\n" +
			"continue on another worker.\n\n" +
			"  --temporal HOST:PORT   the Temporal server (default: $TEMPORAL_ADDRESS)\n" +
			"  --namespace NAME       (default: $TEMPORAL_NAMESPACE, or \"default\")\n" +
			"  --queue NAME           task queue that tasks and workers share\n" +
			"  --tasks NUMBER         maximum number of concurrent tasks\n" +
			"  --timeout TIME         maximum time without progress for a call\n" +
			"  --model PROVIDER:NAME  model that chooses the calls of tasks without steps\n\n" +
			"This requires " + temporalBinary + " next to gauze or on the PATH. A client that may start workflows\n" +
			"in the namespace can run any command as the worker's user.",
		Example:            "gauze worker --temporal localhost:7233\ngauze task run --temporal localhost:7233 report.yaml",
		DisableFlagParsing: true, // the binary has the flags
		RunE: func(cmd *cobra.Command, args []string) error {
			if slices.Contains(args, "--help") || slices.Contains(args, "-h") {
				help(cmd, nil)
				return nil
			}
			return runTemporal(append([]string{"worker"}, args...))
		},
	}
}

// onTemporal reports whether a command line is about a task on a Temporal cluster.
func onTemporal(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return len(args) > 0 && args[0] == "task" && slices.ContainsFunc(args, func(arg string) bool {
		return arg == "--temporal" || strings.HasPrefix(arg, "--temporal=")
	})
}

// runTemporal carries out a command with the separate binary.
func runTemporal(args []string) error {
	path, err := findTemporal()
	if err != nil {
		return err
	}
	return become(path, args)
}

// findTemporal returns the separate binary, beside gauze or on the PATH.
func findTemporal() (string, error) {
	beside := temporalBinary
	if self, err := os.Executable(); err == nil {
		beside = filepath.Join(filepath.Dir(self), temporalBinary+exe())
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside, nil
		}
	}
	path, err := exec.LookPath(temporalBinary)
	if errors.Is(err, exec.ErrNotFound) {
		return "", missingTemporal(version, beside)
	}
	return path, err
}

// missingTemporal says how to get the separate binary: as gauze was got, from a release or from the
// source code.
func missingTemporal(version, beside string) error {
	const missing = temporalBinary + " is not installed next to gauze or on the PATH. "
	if version == "dev" {
		return errors.New(missing + "To install it, run this in gauze's source code:\n  go -C temporal install ./cmd/" + temporalBinary)
	}
	format := "tar.gz"
	if runtime.GOOS == "windows" {
		format = "zip"
	}
	return fmt.Errorf(missing+"Download %s_%s_%s_%s.%s from release %s, and put the program in it at:\n  %s", temporalBinary, strings.TrimPrefix(version, "v"), runtime.GOOS, runtime.GOARCH, format, version, beside)
}

// exe returns how the names of programs end.
func exe() string {
	if runtime.GOOS == "windows" {
		return ".exe"
	}
	return ""
}
