package windowstest

import "syscall"

// underWine reports whether this Windows is wine, whose ntdll has a function of its own.
func underWine() bool {
	return syscall.NewLazyDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil
}
