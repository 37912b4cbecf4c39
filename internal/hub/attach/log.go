package attach

import (
	"io"
	"os"
)

// The log of a gauze up that was started on demand is cut to its last part when it grows too long.
const (
	maxLog  = 1 << 20
	keptLog = 256 << 10
)

// openLog opens a log for appending.
func openLog(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return f, shorten(f, 0)
}

// shorten cuts a log that would be too long with more bytes.
func shorten(f *os.File, more int) error {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size()+int64(more) <= maxLog {
		return err
	}
	tail := make([]byte, min(keptLog, info.Size()))
	n, err := f.ReadAt(tail, info.Size()-int64(len(tail)))
	if err != nil && err != io.EOF {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.Write(tail[:n])
	return err
}

// LimitLog limits what this process, which Start has started, writes to its log: from now on os.Stderr
// is a pipe to it. The function that it returns writes the rest.
func LimitLog(p Place) (finish func()) {
	f, err := openLog(p.Log())
	if err != nil {
		return func() {}
	}
	from, to, err := os.Pipe()
	if err != nil {
		f.Close()
		return func() {}
	}
	direct := os.Stderr
	os.Stderr = to
	done := make(chan struct{})
	go func() {
		defer close(done)
		io.Copy(log{f}, from)
	}()
	return func() {
		os.Stderr = direct
		to.Close()
		<-done
		from.Close()
		f.Close()
	}
}

// log is a file that stays short.
type log struct{ f *os.File }

func (l log) Write(p []byte) (int, error) {
	if err := shorten(l.f, len(p)); err != nil {
		return len(p), nil // the process must not wait for its log
	}
	l.f.Write(p)
	return len(p), nil
}
