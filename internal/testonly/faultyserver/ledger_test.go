package faultyserver

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

func ledgerOf(t *testing.T, data ...[]byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger")
	var all []byte
	for _, d := range data {
		all = append(all, d...)
	}
	if err := os.WriteFile(path, all, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLedgerThatWasNeverWrittenIsEmpty(t *testing.T) {
	entries, torn, err := ReadLedger(filepath.Join(t.TempDir(), "none"))
	if err != nil || torn != 0 || entries != nil {
		t.Errorf("got %v, torn %d, %v", entries, torn, err)
	}
}

func TestLedgerIsReadBackAsWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	var want []Entry
	for i := range 3 { // three generations, one file
		l, err := OpenLedger(path)
		if err != nil {
			t.Fatal(err)
		}
		for j := range 4 {
			e := Entry{Op: "append", Key: fmt.Sprint(i, j), Value: "vä\x00lue", PID: 100 + i, Generation: i + 1, Request: `"g1-1"`}
			if err := l.Append(e); err != nil {
				t.Fatal(err)
			}
			want = append(want, e)
		}
		_ = l.file.Close()
	}
	got, torn, err := ReadLedger(path)
	if err != nil || torn != 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, torn %d, %v", got, torn, err)
	}
}

func TestTornTailIsSteppedOverAtEveryByte(t *testing.T) {
	whole := frameEntry([]byte(`{"op":"append","key":"whole","pid":1}`))
	last := frameEntry([]byte(`{"op":"append","key":"last one","pid":2}`))
	after := frameEntry([]byte(`{"op":"append","key":"after","pid":3}`))
	for cut := range last {
		entries, torn, err := ReadLedger(ledgerOf(t, whole, last[:cut]))
		if err != nil || len(entries) != 1 || (torn == 1) != (cut > 0) {
			t.Fatalf("cut at %d: %v, torn %d, %v", cut, entries, torn, err)
		}
		// The next generation appends after the torn piece.
		entries, torn, err = ReadLedger(ledgerOf(t, whole, last[:cut], after))
		if err != nil || len(entries) != 2 || entries[1].Key != "after" || (torn == 1) != (cut > 0) {
			t.Fatalf("cut at %d, then appended: %v, torn %d, %v", cut, entries, torn, err)
		}
	}
}

func TestDamagedFrameIsNotBelieved(t *testing.T) {
	whole := frameEntry([]byte(`{"op":"append","key":"whole","pid":1}`))
	for at := range whole {
		bad := append([]byte{}, whole...)
		bad[at] ^= 0x55
		entries, torn, err := ReadLedger(ledgerOf(t, bad, whole))
		if err != nil || len(entries) != 1 || torn != 1 {
			t.Fatalf("byte %d changed: %v, torn %d, %v", at, entries, torn, err)
		}
	}
}

// Every answered effect is in the ledger once, however often the server was killed in the middle of
// a call.
func TestLedgerKeepsWhatWasAnsweredThroughKills(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	answered := map[string]bool{}
	const generations, calls, heard = 12, 100, 40
	for g := range generations {
		p := greeted(t, "-ledger="+path)
		var burst strings.Builder
		for i := range calls {
			burst.WriteString(toolCall(strconv.Itoa(g*calls+i), "append", fmt.Sprintf(`{"key":"%d"}`, g*calls+i)) + "\n")
		}
		p.write(burst.String())
		for range heard {
			answered[between(p.want("appended"), "appended ", `"`)] = true
		}
		_ = p.cmd.Process.Kill()
		_, _ = p.cmd.Process.Wait()
	}
	entries, torn, err := ReadLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	executed := map[string]int{}
	for _, e := range entries {
		executed[e.Key]++
		if executed[e.Key] > 1 {
			t.Errorf("%s was executed %d times", e.Key, executed[e.Key])
		}
	}
	for key := range answered {
		if executed[key] == 0 {
			t.Errorf("%s was answered and is not in the ledger", key)
		}
	}
	if len(answered) != generations*heard {
		t.Errorf("%d answers, want %d", len(answered), generations*heard)
	}
	t.Logf("%d executed, %d answered, %d torn", len(entries), len(answered), torn)
}

func FuzzReadLedgerNeverInventsAnEntry(f *testing.F) {
	f.Add([]byte("garbage"), []byte(""))
	f.Add([]byte(ledgerMark), []byte(ledgerMark))
	f.Fuzz(func(t *testing.T, before, after []byte) {
		path := ledgerOf(t, before, frameEntry([]byte(`{"op":"x","pid":1}`)), after)
		entries, _, err := ReadLedger(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Op == "x" {
				return
			}
		}
		t.Fatalf("the whole entry is lost: %v", entries)
	})
}
