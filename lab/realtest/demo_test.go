//go:build linux

package realtest

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// gauze demo is the first thing that most people run.
func TestDemoHoldsEveryGuarantee(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(patience.Context(t), gauzeBinary(), "demo")
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "GAUZE_STATE_DIR="+t.TempDir())
	said, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(said), "every guarantee held") {
		t.Errorf("%v\n%s", err, said)
	}
}
