//go:build linux || darwin

package backup

import (
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// accessList is the attribute in which Linux stores POSIX ACLs.
const accessList = "system.posix_acl_access"

// copyAttributes copies the extended attributes of the original to a new file. It ignores
// attributes that the system does not allow to be copied, except the ACL: the new file must not be
// readable by more or fewer users.
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
		// A directory may have a default ACL that the original does not have.
		if err := unix.Fremovexattr(fd, name); err != nil && name == accessList {
			return os.NewSyscallError("fremovexattr", err)
		}
	}
	return nil
}

func attributes(list func([]byte) (int, error)) []string {
	return strings.FieldsFunc(string(grown(list)), func(r rune) bool { return r == 0 })
}

// grown calls ask for the size and then for the value.
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
