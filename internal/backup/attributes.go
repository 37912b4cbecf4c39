//go:build linux || darwin

package backup

import (
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// accessList is the attribute Linux keeps further rights in.
const accessList = "system.posix_acl_access"

// copyAttributes makes the extended attributes of a new file those of the original. What the system does not let us
// copy is left out, except rights: a file that more or fewer people may read is not the same file.
func copyAttributes(f *os.File, original string) error {
	fd := int(f.Fd())
	wanted := attributes(func(buf []byte) (int, error) { return unix.Listxattr(original, buf) })
	for _, name := range wanted {
		value := grown(func(buf []byte) (int, error) { return unix.Getxattr(original, name, buf) })
		if err := unix.Fsetxattr(fd, name, value, 0); err != nil && name == accessList {
			return os.NewSyscallError("fsetxattr", err)
		}
	}
	for _, name := range attributes(func(buf []byte) (int, error) { return unix.Flistxattr(fd, buf) }) {
		if slices.Contains(wanted, name) {
			continue
		}
		// A folder can hand an access list to what is made in it; the original had none.
		if err := unix.Fremovexattr(fd, name); err != nil && name == accessList {
			return os.NewSyscallError("fremovexattr", err)
		}
	}
	return nil
}

func attributes(list func([]byte) (int, error)) []string {
	return strings.FieldsFunc(string(grown(list)), func(r rune) bool { return r == 0 })
}

// grown asks for the size, then for the value.
func grown(ask func([]byte) (int, error)) []byte {
	size, err := ask(nil)
	if err != nil || size == 0 {
		return nil
	}
	buf := make([]byte, size)
	if size, err = ask(buf); err != nil {
		return nil
	}
	return buf[:size]
}
