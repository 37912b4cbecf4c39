package realparts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"testing"
)

// Module returns the directory of a Go module such as "example.com/m@v1.2.3", which is downloaded if it is
// missing. If that fails, Module behaves like Need.
func Module(t testing.TB, module string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), installTimeout)
	defer cancel()
	said, err := exec.CommandContext(ctx, "go", "mod", "download", "-json", module).Output()
	var found struct{ Dir string }
	if jsonErr := json.Unmarshal(said, &found); err != nil || jsonErr != nil {
		missing(t, module, fmt.Errorf("%w\n%s", errors.Join(err, jsonErr), said))
	}
	return found.Dir
}
