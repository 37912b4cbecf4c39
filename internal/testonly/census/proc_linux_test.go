package census

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

func TestLeftProcessIsFound(t *testing.T) {
	for _, behave := range []string{"hold", "abandon"} {
		t.Run(behave, func(t *testing.T) {
			t.Parallel()
			variable := Mark(t)
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), variable, behaveEnv+"="+behave)
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			said, out, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer said.Close()
			cmd.Stdout = out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			out.Close()
			if behave == "abandon" { // the child that is left is not ours
				cmd.Process.Wait()
			}
			bufio.NewReader(said).ReadString('\n') // it holds
			found := complaints(t, nameOf(variable))
			if len(found) != 1 || !strings.Contains(found[0], os.Args[0]) {
				t.Errorf("found %q, want the process", found)
			}
			stdin.Close()
			io.Copy(io.Discard, said)
			cmd.Wait()
		})
	}
}

// Run finds a child that was not waited for and a file that was not closed.
func TestLeftChildAndFileAreFound(t *testing.T) {
	before := total()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), behaveEnv+"=hold")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	left := func(part string) bool {
		return slices.ContainsFunc(total().since(before), func(one string) bool { return strings.Contains(one, part) })
	}
	if !left(fmt.Sprintf("process %d: ", cmd.Process.Pid)) { // it may not have its command line yet
		t.Errorf("the child is not in %q", total().since(before))
	}
	cmd.Wait()
	file, err := os.CreateTemp(t.TempDir(), "left-open")
	if err != nil {
		t.Fatal(err)
	}
	if !left("left-open") {
		t.Errorf("the file is not in %q", total().since(before))
	}
	file.Close()
	if remains := settle(patience.Limit(), func() []string { return total().since(before) }); len(remains) != 0 {
		t.Errorf("found %q after the end", remains)
	}
}
