package process

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/census"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
)

func TestMain(m *testing.M) {
	faultyserver.RunIfAsked()
	behaveAsAsked()
	os.Exit(census.Run(m))
}

// behaviours are those that only some systems have.
var behaviours = map[string]func(){}

// behaveAsAsked turns this process into the server that the environment asks for.
func behaveAsAsked() {
	switch os.Getenv("GAUZE_TEST_BEHAVE") {
	case "":
		return
	case "record":
		record(os.Getenv("GAUZE_TEST_LEDGER"), os.Getenv("GAUZE_TEST_DIES"))
	case "hold": // its stdin, without reading it
		time.Sleep(time.Hour)
	case "spin":
		for {
			runtime.Gosched()
		}
	default:
		behaviours[os.Getenv("GAUZE_TEST_BEHAVE")]()
	}
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// record reads lines with a small buffer, records each in the ledger, and
// exits after as many as dies says.
func record(ledger, dies string) {
	most, err := strconv.Atoi(dies)
	if err != nil {
		panic(err)
	}
	in := bufio.NewReaderSize(os.Stdin, 4096)
	for i := range most {
		if _, err := in.ReadString('\n'); err != nil {
			panic(err)
		}
		file, err := os.OpenFile(ledger, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(file, "call %d\n", i)
		file.Close()
	}
	os.Exit(3)
}
