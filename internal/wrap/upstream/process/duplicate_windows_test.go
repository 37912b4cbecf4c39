package process

import (
	"os"
	"testing"

	"golang.org/x/sys/windows"
)

// duplicate returns a second handle on an open file.
func duplicate(t *testing.T, f *os.File) *os.File {
	t.Helper()
	self := windows.CurrentProcess()
	var handle windows.Handle
	if err := windows.DuplicateHandle(self, windows.Handle(f.Fd()), self, &handle, 0, false, windows.DUPLICATE_SAME_ACCESS); err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(handle), f.Name())
}
