package fault_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/text/shell"
)

// declared reads the codes out of code.go, so that a new code without words fails here and not in front of a user.
func declared(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "code.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			code, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			codes = append(codes, code)
		}
		return true
	})
	return codes
}

func TestEveryDeclaredCodeHasExactlyOneEntry(t *testing.T) {
	want := declared(t)
	var got []string
	for _, e := range fault.All() {
		got = append(got, string(e.Code))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("catalogue has %q\ncode.go declares %q", got, want)
	}
}

// onAllPlatforms is the catalogue as each platform has it.
func onAllPlatforms() []fault.Entry {
	return slices.Concat(fault.AllIn(shell.For("linux")), fault.AllIn(shell.For("windows")))
}

func TestNoStepForWindowsIsForUnix(t *testing.T) {
	unix := regexp.MustCompile(`\bcommand -v\b|\bexport [A-Z]|\bchmod\b|\bsudo\b|\bls -|\bhead -|\bps -|\bulimit\b|^file |(?:^| )/\w|\bpython3\b|'`)
	for _, e := range fault.AllIn(shell.For("windows")) {
		for _, s := range e.Do {
			if unix.MatchString(s.Command) {
				t.Errorf("%s: %s", e.Code, s.Command)
			}
		}
	}
}

func TestEveryEntryIsComplete(t *testing.T) {
	for _, e := range onAllPlatforms() {
		for name, text := range map[string]string{"Title": e.Title, "Means": e.Means, "Why": e.Why, "Did": e.Did, "Retry": string(e.Retry)} {
			if text == "" {
				t.Errorf("%s: no %s", e.Code, name)
			}
		}
		if len(e.Do) == 0 {
			t.Errorf("%s: nothing to do", e.Code)
		}
		if strings.HasSuffix(e.Title, ".") || (e.Title[:1] != strings.ToLower(e.Title[:1]) && !strings.HasPrefix(e.Title, "Gauze")) {
			t.Errorf("%s: a title is lower case without a full stop: %q", e.Code, e.Title)
		}
		for _, s := range e.Do {
			if (s.Command != "") != strings.HasSuffix(s.Text, ":") {
				t.Errorf("%s: a step ends in a colon if and only if a command follows: %q", e.Code, s.Text)
			}
		}
	}
}

// The numbers are a promise to programs that read them: they may be added to, never changed.
func TestJSONRPCCodesAreStable(t *testing.T) {
	want := map[fault.Code]int{
		"server-unavailable": -31001, "server-starting": -31002, "command-not-found": -31003, "command-not-executable": -31004,
		"command-bad-format": -31005, "workdir-missing": -31006, "server-exits-early": -31007, "start-timeout": -31008,
		"crash-loop": -31009, "spawn-failed": -31010, "session-changed": -31011, "stopping": -31012,
		"outcome-unknown": -31020, "call-timeout": -31021, "replay-exhausted": -31023,
		"call-quarantined": -31024, "retry-budget-spent": -31025, "server-busy": -31026, "tool-changed": -31027,
		"arguments-invalid": -31028, "tool-unknown": -32602, "tools-unlisted": -31029, "tool-locked": -31030,
		"server-unreachable": -31050, "host-not-found": -31051, "tls-failed": -31052, "auth-required": -31053, "auth-denied": -31054,
		"rate-limited": -31055, "http-unavailable": -31056, "http-refused": -31057, "redirect-refused": -31058, "not-mcp": -31059,
		"answer-missing":     -31060,
		"login-unavailable":  -31061,
		"session-limit":      -31070,
		"body-limit":         -31071,
		"response-too-large": -31040, "request-too-large": -31041, "response-invalid": -31042,
		"message-invalid": -32600, "id-in-use": -32600, "discover-unanswered": -32601,
	}
	for _, e := range fault.All() {
		if got := (&fault.Fault{Code: e.Code}).RPCCode(); got != want[e.Code] {
			t.Errorf("%s: %d, want %d", e.Code, got, want[e.Code])
		}
	}
}

func TestAdviceNamesOnlyCommandsAndFlagsThatExist(t *testing.T) {
	flags := []string{"--timeout", "--max-time", "--max-message", "--tool", "--policy", "--start-timeout", "--window", "--patience", "--url", "--header-env", "--max-sessions", "--session-idle", "--schema", "--scope", "--confirm", "--"}
	policies := []string{"replay=never", "replay=safe", "replay=idempotent", "timeout=5m", "max-in-flight=8", "repair=off"}
	gauze := regexp.MustCompile(`^gauze (\S+)(.*?)( -- .*)?$`)
	flag := regexp.MustCompile(`--[a-z-]*`)
	for _, e := range onAllPlatforms() {
		for _, s := range e.Do {
			if !strings.Contains(s.Command, "gauze") {
				continue
			}
			m := gauze.FindStringSubmatch(s.Command)
			if m == nil || m[1] != "run" && m[1] != "serve" && m[1] != "explain" && m[1] != "repair" && m[1] != "login" && m[1] != "lock" && m[1] != "up" {
				t.Errorf("%s: %q is no command of ours", e.Code, s.Command)
				continue
			}
			for _, f := range flag.FindAllString(m[2], -1) {
				if !slices.Contains(flags, f) {
					t.Errorf("%s: %q names the flag %s, which does not exist", e.Code, s.Command, f)
				}
			}
			if _, policy, ok := strings.Cut(m[2], "--tool NAME:"); ok && !slices.Contains(policies, policy) {
				t.Errorf("%s: %q names the policy %s, which does not exist", e.Code, s.Command, policy)
			}
		}
	}
}

func TestACodeWithoutAnEntryStillSpeaks(t *testing.T) {
	f := &fault.Fault{Code: "made-up", Detail: "text of the server"}
	if got := f.Model(); !strings.Contains(got, "made-up") || !strings.Contains(got, "Tell the user") || strings.Contains(got, "text of the server") {
		t.Errorf("model voice: %s", got)
	}
	if c := f.RPCCode(); c != -31000 {
		t.Errorf("rpc code %d", c)
	}
}

func TestAllIsACopy(t *testing.T) {
	fault.All()[0].Title = "changed"
	if fault.All()[0].Title == "changed" {
		t.Error("a reader can change the catalogue")
	}
}
