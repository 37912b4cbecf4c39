package process

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/windows"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/life"
)

func init() {
	behaviours["argv"] = argv
	behaviours["parent"] = func() { // of one that holds on to its pipes
		child("hold")
		time.Sleep(time.Hour)
	}
	behaviours["grandparent"] = func() { // whose grandchild has no living parent
		child("middle").Wait()
		os.Exit(3)
	}
	behaviours["middle"] = func() {
		child("hold")
		os.Exit(0)
	}
}

// child starts a process that inherits our pipes and reports its id.
func child(how string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "GAUZE_TEST_BEHAVE="+how)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stderr, how, cmd.Process.Pid)
	return cmd
}

// holder waits until a server has started the child that holds its pipes and
// returns the child's process id.
func holder(t *testing.T, stderr func() string) (pid int) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); time.Now().Before(limit); runtime.Gosched() {
		if _, after, ok := strings.Cut(stderr(), "hold "); ok && strings.Contains(after, "\n") {
			fmt.Sscan(after, &pid)
			return pid
		}
	}
	t.Fatal("it never started its child")
	return 0
}

// withoutJobs has the system refuse to put processes into jobs.
func withoutJobs(t *testing.T) {
	before := assignToJob
	t.Cleanup(func() { assignToJob = before })
	assignToJob = func(job, process windows.Handle) error { return windows.ERROR_ACCESS_DENIED }
}

// A server that could not be put into a job is ended one process at a time.
func TestAServerWithoutAJobEnds(t *testing.T) {
	withoutJobs(t)
	c := launched(t, behaving("parent"))
	pid := holder(t, c.stderr)
	c.End("the test is over", true)
	<-c.Done()
	if runs(pid, time.Minute) {
		t.Error("the process it started still runs")
	}
	if v := c.Vitals(); v.Known {
		t.Errorf("%+v of a server without a job", v)
	}
}

// A process that outlives its server holds the server's pipes: nothing is
// proven, and we do not wait for it.
func TestAnEscapedProcessProvesNothing(t *testing.T) {
	withoutJobs(t)
	c := launched(t, behaving("grandparent"))
	end, err := c.Queue([]byte("{}\n"))
	if err != nil {
		t.Fatal(err)
	}
	c.Flush()
	<-c.Done()
	pid := holder(t, c.stderr)
	if !runs(pid, 0) {
		t.Fatal("nothing escaped: the test proves nothing")
	}
	t.Cleanup(func() {
		if escaped, err := os.FindProcess(pid); err == nil {
			escaped.Kill()
		}
	})
	if c.Delivery(end) == fault.Unsent {
		t.Error("a message that an escaped process may read is judged unsent")
	}
}

// A server that is asked to end may have closed its stdin while one of its
// threads waits in a read. A look into the pipe would wait for that read, which
// the server's end alone can end: so nothing is read before that.
func TestThePipeIsNotReadBeforeTheServerHasEnded(t *testing.T) {
	t.Parallel()
	o, server := pipe(t)
	put(t, o, "{}\n")
	flushed(o)
	server.Close()
	o.finish(time.Now().Add(time.Minute))
	if o.f.tookSome() {
		t.Error("the pipe was read")
	}
	if written, never, proven := o.settle(); written != 3 || never != 3 || !proven {
		t.Errorf("%d written, %d never read, proven %v", written, never, proven)
	}
}

// In a job nothing escapes, so everything is proven.
func TestNothingEscapesAJob(t *testing.T) {
	t.Parallel()
	c := launched(t, behaving("grandparent"))
	end, err := c.Queue([]byte("{}\n"))
	if err != nil {
		t.Fatal(err)
	}
	c.Flush()
	<-c.Done()
	if runs(holder(t, c.stderr), time.Minute) {
		t.Error("a process escaped the job")
	}
	if c.Delivery(end) != fault.Unsent {
		t.Errorf("a message that nobody read is judged %v", c.Delivery(end))
	}
}

// A launcher whose server ends below it is seen before it has noticed.
func TestFamilySeesAProcessThatEnded(t *testing.T) {
	t.Parallel()
	c := launched(t, behaving("parent"))
	pid := holder(t, c.stderr)
	var f family
	if f.dying(&c.proc.group) || f.dying(&c.proc.group) {
		t.Error("a healthy server looks as if it were dying")
	}
	child, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	child.Kill()
	child.Wait()
	if !f.dying(&c.proc.group) {
		t.Error("a process ended, and it was not seen")
	}
	if f.dying(&c.proc.group) {
		t.Error("it was seen twice")
	}
}

func TestVitalsOfAServerThatIsGoneAreUnknown(t *testing.T) {
	t.Parallel()
	var gone group
	gone.kill()
	if v := gone.vitals(); v.Known {
		t.Errorf("%+v of a server that is gone", v)
	}
}

// runs reports whether a process still runs after wait. One that was ended may
// accept a moment.
func runs(pid int, wait time.Duration) bool {
	process, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return false
	}
	defer windows.CloseHandle(process)
	event, _ := windows.WaitForSingleObject(process, uint32(wait.Milliseconds()))
	return event == uint32(windows.WAIT_TIMEOUT)
}

