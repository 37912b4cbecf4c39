package faultyserver

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
)

// Entry is one effect that happened.
type Entry struct {
	Op         string `json:"op"`
	Key        string `json:"key,omitempty"`
	Value      string `json:"value,omitempty"`
	PID        int    `json:"pid"`
	Generation int    `json:"generation,omitempty"`
	// Request is the raw JSON-RPC id of the request that had the effect.
	Request string `json:"request,omitempty"`
}

// A frame is mark, length, CRC-32 of the payload and payload. SIGKILL can tear an append at a page
// boundary, and the next generation appends after the torn piece, so a reader must be able to
// resynchronize: the mark cannot occur in a payload, because JSON is UTF-8, which contains neither
// 0xFF nor 0xFE.
var ledgerMark = []byte{0xFF, 'G', 'Z', 0xFE}

const (
	ledgerHead     = 12      // mark 4, length 4, crc 4
	maxLedgerEntry = 1 << 20 // a longer payload can only be a damaged length
)

// Ledger appends effects to a file that all generations share.
type Ledger struct{ file *os.File }

// OpenLedger opens or creates the file. It does not scan for a torn tail: scanning at every start
// would make a storm quadratic, and truncating would race with a generation that is still running.
// ReadLedger skips torn pieces wherever they are.
func OpenLedger(path string) (*Ledger, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &Ledger{file: f}, nil
}

// Append writes a frame with a single write call, so that frames of two processes never interleave.
func (l *Ledger) Append(e Entry) error {
	payload, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = l.file.Write(frameEntry(payload))
	return err
}

// Close closes the file.
func (l *Ledger) Close() error { return l.file.Close() }

func frameEntry(payload []byte) []byte {
	frame := make([]byte, 0, ledgerHead+len(payload))
	frame = append(frame, ledgerMark...)
	frame = binary.LittleEndian.AppendUint32(frame, uint32(len(payload)))
	frame = binary.LittleEndian.AppendUint32(frame, crc32.ChecksumIEEE(payload))
	return append(frame, payload...)
}

// ReadLedger returns the effects in order and the number of torn pieces it skipped. A missing file
// is an empty ledger.
func ReadLedger(path string) (entries []Entry, torn int, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	for len(data) > 0 {
		if e, size, ok := cutEntry(data); ok {
			entries = append(entries, e)
			data = data[size:]
			continue
		}
		torn++
		next := bytes.Index(data[1:], ledgerMark)
		if next < 0 {
			break
		}
		data = data[1+next:]
	}
	return entries, torn, nil
}

// cutEntry returns the frame at the start of data, if it is complete.
func cutEntry(data []byte) (e Entry, size int, ok bool) {
	if len(data) < ledgerHead || !bytes.HasPrefix(data, ledgerMark) {
		return e, 0, false
	}
	n := binary.LittleEndian.Uint32(data[4:])
	if n > maxLedgerEntry || int(n) > len(data)-ledgerHead {
		return e, 0, false
	}
	payload := data[ledgerHead : ledgerHead+int(n)]
	if crc32.ChecksumIEEE(payload) != binary.LittleEndian.Uint32(data[8:]) || json.Unmarshal(payload, &e) != nil {
		return Entry{}, 0, false
	}
	return e, ledgerHead + int(n), true
}
