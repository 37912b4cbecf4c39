package upstream

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/gauze-mcp/gauze/internal/launch"
)

func TestErrorsHaveTheNamesEverybodyKnows(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"":             errors.New("something"),
		"ENOENT":       &WorkdirError{Dir: "/none"},
		"ENOTFOUND":    &net.DNSError{Err: "no such host", IsNotFound: true},
		"EAI_AGAIN":    &net.DNSError{Err: "server misbehaving", IsTemporary: true},
		"ETIMEDOUT":    &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded},
		"ECONNREFUSED": &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)},
		"ECONNRESET":   io.ErrUnexpectedEOF,
	} {
		if got := Errno(fmt.Errorf("wrapped: %w", err)); got != want {
			t.Errorf("%v is %q, want %q", err, got, want)
		}
	}
	if Errno(nil) != "" || Stage(99).String() != "stage 99" || Listed.String() != "listed" {
		t.Error("nothing has a name")
	}
}

func TestInspectKnowsBinaries(t *testing.T) {
	t.Parallel()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if p := Inspect(launch.Spec{Command: own}); p.Format != nativeFormat() || p.Arch != runtime.GOARCH || p.Foreign || !p.Executable {
		t.Errorf("%+v", p)
	}
	if runtime.GOOS == "linux" {
		if p := Inspect(launch.Spec{Command: "/bin/sh"}); !strings.Contains(p.Interpreter, "ld") || p.InterpreterPath == "" {
			t.Errorf("%+v", p)
		}
	}
	pe := "MZ" + strings.Repeat("\x00", 58) + "\x40\x00\x00\x00" + "PE\x00\x00\x64\xaa"
	fat := "\xca\xfe\xba\xbe\x00\x00\x00\x02" + "\x01\x00\x00\x07" + strings.Repeat("\x00", 16) + "\x01\x00\x00\x0c" + strings.Repeat("\x00", 16)
	class := "\xca\xfe\xba\xbe\x00\x00\x00\x41" + strings.Repeat("\x00", 40)
	for _, story := range []struct{ name, text, format, arch string }{
		{"pe", pe, "pe", "arm64"},
		{"fat", fat, "mach-o", "amd64+arm64"},
		{"thin", "\xcf\xfa\xed\xfe\x0c\x00\x00\x01", "mach-o", "arm64"},
		{"class", class, "", ""},
		{"short", "\x7fELF", "elf", ""},
		{"lies", "\x7fELF\x02\x01" + strings.Repeat("\xff", 100), "elf", ""},
		{"mz", "MZ" + strings.Repeat("\xff", 100), "pe", ""},
		{"empty", "", "", ""},
		{"shebang", "#!", "script", ""},
	} {
		path := filepath.Join(t.TempDir(), story.name)
		if err := os.WriteFile(path, []byte(story.text), 0o755); err != nil {
			t.Fatal(err)
		}
		if p := Inspect(launch.Spec{Command: path}); p.Format != story.format || p.Arch != story.arch {
			t.Errorf("%s: %+v", story.name, p)
		}
	}
	if p := Inspect(launch.Spec{Command: t.TempDir() + "/npx.cmd"}); p.Shim {
		t.Errorf("a shim that does not exist: %+v", p)
	}
}
