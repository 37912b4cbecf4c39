package upstream

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/windows"
)

func init() { behaviours["argv"] = argv }

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
		{"%cd:~,0%"},
		{`"%PATH%"`},
		{"a^b", "^", "^^", "^%"},
		{"!PATH!", "!", "^!"},
		{"a|b", "a>b", "<", "(x)", "a,b;c=d", "'", "`", "*", "?", "~", "@", "#", "$"},
		{"&calc", "|calc", `"&calc`, `" & calc & "`, `\"&calc`},
		{"tab\there", "umlaut ä", "日本"},
	} {
		p, err := start(Spec{Command: "npx", Args: words, Env: append(os.Environ(), "PATH="+dir, "GAUZE_TEST_BEHAVE=argv")})
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
	dir := t.TempDir()
	batch := filepath.Join(dir, "tool.bat")
	if err := os.WriteFile(batch, []byte("@echo ran\r\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string]string{
		"a\nb":                      `argument 2, "a\nb", contains a line break`,
		"a\rb":                      `argument 2, "a\rb", contains a line break`,
		"a\x00b":                    `argument 2, "a\x00b", contains a line break or a NUL`,
		strings.Repeat("x", 10_000): "too long for a batch file (tool.bat)",
	} {
		if _, err := start(Spec{Command: batch, Args: []string{"-y", word}}); err == nil || !strings.Contains(err.Error(), want) {
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
	cmd := &exec.Cmd{Path: filepath.Join(dir, "npx.cmd"), Args: []string{"npx"}}
	if err := new(group).prepare(cmd); err != nil {
		t.Fatal(err)
	}
	system, err := windows.GetSystemDirectory()
	if err != nil || !strings.EqualFold(cmd.Path, filepath.Join(system, "cmd.exe")) {
		t.Errorf("%s, %v", cmd.Path, err)
	}
}

func TestAJobEndsWhatTheServerStarted(t *testing.T) {
	p, err := start(Spec{Command: "cmd.exe", Args: []string{"/c", "start /b ping -n 60 127.0.0.1 & ping -n 60 127.0.0.1"}})
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
	if _, err := start(Spec{Command: "no-such-bin-xyz"}); err == nil || !strings.Contains(err.Error(), exec.ErrNotFound.Error()) {
		t.Errorf("error: %v", err)
	}
}
