package journal

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
)

// The format of the write-ahead log: https://www.sqlite.org/fileformat2.html#walformat. SQLite reads
// it up to the first frame whose checksum is wrong and drops the rest without an error. So gauze
// reads it first, if no other process has the journal open.
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

// readWAL returns the frames of the log that belong to its current use, through the last commit.
// damaged reports whether one of them is not intact although a later one was written, which an
// interrupted write cannot cause.
func readWAL(path string) (frames []frame, damaged bool, err error) {
	log, err := os.ReadFile(path + "-wal")
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(log) < walHeaderLen {
		return nil, len(log) > 0, nil
	}
	if err != nil {
		return nil, false, err
	}
	var order binary.ByteOrder = binary.LittleEndian
	if binary.BigEndian.Uint32(log)&1 == 1 {
		order = binary.BigEndian
	}
	header := log[:walHeaderLen]
	salts, sum := string(header[16:24]), header[24:32]
	damaged = !sumMatches(order, make([]byte, 8), header[:24], sum)
	body := log[walHeaderLen:]
	if damaged && len(body) >= frameLen {
		salts = string(body[8:16])
	}
	last, gap := 0, false
	for ; len(body) >= frameLen; body = body[frameLen:] {
		head, page := body[:frameHeaderLen], body[frameHeaderLen:frameLen]
		intact := string(head[8:16]) == salts && sumMatches(order, sum, append(append([]byte{}, head[:8]...), page...), head[16:24])
		if string(head[8:16]) == salts {
			damaged = damaged || gap // a frame before this one is not intact
		}
		gap = gap || !intact
		sum = head[16:24]
		frames = append(frames, frame{int(binary.BigEndian.Uint32(head)), binary.BigEndian.Uint32(head[4:]) != 0, intact, page})
		if intact && frames[len(frames)-1].commit {
			last = len(frames)
		}
	}
	return frames[:last], damaged, nil
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
	frames, _, err := readWAL(path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, frame := range frames {
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
