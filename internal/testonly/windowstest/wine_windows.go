package windowstest

import "syscall"

// underWine reports whether this Windows is wine, whose ntdll exports an additional function.
func underWine() bool {
	return syscall.NewLazyDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil
}
