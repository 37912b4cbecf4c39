package shell

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

func TestQuoteByPlatform(t *testing.T) {
	for _, c := range []struct{ word, posix, windows string }{
		{"npx", "npx", "npx"},
		{"", "''", `""`},
		{"two words", "'two words'", `"two words"`},
		{"it's", `'it'\''s'`, `"it's"`},
		{"@scope/server", "@scope/server", `"@scope/server"`}, // PowerShell takes @ for splatting
		{"server@1.2", "server@1.2", "server@1.2"},
		{"a,b", "a,b", `"a,b"`}, // and a comma for a list
		{`D:\`, `'D:\'`, `D:\`},
		{"-Da.b=1", "-Da.b=1", `"-Da.b=1"`}, // and splits an option at its first dot
		{"--read-only", "--read-only", "--read-only"},
		{`C:\Program Files\`, `'C:\Program Files\'`, `"C:\Program Files\\"`},
		{"mcp<2", "'mcp<2'", `"mcp<2"`},
		{"a;b|c&d", "'a;b|c&d'", `"a;b|c&d"`},
		{"$(calc)", "'$(calc)'", "'$(calc)'"},
		{"a`b", "'a`b'", "'a`b'"},
		{`{"a":1}`, `'{"a":1}'`, `'{"a":1}'`},
		{"$a’;calc;‘", "'$a’;calc;‘'", "'$a’’;calc;‘‘'"}, // PowerShell ends a string at typographic quotes
		{"a”;calc;”", "a”;calc;”", "'a”;calc;”'"},
		{"naïve", "naïve", `"naïve"`},
	} {
		if got := For("linux").Quote(c.word); got != c.posix && !strings.ContainsRune(c.word, '”') {
			t.Errorf("linux: %q is quoted as %s, want %s", c.word, got, c.posix)
		}
		if got := For("windows").Quote(c.word); got != c.windows {
			t.Errorf("windows: %q is quoted as %s, want %s", c.word, got, c.windows)
		}
	}
}

// A POSIX shell reads a quoted word back as the word.
func TestAPosixShellReadsTheWordBack(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh here")
	}
	for _, word := range []string{"", "a b", "it's", `D:\`, "$(id)", "a;b", "“x”", "a\nb", "~", "*", "#"} {
		out, err := exec.Command(sh, "-c", "printf %s "+For("linux").Quote(word)).Output()
		if err != nil || !bytes.Equal(out, []byte(word)) {
			t.Errorf("%q came back as %q, %v", word, out, err)
		}
	}
}

func TestEveryCommandHasTheWordsOfItsPlatform(t *testing.T) {
	for _, c := range []struct {
		of             func(Words) string
		posix, windows string
	}{
		{func(w Words) string { return w.Which("npx") }, "command -v npx", "where.exe npx"},
		{func(w Words) string { return w.Set("TOKEN", "Bearer x") }, "export TOKEN='Bearer x'", `$env:TOKEN = "Bearer x"`},
		{func(w Words) string { return w.Set("FILE", w.Path("ca.pem")) }, "export FILE=/ca.pem", `$env:FILE = "C:\ca.pem"`},
		{func(w Words) string { return w.Kill(7) }, "kill 7", "taskkill /PID 7 /F"},
		{func(w Words) string { return w.Listener("80") }, "lsof -i :80", "netstat -ano | findstr :80"},
		{func(w Words) string { return w.RemoveAll(w.Path("a b")) }, "rm -r '/a b'", `Remove-Item -Recurse -Force -LiteralPath "C:\a b"`},
		{func(w Words) string { return w.List(w.Path("a")) }, "ls -ld /a", `icacls C:\a`},
		{func(w Words) string { return w.FirstLine(w.Path("a")) }, "head -n 1 /a", `Get-Content C:\a -TotalCount 1`},
		{func(w Words) string { return w.Line("uvx", "--with", "mcp<2") }, "uvx --with 'mcp<2'", `uvx --with "mcp<2"`},
		{func(w Words) string { return w.RemoveThere("~/.x", `$env:USERPROFILE\.x`) }, "rm -r ~/.x", `Remove-Item -Recurse -Force -LiteralPath "$env:USERPROFILE\.x"`},
		{func(w Words) string { return w.Venv("pip") }, ".venv/bin/pip", `.venv\Scripts\pip`},
		{func(w Words) string { return w.Home(".npmrc") }, "~/.npmrc", `%USERPROFILE%\.npmrc`},
		{func(w Words) string { return w.TrustAuthority(w.Path("ca.pem")) }, "export SSL_CERT_FILE=/ca.pem", `certutil -user -addstore Root C:\ca.pem`},
		{func(w Words) string { return w.Then("a", "b") }, "a && b", "a; b"},
		{Words.Python, "python3", "python"},
	} {
		for goos, want := range map[string]string{"linux": c.posix, "darwin": c.posix, "windows": c.windows} {
			if got := c.of(For(goos)); got != want {
				t.Errorf("%s: %s, want %s", goos, got, want)
			}
		}
	}
}

// PowerShell starts a program with the quotes taken off every word that has no
// spaces. cmd.exe would then read the word, and split it once a variable in it
// is expanded.
func TestNoCommandForPowerShellGivesAWordToCmd(t *testing.T) {
	windows := For("windows")
	for _, line := range []string{windows.RemoveAll(`C:\a&b`), windows.RemoveThere("~/x", `$env:USERPROFILE\x`)} {
		if strings.Contains(line, "cmd") || strings.Contains(line, "%") {
			t.Error(line)
		}
	}
}
