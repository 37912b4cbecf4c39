package attach

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestALogStaysShort(t *testing.T) {
	f, err := openLog(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	line := []byte(strings.Repeat("x", 999) + "\n")
	for range 3000 {
		log{f}.Write(line)
	}
	log{f}.Write([]byte("last\n"))
	text, err := os.ReadFile(f.Name())
	if err != nil || len(text) > maxLog || len(text) < keptLog || !bytes.HasSuffix(text, []byte("x\nlast\n")) {
		t.Errorf("%d bytes, %v, with the end %q", len(text), err, text[max(0, len(text)-10):])
	}
}
