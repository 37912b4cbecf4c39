package upstream

import (
	"fmt"
	"io"
	"net"
	"os"
	"testing"

	"github.com/gauze-mcp/gauze/internal/faultyserver"
)

func TestMain(m *testing.M) {
	faultyserver.RunIfAsked()
	behaveAsAsked()
	os.Exit(m.Run())
}

// behaveAsAsked turns this process into one that does something on the network
// and then waits for the end of its stdin.
func behaveAsAsked() {
	switch address := os.Getenv("GAUZE_TEST_ADDRESS"); os.Getenv("GAUZE_TEST_BEHAVE") {
	case "":
		return
	case "listen":
		listener, err := net.Listen("tcp", address)
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(os.Stderr, "listening at", listener.Addr())
	case "connect":
		if _, err := net.Dial("tcp", address); err != nil {
			panic(err)
		}
		fmt.Fprintln(os.Stderr, "connected")
	case "fetch":
		conn, err := net.Dial("tcp", address)
		if err != nil {
			panic(err)
		}
		go io.Copy(io.Discard, conn)
	}
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}
