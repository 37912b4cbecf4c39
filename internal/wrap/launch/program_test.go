package launch

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestInspectKnowsBinaries(t *testing.T) {
	t.Parallel()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if p := Inspect(Spec{Command: own}); p.Format != nativeFormat() || p.Arch != runtime.GOARCH || p.Foreign || !p.Executable {
		t.Errorf("%+v", p)
	}
	if runtime.GOOS == "linux" {
		if p := Inspect(Spec{Command: "/bin/sh"}); !strings.Contains(p.Interpreter, "ld") || p.InterpreterPath == "" {
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
		if p := Inspect(Spec{Command: path}); p.Format != story.format || p.Arch != story.arch {
			t.Errorf("%s: %+v", story.name, p)
		}
	}
	whole, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	for text, partial := range map[string]bool{"": true, string(whole[:64<<10]): runtime.GOOS == "linux", "#!/bin/sh\n": false} {
		path := filepath.Join(t.TempDir(), "part")
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		if p := Inspect(Spec{Command: path}); p.Partial != partial {
			t.Errorf("%d bytes: %+v", len(text), p)
		}
	}
	if p := Inspect(Spec{Command: own}); p.Partial {
		t.Errorf("%+v", p)
	}
	if p := Inspect(Spec{Command: t.TempDir() + "/npx.cmd"}); p.Shim {
		t.Errorf("a shim that does not exist: %+v", p)
	}
}
