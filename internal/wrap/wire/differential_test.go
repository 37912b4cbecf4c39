package wire

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/sample"
)

// compareWithOldScanner scans a line with the scanner and with the plain one that it replaced.
func compareWithOldScanner(t *testing.T, line []byte) {
	t.Helper()
	got, end, err := scanEnvelope(line)
	want, wantEnd, wantErr := refEnvelope(line)
	if end != wantEnd || fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Fatalf("%q\nends at %d, %v\nwant   %d, %v", line, end, err, wantEnd, wantErr)
	}
	same := got.Kind == want.Kind && got.Method == want.Method && got.idAt == want.idAt
	for _, part := range [][2][]byte{{got.Raw, want.Raw}, {got.ID, want.ID}, {got.Params, want.Params}, {got.Result, want.Result}, {got.Error, want.Error}} {
		same = same && bytes.Equal(part[0], part[1]) && (part[0] == nil) == (part[1] == nil)
	}
	if !same {
		t.Fatalf("%q\ngot  %s\nwant %s", line, shown(got), shown(want))
	}
	if found, _ := Field(got.Result, "isError"); found != nil && !got.MayBeError || got.MayBeError && !bytes.Contains(line, []byte(`"isError"`)) {
		t.Fatalf("%q may be an error: %v", line, got.MayBeError)
	}
	end, err = scanValue(line, 0, nil)
	if wantEnd, wantErr = refValue(line, 0); end != wantEnd || fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Fatalf("the value %q\nends at %d, %v\nwant   %d, %v", line, end, err, wantEnd, wantErr)
	}
}

// The scanner takes several bytes at a time, so everything that ends or breaks a string is tried at
// every place of strings of many lengths, and every such line is cut off at every byte after it.
func TestScanAtEveryPlaceOfAString(t *testing.T) {
	inserted := []string{`"`, `\`, `\"`, `\\`, `\n`, `\/`, `\x`, `\u0041`, `\uD83D\uDE00`, `\u00g1`, `\u12`, "\x00", "\x1f", " ", "\x7f", "\t", "\n", "é", "请", "😀", "\x80", "\xff", "\xa2", "\xdc", "\x9f", "!\"", "]\\"}
	for _, length := range []int{0, 1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 71, 72, 73, 127, 128, 130} {
		for _, piece := range inserted {
			for at := range length + 1 {
				text := strings.Repeat("x", at) + piece + strings.Repeat("y", length-at)
				line := []byte(`{"jsonrpc":"2.0","id":1,"result":["` + text + `"]}`)
				compareWithOldScanner(t, line)
				compareWithOldScanner(t, line[:len(line)-5-(length-at)%3])
			}
		}
	}
	long := []byte(`{"jsonrpc":"2.0","id":1,"result":["` + strings.Repeat("x", 3*1024+100) + `"]}`)
	for _, piece := range inserted {
		for _, around := range []int{64, 1024, 1088, 2048, 2112, 3072} {
			for at := around - 10; at < around+50; at++ {
				line := append(append(bytes.Clone(long[:at]), piece...), long[at:]...)
				compareWithOldScanner(t, line)
				compareWithOldScanner(t, line[:at+len(piece)])
			}
		}
	}
}

func TestScanStopsWhereTheTextEnds(t *testing.T) {
	for _, payload := range payloads {
		line := payload.make(300)
		for end := range line {
			compareWithOldScanner(t, line[:end:end])
		}
	}
}

func FuzzScanAsBefore(f *testing.F) {
	for _, payload := range payloads {
		f.Add(payload.make(200))
	}
	for _, line := range sample.Corpus(f, `{"jsonrpc":"2.0","id":1,"method":"a"}`, `{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true}}`, `{"jsonrpc":"2.0","id":"\u00e9\"","result":[1.5e3,true,null,{"a":"b\n"}]}`) {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) { compareWithOldScanner(t, line) })
}
