package journal

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
)

// The format of the write-ahead log: https://www.sqlite.org/fileformat2.html#walformat. SQLite reads
// it up to the last commit before the first frame whose checksum is wrong, and drops the rest without
// an error. So gauze reads it first, if no other process has the journal open.
const (
	pageSize       = 4096
	walHeaderLen   = 32
	frameHeaderLen = 24
	frameLen       = frameHeaderLen + pageSize
)

// frame is a page in the write-ahead log.
type frame struct {
	number int // of the page, from 1
	commit bool
	intact bool
	page   []byte
}

// writeAheadLog is the log before SQLite reads it.
type writeAheadLog struct {
	content []byte
	frames  []frame // of the log's current use, through the last commit

	// torn means that its last commit is not intact, which a power failure can cause: then it was not
	// acknowledged. If it was, the heads tell.
	torn bool
	// damaged means that a commit is not intact that a later one follows. Every commit is synced before
	// the next one begins, so it was acknowledged.
	damaged bool
}

// readWAL reads the write-ahead log of the database at path.
func readWAL(path string) (log writeAheadLog, err error) {
	log.content, err = os.ReadFile(path + "-wal")
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(log.content) < walHeaderLen {
		log.torn = len(log.content) > 0
		return log, nil
	}
	if err != nil {
		return log, err
	}
	var order binary.ByteOrder = binary.LittleEndian
	if binary.BigEndian.Uint32(log.content)&1 == 1 {
		order = binary.BigEndian
	}
	header, body := log.content[:walHeaderLen], log.content[walHeaderLen:]
	salts, sum := string(header[16:24]), header[24:32]
	gap := !sumMatches(order, make([]byte, 8), header[:24], sum) // something up to here is not intact
	if gap && len(body) >= frameLen {
		salts = string(body[8:16])
	}
	last, ended := 0, false // ended: a commit after the gap is complete
	for ; len(body) >= frameLen; body = body[frameLen:] {
		head, page := body[:frameHeaderLen], body[frameHeaderLen:frameLen]
		current := string(head[8:16]) == salts
		f := frame{int(binary.BigEndian.Uint32(head)), binary.BigEndian.Uint32(head[4:]) != 0, false, page}
		f.intact = current && sumMatches(order, sum, append(append([]byte{}, head[:8]...), page...), head[16:24])
		sum = head[16:24]
		gap = gap || !f.intact
		log.torn = log.torn || current && gap
		log.damaged = log.damaged || current && ended
		ended = ended || current && gap && f.commit
		log.frames = append(log.frames, f)
		if f.intact && f.commit {
			last = len(log.frames)
		}
	}
	log.frames = log.frames[:last]
	return log, nil
}

// restore writes the log again as it was before SQLite dropped its end. The caller has the journal
// alone.
func (log *writeAheadLog) restore(path string) error {
	return errors.Join(removeIfPresent(path+"-shm"), os.WriteFile(path+"-wal", log.content, 0o600))
}

// sumMatches reports whether the checksum of data, continued from a previous one, is want.
func sumMatches(order binary.ByteOrder, previous, data, want []byte) bool {
	a, b := binary.BigEndian.Uint32(previous), binary.BigEndian.Uint32(previous[4:])
	for ; len(data) >= 8; data = data[8:] {
		a += order.Uint32(data) + b
		b += order.Uint32(data[4:]) + a
	}
	return a == binary.BigEndian.Uint32(want) && b == binary.BigEndian.Uint32(want[4:])
}

// applyWAL writes the intact pages of the log into the database and removes the log. The caller has
// the journal alone and kept a copy.
func applyWAL(path string) error {
	log, err := readWAL(path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, frame := range log.frames {
		if frame.intact && frame.number >= 1 {
			if _, err := f.WriteAt(frame.page, int64(frame.number-1)*pageSize); err != nil {
				return err
			}
		}
	}
	return errors.Join(removeIfPresent(path+"-wal"), removeIfPresent(path+"-shm"), f.Sync())
}

// restoreFirstPage replaces the first page, which has the schema, with that of a new journal. The
// schema is always the same, so the other pages fit.
func restoreFirstPage(path, fresh string) error {
	page, err := os.ReadFile(fresh)
	if err != nil {
		return err
	}
	if len(page) < pageSize {
		return errBroken
	}
	page = page[:pageSize]
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	pages := max(1, (info.Size()+pageSize-1)/pageSize)
	binary.BigEndian.PutUint32(page[28:], uint32(pages)) // the size
	binary.BigEndian.PutUint32(page[32:], 0)             // no free pages
	binary.BigEndian.PutUint32(page[36:], 0)
	copy(page[92:96], page[24:28]) // the size is valid
	page[18], page[19] = 1, 1      // without a write-ahead log
	if _, err := f.WriteAt(page, 0); err != nil {
		return err
	}
	return errors.Join(f.Truncate(pages*pageSize), f.Sync())
}
