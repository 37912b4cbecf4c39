package realparts

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// browserUnit is axe-core, which checks whether a page is accessible.
var browserUnit = npmUnitOf("browser", minNode, pinsBrowserPackage, pinsBrowserLock)

// Browser returns the path of Chromium, which Debian has, and of axe-core's script. It installs what
// is missing.
func Browser(ctx context.Context, out io.Writer) (chromium, axe string, err error) {
	if err := Ensure(ctx, out, "chromium", "chromium", "fonts-dejavu-core"); err != nil {
		return "", "", err
	}
	if chromium, err = exec.LookPath("chromium"); err != nil {
		return "", "", err
	}
	p, err := installed(ctx, browserUnit, out)
	return chromium, filepath.Join(p.Modules, "axe-core", "axe.min.js"), err
}

// NeedBrowser is Browser for a test. A missing one is handled as in Need.
func NeedBrowser(t testing.TB) (chromium, axe string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), installTimeout)
	defer cancel()
	chromium, axe, err := Browser(ctx, os.Stderr)
	if err != nil {
		missing(t, "browser", err)
	}
	return chromium, axe
}
