package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// TestMain makes the test binary also act as gauze and as the test servers.
func TestMain(m *testing.M) {
	faultyserver.RunIfAsked()
	testscript.Main(withOwnState{m}, programs)
}

// programs are what the test binary is if it has their names.
var programs = map[string]func(){
	"gauze":        func() { os.Exit(unhurried()) },
	"faultyserver": func() { os.Exit(faultyserver.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	temporalBinary: func() { fmt.Println(strings.Join(os.Args[1:], " ")); os.Exit(3) },
	"asks":         func() { os.Exit(asks(os.Args[1:])) },
	"taskserver":   func() { os.Exit(taskServer(os.Args[1:])) },
	"browser":      func() { os.Exit(browser(os.Args[1:])) },
	"docserver":    func() { os.Exit(docServer(os.Args[1:])) },
	"tellall":      func() { os.Exit(tellAll(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
}

// hurried, as a variable of gauze, lets it end as soon as outside the tests, although something is
// not written yet.
const hurried = "TEST_HURRIED=1"

// unhurried runs gauze, which waits at its end for as long as a busy machine takes, and elsewhere no
// longer than a test needs.
func unhurried() int {
	taskBackoff, lingering, startAnswer = 100*time.Millisecond, 15*time.Second, 20*time.Second
	if name, value, _ := strings.Cut(hurried, "="); os.Getenv(name) != value {
		lastOutputTimeout, maxExportWait, serviceWait = patience.Limit(), patience.Limit(), patience.Limit()
	} else {
		serviceWait = time.Second
	}
	return execute()
}

// everything reports whether the tests that take samples take everything.
func everything() bool { return os.Getenv("GAUZE_TEST_ALL") != "" }

// withOwnState keeps gauze, as the tests start it, from writing to the user's state directory.
type withOwnState struct{ *testing.M }

func (m withOwnState) Run() int {
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		flag.Set("test.parallel", "6") // tests wait for the programs that they start
	}
	dir, err := os.MkdirTemp("", "gauze-state-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	state := filepath.Join(dir, "state")
	if err := os.Mkdir(state, 0o700); err != nil {
		panic(err)
	}
	os.Setenv("GAUZE_STATE_DIR", state)
	os.Setenv("XDG_STATE_HOME", state) // of a gauze that is the server of another, which keeps GAUZE_ variables from it
	os.Setenv("XDG_DATA_HOME", filepath.Join(dir, "data"))
	os.Setenv("SHELL", "")                   // the tester's login shell may take any time
	os.Setenv("GAUZE_KEYRING", "off")        // no test touches the user's keyring
	os.Setenv("GORACE", "atexit_sleep_ms=0") // a race build would otherwise take a second to exit
	defer awaitOnDemand()
	return m.M.Run()
}

// awaitOnDemand waits until the last gauze up that was started on demand has ended: Windows does not delete a program that
// runs, and testscript deletes its programs.
func awaitOnDemand() {
	gauze, err := exec.LookPath("gauze")
	if runtime.GOOS != "windows" || err != nil {
		return
	}
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for end := time.Now().Add(patience.Limit()); time.Now().Before(end); <-again.C {
		if os.Remove(gauze) == nil {
			return
		}
	}
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:  "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"modelserver": modelServer, "taskid": taskID, "consent": consentHash},
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", os.Getenv("GORACE"))
			env.Setenv("GAUZE_KEYRING", "off")
			env.Setenv("GAUZE_STATE_DIR", filepath.Join(env.WorkDir, ".state"))
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, ".inner"))
			gauze, err := exec.LookPath("gauze")
			env.Setenv("GAUZE_BIN", gauze) // the test binary is in a temporary directory
			return err
		},
	})
}

// consentHash sets CONSENT to the hash that the last command asks for.
func consentHash(ts *testscript.TestScript, neg bool, args []string) {
	found := regexp.MustCompile(`--consent ([0-9a-f]{32})`).FindStringSubmatch(ts.ReadFile("stdout") + ts.ReadFile("stderr"))
	if neg || len(args) != 0 || found == nil {
		ts.Fatalf("usage: consent, after a command that asks for it")
	}
	ts.Setenv("CONSENT", found[1])
}

// taskID sets ID to the id of the newest task whose name begins with the argument, as soon as it has
// made a call.
func taskID(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: taskid NAME")
	}
	for deadline := time.Now().Add(patience.Limit()); time.Now().Before(deadline); {
		ts.Check(ts.Exec("gauze", "task", "list", "--json"))
		for line := range strings.Lines(ts.ReadFile("stdout")) {
			var one struct {
				ID    string
				Calls int
			}
			ts.Check(json.Unmarshal([]byte(line), &one))
			if strings.HasPrefix(one.ID, args[0]+"-") && one.Calls > 0 {
				ts.Setenv("ID", one.ID)
				return
			}
		}
	}
	ts.Fatalf("there is no task %s", args[0])
}
