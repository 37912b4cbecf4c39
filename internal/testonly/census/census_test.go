package census

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

const behaveEnv = "GAUZE_TEST_BEHAVE"

func TestMain(m *testing.M) {
	switch os.Getenv(behaveEnv) {
	case "hold": // until stdin is closed
		fmt.Println("here")
		io.Copy(io.Discard, os.Stdin)
	case "abandon": // a child that holds
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), behaveEnv+"=hold")
		child.Stdin, child.Stdout = os.Stdin, os.Stdout
		if err := child.Start(); err != nil {
			panic(err)
		}
	default:
		os.Exit(Run(m))
	}
}

// judged is a test that keeps the complaints about it.
type judged struct {
	testing.TB
	complaints []string
}

func (j *judged) Errorf(format string, args ...any) {
	j.complaints = append(j.complaints, fmt.Sprintf(format, args...))
}

// complaints returns those about the test with a name at this moment.
func complaints(t *testing.T, name string) []string {
	j := &judged{TB: t}
	complain(j, name, 0)
	return j.complaints
}

// nameOf returns the name of a test that Mark returned the variable of.
func nameOf(variable string) string {
	_, name, _ := strings.Cut(variable, "=")
	return name
}

func TestLeftGoroutineIsFound(t *testing.T) {
	t.Parallel()
	name := nameOf(Mark(t))
	in, out := io.Pipe()
	ended := make(chan struct{})
	go func() {
		go func() { // it has the mark of the one that started it
			defer close(ended)
			wire.NewReader(in, 0).Next()
		}()
	}()
	io.WriteString(out, "half a line") // returns when it is read
	found := complaints(t, name)
	if len(found) != 1 || !strings.Contains(found[0], "wire.(*Reader).Next") {
		t.Errorf("found %q, want the reader", found)
	}
	if found := complaints(t, name+"0"); len(found) != 0 {
		t.Errorf("another test has %q", found)
	}
	out.Close()
	<-ended
	if found := settle(patience.Limit(), func() []string { return left(name) }); len(found) != 0 {
		t.Errorf("found %q after its end", found)
	}
}

func TestMarkIsOnePerTest(t *testing.T) {
	first := Mark(t)
	if again := Mark(t); again != first {
		t.Errorf("%q, then %q", first, again)
	}
	t.Run("below", func(t *testing.T) {
		if other := Mark(t); other == first {
			t.Errorf("%q for two tests", other)
		}
	})
}

func TestGoroutinesOfTestsDoNotCount(t *testing.T) {
	line := func(function, file string) string {
		return "io.(*pipe).read(0x1)\n\t/go/src/io/pipe.go:1 +0x1\n" + function + "(...)\n\t" + file + ":2\ncreated by " + module + "f in goroutine 1\n\t/x/f.go:3 +0x2"
	}
	for stack, want := range map[string]bool{
		line(module+"internal/wrap/proxy.(*Session).watch", "/x/internal/wrap/proxy/watch.go"):                        true,
		line(module+"internal/wrap/proxy.(*story).end", "/x/internal/wrap/proxy/story_test.go"):                       false,
		line(module+"internal/testonly/faultyserver.(*Gate).Open", "/x/internal/testonly/faultyserver/gate.go"):       false,
		line(module+"internal/wrap/upstream/process.init.0.func1", "/x/internal/wrap/upstream/process/tied_linux.go"): false,
		line("example.com/other.Serve", "/x/other/serve.go"):                                                          false,
		line(module+"internal/wrap/upstream.(*Upstream).Serve", module+"internal/wrap/upstream/upstream.go"):          true,
	} {
		if got := runsOurs(stack); got != want {
			t.Errorf("%v for %s", got, stack)
		}
	}
}

func TestMoreThanBeforeIsFound(t *testing.T) {
	before := head{goroutines: []string{"g"}, children: []string{"c"}, files: []string{"f"}}
	for want, now := range map[string]head{
		"":      before,
		"g,new": {goroutines: []string{"g", "new"}, children: []string{"c"}, files: []string{"f"}},
		"c,new": {goroutines: []string{"g"}, children: []string{"c", "new"}, files: []string{"f"}},
		"f,new": {children: nil, files: []string{"f", "new"}},
	} {
		if got := strings.Join(now.since(before), ","); got != want {
			t.Errorf("more than before: %q, want %q", got, want)
		}
	}
}