// argv prints the command line of this process as JSON, taken apart by the
// rules of the C runtime since 2008. (Go has older rules for a doubled quote.)
func argv() {
	line := windows.UTF16PtrToString(windows.GetCommandLine())
	words, word := []string{}, ""
	inWord, quoted := false, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\':
			n := len(line[i:]) - len(strings.TrimLeft(line[i:], `\`))
			quote := i+n < len(line) && line[i+n] == '"'
			inWord = true
			if !quote {
				word += strings.Repeat(`\`, n)
				i += n - 1
				break
			}
			word += strings.Repeat(`\`, n/2)
			if i += n - 1; n%2 == 1 {
				word += `"`
				i++
			}
		case c == '"' && quoted && i+1 < len(line) && line[i+1] == '"':
			word += `"`
			i++
		case c == '"':
			quoted, inWord = !quoted, true
		case (c == ' ' || c == '\t') && !quoted:
			if inWord {
				words = append(words, word)
			}
			word, inWord = "", false
		default:
			word, inWord = word+line[i:i+1], true
		}
	}
	if inWord {
		words = append(words, word)
	}
	json.NewEncoder(os.Stdout).Encode(words)
	os.Exit(0)
}

// A batch file in the form of npm's passes every word on as it is. The program
// behind it reads its command line as node and every program of the current C
// runtime does (see argv).
func TestABatchFilePassesEveryWordOn(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "with a space & (more)")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	shim := "@ECHO OFF\r\nSETLOCAL\r\nSET \"NODE_EXE=%~dp0\\node.exe\"\r\nIF NOT EXIST \"%NODE_EXE%\" (\r\n  SET \"NODE_EXE=" +
		os.Args[0] + "\"\r\n)\r\n\"%NODE_EXE%\" \"%~dp0\\cli.js\" %*\r\n"
	if err := os.WriteFile(filepath.Join(dir, "npx.cmd"), []byte(shim), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, words := range [][]string{
		{"-y", "https://example.invalid/?a=1&b=2"},
		{`D:\`, "next"},
		{`D:\\`, "next"},
		{`a b\`, `c d`},
		{""},
		{"", "after an empty one"},
		{`say "x" & more`, "next"},
		{`"`, "next"},
		{`\"`, "next"},
		{`a\\"b c`, "next"},
		{`{"path":"C:\\dir\\","n":[1,2]}`, "next"},
		{"100%", "next"},
		{"%PATH%", "%", "%%", "%PATH", "a%b%c"},
		{"%cd:~,%", "%cd%"},
		{`"%PATH%"`},
		{"a^b", "^", "^^", "^%"},
		{"!PATH!", "!", "^!"},
		{"a|b", "a>b", "<", "(x)", "a,b;c=d", "'", "`", "*", "?", "~", "@", "#", "$"},
		{"&calc", "|calc", `"&calc`, `" & calc & "`, `\"&calc`},
		{"tab\there", "umlaut ä", "日本"},
	} {
		p, err := start(launch.Spec{Command: "npx", Args: words, Env: append(os.Environ(), "PATH="+dir, "GAUZE_TEST_BEHAVE=argv")})
		if err != nil {
			t.Errorf("%q: %v", words, err)
			continue
		}
		out, _ := io.ReadAll(p.stdout)
		said, _ := io.ReadAll(p.stderr)
		<-p.exited
		p.kill()
		p.close()
		var got []string
		if err := json.Unmarshal(out, &got); err != nil || len(got) < 2 || !slices.Equal(got[2:], words) {
			line, _ := interpreterLine("npx.cmd", words)
			t.Errorf("%q arrived as %q %s%s\n%s", words, got, out, said, line)
		}
	}
}

func TestABatchFileCannotBeGivenALineBreak(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	batch := filepath.Join(dir, "tool.bat")
	if err := os.WriteFile(batch, []byte("@echo ran\r\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string]string{
		"a\nb":                      `argument 2 ("a\nb") contains a line break`,
		"a\rb":                      `argument 2 ("a\rb") contains a line break`,
		"a\x00b":                    `argument 2 ("a\x00b") contains a line break or a NUL`,
		strings.Repeat("x", 10_000): "too long for a batch file (tool.bat)",
	} {
		if _, err := start(launch.Spec{Command: batch, Args: []string{"-y", word}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// The interpreter is the system's, whatever is in PATH.
func TestTheInterpreterIsTheSystems(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	t.Chdir(dir)
	if err := os.WriteFile(filepath.Join(dir, "cmd.exe"), []byte("not it"), 0o755); err != nil {
		t.Fatal(err)
	}
	system, err := windows.GetSystemDirectory()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"npx.cmd", "NPX.BAT", "npx.cmd.", "npx.bat . ."} {
		cmd := &exec.Cmd{Path: filepath.Join(dir, name), Args: []string{"npx"}}
		if err := new(group).prepare(cmd); err != nil || !strings.EqualFold(cmd.Path, filepath.Join(system, "cmd.exe")) {
			t.Errorf("%s is run by %s, %v", name, cmd.Path, err)
		}
	}
}

func TestAJobEndsWhatTheServerStarted(t *testing.T) {
	t.Parallel()
	p, err := start(launch.Spec{Command: "cmd.exe", Args: []string{"/c", "start /b ping -n 60 127.0.0.1 & ping -n 60 127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	p.kill()
	<-p.exited
	// Both ends of stdout are closed only when every process of the job is gone.
	if _, err := io.ReadAll(p.stdout); err != nil {
		t.Fatal(err)
	}
}

func TestAMissingCommandIsSaidToBeMissing(t *testing.T) {
	t.Parallel()
	if _, err := start(launch.Spec{Command: "no-such-bin-xyz"}); err == nil || !strings.Contains(err.Error(), exec.ErrNotFound.Error()) {
		t.Errorf("error: %v", err)
	}
}

func (r running) stderr() string { return string(r.Stderr.Tail(life.MaxStderrBytes)) }
