package doctor

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// The test binary plays the programs that tests start.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "play" {
		play(os.Args[2])
	}
	os.Exit(m.Run())
}

func play(part string) {
	switch part {
	case "server with a key":
		key := os.Getenv("API_KEY")
		if strings.Contains(key, "MY_KEY") {
			fmt.Fprintf(os.Stderr, "Error: 401 Unauthorized: invalid API key '%s'\n", key)
		} else {
			fmt.Fprintln(os.Stderr, "Error: EXAMPLE environment variable is required")
		}
		os.Exit(1)
	case "program that never ends": // and neither does what it starts, with the same stdout
		child := exec.Command(os.Args[0], "play", "caller", os.Args[3])
		child.Stdout = os.Stdout
		child.Run()
	case "caller":
		if call, err := net.Dial("tcp", os.Args[3]); err == nil {
			call.SetReadDeadline(time.Now().Add(time.Minute))
			call.Read(make([]byte, 1))
		}
	}
	os.Exit(0)
}

// played returns the command line that plays a part.
func played(t *testing.T, part string, more ...string) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{self, "play", part}, more...)
}
